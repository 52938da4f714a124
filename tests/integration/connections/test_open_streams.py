"""Change streams as connections: how they are framed, what they cost, how they end, and clients that do odd things with them."""

import asyncio
import contextlib
import gc
import json
import re
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from fakes.board import Board
from fakes.clients import META, OpenStream
from fakes.gateway import Gateway, gateway
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.waiting import PATIENCE_S, eventually
from integration.upstream import certificates
from switchyard_sidecar.access.caller import ANONYMOUS
from switchyard_sidecar.config.load import revision
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.downstream import streams
from switchyard_sidecar.downstream.detached import DetachedStream
from switchyard_sidecar.downstream.express import Express
from switchyard_sidecar.downstream.http import LAST_CHUNK, Answer, Server, _Connection
from switchyard_sidecar.downstream.hub import Hub
from switchyard_sidecar.downstream.service import unix_now
from switchyard_sidecar.downstream.sessions import LIFETIME_S, SKEW_S, Sessions
from switchyard_sidecar.downstream.streams import Filter
from switchyard_sidecar.protocol import sse
from switchyard_sidecar.serving import Pace

CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
LARGE = "x" * 3_900_000
"""A request id that every message repeats: with one of this size the buffers between the two ends are soon full."""
ANY_ID = downstream_pace.Pace(subscription_id_bytes=len(LARGE) + 2)


class Raw:
    """A connection of which every byte counts."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.head = b""

    async def opened(self) -> None:
        """Read the head of the answer."""
        async with asyncio.timeout(PATIENCE_S):
            self.head = await self.reader.readuntil(b"\r\n\r\n")

    async def event(self, *, chunked: bool = True) -> bytes:
        """Read one event, or comment, that came in one chunk."""
        async with asyncio.timeout(PATIENCE_S):
            if not chunked:
                return await self.reader.readuntil(b"\n\n")
            size = int(await self.reader.readline(), 16)
            return (await self.reader.readexactly(size + 2)).removesuffix(b"\r\n")

    async def message(self) -> Any:
        """Read one message."""
        (event,) = sse.Decoder(10_000_000).feed(await self.event())
        return json.loads(event.data)

    async def rest(self) -> bytes:
        """Read all that is left."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()


def listening(gw: Gateway, *, version: str = "HTTP/1.1", id: Any = "mine") -> bytes:  # noqa: A002
    """A request for a change stream, as bytes."""
    body, headers = gw.modern.frame("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=id)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp {version}\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def getting(gw: Gateway, *, version: str = "HTTP/1.1") -> bytes:
    """The same of a legacy client."""
    lines = f"Accept: text/event-stream\r\nMcp-Session-Id: {gw.legacy.session}\r\n"
    return f"GET /mcp {version}\r\nHost: localhost\r\n{lines}\r\n".encode()


@asynccontextmanager
async def connected(gw: Gateway, request: bytes, *, buffer_bytes: int | None = None) -> AsyncIterator[Raw]:
    """Send this on a connection of its own; leave by closing it. ``buffer_bytes``: what a client holds that reads little."""
    url = URL(gw.url)
    with socket.socket() as sock:
        if buffer_bytes is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (url.host, url.port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=1024 if buffer_bytes else 2**16)
        try:
            writer.write(request)
            yield Raw(reader, writer)
        finally:
            writer.transport.abort()


@asynccontextmanager
async def one_tool(
    directory: Path, *, pace: downstream_pace.Pace | None = None, **keys: Any
) -> AsyncIterator[tuple[Gateway, ModernBackend]]:
    """A gateway whose backend is listened to, and a legacy session."""
    sidecar = Pace(clients=pace or downstream_pace.Pace(), withdrawn_after_s=0.2)
    async with ModernBackend(tool("a")) as backend, gateway(directory, {"a": backend}, pace=sidecar, **keys) as gw:
        await gw.modern.list()
        await gw.legacy.initialize()
        await backend.listened(1)
        yield gw, backend


async def subscribers(gw: Gateway, count: int) -> bool:
    """Whether so many streams are open at the gateway."""
    return bool((await gw.status())["subscribers"]["open"] == count)


async def change(backend: ModernBackend, name: str) -> None:
    """Add a tool, and say so."""
    backend.tools.append(tool(name))
    await backend.notify()


async def told(stream: OpenStream, times: int) -> None:
    """Wait until the stream has said so, at least so many times."""
    await stream._pulse.until(lambda: changes(stream) >= times)


def changes(stream: OpenStream) -> int:
    """How often the stream has said that the list changed."""
    return [message.get("method") for message in stream.messages].count(CHANGED)


def result_of(id_: Any) -> dict[str, Any]:
    """What ends a subscription in order."""
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "result": {"resultType": "complete", "_meta": {META + "subscriptionId": id_}},
    }


