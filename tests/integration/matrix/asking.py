"""What the matrix asks of every pair, and how two answers are compared."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from integration.matrix.programs import CallFailedError, Connection, Counterparts
from integration.matrix.table import Client, Server

CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("echo", {"text": 'ünïcödé 日本語 🚦 \u2028 \\ " \n'}),
    ("add", {"a": 2, "b": -5}),
    ("fail", {"reason": "because"}),
    ("decorated", {}),
    ("routed", {"region": "eu ü-1", "shard": 3}),
)
"""Calls whose answers depend on nothing but their arguments. A server without ``routed`` is not asked for it."""

_HEADER_MISMATCH: Final = -32020
_OWN_TO_A_HOP: Final = "io.modelcontextprotocol/serverInfo"
"""In ``_meta``: who answered."""


def tools_of(connection: Connection) -> dict[str, Any]:
    """Every tool's definition by its name. No name comes twice."""
    tools = connection.client.ask("list")["tools"]
    by_name = {tool["name"]: tool for tool in tools}
    assert len(by_name) == len(tools), "a tool is listed twice"
    return by_name


def outcome(connection: Connection, name: str, arguments: dict[str, Any]) -> Any:
    """What a call comes to: a result or an error, without what the eras say differently about the same."""
    try:
        return _same_in_both_eras(connection.client.call(name, **arguments))
    except CallFailedError as failed:
        if failed.error.get("code") != _HEADER_MISMATCH:
            return {"error": failed.error}
    # The client's list had grown too old for it to know which parameters to mirror, as happens on a busy machine.
    tools_of(connection)
    try:
        return _same_in_both_eras(connection.client.call(name, **arguments))
    except CallFailedError as failed:
        return {"error": failed.error}


def _same_in_both_eras(result: dict[str, Any]) -> dict[str, Any]:
    # Some SDKs write `isError: false` out, some say it only on occasion.
    meta = {key: value for key, value in result.get("_meta", {}).items() if key != _OWN_TO_A_HOP}
    kept = {"isError": False} | {key: value for key, value in result.items() if key not in ("resultType", "_meta")}
    return kept | ({"_meta": meta} if meta else {})


@dataclass(frozen=True)
class Answers:
    """What one server tells one client."""

    tools: dict[str, Any]
    calls: dict[str, Any]


def asked(connection: Connection) -> Answers:
    """Ask for everything."""
    tools = tools_of(connection)
    return Answers(tools, {name: outcome(connection, name, arguments) for name, arguments in CALLS if name in tools})


class Asker:
    """Connects clients, and remembers what each pair answers when nothing stands between them."""

    def __init__(self, counterparts: Counterparts) -> None:
        self._counterparts = counterparts
        self._direct: dict[tuple[Server, Client], Answers] = {}

    @contextmanager
    def connected(self, client: Client, url: str) -> Iterator[Connection]:
        """Connect a client for the duration of the block."""
        with self._counterparts.client(client.program).connected(url) as connection:
            yield connection

    def directly(self, server: Server, client: Client) -> Answers:
        """What the server answers without a gateway."""
        if (server, client) not in self._direct:
            with self.connected(client, self._counterparts.server(server.program)) as connection:
                self._direct[server, client] = asked(connection)
        return self._direct[server, client]
