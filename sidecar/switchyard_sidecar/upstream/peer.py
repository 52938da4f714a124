"""What a backend looks like once its era is known: the same few things, whichever era and transport."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
from msgspec import Raw

from switchyard_sidecar import __version__
from switchyard_sidecar.protocol import jsonrpc, meta
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.names import PROGRESS
from switchyard_sidecar.protocol.versions import Era

CLIENT_INFO: Final = b'{"name":"switchyard","version":"%b"}' % __version__.encode()
"""Who we are, to every backend."""

_MAX_INFO_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a backend calls itself, for display alone: printable, and cut at a length."""

    name: str = ""
    version: str = ""


NO_INFO: Final = ServerInfo()


@dataclass(frozen=True, slots=True)
class RawPage:
    """One page of a list, unread."""

    result: bytes
    """The JSON text of the result."""
    size_bytes: int
    """Of the whole answer."""


class Peer(Protocol):
    """One backend, spoken to in its own way. Every method raises :class:`Fault` or :class:`McpError` on failure."""

    @property
    def era(self) -> Era: ...  # noqa: D102

    @property
    def version(self) -> str:
        """The protocol version spoken."""

    @property
    def server(self) -> ServerInfo: ...  # noqa: D102

    @property
    def announces(self) -> bool:
        """Whether it is worth asking for a change stream."""

    async def list_page(self, cursor: str | None, max_bytes: int) -> RawPage:
        """Send one ``tools/list``."""

    async def listen(self, opened: Callable[[], None], changed: Callable[[], None]) -> float:
        """Keep the change stream until it ends; return the seconds it asks to wait before the next.

        ``opened`` is called once when changes are certain to be told from now on, ``changed`` for each one told. Raises
        :class:`NoStream` when there is none to be had.
        """

    async def close(self) -> None:
        """Say good-bye. Takes bounded time and never fails."""


def list_params(cursor: str | None) -> dict[str, bytes]:
    """The parameters of ``tools/list`` beside ``_meta``. Never a null: None sends no cursor at all."""
    return {} if cursor is None else {"cursor": msgspec.json.encode(cursor)}


def members_of(text: bytes | Raw | None) -> dict[str, Raw]:
    """The members of a JSON object, values raw; none when it is anything else."""
    if text is None:
        return {}
    try:
        return jsonrpc.members(text)
    except msgspec.DecodeError:
        return {}


def concerns(request_id: int, message: Message) -> bool:
    """Whether a message may be heard during a request: progress only if it is its own, by the token, which is its id."""
    if message.method != PROGRESS:
        return True
    token = members_of(message.params).get(meta.PROGRESS_TOKEN)
    return token is not None and bytes(token) == b"%d" % request_id


def is_true(members: dict[str, Raw], key: str) -> bool:
    """Whether a member is there and is ``true``."""
    return key in members and bytes(members[key]) == b"true"


def announces_tools(capabilities: Raw | None) -> bool:
    """Whether a server's capabilities hold ``tools.listChanged: true``."""
    return is_true(members_of(members_of(capabilities).get("tools")), "listChanged")


def server_info(text: Raw | None) -> ServerInfo:
    """An ``Implementation`` object, made fit for logs and status."""
    members = members_of(text)
    return ServerInfo(_legible(members.get("name")), _legible(members.get("version")))


def _legible(text: Raw | None) -> str:
    try:
        value = msgspec.json.decode(text, type=str) if text is not None else ""
    except msgspec.DecodeError:
        return ""
    return "".join(character for character in value[:_MAX_INFO_CHARS] if character.isprintable())
