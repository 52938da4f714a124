"""How a sidecar stops: told first, then quiet, and nobody loses an answer."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from fakes import hostile
from fakes.clients import META, LegacyClient, ModernClient
from fakes.gateway import Gateway, gateway, write_config
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool
from fakes.process import SIDECAR, START_S, sidecar
from fakes.waiting import PATIENCE_S, eventually
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace


async def is_ready(gw: Gateway, status: int) -> bool:
    """Whether readiness answers with this status."""
    async with gw.http.get(gw.admin + "/readyz") as response:
        return response.status == status


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_calls_under_way_are_answered_and_nothing_new_is_taken(
    tmp_path: Path, make: type[OrdinaryBackend]
) -> None:
    """Readiness fails at once, no connection is accepted, streams end in order, and calls of both eras get their result."""
    gate = asyncio.Event()
    hasty = Pace(clients=downstream_pace.Pace(close_s=0.05))
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=hasty) as gw:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        await gw.legacy.initialize()
        assert await is_ready(gw, 200)
        calling = [asyncio.create_task(client.call("a")) for client in (gw.modern, gw.legacy)]
        await backend.received("tools/call", 2)
        async with gw.modern.listen(id=7) as stream:
            gw.running.cancel()
            (*_, last) = await stream.end()
            assert last["id"] == 7
            assert last["result"] == {"resultType": "complete", "_meta": {META + "subscriptionId": 7}}
        await eventually(lambda: is_ready(gw, 503))
        async with aiohttp.ClientSession() as another:
            with pytest.raises(aiohttp.ClientConnectorError):
                await ModernClient(gw.url, another).list()
        await asyncio.wait({gw.running, *calling}, timeout=0.3, return_when=asyncio.FIRST_COMPLETED)
        assert not gw.running.done()
        gate.set()
        assert [(await each).text["tool"] for each in calling] == ["a", "a"]
        await asyncio.wait({gw.running}, timeout=PATIENCE_S)
        assert gw.running.cancelled()


async def test_what_clients_ask_while_calls_are_waited_for_is_answered(tmp_path: Path) -> None:
    """On connections that were there: idle, new, within a head, within a body. Each answer is the last, and says so."""
    gate = asyncio.Event()
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, AsyncExitStack() as stack:
        await gw.modern.list()
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        calling = asyncio.create_task(gw.modern.call("a"))
        await backend.received("tools/call")
        body, headers = gw.modern.frame("tools/list", {}, id=1)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        asking = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body
        opened = [await stack.enter_async_context(connection(gw)) for _ in range(4)]
        (idle, to_idle), (_, to_begun), (_, to_sent), _ = opened
        to_idle.write(asking)
        assert b"Connection: close" not in (await answer(idle))[0]
        to_begun.write(asking[:50])
        to_sent.write(asking[:-10])
        await eventually(lambda: connections(gw, 5))
        gw.running.cancel()
        await eventually(lambda: is_ready(gw, 503))
        for (reader, writer), rest in zip(opened, (asking, asking[50:], asking[-10:], asking), strict=True):
            writer.write(rest)
            head, text = await answer(reader)
            assert head.startswith(b"HTTP/1.1 200 OK")
            assert b"Connection: close" in head
            assert [each["name"] for each in json.loads(text)["result"]["tools"]] == ["a"]
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
        assert not gw.running.done()
        gate.set()
        assert (await calling).text["tool"] == "a"
        await asyncio.wait({gw.running}, timeout=PATIENCE_S)
        assert gw.running.cancelled()


async def test_body_that_is_still_arriving_is_waited_for(tmp_path: Path) -> None:
    """As a call would be: also where nothing else is under way, its request is answered, and then the process ends."""
    async with gateway(tmp_path, {}) as gw, connection(gw) as (reader, writer):
        body, headers = gw.modern.frame("tools/list", {}, id=1)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        asking = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body
        writer.write(asking[:-10])

        async def is_arriving() -> bool:
            return bool((await gw.status())["clients"]["bodyBytes"] > 0)

        await eventually(is_arriving)
        gw.running.cancel()
        await eventually(lambda: is_ready(gw, 503))
        writer.write(asking[-10:])
        head, _ = await answer(reader)
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert b"Connection: close" in head
        await asyncio.wait({gw.running}, timeout=PATIENCE_S)
        assert gw.running.cancelled()


@asynccontextmanager
async def connection(gw: Gateway) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection without a client library."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(gw.url.split("/")[2].rpartition(":")[2]))
    try:
        yield reader, writer
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of one answer."""
    async with asyncio.timeout(PATIENCE_S):
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = (line for line in head.split(b"\r\n") if line.startswith(b"Content-Length: "))
        return head, await reader.readexactly(int(length.partition(b": ")[2]))


async def connections(gw: Gateway, count: int) -> bool:
    """Whether so many connections are open."""
    return bool((await gw.status())["clients"]["connections"] == count)


async def test_a_replica_goes_on_answering_while_clients_are_still_sent_to_it(tmp_path: Path) -> None:
    """Not ready any more, it takes connections, each for one answer; streams stay open as long. Then it takes none."""
    lingering = Pace(linger_s=2.0)
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=lingering) as gw:
        async with gw.modern.listen(id=7) as stream:
            gw.running.cancel()
            await eventually(lambda: is_ready(gw, 503))
            async with aiohttp.ClientSession() as another, connection(gw) as (reader, writer):
                assert (await ModernClient(gw.url, another).list()).names == ["a"]
                body, headers = gw.modern.frame("tools/list", {}, id=1)
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                asking = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
                writer.write(asking.encode() + body)
                head, _ = await answer(reader)
                assert b"Connection: close" in head
            (*_, last) = await stream.end()
            assert last["result"] == {"resultType": "complete", "_meta": {META + "subscriptionId": 7}}
        async with aiohttp.ClientSession() as another:
            with pytest.raises(aiohttp.ClientConnectorError):
                await ModernClient(gw.url, another).list()
        await asyncio.wait({gw.running}, timeout=PATIENCE_S)
        assert gw.running.cancelled()


