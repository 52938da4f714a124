"""Relaying ``tools/call`` to a backend of either era.

What always holds:

1. The request is made afresh: version, client info, session, headers, id and progress token are this hop's own. What goes
   through unread are the arguments, the result, and what a modern caller sends when it tries again.
2. It is sent once. It is sent a second time only where the backend has said that it did nothing: its mirrored headers did
   not match (-32020, after reading the list again), or it does not know the session.
3. Every message that arrives for a call restarts its idle time; nothing moves its absolute limit.
4. Leaving it by cancellation cancels it at the backend.

Sources: 2026-07-28 ``server/tools``, ``basic/patterns/*``, ``basic/transports/streamable-http``; 2025-11-25 ``basic/utilities``.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec
from msgspec import Raw

from switchyard_sidecar.catalog import canonical
from switchyard_sidecar.catalog.canonical import NotJsonError
from switchyard_sidecar.catalog.definition import ToolDefinition
from switchyard_sidecar.config.model import Timeouts
from switchyard_sidecar.protocol import errors, jsonrpc, meta, mirrored_params
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.names import LOG_MESSAGE, PROGRESS
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream import aside, faults
from switchyard_sidecar.upstream.call_sessions import CallSessions
from switchyard_sidecar.upstream.faults import (
    AtRest,
    BackendUnavailable,
    Fault,
    Malformed,
    Refused,
    SessionLost,
    Silent,
    reason_of,
)
from switchyard_sidecar.upstream.legacy import LegacySession
from switchyard_sidecar.upstream.modern import ModernPeer, named_headers
from switchyard_sidecar.upstream.peer import members_of
from switchyard_sidecar.upstream.transport import Heard

CALL: Final = "tools/call"


@dataclass(frozen=True, slots=True)
class CallMeta:
    """What a call carries on of its caller's ``_meta``."""

    progress: bool = False
    """Whether the caller gave a progress token."""
    log_level: str | None = None
    """The least severe log message the caller wants; None: none at all."""
    trace: Mapping[str, str] = field(default_factory=dict)
    """W3C trace context, by its keys in ``_meta``."""
    capabilities: bytes = b"{}"
    """The JSON object of capabilities that a modern caller declared."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call, by the backend's own name of the tool."""

    tool: ToolDefinition
    arguments: bytes | None
    """The JSON text of an object; None: the caller sent none."""
    meta: CallMeta
    extra: Mapping[str, bytes]
    """Further members of the parameters, raw: ``inputResponses``, ``requestState``."""
    principal: str
    """Whose call it is: calls of different principals never share a session with a legacy backend."""


class CallSink(Protocol):
    """Takes what a backend says during a call."""

    async def notify(self, method: str, params: bytes) -> None:
        """A notification for the caller. Progress comes without a ``progressToken``: the caller's own is the sink's to add."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The backend's result, as it was written, and the era whose rules it follows."""

    result: bytes
    era: Era


async def call_modern(
    peer: ModernPeer,
    call: ToolCall,
    sink: CallSink,
    timeouts: Timeouts,
    redefined: Callable[[str], Awaitable[ToolDefinition | None]],
) -> CallResult:
    """Relay to a modern backend. ``redefined`` reads the list again and gives a tool's present definition.

    Raises:
        McpError: the backend's own error.
        Fault: an error with an HTTP status of its own; or the call did not get through, or its answer did not get back.
    """
    request_meta = {key: msgspec.json.encode(value) for key, value in call.meta.trace.items()}
    if call.meta.log_level is not None:
        request_meta[meta.LOG_LEVEL] = msgspec.json.encode(call.meta.log_level)
    params = {**_params(call), **call.extra}

    async def send(tool: ToolDefinition, alive: Callable[[], None]) -> CallResult:
        result, _ = await peer.request(
            CALL,
            params,
            max_bytes=peer.wire.pace.call_bytes,
            heard=_passed_on(call, sink, alive),
            capabilities=carried_capabilities(call.meta.capabilities),
            more_meta=request_meta,
            headers=named_headers(tool.name) | mirrored_params.headers_for(tool.mirrored, call.arguments),
            progress=call.meta.progress,
        )
        return CallResult(await aside.read(_checked, result), Era.MODERN)

    async with limited(timeouts) as alive:
        try:
            return await send(call.tool, alive)
        except (McpError, Refused) as error:
            if _code(error) != errors.HEADER_MISMATCH:
                raise
        tool = await redefined(call.tool.name)
        alive()
        return await send(call.tool if tool is None else tool, alive)


