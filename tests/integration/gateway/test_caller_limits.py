"""What one caller takes is not taken from the others: calls under way and change streams, by the token's subject."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import LegacyClient, ModernClient
from fakes.gateway import Gateway, gateway, section
from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import said, tool
from fakes.waiting import eventually
from switchyard_sidecar.serving import Pace
from switchyard_sidecar.upstream import pace as upstream_pace

ISSUER = "https://login.example"
KEY = SigningKey.make("one")
TRUSTED = {"issuers": [{"issuer": ISSUER, "audiences": [AUDIENCE], "jwks": key_set([KEY])}]}


def token(sub: str) -> str:
    """Another one each time: the limit is the caller's, not the token's."""
    return KEY.sign(good_claims(ISSUER, sub, jti=secrets.token_hex(8)))


@asynccontextmanager
async def guarded(directory: Path, backend: ModernBackend, **limits: int) -> AsyncIterator[Gateway]:
    """A gateway that knows its callers, with these limits for each of them."""
    listener = {"callerLimits": limits}
    async with gateway(directory, {"one": backend}, authentication=TRUSTED, listener=listener) as gw:
        yield gw


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_one_call_too_many_of_a_caller_is_429_and_others_are_served(tmp_path: Path, era: str) -> None:
    """With ``Retry-After``; and once its calls have ended, it may make others."""
    async with ModernBackend(tool("a")) as backend, guarded(tmp_path, backend, calls=2) as gw:
        gate = asyncio.Event()
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))

        def client(sub: str) -> ModernClient | LegacyClient:
            return (gw.another_modern if era == "modern" else gw.another_legacy)(token(sub))

        calling = [asyncio.create_task(client("alice").call("a")) for _ in range(2)]
        await backend.received("tools/call", 2)
        refused = await client("alice").call("a")
        assert (refused.status, refused.headers["Retry-After"], refused.error["code"]) == (429, "1", -32603)
        assert refused.error["message"] == "Too many calls under way of one caller; try again later"
        assert (await client("alice").list()).status == 200
        bob = asyncio.create_task(client("bob").call("a"))
        await backend.received("tools/call", 3)
        assert 'outcome="refused"} 1.0' in await gw.metrics()
        gate.set()
        for answer in await asyncio.gather(*calling, bob):
            assert answer.text["tool"] == "a"
        assert (await client("alice").call("a")).text["tool"] == "a"


async def test_other_tokens_of_a_caller_bring_no_further_calls_where_they_go_on(tmp_path: Path) -> None:
    """Not even where callers' tokens are kept, for a backend that gets them."""
    async with ModernBackend(tool("a")) as backend:
        forwarding = section(backend, auth={"type": "Forward", "audiences": [AUDIENCE]})
        limits = {"callerLimits": {"calls": 1}}
        async with gateway(tmp_path, {"one": forwarding}, authentication=TRUSTED, listener=limits) as gw:
            assert (await gw.another_modern(token("alice")).list()).names == ["a"]
            backend.call = lambda _: hostile.hang()
            calling = asyncio.create_task(gw.another_modern(token("alice")).call("a"))
            await backend.received("tools/call")
            assert (await gw.another_modern(token("alice")).call("a")).status == 429
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)


@pytest.mark.parametrize("era", [ModernBackend, LegacyBackend])
async def test_one_caller_cannot_take_all_of_a_backend_that_hangs(
    tmp_path: Path, era: type[ModernBackend | LegacyBackend]
) -> None:
    """Within its own limit, too: something of what the backend may be asked at once is left to others."""
    pace = Pace(backends=upstream_pace.Pace(calls=4))
    async with era(tool("a")) as backend, gateway(tmp_path, {"one": backend}, pace=pace, authentication=TRUSTED) as gw:
        gate = asyncio.Event()
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))
        calling = [asyncio.create_task(gw.another_modern(token("alice")).call("a")) for _ in range(3)]
        await backend.received("tools/call", 3)
        refused = await gw.another_modern(token("alice")).call("a")
        assert (refused.status, refused.error["message"]) == (503, "Backend unavailable: too many calls at once")
        bob = asyncio.create_task(gw.another_modern(token("bob")).call("a"))
        await backend.received("tools/call", 4)
        gate.set()
        for answer in await asyncio.gather(*calling, bob):
            assert answer.text["tool"] == "a"


