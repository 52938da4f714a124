"""HTTP/1.1 towards clients: the narrow interface that the rest of the endpoint sees.

aiohttp's low-level server reads requests; answers are written here, without the library's response machinery: a warm
list is the parse of a small request and one write of prepared bytes, an open stream is a socket and a few counters.
Three defaults of the library are wrong for a JSON-RPC endpoint and are changed: header lines may have 32 KiB, every
refusal has a JSON-RPC body (those of unreadable requests too), and a handler ends when its client leaves.
"""

import asyncio
import heapq
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from email.utils import formatdate
from functools import lru_cache, partial
from http import HTTPStatus
from operator import itemgetter
from typing import Any, Final, Protocol, cast

import structlog
from aiohttp import EMPTY_PAYLOAD, HttpVersion11, StreamReader, web
from aiohttp.http_exceptions import InvalidHeader, InvalidURLError, LineTooLong
from aiohttp.web_protocol import RequestHandler

from switchyard_sidecar.downstream.express import Again, Express, Verdict, read
from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.protocol import errors, jsonrpc, sse
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.names import EVENT_STREAM, JSON

log = structlog.get_logger(__name__)


HEADER_LINE_BYTES: Final = 32 * 1024
"""Longest accepted request line or header line; a longer one is refused with 400."""
COPIED_BYTES: Final = 64 * 1024
"""Up to this size a body is joined with its head, which costs less than several writes; a larger one is never copied."""
FOLLOWED_BYTES: Final = 16 * 1024
"""Up to this size, what came since the last answer is kept, to see where the next request begins."""
LAST_CHUNK: Final = b"0\r\n\r\n"
"""Ends a chunked body."""
HEAD_BYTES: Final = 64 * 1024
"""A request whose head is longer, all lines together, is refused with 431. Nothing else bounds what a head takes in memory:
the library takes 128 lines of the greatest length, and keeps them twice."""
LINGER_S: Final = 2.0
"""How long the rest of a refused body is read before the connection is closed."""

Fields = Iterable[tuple[str, str]]
"""Response headers, in order."""
Body = bytes | tuple[bytes, ...]
"""A whole body: in one piece, or in several that are written one after the other and never copied together."""

_UNQUOTED: Final[Mapping[type, str]] = {
    InvalidHeader: "a header value has characters that none may have",
    InvalidURLError: "the target is no URL",
    LineTooLong: f"a line of the head exceeds {HEADER_LINE_BYTES} bytes",
}
"""Refusals for which the library's own words repeat what was sent: a token may stand there."""

_REASONS: Final = {status.value: status.phrase for status in HTTPStatus}


class Answer(Protocol):
    """What a handler gives back; the server calls these, in this order."""

    @property
    def keep_alive(self) -> bool:
        """Whether the connection may carry a further request."""

    async def prepare(self, request: web.BaseRequest) -> None:
        """Write the head, and all that is ready."""

    async def write_eof(self) -> None:
        """Wait until the peer has taken it."""


Handler = Callable[[web.BaseRequest], Awaitable[Answer]]


class Reply:
    """A whole answer: status line, headers and body, handed to the socket at once."""

    __slots__ = ("_request", "again", "fields", "keep_alive", "parts", "status", "until")

    def __init__(self, status: int, body: Body = (), fields: Fields = ()) -> None:
        self.status = status
        self.parts = (body,) if isinstance(body, bytes) else body
        self.keep_alive = True
        self.fields = tuple(fields)
        self.again: Again | None = None
        """How the same request is answered the next time, where that is known beforehand ..."""
        self.until = math.inf
        """... and until when, in Unix seconds: what its caller presented is worth nothing from then on."""

    async def prepare(self, request: web.BaseRequest) -> None:
        """Write everything."""
        self._request = request
        connection = cast("_Connection", request.protocol)
        self.keep_alive = self.keep_alive and connection.stays(request)
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client left")
        size = sum(map(len, self.parts))
        head = reply_head(self.status, size, self.fields, keep_alive=self.keep_alive)
        parts = (head,) if request.method == "HEAD" else (head, *self.parts)
        if size <= COPIED_BYTES:
            transport.write(b"".join(parts))
        else:
            transport.writelines(parts)
        connection.answered(request, self)

    async def write_eof(self) -> None:
        """Wait until the peer has taken it; one that takes nothing is dropped."""
        await cast("_Connection", self._request.protocol).drained()