async def call_legacy(
    sessions: CallSessions, pattern: LegacySession, call: ToolCall, sink: CallSink, timeouts: Timeouts
) -> CallResult:
    """Relay to a legacy backend, in the principal's own session. ``pattern``: what a session with it looks like.

    Raises:
        McpError: the backend's own error.
        Fault: an error with an HTTP status of its own; or the call did not get through, or its answer did not get back.
    """
    request_meta = {key: msgspec.json.encode(value) for key, value in call.meta.trace.items()}

    async def send(session: LegacySession, alive: Callable[[], None]) -> CallResult:
        if call.meta.log_level is not None:
            await session.set_log_level(call.meta.log_level)
        alive()
        heard = _passed_on(call, sink, alive)
        result = await session.call(_params(call), request_meta, heard, progress=call.meta.progress)
        return CallResult(await aside.read(_checked, result), Era.LEGACY)

    async with limited(timeouts) as alive, sessions.lease(call.principal, pattern) as lease:
        session = await lease.session()
        try:
            return await send(session, alive)
        except SessionLost:
            return await send(await lease.session(lost=session), alive)


@asynccontextmanager
async def limited(timeouts: Timeouts) -> AsyncIterator[Callable[[], None]]:
    """The two limits of a call; gives what restarts the idle one.

    Raises:
        Silent: one of them has passed.
    """
    loop = asyncio.get_running_loop()
    idle_s = timeouts.call_ms / 1000
    end = loop.time() + timeouts.call_max_ms / 1000
    try:
        async with asyncio.timeout_at(min(end, loop.time() + idle_s)) as limit:
            yield lambda: limit.reschedule(min(end, loop.time() + idle_s))
    except TimeoutError:
        raise Silent(faults.CALL_OVERDUE if limit.when() == end else faults.CALL_IDLE) from None


def carried_capabilities(declared: bytes) -> bytes:
    """What of a modern caller's capabilities holds towards a modern backend: all but extensions, which are not relayed.

    Across eras nothing does: a legacy backend would ask in ways that cannot be carried to the caller.
    """
    return jsonrpc.joined({key: value for key, value in members_of(declared).items() if key != "extensions"})


def _checked(result: bytes) -> bytes:
    """The result, if it may be spliced into an answer of ours as it is."""
    try:
        result.decode()  # msgspec does not check what it leaves raw
        msgspec.json.decode(result, type=Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _check_thoroughly(result)
    return result


def _check_thoroughly(result: bytes) -> None:
    """Accept what is JSON after all: half a surrogate pair in an escape, which strict parsers refuse."""
    try:
        canonical.read(result)
    except NotJsonError:
        raise Malformed(faults.NOT_JSON_RPC) from None


def _params(call: ToolCall) -> dict[str, bytes]:
    params = {"name": msgspec.json.encode(call.tool.name)}
    if call.arguments is not None:
        params["arguments"] = call.arguments
    return params


def _passed_on(call: ToolCall, sink: CallSink, alive: Callable[[], None]) -> Heard:
    """Passes on what concerns the caller. The backend's own time stands still while the caller takes it."""

    async def heard(message: Message) -> None:
        if message.id is None and message.params is not None:
            if message.method == PROGRESS and call.meta.progress:
                params = {key: value for key, value in members_of(message.params).items() if key != meta.PROGRESS_TOKEN}
                await sink.notify(PROGRESS, jsonrpc.joined(params))
            elif message.method == LOG_MESSAGE and _is_wanted(message.params, call.meta.log_level):
                await sink.notify(LOG_MESSAGE, message.params)
        alive()

    return heard


def _is_wanted(params: bytes, least: str | None) -> bool:
    if least not in meta.LOG_LEVELS:
        return False
    level = members_of(params).get("level")
    wanted = meta.LOG_LEVELS[meta.LOG_LEVELS.index(least) :]
    return level is not None and bytes(level).strip(b'"').decode("ascii", "replace") in wanted


def _code(error: McpError | Refused) -> int | None:
    answered = error if isinstance(error, McpError) else error.error
    return None if answered is None else answered.code


def told(error: McpError | Fault, backend: str) -> McpError:
    """What the caller is told of a failed call: the backend's own error, unless it is about what only this hop has."""
    answered = error if isinstance(error, McpError) else error.error if isinstance(error, Refused) else None
    if answered is None:
        return BackendUnavailable(backend, reason_of(error), error.wait_s if isinstance(error, AtRest) else None)
    match answered.code:
        case errors.HEADER_MISMATCH:
            return BackendUnavailable(backend, faults.HEADER_MISMATCH_PERSISTS)
        case errors.UNSUPPORTED_VERSION:
            return BackendUnavailable(backend, faults.VERSION_REFUSED)
        case _:
            return answered
