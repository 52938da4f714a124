"""One message and what is needed to answer it."""

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
    session: Session | None = None
    state: SessionState | None = None

    async def answer(self, body: Body, stream: EventStream | None = None) -> Answer:
        """Answer as JSON, or as the last event of a stream: one that is open, or the only thing the caller accepts."""
        return await answered(self.request, self.fields, self.accepted, body, stream)


async def answered(
    request: web.BaseRequest, fields: Fields, accepted: Accepted, body: Body, stream: EventStream | None = None
) -> Answer:
    """See :meth:`Exchange.answer`, for what is no single message."""
    if stream is None:
        if accepted.json:
            return Reply(200, body, fields)
        stream = EventStream.open(request, fields)
    await stream.send(joined(body))
    stream.end()
    return stream
