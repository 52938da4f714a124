"""More clients than can be served: memory stays bounded, refusals are fast and say when to come again, and it passes."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fakes import hostile
from fakes.gateway import Gateway, gateway, write_config
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.process import sidecar
from fakes.waiting import PATIENCE_S, eventually
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace
from switchyard_sidecar.upstream import pace as upstream_pace
from switchyard_sidecar.upstream.backoff import Backoff

KIB = 1024
MIB = 1024 * KIB
SMALL_BUDGET = Pace(clients=downstream_pace.Pace(bodies_bytes=MIB))


@dataclass(frozen=True)
class Sender:
    """A client that sends its request in pieces, and reads the answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Send a piece."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, dict[str, str]]:
        """Status and headers, these in lower case, once the body has come too."""
        async with asyncio.timeout(PATIENCE_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
            start, *lines = head.split("\r\n")[:-2]
            fields = dict(line.split(": ", 1) for line in lines)
            await self.reader.readexactly(int(fields["content-length"]))
        return int(start.split()[1]), fields

    async def has_ended(self) -> bool:
        """Whether the server closes the connection, having sent no more."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read() == b""


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Sender]:
    """A client that has sent nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Sender(reader, writer)
    finally:
        writer.close()


@asynccontextmanager
async def sender(port: int, length: int) -> AsyncIterator[Sender]:
    """A client that has announced a body of so many bytes, and sent none of it."""
    async with connected(port) as one:
        await one.send(head(length))
        yield one


def head(length: int) -> bytes:
    """The head of a request with a body of so many bytes."""
    return (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n" % length
    )


def ordinary_request() -> bytes:
    """A whole request."""
    return head(200) + padded_list(200)


def padded_list(size: int) -> bytes:
    """A legacy ``tools/list`` of so many bytes."""
    head, tail = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"', b'"}}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


def port_of(gw: Gateway) -> int:
    """Where a gateway in this process listens."""
    return int(gw.url.split("/")[2].rpartition(":")[2])


async def test_large_body_that_stalls_gives_way_to_smaller_ones(tmp_path: Path) -> None:
    """It is told so at once, by 503 with ``Retry-After`` and the end of its connection; the others are served."""
    async with (
        gateway(tmp_path, {}, pace=SMALL_BUDGET) as gw,
        sender(port_of(gw), 900 * KIB) as stalled,
        sender(port_of(gw), 400 * KIB) as other,
    ):
        await stalled.send(b"x" * 600 * KIB)
        body = padded_list(400 * KIB)
        await other.send(body[:-1])
        status, headers = await stalled.answer()
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        await other.send(body[-1:])
        assert (await other.answer())[0] == 200


async def test_small_bodies_are_served_whatever_large_ones_do(tmp_path: Path) -> None:
    """Whether they come with their head or after it."""
    async with gateway(tmp_path, {}, pace=SMALL_BUDGET) as gw, AsyncExitStack() as stack:
        for _ in range(10):
            stalled = await stack.enter_async_context(sender(port_of(gw), 900 * KIB))
            await stalled.send(b"x" * 300 * KIB)
        assert (await gw.modern.list()).names == []
        for _ in range(10):
            slow = await stack.enter_async_context(sender(port_of(gw), 60 * KIB))
            body = padded_list(60 * KIB)
            await slow.send(body[:KIB])
            await slow.send(body[KIB:])
            assert (await slow.answer())[0] == 200


async def test_large_arguments_count_until_their_call_is_answered(tmp_path: Path) -> None:
    """They are in memory for so long. Small calls are relayed all the while, large ones again when there is room."""
    gate = asyncio.Event()
    large = {"x": "x" * 700 * KIB}
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=SMALL_BUDGET) as gw:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        calling = asyncio.create_task(gw.modern.call("a", large))
        await backend.received("tools/call")
        refused = await gw.modern.call("a", large)
        assert (refused.status, refused.error["code"], refused.headers["Retry-After"]) == (503, -32603, "1")
        small = asyncio.create_task(gw.modern.call("a", {"x": "y"}))
        await backend.received("tools/call", 2)
        gate.set()
        assert (await calling).text["arguments"] == large
        assert (await small).text["arguments"] == {"x": "y"}
        assert (await gw.modern.call("a", large)).text["arguments"] == large