async def test_every_byte_of_a_stream_is_as_http_1_1_wants_it(tmp_path: Path) -> None:
    """One head that announces the end of the connection, each event one chunk, the last chunk, and then the end."""
    async with one_tool(tmp_path) as (gw, backend), connected(gw, listening(gw)) as stream:
        await stream.opened()
        status, *fields = re.sub(rb"Date: [^\r]+", b"Date: now", stream.head).decode().strip().split("\r\n")
        assert status == "HTTP/1.1 200 OK"
        assert sorted(fields) == [
            "Cache-Control: no-cache, no-transform",
            "Connection: close",
            "Content-Type: text/event-stream",
            "Date: now",
            "Transfer-Encoding: chunked",
            "X-Accel-Buffering: no",
        ]
        assert (await stream.message())["method"] == ACKNOWLEDGED
        await change(backend, "b")
        assert (await stream.message())["method"] == CHANGED
        gw.running.cancel()
        assert await stream.message() == result_of("mine")
        assert await stream.rest() == LAST_CHUNK


async def test_get_stream_shows_at_once_that_it_is_open(tmp_path: Path) -> None:
    """Its first byte is a comment, for the list may not change for hours; its last is the last chunk."""
    async with one_tool(tmp_path) as (gw, backend), connected(gw, getting(gw)) as stream:
        await stream.opened()
        assert await stream.event() == sse.COMMENT
        await change(backend, "b")
        assert await stream.message() == {"jsonrpc": "2.0", "method": CHANGED}
        gw.running.cancel()
        assert await stream.rest() == LAST_CHUNK


async def test_http_1_0_has_no_chunks(tmp_path: Path) -> None:
    """The body is what comes until the connection ends, in both eras."""
    async with (
        one_tool(tmp_path) as (gw, backend),
        connected(gw, listening(gw, version="HTTP/1.0")) as modern,
        connected(gw, getting(gw, version="HTTP/1.0")) as legacy,
    ):
        for stream in (modern, legacy):
            await stream.opened()
            assert b"Transfer-Encoding" not in stream.head
            assert b"Connection: close" in stream.head
        assert ACKNOWLEDGED.encode() in await modern.event(chunked=False)
        assert await legacy.event(chunked=False) == sse.COMMENT
        await change(backend, "b")
        for stream in (modern, legacy):
            assert CHANGED.encode() in await stream.event(chunked=False)
        gw.running.cancel()
        (last,) = sse.Decoder(10_000).feed(await modern.rest())
        assert json.loads(last.data) == result_of("mine")
        assert await legacy.rest() == b""


@pytest.mark.parametrize("when", ["with it", "later"])
async def test_what_is_asked_on_top_of_a_stream_is_not_answered(tmp_path: Path, when: str) -> None:
    """The head said that the connection ends with the stream; what comes all the same disturbs nobody."""
    async with one_tool(tmp_path) as (gw, backend):
        ask = listening(gw)
        async with connected(gw, ask * 3 if when == "with it" else ask) as stream:
            await stream.opened()
            assert (await stream.message())["method"] == ACKNOWLEDGED
            if when == "later":
                stream.writer.write(ask + b"\x00 no HTTP at all\r\n\r\n")
            await change(backend, "b")
            assert (await stream.message())["method"] == CHANGED
            await eventually(lambda: subscribers(gw, 1))
            gw.running.cancel()
            assert await stream.message() == result_of("mine")
            assert await stream.rest() == LAST_CHUNK


async def test_client_that_talks_without_end_costs_no_memory(tmp_path: Path) -> None:
    """What it sends is read, so that its departure is noticed, and dropped."""
    resident = Path("/proc/self/statm")
    async with one_tool(tmp_path) as (gw, backend), connected(gw, listening(gw)) as stream:
        await stream.opened()
        await stream.message()
        before = int(resident.read_text().split()[1])
        for _ in range(256):
            stream.writer.write(b"x" * 2**20)
            async with asyncio.timeout(PATIENCE_S):
                await stream.writer.drain()
        assert (int(resident.read_text().split()[1]) - before) * 4096 < 64 * 2**20
        await change(backend, "b")
        assert (await stream.message())["method"] == CHANGED
        stream.writer.close()
        await eventually(lambda: subscribers(gw, 0))


