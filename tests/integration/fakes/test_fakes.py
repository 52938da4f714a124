"""The fakes agree with each other, so that what a test sees between them is the gateway's doing."""

import asyncio

import aiohttp
import pytest

from fakes import hostile
from fakes.clients import LegacyClient, ModernClient
from fakes.hostile import HostileBackend
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool, tools


async def test_modern_fakes_agree() -> None:
    """List, pages, call, change stream and its end, with nothing to complain about."""
    async with ModernBackend(*tools("a", "b", "c"), ttl_ms=5) as backend, aiohttp.ClientSession() as http:
        client = ModernClient(backend.url, http)
        backend.page_size = 2
        first = await client.list()
        assert (first.names, first.result["ttlMs"], first.result["nextCursor"]) == (["a", "b"], 5, "from 2")
        second = await client.list("from 2")
        assert second.names == ["c"]
        assert "nextCursor" not in second.result
        assert (await client.call("ünï", {"x": 1})).text == {"tool": "ünï", "arguments": {"x": 1}}
        async with client.listen(id="one") as stream:
            await backend.notify()
            await backend.end_streams()
            messages = await stream.end()
        assert [message.get("method", "result") for message in messages] == [
            "notifications/subscriptions/acknowledged",
            "notifications/tools/list_changed",
            "result",
        ]
        assert await backend.listened(0) == []
        assert backend.complaints == []


async def test_legacy_fakes_agree() -> None:
    """Session, list, call, GET stream and its end, with nothing to complain about."""
    async with LegacyBackend(tool("a")) as backend, aiohttp.ClientSession() as http:
        client = LegacyClient(backend.url, http)
        await client.initialize()
        assert (await client.list()).names == ["a"]
        assert (await client.call("a")).text == {"tool": "a", "arguments": {}}
        async with client.listen() as stream:
            await backend.listened(1)
            await backend.notify()
            await stream.has(1)
        await backend.listened(0)
        await client.delete()
        assert (await client.list()).status == 404
        assert backend.complaints == []


async def test_scripted_faults_come_first_and_in_order() -> None:
    """Next, then always, then ordinarily."""
    async with ModernBackend(tool("a")) as backend, aiohttp.ClientSession() as http:
        client = ModernClient(backend.url, http)
        backend.fail_next("tools/list", hostile.error(-32603, status=500), hostile.reset())
        backend.always("tools/list", hostile.body(b"", status=503))
        assert (await client.list()).status == 500
        with pytest.raises(aiohttp.ClientError):
            await client.list()
        assert [(await client.list()).status for _ in range(2)] == [503, 503]
        backend.always("tools/list", None)
        assert (await client.list()).names == ["a"]


async def test_hostile_backend_plays_byte_for_byte() -> None:
    """Segments, gates and a backend that goes away and comes back are under the test's control."""
    gate = asyncio.Event()
    answer = hostile.in_order(
        hostile.drip(hostile.body(b'{"a":1}')), hostile.after(gate, hostile.raw(b"HTTP/1.1 200 OK\r\n\r\nx"))
    )
    async with HostileBackend(answer) as backend, aiohttp.ClientSession() as http:
        client = ModernClient(backend.url, http)
        assert (await client.list(headers={"X-Two": "2"})).message == {"a": 1}
        assert backend.requests[0].header("x-two") == "2"
        waiting = asyncio.create_task(client.list())
        await backend.received("tools/list", 2)
        assert not waiting.done()
        gate.set()
        assert (await waiting).body == b"x"
        await backend.stop()
        with pytest.raises(aiohttp.ClientConnectorError):
            await client.list()
        await backend.start()
        gate.clear()
        left = asyncio.create_task(client.list())
        await backend.received("tools/list", 3)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
