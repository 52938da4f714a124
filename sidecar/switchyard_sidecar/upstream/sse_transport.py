"""HTTP+SSE of 2024-11-05: one stream for all that the server says, and an endpoint it names for all that we say.

The stream lives in a task of its own from opening to end; requests wait for their answers by id. When it is lost, the
session is: whoever waits learns it at once. Source: 2024-11-05 ``basic/transports``, "HTTP with SSE".
"""

import asyncio
from collections.abc import Callable
from typing import Final, Self

import aiohttp
from yarl import URL

from switchyard_sidecar.protocol import meta, sse
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.names import EVENT_STREAM, JSON, LOG_MESSAGE, PROGRESS
from switchyard_sidecar.upstream import aside, faults, http, inbox
from switchyard_sidecar.upstream.deadline import within
from switchyard_sidecar.upstream.faults import (
    Disconnected,
    Fault,
    Malformed,
    Refused,
    SessionLost,
    TooLarge,
    Unreachable,
)
from switchyard_sidecar.upstream.peer import members_of
from switchyard_sidecar.upstream.transport import Heard
from switchyard_sidecar.upstream.wire import Wire

MAX_WAITING: Final = 256
"""Messages that wait to be taken by one request. Further notifications are dropped; the answer never is."""

_FOR_CALLERS: Final = frozenset({PROGRESS, LOG_MESSAGE})


class HttpSse:
    """The transport of one session. ``max_event_bytes`` bounds each message of the server."""

    def __init__(self, wire: Wire, max_event_bytes: int) -> None:
        self.version: str | None = None
        self._wire = wire
        self._max_event_bytes = max_event_bytes
        self._cookies = aiohttp.CookieJar(unsafe=True)
        self._endpoint: asyncio.Future[URL] = asyncio.get_running_loop().create_future()
        self._inboxes: dict[bytes, asyncio.Queue[Message | None]] = {}
        self._lost: Fault | None = None
        self._gone = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def another(self) -> Self:
        """A transport of the same kind, for a session of its own."""
        return type(self)(self._wire, self._max_event_bytes)

    @property
    def lost(self) -> bool:
        """Whether the stream has ended."""
        return self._lost is not None

    async def start(self, stray: Heard) -> None:
        """Open the stream and learn the endpoint."""
        self._task = self._wire.errands.keep(self._run(stray), "http+sse stream")
        if self._task is None:
            raise Unreachable(faults.CLOSED)
        async with within(self._wire.pace.endpoint_s + self._wire.endpoint.connect_s):
            await asyncio.shield(self._endpoint)

    async def request(
        self,
        request_id: int,
        body: bytes,
        heard: Heard,
        *,
        max_bytes: int,  # noqa: ARG002 - the stream has one limit for all
        repeatable: bool = False,
        opening: bool = False,  # noqa: ARG002 - the session is the stream
    ) -> tuple[bytes, int]:
        """See :meth:`Transport.request`. What the stream brings for no request in particular goes to all under way."""
        key = b"%d" % request_id
        waiting = self._inboxes[key] = asyncio.Queue()
        try:
            await self._post(body, repeatable=repeatable)
            while (message := await self._next(waiting)) is not None:
                if message.method is not None:
                    await heard(message)
                else:
                    result = inbox.result_of(message)
                    return result, len(result)
            raise self._loss()
        finally:
            del self._inboxes[key]

    async def send(self, body: bytes) -> None:
        """Send a message that needs no answer."""
        await self._post(body)

    async def listen(self, opened: Callable[[], None], heard: Heard) -> float:  # noqa: ARG002 - `stray` hears it
        """The stream is open as long as the session is."""
        if self._lost is None:
            opened()
        await self._gone.wait()
        raise SessionLost

    async def end(self) -> None:
        """Close the stream, which ends the session."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _post(self, body: bytes, *, repeatable: bool = False) -> None:
        if self._lost is not None:
            raise SessionLost
        url = await asyncio.shield(self._endpoint)
        async with self._wire.http.send(
            self._wire.endpoint,
            "POST",
            {"Content-Type": JSON, "Accept": http.ACCEPT},
            body,
            url=url,
            cookies=self._cookies,
            repeatable=repeatable,
        ) as reply:
            if reply.status == 404:
                raise SessionLost
            if not reply.ok:
                raise (await inbox.refusal(reply))[0]

    def _loss(self) -> Fault:
        return Disconnected(faults.CONNECTION_LOST) if self._lost is None else self._lost

    async def _next(self, waiting: asyncio.Queue[Message | None]) -> Message | None:
        if self._lost is not None and waiting.empty():
            return None
        return await waiting.get()

    async def _run(self, stray: Heard) -> None:
        try:
            await self._read(stray)
        except Fault as fault:
            self._lost = fault
        except McpError:
            self._lost = Malformed(faults.NOT_JSON_RPC)
        finally:
            self._lost = self._loss()
            self._gone.set()
            for waiting in self._inboxes.values():
                waiting.put_nowait(None)
            if not self._endpoint.done():
                self._endpoint.set_exception(self._lost)
                self._endpoint.exception()  # seen, even if nobody waits any more

    async def _read(self, stray: Heard) -> None:
        decoder = sse.Decoder(self._max_event_bytes)
        async with self._wire.http.send(
            self._wire.endpoint, "GET", {"Accept": EVENT_STREAM}, cookies=self._cookies, repeatable=True
        ) as reply:
            if not reply.ok:
                raise Refused(reply.status)
            if reply.media_type != EVENT_STREAM:
                raise Malformed(faults.NO_ENDPOINT)
            async for chunk in reply.chunks():
                try:
                    events = decoder.feed(chunk)
                except sse.SseTooLong:
                    raise TooLarge from None
                for event in events:
                    await self._take(event, stray)

    async def _take(self, event: sse.Event, stray: Heard) -> None:
        if event.event == "endpoint":
            if not self._endpoint.done():
                self._endpoint.set_result(_named_endpoint(self._wire.endpoint.url, event.data))
        elif event.event == "message" and event.data:
            for message in await aside.read(inbox.parse, event.data):
                await self._deliver(message, stray)

    async def _deliver(self, message: Message, stray: Heard) -> None:
        if message.method is None:
            waiting = self._inboxes.get(message.id or b"")
            if waiting is not None:
                waiting.put_nowait(message)
        elif message.method in _FOR_CALLERS:
            for waiting in self._callers(message):
                if waiting.qsize() < MAX_WAITING:
                    waiting.put_nowait(message)
        else:
            await stray(message)

    def _callers(self, message: Message) -> list[asyncio.Queue[Message | None]]:
        """The requests a notification may be for: by its progress token, else all."""
        token = members_of(message.params).get(meta.PROGRESS_TOKEN)
        if token is None:
            return list(self._inboxes.values())
        return [waiting for key, waiting in self._inboxes.items() if key == bytes(token)]


def _named_endpoint(stream: URL, data: bytes) -> URL:
    """Where messages are to be sent: on the stream's own origin, whatever the server says."""
    try:
        url = stream.join(URL(data.decode().strip(), encoded=True))
        if url.origin() == stream.origin():
            return url
    except ValueError:
        pass
    raise Malformed(faults.FOREIGN_ENDPOINT)
