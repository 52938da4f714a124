"""One message and what is needed to answer it."""

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.downstream.envelope import Envelope
from switchyard_sidecar.downstream.http import Answer, Body, EventStream, Fields, Reply, joined
from switchyard_sidecar.downstream.sessions import Session, SessionState
from switchyard_sidecar.protocol.accept import Accepted


@dataclass(slots=True)
class Exchange:
    """A message under way. ``session`` and ``state`` are a legacy caller's, if it has a session."""

    request: web.BaseRequest
    fields: Fields
    envelope: Envelope
    accepted: Accepted
    caller: Caller
    still_let_in: Callable[[Caller], None]
    """Raises :class:`~switchyard_sidecar.access.refusals.Denied` for a caller who would not be let in any more."""
    session: Session | None = None
    state: SessionState | None = None

    def check_caller(self) -> None:
        """Look at the caller again before it gets to read what was waited for. What its own call brings is the caller's all the same.

        Raises:
            Denied: it would not be let in any more.
        """
        if self.envelope.method != "tools/call":
            self.still_let_in(self.caller)

    async def answer(self, body: Body, stream: EventStream | None = None) -> Answer:
        """Answer as JSON, or as the last event of a stream: one that is open, or the only thing the caller accepts.

        Raises:
            Denied: see :meth:`check_caller`.
        """
        self.check_caller()
        if stream is None:
            if self.accepted.json:
                return Reply(200, body, self.fields)
            stream = EventStream.open(self.request, self.fields)
        await stream.send(joined(body))
        stream.end()
        return stream