class EventStream:
    """An answer that stays open: Server-Sent Events, each written whole, none after the end.

    Opened by :meth:`open`; several tasks may send. A failed or overdue write raises ``ConnectionError``, after which the
    stream is of no more use.
    """

    __slots__ = ("_chunked", "_request", "_transport", "keep_alive")

    def __init__(self, request: web.BaseRequest) -> None:
        if request.transport is None:
            raise ConnectionResetError("the client left")
        self._request = request
        self._transport = request.transport
        self._chunked = request.version >= HttpVersion11
        self.keep_alive = cast("_Connection", request.protocol).stays(request)

    @classmethod
    def open(cls, request: web.BaseRequest, fields: Fields = ()) -> "EventStream":
        """Write the head."""
        stream = cls(request)
        stream._transport.write(event_stream_head(fields, chunked=stream._chunked, keep_alive=stream.keep_alive))
        return stream

    async def send(self, message: bytes) -> None:
        """Send one JSON-RPC message as one event."""
        if self._transport.is_closing():
            raise ConnectionResetError("the client left")
        self._transport.write(framed(sse.encode(message), chunked=self._chunked))
        await cast("_Connection", self._request.protocol).drained()

    def remark(self) -> None:
        """Send a keep-alive, without waiting, unless the peer has not even taken what was sent before."""
        if not self._transport.is_closing() and not self._transport.get_write_buffer_size():
            self._transport.write(framed(sse.COMMENT, chunked=self._chunked))

    def end(self) -> None:
        """Finish the body; the connection may then be used again."""
        if self._chunked and not self._transport.is_closing():
            self._transport.write(LAST_CHUNK)

    async def prepare(self, request: web.BaseRequest) -> None:
        """Nothing is left to write when the handler returns the stream."""

    async def write_eof(self) -> None:
        """See :meth:`prepare`."""


class HandOver:
    """An answer that takes the connection away from the server. ``take`` gets it, and writes the head.

    All that the server keeps for requests ends with that: the task, the parser, the timer of an idle connection.
    """

    __slots__ = ("_take",)

    keep_alive = False

    def __init__(self, take: Callable[[asyncio.Transport], None]) -> None:
        self._take = take

    async def prepare(self, request: web.BaseRequest) -> None:
        """Hand it over."""
        connection = cast("_Connection", request.protocol)
        await connection.drained()  # of answers before; only then is the transport as a new owner expects it
        self._take(connection.release())

    async def write_eof(self) -> None:
        """See :meth:`prepare`."""


def event_stream_head(fields: Fields, *, chunked: bool, keep_alive: bool) -> bytes:
    """The head of an event stream. Proxies are asked not to hold events back (2026-07-28 ``streamable-http``)."""
    framing = [("Transfer-Encoding", "chunked")] if chunked else []
    fields = [
        *fields,
        ("Content-Type", EVENT_STREAM),
        ("Cache-Control", "no-cache, no-transform"),
        ("X-Accel-Buffering", "no"),
        *framing,
    ]
    return _head(200, fields, keep_alive=keep_alive)


def framed(data: bytes, *, chunked: bool) -> bytes:
    """A part of a body whose length is not known: a chunk, or for HTTP/1.0 the bytes as they are."""
    return b"%x\r\n%b\r\n" % (len(data), data) if chunked else data


def joined(body: Body) -> bytes:
    """A body in one piece."""
    return body if isinstance(body, bytes) else b"".join(body)


def rpc_error(error: McpError, request_id: bytes | None, status: int, fields: Fields = ()) -> Reply:
    """The answer that refuses a request."""
    return Reply(status, jsonrpc.error_response(request_id, error), fields)


class Server(web.Server):
    """Makes one protocol object a connection. Close it with ``await shutdown(seconds)``."""

    def __init__(self, handler: Handler, pace: Pace, express: Express) -> None:
        self._pace = pace
        self._express = express
        self.is_stopping = False
        """Whether each answer is the last on its connection. Set it before :meth:`shutdown`, so that what is still asked
        meanwhile is answered, and its client turns elsewhere for the next."""
        super().__init__(
            handler,  # type: ignore[arg-type] # the library asks for its own response class, and uses what Answer has
            handler_cancellation=True,
        )

    @property
    def open_connections(self) -> int:
        """Connections that carry requests; those of change streams have left."""
        return len(self._connections)

    def close_quiet(self, most: int) -> int:
        """Close connections on which nothing is asked, those that are quiet the longest first; return how many."""
        quiet = [(since, each) for each in self._connections if (since := cast("_Connection", each).quiet_since)]
        longest = heapq.nsmallest(most, quiet, key=itemgetter(0))
        for _, each in longest:
            each.force_close()
        return len(longest)

    def __call__(self) -> RequestHandler:
        """Accept a connection."""
        return _Connection(
            self,
            self._express,
            self._pace.write_s,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self._pace.idle_s,
            access_log=None,  # as AppRunner documents it
            max_line_size=HEADER_LINE_BYTES,
            max_field_size=HEADER_LINE_BYTES,
            lingering_time=LINGER_S,
            auto_decompress=False,
        )