@pytest.mark.parametrize("how", ["closed", "reset", "half closed"])
async def test_client_that_leaves_frees_its_place_at_once(tmp_path: Path, how: str) -> None:
    """However it goes, without waiting for anything to be written; the next one gets the place."""
    async with one_tool(tmp_path, pace=downstream_pace.Pace(streams=1)) as (gw, _):
        for ask in (listening(gw), getting(gw), listening(gw)):
            async with connected(gw, ask) as stream:
                await stream.opened()
                assert stream.head.startswith(b"HTTP/1.1 200 ")
                match how:
                    case "closed":
                        stream.writer.close()
                    case "reset":
                        stream.writer.transport.abort()
                    case _:
                        stream.writer.write_eof()
                await eventually(lambda: subscribers(gw, 0))


async def test_open_stream_costs_no_task(tmp_path: Path) -> None:
    """Nothing that served the request is left once the stream is open."""
    async with one_tool(tmp_path) as (gw, backend):
        await eventually(lambda: subscribers(gw, 0))  # asks on a connection that stays open, and has a task
        before = len(asyncio.all_tasks())
        async with connected(gw, listening(gw)) as first, connected(gw, getting(gw)) as second:
            for stream in (first, second):
                await stream.opened()
                await stream.event()
            await eventually(lambda: subscribers(gw, 2))
            assert len(asyncio.all_tasks()) <= before
            await change(backend, "b")
            for stream in (first, second):
                assert (await stream.message())["method"] == CHANGED


async def test_streams_that_came_and_went_leave_nothing(tmp_path: Path) -> None:
    """After two hundred of both eras, ended by either side: no subscriber, task, file or connection object."""
    async with one_tool(tmp_path) as (gw, _):

        async def cycle(number: int) -> None:
            async with connected(gw, listening(gw) if number % 2 else getting(gw)) as stream:
                await stream.opened()
                if number % 4 == 0:
                    stream.writer.close()
                    await stream.rest()

        await cycle(0)
        await eventually(lambda: subscribers(gw, 0))
        gc.collect()
        tasks, files = len(asyncio.all_tasks()), len(list(Path("/proc/self/fd").iterdir()))
        for number in range(200):
            await cycle(number)
        await eventually(lambda: subscribers(gw, 0))
        gc.collect()
        assert len(asyncio.all_tasks()) <= tasks
        assert len(list(Path("/proc/self/fd").iterdir())) <= files
        left = [type(each) for each in gc.get_objects() if isinstance(each, DetachedStream | _Connection)]
        assert left.count(DetachedStream) == 0
        assert left.count(_Connection) <= 2  # the clients' own


async def test_departure_is_noticed_whatever_was_asked_on_top(tmp_path: Path) -> None:
    """So many requests that the server stopped to read: the stream reads on, and drops them."""
    async with one_tool(tmp_path) as (gw, _):
        async with connected(gw, listening(gw) * 500) as stream:
            await stream.opened()
            assert (await stream.message())["method"] == ACKNOWLEDGED
            await eventually(lambda: subscribers(gw, 1))
        await eventually(lambda: subscribers(gw, 0))


async def test_slow_peer_is_told_once_of_all_it_missed(tmp_path: Path) -> None:
    """While it reads nothing there is no queue; when it reads again it gets one notification, and each later one."""
    async with (
        one_tool(tmp_path, pace=ANY_ID) as (gw, backend),
        connected(gw, listening(gw, id=LARGE), buffer_bytes=4096) as slow,
        gw.modern.listen() as other,
    ):
        await eventually(lambda: subscribers(gw, 2))
        for number in range(1, 11):
            await change(backend, f"b{number}")
            await told(other, number)
        taken = (await gw.status())["subscribers"]["toldTotal"] - 10
        assert taken < 8
        await slow.opened()
        assert (await slow.message())["method"] == ACKNOWLEDGED
        for _ in range(taken + 1):
            assert (await slow.message())["method"] == CHANGED
        await change(backend, "last")
        assert (await slow.message())["method"] == CHANGED
        assert (await gw.status())["subscribers"]["toldTotal"] == 10 + 1 + taken + 2


