"""An ordinary backend on the transport of 2024-11-05: one stream for all answers, and a second address to post to."""

from fakes import hostile
from fakes.hostile import Exchange, Fields, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.ordinary import Stream, Tool


class HttpSseBackend(LegacyBackend):
    """GET opens a channel and names its address; POST to that is 202, and answered on the channel."""

    def __init__(self, *definitions: Tool) -> None:
        super().__init__(*definitions, version="2024-11-05")
        self.with_sessions = False
        self._channels: dict[str, Stream] = {}

    def _reply(self, request: Request) -> Reply:
        if request.method == "GET":
            return self._channel
        if request.path == "/mcp":
            return hostile.body(b"", status=405, content_type=None)
        if (channel := self._channels.get(request.path)) is None or channel not in self.streams:
            return hostile.body(b"", status=404, content_type=None)
        answer = super()._reply(request)

        async def play(exchange: Exchange) -> None:
            await exchange.respond(202, b"Accepted")
            await answer(_OnChannel(request, channel))

        return play

    async def _channel(self, exchange: Exchange) -> None:
        path = f"/messages?channel={len(self._channels) + 1}"
        self._channels[path] = channel = Stream(exchange)
        await hostile.open_stream(exchange)
        await exchange.chunk(f"event: endpoint\ndata: {path}\n\n".encode())
        await self._hold(channel)


class _OnChannel(Exchange):
    """Lets a reply write its messages onto a channel instead of into an answer."""

    def __init__(self, request: Request, channel: Stream) -> None:
        super().__init__(request, channel.exchange._reader, channel.exchange._writer)
        self._stream = channel

    async def head(self, status: int, fields: Fields) -> None:
        """A channel has one head, written long ago."""

    async def respond(self, status: int, body: bytes, fields: Fields = ()) -> None:  # noqa: ARG002 - a channel has neither
        """Send a message where there is one."""
        if body:
            await self._stream.send(body)

    async def chunk(self, data: bytes) -> None:
        """Send an event; the end of an answer is not the end of the channel."""
        if data:
            await super().chunk(data)