class _Connection(RequestHandler):
    """Answers unreadable requests and our own faults in JSON, without a traceback to the peer; drops who reads nothing.

    The library's own wait for a peer to read has no limit, nor can it be shared by two tasks. Here any byte that the kernel
    does not take at once begins a wait, which is not up to a task: nobody waits for what the express way writes, nor for
    the rest of the last answer on a connection.

    Also answers at once what is known (:mod:`switchyard_sidecar.downstream.express`), without a word to the library, whose
    parser then stands where it stood: before a request. That this is where the stream is, is known as long as each
    answer came when exactly one whole request had come since the one before. A connection on which a client did anything
    else (requests on top of each other, chunked bodies, an event stream, very large ones) goes the ordinary way for good.
    """

    # Of the library's own state this class uses, beside its constructor and callbacks:
    # _close, _force_close               whether it hears nothing more, since the server stops or the connection ends
    # _next_keepalive_close_time         when an idle connection is closed, to be put off by each answer
    # _waiter, _messages                 whether it waits for a request, and has none; the body of the last one read
    # _request_count                     how many requests were read
    __slots__ = (
        "_body",
        "_edition",
        "_express",
        "_head_bytes",
        "_overdue",
        "_read",
        "_server",
        "_unanswered",
        "_writable",
        "_write_s",
    )

    def __init__(self, server: Server, express: Express, write_s: float, **how: Any) -> None:
        super().__init__(server, **how)
        self._server = server
        self._express = express
        self._edition = 0
        self._body: StreamReader = EMPTY_PAYLOAD
        """Of the last request that was read."""
        self._read = (0, 0)
        """How many requests were read so far, and how much of the last one's body."""
        self._head_bytes = 0
        """What has come since, which is part of a head, or of what may follow a chunked body."""
        self._unanswered: bytes | None = b""
        """What came since the last answer; ``None`` once it is not known where the next request begins."""
        self._write_s = write_s
        self._writable = asyncio.Event()
        self._writable.set()
        self._overdue: asyncio.TimerHandle | None = None

    @property
    def quiet_since(self) -> float | None:
        """Since when nothing was asked, in seconds of the loop's clock; ``None`` while something is, or it is closing.

        Nor is it quiet while its client has not taken the last answer: to close it then would take time.
        """
        if self._waiter is None or self._messages or self._close or self._force_close or not self._writable.is_set():
            return None
        return self._next_keepalive_close_time - self.keepalive_timeout

    def stays(self, request: web.BaseRequest) -> bool:
        """Whether a further request may come after this one."""
        return request.keep_alive and request.version >= HttpVersion11 and not self._server.is_stopping

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # So that it is known of every byte whether it was taken. Of 0, asyncio's TLS makes an endless pause.
        cast("asyncio.Transport", transport).set_write_buffer_limits(high=1)

    def data_received(self, data: bytes) -> None:
        if data and self._unanswered is not None:  # the library calls this with nothing, to read on what it held back
            if not self._unanswered:
                if self._answered_at_once(data):
                    return
                self._edition = self._express.edition
            self._unanswered += data
            if len(self._unanswered) > FOLLOWED_BYTES:
                self._unanswered = None
        super().data_received(data)
        self._follow_head(len(data))

    def _follow_head(self, size: int) -> None:
        """See to it that no head grows without end: so many more bytes have come."""
        if self._request_count != self._read[0] and self._messages:
            self._body = self._messages[-1][1]
        read = (self._request_count, self._body.total_bytes)
        if self._body.is_eof():
            self._body = EMPTY_PAYLOAD  # an idle connection need not keep the other
        if read != self._read:
            self._read, self._head_bytes = read, 0
            return
        self._head_bytes += size
        if self._head_bytes <= HEAD_BYTES or self._close or self._force_close:
            return
        if self._waiter is None or self.transport is None:  # a request is under way: its answer is the last
            self.close()
            return
        error = McpError(errors.INVALID_REQUEST, f"Bad request: the head exceeds {HEAD_BYTES} bytes")
        body = jsonrpc.error_response(None, error)
        self.transport.write(reply_head(431, len(body), (), keep_alive=False) + body)
        self.force_close()

    def _answered_at_once(self, data: bytes) -> bool:
        """Answer what came, if it is a whole request that is known; no other is under way."""
        transport = self.transport
        if transport is None or self._close or self._force_close or self._server.is_stopping:
            return False
        if not self._writable.is_set():
            return False  # of a client that asks for more than it reads, no more is read: that takes a task
        if (asked := read(data)) is None or (answer := self._express.answer(self.sockname, asked, time.time())) is None:
            return False
        head = reply_head(200, sum(map(len, answer.body)), answer.fields, keep_alive=True)
        transport.write(b"".join((head, *answer.body)))
        self._next_keepalive_close_time = asyncio.get_running_loop().time() + self.keepalive_timeout
        return True

    def answered(self, request: web.BaseRequest, reply: Reply) -> None:
        """Take note of a reply that was just written: where the stream stands now, and whether it can be repeated."""
        received, self._unanswered = self._unanswered, None
        if received is None or not reply.keep_alive or not _is_exactly(received, request):
            return
        self._unanswered = b""
        if reply.again is not None:
            verdict = Verdict(reply.fields, reply.again, reply.until)
            self._express.learn(self._edition, self.sockname, received, verdict)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writable.clear()
        if (transport := self.transport) is not None:
            self._wait_for_peer(transport)

    def _wait_for_peer(self, transport: asyncio.Transport) -> None:
        again = partial(self._wait_for_peer, transport)  # the library forgets a transport that it closes
        self._overdue = drop_when_overdue(transport, self._write_s, again)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._caught_up()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._caught_up()

    def _caught_up(self) -> None:
        self._writable.set()
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def release(self) -> asyncio.Transport:
        """Give the transport to another protocol. For the library the client is gone: it ends all that it keeps for it.

        Raises:
            ConnectionResetError: the client is gone indeed.
        """
        transport, self.transport = self.transport, None  # so that the library does not close it
        if transport is None:
            raise ConnectionResetError("the client left")
        self.connection_lost(None)
        if not transport.is_reading():  # the library stops it when much is asked on top
            transport.resume_reading()
        return transport

    async def drained(self) -> None:
        """Wait until the peer has taken what was written to it, however slowly.

        Raises:
            ConnectionResetError: it has left, or has taken nothing for as long as it may and was dropped.
        """
        await self._writable.wait()
        if self.transport is None:
            raise ConnectionResetError("the client left")

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        self.keep_alive(False)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            if not isinstance(
                exc, ConnectionError
            ):  # that one is a client which left: nothing failed, nobody reads this
                log.error("request_failed", path=request.path, exc_info=exc)
            error = McpError(errors.INTERNAL_ERROR, "Internal error: the gateway failed on this request")
        else:
            # Of the library's words the first line says what is wrong; the others show where, in what was sent.
            detail = _UNQUOTED.get(type(exc)) or (message or "malformed HTTP").splitlines()[0].rstrip(":")
            error = McpError(errors.INVALID_REQUEST, f"Bad request: {detail}")
        reply = rpc_error(error, None, status)
        reply.keep_alive = False
        return reply  # type: ignore[return-value] # as in Server


