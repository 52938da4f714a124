"""A backend that does exactly what it is told, byte for byte: a scripted HTTP server on bare sockets.

A *reply* is an async function that is given the exchange and writes what it likes. The server reads each request whole,
records it, asks its ``answer`` function for a reply and lets it play. Nothing is checked and nothing is polite unless a
reply makes it so.
"""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, Self

from fakes.waiting import PATIENCE_S, Pulse

Fields = Iterable[tuple[str, str]]

_HEAD_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    """In order, spelled as sent."""
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name, whatever its case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @cached_property
    def message(self) -> Any:
        """The body as JSON; ``{}`` without one."""
        return json.loads(self.body) if self.body else {}

    @cached_property
    def kind(self) -> str:
        """The JSON-RPC method where there is one, else the HTTP method."""
        return str(self.message.get("method", self.method)) if isinstance(self.message, dict) else self.method

    @property
    def params(self) -> dict[str, Any]:
        """The JSON-RPC params."""
        return dict(self.message.get("params") or {})


class Exchange:
    """A request and the connection to answer it on."""

    def __init__(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self.segment: int | None = None
        """Bytes that are written at a time; ``None``: all at once."""
        self.pause_s = 0.0
        """How long to wait after each segment."""
        self.reusable = False
        """Whether the answer was framed and ended, so that another request may follow."""
        self._reader = reader
        self._writer = writer

    async def write(self, data: bytes) -> None:
        """Write these bytes; ``ConnectionError`` when the client has left."""
        size = self.segment or len(data) or 1
        for start in range(0, len(data), size):
            self._writer.write(data[start : start + size])
            await self._writer.drain()
            await asyncio.sleep(self.pause_s)

    async def head(self, status: int, fields: Fields) -> None:
        """Write the status line and headers."""
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in fields)]
        await self.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())

    async def respond(self, status: int, body: bytes, fields: Fields = ()) -> None:
        """Write a whole answer of known length."""
        await self.head(status, (*fields, ("Content-Length", str(len(body)))))
        await self.write(body)
        self.reusable = True

    async def chunk(self, data: bytes) -> None:
        """Write one chunk of a chunked body; the empty one ends it."""
        await self.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.reusable = not data

    async def left(self) -> None:
        """Wait until the client closes its side."""
        with contextlib.suppress(ConnectionError):
            while await self._reader.read(65536):
                pass

    def reset(self) -> None:
        """Cut the connection with a RST."""
        connection: socket.socket = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Reply = Callable[[Exchange], Awaitable[None]]


class HostileBackend:
    """The server. ``answer`` decides how each request is replied to; use as an async context manager."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        """All that came in, oldest first."""
        self._arrivals = Pulse()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """Where it listens, or has listened."""
        return f"http://127.0.0.1:{self._port}/mcp"

    def in_place_of(self, other: "HostileBackend") -> Self:
        """Listen where another backend has listened."""
        self._port = other._port
        return self

    async def start(self) -> None:
        """Listen on a free port; after :meth:`stop`, on the same port again."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=_HEAD_BYTES)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Refuse connections and drop those there are, as a process that dies."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def of(self, kind: str) -> list[Request]:
        """The requests of one kind so far."""
        return [request for request in self.requests if request.kind == kind]

    async def received(self, kind: str, count: int = 1, within_s: float = PATIENCE_S) -> list[Request]:
        """Wait until at least ``count`` requests of a kind have come in since the beginning; return them all."""
        await self._arrivals.until(lambda: len(self.of(kind)) >= count, within_s)
        return self.of(kind)

    @property
    def connections(self) -> int:
        """Connections that are open."""
        return len(self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                self._arrivals.beat()
                exchange = Exchange(request, reader, writer)
                await self.answer(request)(exchange)
                if not exchange.reusable:
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._connections.discard(task)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        start, *lines = head.decode("latin-1").split("\r\n")[:-2]
        fields = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        named = {name.lower(): value for name, value in fields}
        if named.get("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in _chunks(reader)])
        else:
            body = await reader.readexactly(int(named.get("content-length", "0")))
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = start.split(" ")
    return Request(method, path, tuple(fields), body)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)


def in_order(*replies: Reply) -> Callable[[Request], Reply]:
    """An ``answer`` that plays one reply after the other, and the last one for ever."""
    rest = list(replies)
    return lambda _: rest.pop(0) if len(rest) > 1 else rest[0]


def raw(data: bytes) -> Reply:
    """Exactly these bytes, then the end of the connection."""

    async def play(exchange: Exchange) -> None:
        await exchange.write(data)

    return play


def body(
    data: bytes, *, status: int = 200, content_type: str | None = "application/json", fields: Fields = ()
) -> Reply:
    """An answer with this body, framed as it should be."""
    typed = [*fields] if content_type is None else [("Content-Type", content_type), *fields]

    async def play(exchange: Exchange) -> None:
        await exchange.respond(status, data, typed)

    return play


def result(value: Any, *, fields: Fields = ()) -> Reply:
    """A JSON-RPC result for the request's own id. ``bytes`` are spliced in as they are."""

    async def play(exchange: Exchange) -> None:
        await body(response_to(exchange.request, value), fields=fields)(exchange)

    return play


def error(code: int, message: str = "no", data: Any = None, *, status: int = 200) -> Reply:
    """A JSON-RPC error for the request's own id."""
    fault = {"code": code, "message": message} | ({} if data is None else {"data": data})

    async def play(exchange: Exchange) -> None:
        text = {"jsonrpc": "2.0", "id": exchange.request.message.get("id"), "error": fault}
        await body(json.dumps(text).encode(), status=status)(exchange)

    return play


def response_to(request: Request, value: Any) -> bytes:
    """A JSON-RPC response to this request, as bytes."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(request.message["id"]).encode(), text)


def sse(*messages: Any, newline: bytes = b"\n", result_value: Any = None, fields: Fields = ()) -> Reply:
    """An event stream of these messages (``bytes`` as they are), then of the result if there is one; then its end."""

    async def play(exchange: Exchange) -> None:
        await open_stream(exchange, fields)
        for message in messages:
            await exchange.chunk(event(message, newline))
        if result_value is not None:
            await exchange.chunk(event(response_to(exchange.request, result_value), newline))
        await exchange.chunk(b"")

    return play


async def open_stream(exchange: Exchange, fields: Fields = ()) -> None:
    """Begin an event stream."""
    await exchange.head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked"), *fields])


def event(message: Any, newline: bytes = b"\n") -> bytes:
    """One event of a stream."""
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"event: message" + newline + b"data: " + text + newline * 2


def hang() -> Reply:
    """No answer, ever."""

    async def play(exchange: Exchange) -> None:
        await exchange.left()

    return play


def reset() -> Reply:
    """A RST instead of an answer."""

    async def play(exchange: Exchange) -> None:
        exchange.reset()

    return play


def after(gate: asyncio.Event, reply: Reply) -> Reply:
    """A reply held back until the gate opens."""

    async def play(exchange: Exchange) -> None:
        await gate.wait()
        await reply(exchange)

    return play


def drip(reply: Reply, size: int = 1, pause_s: float = 0.0) -> Reply:
    """A reply sent in segments of this many bytes, with a pause after each."""

    async def play(exchange: Exchange) -> None:
        exchange.segment, exchange.pause_s = size, pause_s
        await reply(exchange)

    return play
