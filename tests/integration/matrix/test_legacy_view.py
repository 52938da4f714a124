"""What the modern revision allows and the older ones forbid, from a real modern server to real legacy clients.

One definition that the older revision does not allow costs the whole list: the Python SDK 2.x does not send such a list to
a legacy client, and the TypeScript SDK 1.x does not read it.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest

from integration.matrix.asking import Asker, tools_of
from integration.matrix.gateways import Gateways
from integration.matrix.programs import CallFailedError, Counterparts
from integration.matrix.table import CLIENTS, MODERN, SERVERS, Client

PYTHON: Final = SERVERS[0]
LEGACY: Final = [client for client in CLIENTS if client.version != MODERN]
NEWER: Final[dict[str, dict[str, Any]]] = {
    "boolean_properties": {
        "inputSchema": {
            "type": "object",
            "properties": {"anything": True, "nothing": False, "text": {"type": "string"}},
        }
    },
    "array_output": {
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "array", "items": {"type": "integer"}},
    },
}
"""Schemas of 2026-07-28 that no earlier revision allows."""


@pytest.fixture
def grown(counterparts: Counterparts) -> Iterator[None]:
    """The server has these tools for the duration of the test."""
    with ExitStack() as stack:
        client = stack.enter_context(counterparts.another_client(CLIENTS[0].program))
        stack.enter_context(client.connected(counterparts.server(PYTHON.program)))
        for name, schemas in NEWER.items():
            client.ask("call", name="grow", arguments={"name": name, **schemas})
            stack.callback(client.ask, "call", name="shrink", arguments={"name": name})
        yield


@pytest.mark.usefixtures("grown")
@pytest.mark.parametrize("legacy", LEGACY, ids=str)
def test_a_newer_schema_costs_no_legacy_client_its_list(legacy: Client, asker: Asker, gateways: Gateways) -> None:
    """All tools are listed, the newer ones as far as the older revision can express them, and can be called."""
    with asker.connected(legacy, gateways.over(PYTHON).url) as connection:
        tools = tools_of(connection)
        assert set(NEWER) < set(tools)
        assert "echo" in tools
        assert "outputSchema" not in tools["array_output"]
        assert _properties(tools)["text"] == {"type": "string"}
        assert all(isinstance(schema, dict) for schema in _properties(tools).values())
        assert connection.client.call("boolean_properties")["content"][0]["text"] == "boolean_properties"


def _properties(tools: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = tools["boolean_properties"]["inputSchema"].get("properties", {})
    return properties


@pytest.mark.usefixtures("grown")
def test_without_a_gateway_it_would(asker: Asker, counterparts: Counterparts) -> None:
    """The reason for all this: asked directly, the same server has an error in place of a list."""
    with asker.connected(LEGACY[0], counterparts.server(PYTHON.program)) as connection, pytest.raises(CallFailedError):
        connection.client.ask("list")