@pytest.mark.parametrize("ending", [False, True], ids=["in the middle", "at its end"])
async def test_peer_that_reads_nothing_is_dropped(tmp_path: Path, ending: bool) -> None:
    """After ``write_s``, also when the stream is only waiting to end, and others notice nothing of it."""
    async with (
        one_tool(tmp_path, pace=replace(ANY_ID, write_s=0.3)) as (gw, backend),
        connected(gw, listening(gw, id=LARGE), buffer_bytes=4096),
    ):
        await eventually(lambda: subscribers(gw, 1))
        if ending:
            await gw.configure({"a": backend}, protocols=["Legacy"])
        else:
            async with gw.modern.listen() as other:
                await change(backend, "b")
                await told(other, 1)
        await eventually(lambda: subscribers(gw, 0))


async def test_subscription_with_an_id_too_long_to_keep_is_refused(tmp_path: Path) -> None:
    """Every open stream keeps its own: ids of megabytes would soon fill the memory, and no budget of bodies counts them."""
    async with one_tool(tmp_path) as (gw, _):
        refused = await gw.modern.request("subscriptions/listen", {"notifications": {}}, id="x" * 1023)
        assert (refused.status, refused.error["code"]) == (400, -32600)
        async with gw.modern.listen(id="x" * 1022) as stream:
            await stream.has(1)


async def test_client_that_reads_no_answers_is_dropped(tmp_path: Path) -> None:
    """After ``write_s``, also when it asks for no more and what waits for it is little: nothing else would ever end it."""
    hasty = Pace(clients=downstream_pace.Pace(write_s=0.3))
    async with (
        ModernBackend(*(tool(f"t{number}") for number in range(500))) as backend,
        gateway(tmp_path, {"a": backend}, pace=hasty) as gw,
    ):
        await gw.modern.list()
        body, headers = gw.modern.frame("tools/list", {}, id=1)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        asking = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body
        async with connected(gw, asking, buffer_bytes=4096) as silent:
            asked = 2
            while not await untaken(gw, asked):
                silent.writer.write(asking)
                asked += 1
            await eventually(lambda: connections(gw, 1))


async def untaken(gw: Gateway, lists: int) -> int:
    """Bytes that wait for clients to take them, once so many lists were answered."""
    sample = f'switchyard_requests_total{{code="0",era="modern",method="tools/list"}} {lists}.0'

    async def are_answered() -> bool:
        return sample in await gw.metrics()

    await eventually(are_answered)
    transports = [each.transport for each in gc.get_objects() if isinstance(each, _Connection)]
    return sum(each.get_write_buffer_size() for each in transports if each is not None)


async def connections(gw: Gateway, count: int) -> bool:
    """Whether so many connections are open."""
    return bool((await gw.status())["clients"]["connections"] == count)


async def test_shutdown_waits_for_no_peer_for_ever(tmp_path: Path) -> None:
    """One that reads nothing is cut off when the drain is over."""
    hasty = replace(ANY_ID, drain_s=0.2, close_s=0.1)
    async with (
        one_tool(tmp_path, pace=hasty) as (gw, _),
        connected(gw, listening(gw, id=LARGE), buffer_bytes=4096) as stuck,
    ):
        await eventually(lambda: subscribers(gw, 1))
        gw.running.cancel()
        await asyncio.wait({gw.running}, timeout=PATIENCE_S)
        assert gw.running.done()
        assert not (await stuck.rest()).endswith(LAST_CHUNK)


async def test_streams_outlive_what_ends_idle_connections(tmp_path: Path) -> None:
    """A stream is not an idle connection, however silent; comments come although its request is long over."""
    async with (
        one_tool(tmp_path, pace=downstream_pace.Pace(idle_s=0.05, keep_alive_s=0.1)) as (gw, _),
        gw.modern.listen() as modern,
        gw.legacy.listen() as legacy,
    ):
        await modern.has_comments(5)
        await legacy.has_comments(5)
        assert not modern.ended
        assert not legacy.ended


@pytest.mark.parametrize("kept", ["Modern", "Legacy"])
async def test_streams_of_an_era_that_is_no_longer_served_end(tmp_path: Path, kept: str) -> None:
    """In order, and the other era's go on: nobody waits for what will never come."""
    async with (
        one_tool(tmp_path) as (gw, backend),
        gw.modern.listen(id="mine") as modern,
        gw.legacy.listen() as legacy,
    ):
        await eventually(lambda: subscribers(gw, 2))
        await gw.configure({"a": backend}, protocols=[kept])
        ended, still_open = (legacy, modern) if kept == "Modern" else (modern, legacy)
        assert (await ended.end())[1:] == ([result_of("mine")] if ended is modern else [])
        await change(backend, "b")
        await told(still_open, 1)
        assert not still_open.ended


