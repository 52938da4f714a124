"""One session with a legacy backend: ``initialize``, requests, what the server asks in return, the end.

A session is used either for discovery or for the calls of one principal, never for both. Sources: 2025-11-25
``basic/lifecycle``, ``basic/utilities/ping``, ``basic/utilities/cancellation``, ``server/utilities/logging``.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import structlog
from msgspec import Raw

from switchyard_sidecar.protocol import errors, jsonrpc, meta, versions
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.names import CANCELLED, TOOLS_CHANGED
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.deadline import within
from switchyard_sidecar.upstream.faults import Fault, Malformed, SessionLost
from switchyard_sidecar.upstream.peer import (
    CLIENT_INFO,
    RawPage,
    ServerInfo,
    concerns,
    list_params,
    members_of,
    server_info,
)
from switchyard_sidecar.upstream.transport import Heard, Transport
from switchyard_sidecar.upstream.wire import Wire

log = structlog.get_logger(__name__)

MAX_INITIALIZE_BYTES: Final = 1024 * 1024
MAX_ANSWER_BYTES: Final = 64 * 1024
"""Of an answer that holds nothing, such as that to ``logging/setLevel``."""

NOT_CARRIED: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
"""What servers ask of clients, and cannot ask of us: named in the log, where any other name would be the backend's text."""

_EMPTY: Final = b"{}"