def drop_when_overdue(
    transport: asyncio.Transport, limit_s: float, otherwise: Callable[[], None]
) -> asyncio.TimerHandle:
    """Drop a peer that takes nothing, within this time, of what waits to be taken; if it takes some of it, do otherwise."""
    before = transport.get_write_buffer_size()

    def look() -> None:
        if transport.get_write_buffer_size() >= before:
            transport.abort()
        else:
            otherwise()

    return asyncio.get_running_loop().call_later(limit_s, look)


def _is_exactly(received: bytes, request: web.BaseRequest) -> bool:
    """Whether these bytes are this request, to its end and not beyond. A chunked one is not worth finding out."""
    _, _, body = received.partition(b"\r\n\r\n")
    return request.content.is_eof() and request.headers.get("Content-Length", "0") == str(len(body))


def reply_head(status: int, size: int, fields: Fields, *, keep_alive: bool) -> bytes:
    """The head of a reply with a body of this size."""
    if size:
        fields = (*fields, ("Content-Type", JSON))
    if status != HTTPStatus.NO_CONTENT:  # which must not say a length (RFC 9110, section 8.6)
        fields = (*fields, ("Content-Length", str(size)))
    return _head(status, fields, keep_alive=keep_alive)


def _head(status: int, fields: Fields, *, keep_alive: bool) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, '')}", *(f"{name}: {value}" for name, value in fields)]
    lines.append(f"Date: {_date(int(time.time()))}")
    if not keep_alive:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