async def test_calls_that_were_cancelled_make_room(tmp_path: Path) -> None:
    """A modern caller cancels by closing its connection."""
    async with ModernBackend(tool("a")) as backend, guarded(tmp_path, backend, calls=1) as gw:
        backend.call = lambda _: hostile.hang()
        calling = asyncio.create_task(gw.another_modern(token("alice")).call("a"))
        await backend.received("tools/call")
        assert (await gw.another_modern(token("alice")).call("a")).status == 429
        calling.cancel()
        backend.call = lambda request: hostile.result(said(request))
        await eventually(lambda: _is_served(gw.another_modern(token("alice"))))


async def test_calls_of_a_batch_count_each(tmp_path: Path) -> None:
    """Those for which there is no room are refused in their places; the others are answered."""
    async with ModernBackend(tool("a")) as backend, guarded(tmp_path, backend, calls=2) as gw:
        client = gw.another_legacy(token("alice"))
        gate = asyncio.Event()
        await client.initialize("2025-03-26")
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))
        frames = [client.frame("tools/call", {"name": "a", "arguments": {}}) for _ in range(3)]
        batch = b"[" + b",".join(body for body, _ in frames) + b"]"
        sent = asyncio.create_task(client.send("POST", batch, frames[0][1]))
        await backend.received("tools/call", 2)
        gate.set()
        answers = (await sent).messages[-1]
        assert ["error" in each for each in answers] == [False, False, True]


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_one_stream_too_many_of_a_caller_is_429_and_others_are_told(tmp_path: Path, era: str) -> None:
    """A stream that ends makes room."""
    async with ModernBackend(tool("a")) as backend, guarded(tmp_path, backend, streams=2) as gw:

        def listening(sub: str) -> Any:
            return (gw.another_modern if era == "modern" else gw.another_legacy)(token(sub)).listen()

        async with AsyncExitStack() as open_streams:
            first, _ = [await open_streams.enter_async_context(listening("alice")) for _ in range(2)]
            await eventually(lambda: _open(gw, 2))
            refused = await _refused(gw, era)
            assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
            assert refused.error["message"] == "Too many open change streams of one caller; try again later"
            bob = await open_streams.enter_async_context(listening("bob"))
            assert (first.status, bob.status) == (200, 200)
        await eventually(lambda: _open(gw, 0))
        async with listening("alice") as again:
            assert again.status == 200


async def test_another_limit_holds_for_what_is_asked_from_then_on(tmp_path: Path) -> None:
    """Nothing that is open is ended."""
    async with (
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, backend, streams=2) as gw,
        gw.another_modern(token("alice")).listen() as stream,
    ):
        keys = {"authentication": TRUSTED, "listener": {"callerLimits": {"streams": 1}}}
        await gw.configure({"one": backend}, **keys)
        assert (await _refused(gw, "modern")).status == 429
        backend.tools.append(tool("b"))
        await backend.notify()
        await stream.has(2)


async def test_callers_without_tokens_are_not_one_caller(tmp_path: Path) -> None:
    """Where nobody is asked who they are, agents beside each other have all there is."""
    limits = {"callerLimits": {"calls": 1, "streams": 1}}
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"one": backend}, listener=limits) as gw:
        backend.call = lambda _: hostile.hang()
        calling = [asyncio.create_task(gw.another_modern().call("a")) for _ in range(5)]
        await backend.received("tools/call", 5)
        async with AsyncExitStack() as streams:
            opened = [await streams.enter_async_context(gw.another_modern().listen()) for _ in range(5)]
            assert {each.status for each in opened} == {200}
        for each in calling:
            each.cancel()
        await asyncio.gather(*calling, return_exceptions=True)


async def _open(gw: Gateway, count: int) -> bool:
    return bool((await gw.status())["subscribers"]["open"] == count)


async def _is_served(client: ModernClient | LegacyClient) -> bool:
    return (await client.call("a")).status == 200


async def _refused(gw: Gateway, era: str) -> Any:
    if era == "modern":
        client = gw.another_modern(token("alice"))
        return await client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    return await gw.another_legacy(token("alice")).send("GET", None, {"Accept": "text/event-stream"})
