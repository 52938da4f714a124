"""One ``tools/call``, from the caller's request to its answer.

The answer is JSON, unless a notification comes first or the call takes long: then it is an event stream with comments, if
the caller accepts one. A modern caller that leaves cancels its call. A legacy caller's call goes on without it, and ends by
``notifications/cancelled`` or by its time limits. Sources: 2026-07-28 ``basic/patterns/cancellation``, ``progress``;
2025-11-25 ``basic/utilities/cancellation``, ``basic/transports``.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog
from msgspec import Raw

from switchyard_sidecar.downstream.bodies import Held
from switchyard_sidecar.downstream.calls import progress_token
from switchyard_sidecar.downstream.exchange import Exchange
from switchyard_sidecar.downstream.http import EventStream
from switchyard_sidecar.protocol import errors, jsonrpc
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.names import PROGRESS

log = structlog.get_logger(__name__)


class Outlet:
    """Where the notifications of one call go: the caller's own stream, opened when the first one comes.

    Implements :class:`switchyard_sidecar.upstream.calls.CallSink`.
    """

    __slots__ = ("_fields", "_progress_token", "_quiet_s", "_request", "_streams", "_timer", "stream")

    def __init__(self, exchange: Exchange, *, quiet_s: float, alone: bool = True) -> None:
        """``alone``: the answer is not part of a batch, which is no stream of its own.

        Raises:
            McpError: -32602 for a progress token that is none.
        """
        self._request = exchange.request
        self._fields = exchange.fields
        self._streams = alone and exchange.accepted.event_stream
        """Whether the caller accepts an event stream; otherwise notifications are dropped."""
        self._progress_token = progress_token(exchange.envelope.meta) if alone else None
        self._quiet_s = quiet_s
        self.stream: EventStream | None = None

    async def notify(self, method: str, params: bytes) -> None:
        """Pass a notification on. One that cannot be delivered is dropped: the call's answer does not depend on it."""
        if method == PROGRESS:
            if self._progress_token is None:
                return
            params = jsonrpc.joined({"progressToken": Raw(self._progress_token), **jsonrpc.members(params)})
        if (stream := self.open()) is not None:
            try:
                await stream.send(jsonrpc.notification(method, params))
            except ConnectionError:
                self._streams = False

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        """Comment while the block runs and the call is quiet. A timer, and not a task: most calls end before it."""
        self._rest()
        try:
            yield
        finally:
            self._timer.cancel()

    def _rest(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self._remark)

    def _remark(self) -> None:
        if (stream := self.open()) is not None:
            stream.remark()
        self._rest()

    def open(self) -> EventStream | None:
        """The stream, opened if need be; ``None`` when the caller takes none or has left."""
        if not self._streams:
            return None
        if self.stream is None:
            try:
                self.stream = EventStream.open(self._request, self._fields)
            except ConnectionError:
                self._streams = False
        return self.stream


async def attended(outlet: Outlet, call: Coroutine[Any, Any, bytes]) -> bytes | McpError:
    """Run a call while its caller is kept informed; give its result, or the error to answer with."""
    try:
        with outlet.kept_alive():
            return await call
    except McpError as error:
        return error
    except Exception:  # one call's fault of ours must end neither its group nor its neighbours
        log.exception("call_failed")
        return McpError(errors.INTERNAL_ERROR, "Internal error: the gateway failed on this call")


@dataclass(slots=True)
class LegacyCalls:
    """Calls that outlive their connection: those of legacy callers. They run in ``tasks``, whose owner outlives them too."""

    tasks: asyncio.TaskGroup
    _running: dict[tuple[str, bytes], "asyncio.Task[bytes | McpError]"] = field(default_factory=dict)

    async def run(
        self,
        session: str | None,
        request_id: bytes,
        call: Coroutine[Any, Any, bytes | McpError],
        held: Held | None = None,
    ) -> bytes:
        """Run a call to its end, whether or not the caller stays; give its result. ``held``: what its arguments hold.

        Raises:
            McpError: the call's error.
            CallCancelledError: the caller cancelled it by notification.
        """
        task = self.tasks.create_task(call, name="legacy-call")
        if held is not None:
            held.until(task)
        key = (session, request_id) if session is not None else None
        if key is not None:
            self._running[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        try:
            outcome = await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise CallCancelledError from None
            raise
        if isinstance(outcome, McpError):
            raise outcome
        return outcome

    def cancel(self, session: str, request_id: bytes) -> None:
        """Cancel a call of the same session; an unknown one is ignored, as the specification asks."""
        if (task := self._running.get((session, request_id))) is not None:
            task.cancel()

    def _forget(self, key: tuple[str, bytes], task: "asyncio.Task[bytes | McpError]") -> None:
        if self._running.get(key) is task:
            del self._running[key]


class CallCancelledError(McpError):
    """A call was cancelled by its caller, which expects no answer."""

    def __init__(self) -> None:
        super().__init__(errors.INTERNAL_ERROR, "The call was cancelled")