async def test_withdrawn_config_ends_sessions_and_their_streams(tmp_path: Path) -> None:
    """Whoever has no session is told that the list is empty; whoever has one begins anew."""
    async with one_tool(tmp_path) as (gw, _):
        without = gw.another_legacy()
        async with gw.legacy.listen() as bound, without.listen() as free, gw.modern.listen() as modern:
            await eventually(lambda: subscribers(gw, 3))
            (tmp_path / "gateway.json").unlink()
            assert await bound.end() == []
            await told(modern, 1)
            await told(free, 1)
            assert (await gw.legacy.list()).status == 404
            assert (modern.ended, free.ended) == (False, False)


async def test_get_stream_ends_with_its_session(tmp_path: Path) -> None:
    """DELETE ends it, in order."""
    async with one_tool(tmp_path) as (gw, _), connected(gw, getting(gw)) as stream:
        await stream.opened()
        assert await stream.event() == sse.COMMENT
        assert (await gw.legacy.delete()).status == 204
        assert await stream.rest() == LAST_CHUNK


async def test_get_stream_ends_when_its_session_expires(tmp_path: Path) -> None:
    """A session that nobody knows any more has no stream either: its client begins anew."""
    (tmp_path / "cred_key").write_bytes(b"key")
    (tmp_path / "cred_session").write_bytes(b"the key")
    session_key = {"file": "cred_session", "revision": revision(b"key", b"the key")}
    brisk = downstream_pace.Pace(keep_alive_s=0.1)
    async with one_tool(tmp_path, pace=brisk, sessionKey=session_key) as (gw, _):
        began_at = unix_now() - (LIFETIME_S - SKEW_S) + 2
        old = gw.another_legacy()
        old.session = Sessions((b"the key",)).create(
            "2025-11-25", principal=ANONYMOUS.principal, identity=b"i" * 16, now=began_at
        )
        async with old.listen() as ending, gw.legacy.listen() as other:
            await ending.has_comments(1)
            assert await ending.end() == []
            assert (await old.list()).status == 404
            assert not other.ended


async def test_stream_over_tls_is_like_any_other(tmp_path: Path) -> None:
    """Its transport behaves otherwise in what a stream relies on; a large one shows whether it knows that a peer lags."""
    certificate = certificates.make(tmp_path)
    left = asyncio.Event()
    board = Board()
    hub = Hub(lambda _: board, left.set, ANY_ID)

    async def handler(request: web.BaseRequest) -> Answer:
        return streams.listen(request, (), hub, b'"%b"' % LARGE.encode(), Filter(tools_list_changed=True))

    server = Server(handler, downstream_pace.Pace(), Express(1))
    listener = await asyncio.get_running_loop().create_server(
        server, "127.0.0.1", 0, ssl=certificate.server(wants_client=False)
    )
    trusting = ssl.create_default_context(cadata=certificate.ca.decode())
    reader, writer = await asyncio.open_connection(
        *listener.sockets[0].getsockname(), ssl=trusting, server_hostname="backend.test"
    )
    stream = Raw(reader, writer)
    writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    await stream.opened()
    assert (await stream.message())["method"] == ACKNOWLEDGED
    for digest in (b"1", b"2"):
        board.show(digest)
        hub.publish()
        assert (await stream.message())["method"] == CHANGED
    hub.serve(())
    assert await stream.message() == result_of(LARGE)
    assert await stream.rest() == LAST_CHUNK
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    async with asyncio.timeout(PATIENCE_S):
        await left.wait()
    listener.close()
    await server.shutdown(0)


async def test_metrics_count_open_streams_and_not_connections(tmp_path: Path) -> None:
    """Also those that no longer belong to the HTTP server."""
    async with one_tool(tmp_path) as (gw, backend):
        async with gw.modern.listen() as modern, gw.legacy.listen():
            await eventually(lambda: subscribers(gw, 2))
            await change(backend, "b")
            await told(modern, 1)
            assert "switchyard_subscribers 2.0" in await gw.metrics()
            assert "switchyard_list_changed_total 2.0" in await gw.metrics()
        await eventually(lambda: subscribers(gw, 0))
        assert "switchyard_subscribers 0.0" in await gw.metrics()