class LegacySession:
    """A session, usable between :meth:`open` and :meth:`close`; the one for discovery is a :class:`Peer`."""

    def __init__(self, wire: Wire, transport: Transport) -> None:
        self.era: Final = Era.LEGACY
        self.version = ""
        self.server = ServerInfo()
        self.announces: Final = True
        """Whatever its capabilities say: servers on the official Python SDK say ``listChanged: false`` and notify all the
        same. A server without a stream answers 405, once a connection."""
        self._logs = False  # the server sends log messages
        self._log_level: str | None = None
        self._wire = wire
        self._transport = transport
        self._calls: dict[int, Heard] = {}  # under way, and who hears what comes outside of their answers

    def another(self) -> "LegacySession":
        """A session of its own with the same backend, not open yet."""
        return LegacySession(self._wire, self._transport.another())

    @property
    def lost(self) -> bool:
        """Whether the session is known to be over."""
        return self._transport.lost

    async def open(self) -> None:
        """Shake hands.

        Raises:
            McpError: ``initialize`` was answered with an error.
            Fault: it was not answered, or with a version that we do not speak.
        """
        await self._transport.start(self._stray)
        params = {
            "protocolVersion": msgspec.json.encode(versions.LATEST_LEGACY),
            "capabilities": _EMPTY,  # nothing that a server could ask of us can be carried to a caller yet
            "clientInfo": CLIENT_INFO,
        }
        async with within(self._wire.pace.answer_s):
            result, _ = await self._transport.request(
                *self._numbered("initialize", params),
                self._heard,
                max_bytes=MAX_INITIALIZE_BYTES,
                repeatable=True,
                opening=True,
            )
            members = members_of(result)
            self.version = self._transport.version = _negotiated(members.get("protocolVersion"))
            self.server = server_info(members.get("serverInfo"))
            self._logs = "logging" in members_of(members.get("capabilities"))
            await self._transport.send(jsonrpc.notification("notifications/initialized"))

    async def list_page(self, cursor: str | None, max_bytes: int) -> RawPage:
        """Send one ``tools/list``."""
        result, size = await self._transport.request(
            *self._numbered("tools/list", list_params(cursor)), self._heard, max_bytes=max_bytes, repeatable=True
        )
        return RawPage(result, size)

    async def listen(self, opened: Callable[[], None], changed: Callable[[], None]) -> float:  # noqa: ARG002
        """Keep the stream of the server's own messages. Its notifications count wherever they arrive: ``Wire.changed``."""
        async with within(self._wire.pace.acknowledge_s) as limit:

            def is_open() -> None:
                limit.reschedule(None)
                opened()

            return await self._transport.listen(is_open, self._stray)

    async def call(
        self, params: Mapping[str, bytes], request_meta: Mapping[str, bytes], heard: Heard, *, progress: bool
    ) -> bytes:
        """Send one ``tools/call``; return its result. Requests of the server are refused here, all else goes to ``heard``.

        Leaving this coroutine by cancellation tells the server so.

        Raises:
            SessionLost: the call was not acted upon.
            McpError: the backend's own error.
            Fault: there is no answer.
        """
        request_id, body = self._numbered("tools/call", params, request_meta, progress=progress)

        async def both(message: Message) -> None:
            await self._heard(message)
            if concerns(request_id, message):
                await heard(message)

        self._calls[request_id] = heard
        try:
            result, _ = await self._transport.request(request_id, body, both, max_bytes=self._wire.pace.call_bytes)
        except asyncio.CancelledError:
            cancelled = jsonrpc.notification(CANCELLED, b'{"requestId":%d}' % request_id)
            self._wire.errands.send(self._transport.send(cancelled), "cancel a call")
            raise
        finally:
            del self._calls[request_id]
        return result

    async def set_log_level(self, level: str) -> None:
        """Ask for log messages from this level on, if the server has any and the level is not set already."""
        if not self._logs or level == self._log_level:
            return
        request = self._numbered("logging/setLevel", {"level": msgspec.json.encode(level)})
        try:
            async with within(self._wire.pace.farewell_s):
                await self._transport.request(*request, self._heard, max_bytes=MAX_ANSWER_BYTES, repeatable=True)
        except SessionLost:
            raise
        except (Fault, McpError):
            pass  # the call goes on, with the log messages it gets
        self._log_level = level

    async def close(self) -> None:
        """End the session, as far as that can be done in short time."""
        try:
            async with within(self._wire.pace.farewell_s):
                await self._transport.end()
        except (Fault, McpError):
            pass

    def _numbered(
        self,
        method: str,
        params: Mapping[str, bytes],
        request_meta: Mapping[str, bytes] | None = None,
        *,
        progress: bool = False,
    ) -> tuple[int, bytes]:
        """A request and its id. With ``progress`` the id is its progress token too."""
        request_id = next(self._wire.ids)
        all_meta = dict(request_meta or {})
        if progress:
            all_meta[meta.PROGRESS_TOKEN] = b"%d" % request_id
        all_params = {**params, "_meta": jsonrpc.joined(all_meta)} if all_meta else dict(params)
        return request_id, jsonrpc.request(request_id, method, jsonrpc.joined(all_params))

    async def _stray(self, message: Message) -> None:
        """What comes outside of any answer. Servers send progress and log messages there too, though they should not."""
        await self._heard(message)
        for request_id, heard in list(self._calls.items()):
            if concerns(request_id, message):
                await heard(message)

    async def _heard(self, message: Message) -> None:
        """What the server says of its own accord, wherever it says it. Never waits."""
        if message.method == TOOLS_CHANGED and message.id is None:
            self._wire.changed()
        elif message.id is not None:
            if message.method != "ping":
                method = message.method if message.method in NOT_CARRIED else "another"
                log.info("server_request_refused", **self._wire.about, method=method)
            self._wire.errands.send(self._transport.send(_reply(message, message.id)), "answer the server")


def _reply(request: Message, request_id: bytes) -> bytes:
    """The answer to a request of the server: ``ping`` is all that can be served."""
    if request.method == "ping":
        return jsonrpc.result_response(request_id, _EMPTY)
    refusal = McpError(errors.METHOD_NOT_FOUND, "Method not found: this gateway declared no such capability")
    return jsonrpc.error_response(request_id, refusal)


def _negotiated(text: Raw | None) -> str:
    try:
        version = msgspec.json.decode(text or b'""', type=str)
    except msgspec.DecodeError:
        version = ""
    if version not in versions.UPSTREAM_LEGACY_VERSIONS:
        raise Malformed(faults.NO_COMMON_VERSION)
    return version