async def test_large_arguments_count_also_when_their_caller_has_left(tmp_path: Path) -> None:
    """A legacy call goes on without its caller, and so does what it holds."""
    gate = asyncio.Event()
    large = {"x": "x" * 700 * KIB}
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=SMALL_BUDGET) as gw:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        leaving = asyncio.create_task(gw.legacy.call("a", large))
        await backend.received("tools/call")
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)

        async def has_left() -> bool:
            return bool((await gw.status())["clients"]["connections"] == 0)

        await eventually(has_left)
        assert (await gw.status())["clients"]["bodyBytes"] > 700 * KIB
        assert (await gw.modern.call("a", large)).status == 503
        gate.set()

        async def holds_nothing() -> bool:
            return bool((await gw.status())["clients"]["bodyBytes"] == 0)

        await eventually(holds_nothing)
        assert (await gw.modern.call("a", large)).text["arguments"] == large


LONG_LINES = b"".join(b"X-%d: %b\r\n" % (number, b"y" * 30 * KIB) for number in range(3))
"""Each of which is not too long."""


async def test_head_that_is_too_long_is_refused_before_it_ends(tmp_path: Path) -> None:
    """The lines may be long, and they may be many, but not both: a head is kept in memory until it ends."""
    whole = ordinary_request()
    async with gateway(tmp_path, {}) as gw, AsyncExitStack() as stack:
        for before in (b"", whole):  # the first of a connection, or a later one
            one = await stack.enter_async_context(connected(port_of(gw)))
            if before:
                await one.send(before)
                assert (await one.answer())[0] == 200
            start, _, _ = whole.partition(b"\r\n")
            await one.send(start + b"\r\n" + LONG_LINES)
            status, headers = await one.answer()
            assert (status, headers["connection"]) == (431, "close")
            assert await one.has_ended()