async def test_the_command_says_how_long_a_replica_takes_to_leave(tmp_path: Path) -> None:
    """It answers for as long as it lingers, and gives up calls when its drain is over: told both, it ends within the sum."""
    gate = asyncio.Event()
    async with ModernBackend(tool("a")) as backend, aiohttp.ClientSession() as http:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        write_config(tmp_path, {"a": backend})
        async with sidecar(tmp_path, "--linger", "1", "--drain", "0.2") as running:
            client = ModernClient(running.url, http)
            calling = asyncio.create_task(client.call("a"))
            await backend.received("tools/call")
            running.process.send_signal(signal.SIGTERM)

            async def is_leaving() -> bool:
                async with http.get(running.admin + "/readyz") as response:
                    return response.status == 503

            await eventually(is_leaving)
            assert (await client.list()).names == ["a"]
            assert (await calling).error["message"] == "The gateway is stopping; try again later"
            assert await running.ended() == 0


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_caller_whose_call_does_not_end_in_time_is_told_so(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """After the drain the process ends all the same: callers of both eras get an error, also in a batch and on a stream."""
    hasty = Pace(clients=downstream_pace.Pace(drain_s=0.3, quiet_s=0.05))
    stopping = {"code": -32603, "message": "The gateway is stopping; try again later"}
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=hasty) as gw:
        backend.call = lambda _: hostile.hang()
        json_only = {"Accept": "application/json"}
        batch = [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}]
        calling = [
            asyncio.create_task(gw.modern.call("a", headers=json_only)),
            asyncio.create_task(gw.legacy.call("a", headers=json_only)),
        ]
        batched = asyncio.create_task(
            gw.legacy.send("POST", json.dumps(batch).encode(), {"Content-Type": "application/json", **json_only})
        )
        await backend.received("tools/call", 3)
        async with gw.modern.stream("POST", *gw.modern.frame("tools/call", {"name": "a"}, id="q")) as stream:
            await stream.has_comments(1)
            gw.running.cancel()
            for each in calling:
                answer = await each
                assert (answer.status, answer.error, answer.headers["Retry-After"]) == (503, stopping, "1")
            assert [each["error"] for each in json.loads((await batched).body)] == [stopping]
            (last,) = await stream.end()
            assert (last["id"], last["error"]) == ("q", stopping)
        await asyncio.wait({gw.running}, timeout=PATIENCE_S)
        assert gw.running.done()


async def test_sidecar_process_ends_in_order_when_told_to(tmp_path: Path) -> None:
    """SIGTERM with a stream open, a GET open and a call under way: each gets its end, every log line is JSON, exit code 0."""
    gate = asyncio.Event()
    async with LegacyBackend(tool("a")) as backend:
        write_config(tmp_path, {"a": backend})
        async with sidecar(tmp_path) as running, aiohttp.ClientSession() as http:
            modern, legacy = ModernClient(running.url, http), LegacyClient(running.url, http)
            ordinary = backend.call
            backend.call = lambda request: hostile.after(gate, ordinary(request))
            await legacy.initialize()
            calling = asyncio.create_task(legacy.call("a"))
            await backend.received("tools/call")
            async with (
                modern.listen() as listening,
                legacy.listen() as getting,
                http.get(f"{running.admin}/readyz") as ready,
            ):
                assert ready.status == 200
                running.process.send_signal(signal.SIGTERM)
                (*_, last) = await listening.end()
                assert last["result"]["resultType"] == "complete"
                await getting.end()
            gate.set()
            assert (await calling).text["tool"] == "a"
            assert await running.ended() == 0
        assert running.log[-1]["event"] == "stopped"
        assert backend.sessions == set()


@pytest.mark.parametrize("host", ["b\u00fccher..example", "a" * 300])
@pytest.mark.parametrize("option", ["--listen", "--admin"])
async def test_host_that_can_be_no_name_is_one_clear_message(tmp_path: Path, option: str, host: str) -> None:
    """As for a port that is taken."""
    others = [] if option == "--listen" else ["--listen", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(
        SIDECAR, "--config", str(tmp_path), *others, option, f"{host}:0", stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(START_S):
        _, complaint = await process.communicate()
    assert process.returncode == 2
    assert complaint.decode().splitlines()[-1].startswith(f"switchyard-sidecar: cannot listen on {host}:0: ")
    assert "Traceback" not in complaint.decode()


async def test_sidecar_process_says_when_its_port_is_taken(tmp_path: Path) -> None:
    """One line with the remedy, exit code 2, no traceback."""
    write_config(tmp_path, {})
    async with sidecar(tmp_path) as running:
        taken = f"127.0.0.1:{running.port}"
        second = await asyncio.create_subprocess_exec(
            SIDECAR,
            *("--config", str(tmp_path), "--listen", taken),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(START_S):
            _, complaint = await second.communicate()
        assert second.returncode == 2
        assert complaint.decode().splitlines()[-1] == (
            f"switchyard-sidecar: cannot listen on {taken}: Address already in use; "
            "choose another port, or 0 for any free one"
        )
        assert "Traceback" not in complaint.decode()