async def test_long_head_and_many_small_chunks_are_no_endless_head(tmp_path: Path) -> None:
    """What is refused is what brings neither a request nor a part of its body."""
    whole = ordinary_request()
    start, _, rest = whole.partition(b"\r\n")
    lines, _, body = rest.partition(b"\r\n\r\n")
    fields = b"\r\n".join(line for line in lines.split(b"\r\n") if not line.lower().startswith(b"content-length"))
    padded = body[:-1] + b" " * 50 * KIB + body[-1:]
    chunks = b"".join(b"1\r\n%b\r\n" % padded[at : at + 1] for at in range(len(padded))) + b"0\r\n\r\n"
    async with gateway(tmp_path, {}) as gw, connected(port_of(gw)) as one:
        await one.send(start + b"\r\n" + LONG_LINES[: 2 * len(LONG_LINES) // 3] + rest)
        assert (await one.answer())[0] == 200
        await one.send(start + b"\r\n" + fields + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        assert (await one.answer())[0] == 200


async def test_endless_head_behind_a_call_ends_the_connection_after_its_answer(tmp_path: Path) -> None:
    """Whoever sends one request on top of another can fill no memory by that either; the first is answered."""
    gate = asyncio.Event()
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'
        async with sender(port_of(gw), len(body)) as one:
            await one.send(body)
            await backend.received("tools/call")
            await one.send(b"POST /mcp HTTP/1.1\r\n" + LONG_LINES)
            assert (await gw.modern.list()).status == 200
            gate.set()
            assert (await one.answer())[0] == 200
            assert await one.has_ended()


async def test_endless_trailers_are_heard_no_further(tmp_path: Path) -> None:
    """They are kept like a head's lines. The body that they follow never ends, and is refused as too slow."""
    hasty = Pace(clients=downstream_pace.Pace(body_s=0.3))
    start, _, _ = ordinary_request().partition(b"Content-Length")
    async with gateway(tmp_path, {}, pace=hasty) as gw, connected(port_of(gw)) as one:
        await one.send(start + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n")
        assert (await gw.status())["clients"]["bodyBytes"] == 1
        await one.send(LONG_LINES)
        assert (await gw.status())["clients"]["bodyBytes"] == 1  # by then they were read
        await one.send(b"\r\n")
        status, headers = await one.answer()
        assert (status, headers["connection"]) == (408, "close")


async def test_body_that_says_it_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    """Four megabytes need not be sent to learn that they were too many."""
    async with gateway(tmp_path, {}) as gw, sender(port_of(gw), 5 * MIB) as one:
        status, headers = await one.answer()
        assert (status, headers["connection"]) == (413, "close")


async def test_quiet_connections_give_way_to_new_ones(tmp_path: Path) -> None:
    """Those first that were not used for the longest time; one on which something is under way stays."""
    few = Pace(clients=downstream_pace.Pace(connections=3))
    body = padded_list(200)
    async with gateway(tmp_path, {}, pace=few) as gw, AsyncExitStack() as stack:

        async def another() -> Sender:
            return await stack.enter_async_context(sender(port_of(gw), len(body)))

        under_way, quiet, used = await another(), await another(), await another()
        await under_way.send(body[:-1])
        for each in (quiet, used):
            await each.send(body)
            assert (await each.answer())[0] == 200
        for _ in range(2):
            new = await another()
            await new.send(body)
            assert (await new.answer())[0] == 200
        assert await quiet.has_ended()
        assert await used.has_ended()
        await under_way.send(body[-1:])
        assert (await under_way.answer())[0] == 200


async def test_connection_beyond_what_can_be_served_is_refused(tmp_path: Path) -> None:
    """Where all are in use: 503 with ``Retry-After``, at once. When one ends there is room again."""
    few = Pace(clients=downstream_pace.Pace(connections=3))
    async with gateway(tmp_path, {}, pace=few) as gw:
        async with gw.modern.listen(), gw.modern.listen(), gw.another_legacy().listen():
            refused = await gw.modern.list()
            assert (refused.status, refused.error["code"], refused.headers["Retry-After"]) == (503, -32603, "1")
            assert refused.error["message"] == "Too many connections; try again later"
            clients = (await gw.status())["clients"]
            assert (clients["connections"], clients["connectionsRefused"]) == (3, 1)
            assert "switchyard_connections_refused_total 1.0" in await gw.metrics()

        async def is_served() -> bool:
            return (await gw.modern.list()).status == 200

        await eventually(is_served)


async def test_backend_that_hangs_takes_no_more_than_its_share_of_calls(tmp_path: Path) -> None:
    """Further calls to it are refused at once, and its neighbours' go through; what people are shown says so."""
    few = Pace(clients=downstream_pace.Pace(calls=10), backends=upstream_pace.Pace(calls=2))
    async with (
        ModernBackend(tool("a")) as hung,
        LegacyBackend(tool("a")) as well,
        gateway(tmp_path, {"hung": hung, "well": well}, pace=few) as gw,
    ):
        await gw.modern.list()
        hung.call = lambda _: hostile.hang()
        calling = [asyncio.create_task(gw.modern.call("hung__a")) for _ in range(2)]
        await hung.received("tools/call", 2)
        began = time.monotonic()
        for _ in range(20):
            refused = await gw.modern.call("hung__a")
            assert (refused.status, refused.error["code"], refused.headers["Retry-After"]) == (503, -32603, "1")
            assert refused.error["data"] == {"backend": "tools/hung"}
            assert (await gw.legacy.call("well__a")).text["tool"] == "a"
        assert time.monotonic() - began < PATIENCE_S
        backends = (await gw.status())["backends"]
        assert [backends["tools/hung"][key] for key in ("callsRunning", "circuit")] == [2, "closed"]
        assert backends["tools/hung"]["counters"]["refused"] == 20
        metrics = await gw.metrics()
        assert 'switchyard_calls_total{backend="tools/hung",outcome="refused"} 20.0' in metrics
        assert 'switchyard_backend_calls_running{backend="tools/hung"} 2.0' in metrics
        for each in calling:
            each.cancel()
        await asyncio.gather(*calling, return_exceptions=True)


async def test_backend_that_is_down_is_shown_as_such(tmp_path: Path) -> None:
    """Callers are told when to come again; status and metrics say that calls are held back."""
    prompt = Pace(backends=upstream_pace.Pace(backoff=Backoff(base_s=60, cap_s=60)))
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=prompt) as gw:
        await gw.modern.list()
        await backend.listened()
        await backend.stop()
        answer = await gw.modern.call("a")
        while "retryAfterMs" not in answer.error["data"]:
            assert answer.error["data"] == {"backend": "tools/a"}
            answer = await gw.modern.call("a")
        assert (answer.status, answer.error["code"]) == (200, -32603)
        assert (await gw.status())["backends"]["tools/a"]["circuit"] == "open"
        assert 'switchyard_backend_calls_held_back{backend="tools/a"} 1.0' in await gw.metrics()


@pytest.mark.skipif(sys.platform != "linux", reason="reads a process's memory where Linux has it")
async def test_half_sent_bodies_do_not_fill_the_memory(tmp_path: Path) -> None:
    """A hundred clients that send 2 MB each and no more: most are refused at once, and everybody else is served."""
    write_config(tmp_path, {})
    async with sidecar(tmp_path) as running, AsyncExitStack() as stack:
        before = running.resident_bytes
        began = time.monotonic()

        async def flood() -> int:
            stalled = await stack.enter_async_context(sender(running.port, 3 * MIB))
            try:
                await stalled.send(b"x" * 2 * MIB)
                return (await stalled.answer())[0]
            except (TimeoutError, ConnectionError) as outcome:
                return 0 if isinstance(outcome, TimeoutError) else -1

        flooding = [asyncio.create_task(flood()) for _ in range(100)]
        answers = [await asked(running.port) for _ in range(20)]
        outcomes = Counter([await each for each in flooding])
        assert set(answers) == {200}
        assert outcomes[503] >= 80, outcomes
        assert outcomes[0] <= 12, "more are held than the budget has room for"
        assert running.resident_bytes - before < 150 * MIB
        assert time.monotonic() - began < 2 * PATIENCE_S


async def asked(port: int) -> int:
    """The status of an ordinary request."""
    body = padded_list(200)
    async with sender(port, len(body)) as one:
        await one.send(body)
        return (await one.answer())[0]


@pytest.mark.skipif(sys.platform != "linux", reason="reads a process's memory where Linux has it")
async def test_batch_of_a_hundred_lists_does_not_fill_the_memory(tmp_path: Path) -> None:
    """Asked for in some kilobytes, by a client that does not read them: what the lists have in common is there once."""
    large = tool("a", description="x" * 900 * KIB)
    async with ModernBackend(large, ttl_ms=600_000) as backend:
        write_config(tmp_path, {"a": backend})
        lists = ",".join(f'{{"jsonrpc":"2.0","id":{number},"method":"tools/list"}}' for number in range(100))
        body = f"[{lists}]".encode()
        head = (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: %s\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        async with sidecar(tmp_path) as running, AsyncExitStack() as stack:
            before = running.resident_bytes
            for accept in ("application/json", "text/event-stream"):
                one = await stack.enter_async_context(connected(running.port))
                await one.send((head % accept).encode() + body)
                async with asyncio.timeout(PATIENCE_S):
                    assert (await one.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
                    assert b'"xxx' in await one.reader.readuntil(b"xxxx")
            assert running.resident_bytes - before < 30 * MIB
