"""Callers' own tokens on their way to backends, from request to answer: no leak from one caller to another, in either era."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.accounts import Accounts
from fakes.clients import LegacyClient, ModernClient
from fakes.gateway import Gateway, gateway, section
from fakes.http_sse import HttpSseBackend
from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from fakes.waiting import eventually
from integration.gateway.lanes import FORWARD, NEVER
from switchyard_sidecar.gateway.lane import NO_TOKEN
from switchyard_sidecar.serving import Pace
from switchyard_sidecar.upstream.pace import Pace as UpstreamPace

ERAS = [ModernBackend, LegacyBackend, HttpSseBackend]
ALICE, BOB = "token-of-alice", "token-of-bob"
TIMES = 25


def accounts(make: Callable[..., OrdinaryBackend] = ModernBackend) -> Accounts:
    """A server at which Alice has two tools and Bob two others."""
    return Accounts({ALICE: make(*tools("a1", "a2")), BOB: make(*tools("b1", "b2"))})


async def both(gw: Gateway, token: str) -> tuple[ModernClient, LegacyClient]:
    """One caller's clients of both eras."""
    legacy = gw.another_legacy(token)
    await legacy.initialize()
    return gw.another_modern(token), legacy


@pytest.mark.parametrize("make", ERAS)
async def test_callers_see_and_call_their_own_tools_whatever_goes_on_beside(
    tmp_path: Path, make: Callable[..., OrdinaryBackend]
) -> None:
    """Lists, calls and refusals of two callers in both eras at once: each answer is of its own caller."""
    async with (
        accounts(make) as server,
        ModernBackend(*tools("t")) as common,
        gateway(tmp_path, {"x": section(server, **FORWARD), "c": common}) as gw,
    ):

        async def use(client: ModernClient | LegacyClient, own: str, others: str) -> None:
            for _ in range(TIMES):
                listed, called, refused = await asyncio.gather(
                    client.list(), client.call(f"x__{own}1"), client.call(f"x__{others}1")
                )
                assert listed.names == ["c__t", f"x__{own}1", f"x__{own}2"]
                assert called.text["tool"] == f"{own}1"
                assert refused.error == {"code": -32602, "message": f"Unknown tool: x__{others}1"}

        alice, bob = await both(gw, ALICE), await both(gw, BOB)
        await asyncio.gather(*(use(each, "a", "b") for each in alice), *(use(each, "b", "a") for each in bob))
        for token in (ALICE, BOB):
            account = server.by_token[token]
            assert account.complaints == []
            assert {request.header("Authorization") for request in account.requests} == {f"Bearer {token}"}
        assert server.presented == {f"Bearer {ALICE}", f"Bearer {BOB}"}
        assert {request.header("Authorization") for request in common.requests} == {None}
        (answer,) = [await gw.another_modern(ALICE).list()]
        assert answer.result["cacheScope"] == "private"


async def test_nothing_else_of_the_request_goes_on(tmp_path: Path) -> None:
    """Whatever a caller sends beside its token stays here, however much it looks like a credential."""
    sent = {
        "Cookie": "sid=1",
        "X-Mcp-Auth": f"Bearer {ALICE}",
        "X-Forwarded-For": "10.0.0.1",
        "Proxy-Authorization": "Basic x",
        "X-Api-Key": "k",
        "Forwarded": "for=10.0.0.1",
    }
    allowed = {
        "host",
        "authorization",
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "user-agent",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
    }
    async with accounts() as server, gateway(tmp_path, {"x": section(server, **FORWARD)}) as gw:
        client = gw.another_modern(ALICE)
        await client.list(headers=sent)
        assert (await client.call("a1", headers=sent)).text["tool"] == "a1"
        assert {name.lower() for request in server.requests for name, _ in request.headers} <= allowed


@pytest.mark.parametrize("make", ERAS)
async def test_only_the_caller_whose_list_changed_is_told(tmp_path: Path, make: Callable[..., OrdinaryBackend]) -> None:
    """A change behind one token is news to who presents that token; one of a shared backend to everyone. In both eras."""
    async with (
        accounts(make) as server,
        ModernBackend(*tools("t")) as common,
        gateway(tmp_path, {"x": section(server, **FORWARD), "c": common}) as gw,
    ):
        for token in (ALICE, BOB):  # a session that begins before there is a list hears of it
            await gw.another_modern(token).list()
        alice, bob = await both(gw, ALICE), await both(gw, BOB)
        async with (
            alice[0].listen() as one,
            alice[1].listen() as two,
            bob[0].listen() as three,
            bob[1].listen() as four,
        ):
            for token in (ALICE, BOB):
                await server.by_token[token].listened()
            await common.listened()
            server.by_token[ALICE].tools += tools("a3")
            await server.by_token[ALICE].notify()
            await one.has(2)
            await two.has(1)
            for client in alice:
                assert "x__a3" in (await client.list()).names
            common.tools += tools("u")
            await common.notify()
            assert len(await one.has(3)) == 3
            assert len(await two.has(2)) == 2
            assert len(await three.has(2)) == 2  # the acknowledgement, and the change that is everyone's
            assert len(await four.has(1)) == 1
            for client in bob:
                assert (await client.list()).names == ["c__t", "c__u", "x__b1", "x__b2"]


async def test_caller_without_a_token_gets_the_rest_and_the_reason(tmp_path: Path) -> None:
    """The backend is not asked for it, and its tools do not exist for it."""
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        gateway(tmp_path, {"x": section(server, **FORWARD), "c": common}) as gw,
    ):
        listed = await gw.modern.list()
        assert listed.names == ["c__t"]
        assert listed.result["_meta"]["dev.switchyard/backends"] == {
            "unavailable": [{"backend": "tools/x", "reason": NO_TOKEN}]
        }
        assert listed.result["cacheScope"] == "private"
        assert server.requests == []
        assert (await gw.another_modern(ALICE).list()).names == ["c__t", "x__a1", "x__a2"]
        assert (await gw.modern.list()).names == ["c__t"]
        assert (await gw.modern.call("x__a1")).error["code"] == -32602


async def test_cursor_of_one_caller_shows_another_nothing_of_the_first(tmp_path: Path) -> None:
    """It names a place, and each sees its own list from there."""
    async with accounts() as server, gateway(tmp_path, {"x": section(server, **FORWARD)}, pageSize=1) as gw:
        alice, bob = gw.another_modern(ALICE), gw.another_modern(BOB)
        first = await alice.list()
        cursor = first.result["nextCursor"]
        assert (await alice.list(cursor)).names == ["a2"]
        assert (await bob.list(cursor)).names == ["b1"]


async def test_denial_is_told_to_its_caller_alone(tmp_path: Path) -> None:
    """A token that the backend will not have costs whoever presented it, with the reason, and nobody else."""
    pace = Pace(backends=UpstreamPace(backoff=NEVER))
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        gateway(tmp_path, {"x": section(server, **FORWARD), "c": common}, pace=pace) as gw,
    ):
        alice, bob = gw.another_modern(ALICE), gw.another_modern(BOB)
        assert (await alice.list()).names == ["c__t", "x__a1", "x__a2"]
        del server.by_token[ALICE]
        denied = await alice.call("x__a1")
        assert (denied.status, denied.error["message"]) == (200, "Backend unavailable: HTTP 401")

        async def told() -> bool:
            return (await alice.list()).names == ["c__t"]

        await eventually(told)
        unavailable = (await alice.list()).result["_meta"]["dev.switchyard/backends"]["unavailable"]
        assert unavailable == [{"backend": "tools/x", "reason": "HTTP 401"}]
        assert (await bob.list()).names == ["c__t", "x__b1", "x__b2"]
        assert "dev.switchyard/backends" not in (await bob.list()).result["_meta"]


async def test_too_many_callers_are_asked_to_come_again(tmp_path: Path) -> None:
    """Where each lane is listened to, there is no room for another; who is there goes on."""
    pace = Pace(backends=UpstreamPace(lanes=1))
    async with accounts() as server, gateway(tmp_path, {"x": section(server, **FORWARD)}, pace=pace) as gw:
        alice, bob = gw.another_modern(ALICE), gw.another_modern(BOB)
        async with alice.listen():
            refused = await bob.list()
            assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
            assert (await alice.list()).names == ["a1", "a2"]

        async def let_in() -> bool:
            return (await bob.list()).status == 200

        await eventually(let_in)


async def test_many_callers_one_after_the_other_take_the_memory_of_a_few(tmp_path: Path) -> None:
    """What was a caller's own goes with its lane, at once; remembered requests, time limits and tasks that end keep none of it."""
    limits = Pace(backends=UpstreamPace(lanes=2))
    async with (
        ModernBackend(tool("a", description="x" * 500_000), ttl_ms=600_000) as backend,
        gateway(tmp_path, {"x": section(backend, auth={"type": "Forward"})}, pace=limits) as gw,
    ):

        async def come(number: int) -> None:
            assert (await gw.another_modern(f"token-{number}").list()).names == ["a"]
            backend.requests.clear()

        for number in range(5):
            await come(number)
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for number in range(5, 45):
                await come(number)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
        assert held < 5_000_000


async def test_status_and_metrics_count_callers_and_name_none(tmp_path: Path) -> None:
    """How many there are, how their sessions with each backend are, and nothing by which to tell one from another."""
    async with accounts() as server, gateway(tmp_path, {"x": section(server, **FORWARD)}) as gw:
        for token in (ALICE, BOB, "stranger"):
            await gw.another_modern(token).list()
        await gw.another_modern(ALICE).call("a1")
        status = await gw.status()
        assert status["lanes"] == 3
        shown = status["backends"]["tools/x"]
        assert (shown["state"], shown["callers"]["ready"], shown["callers"]["failing"]) == ("forwarding", 2, 1)
        assert shown["callers"]["counters"]["calls"] == 1
        metrics = await gw.metrics()
        assert "switchyard_lanes 3.0" in metrics
        assert 'switchyard_backend_callers{backend="tools/x",state="ready"} 2.0' in metrics
        assert 'switchyard_backend_callers{backend="tools/x",state="failing"} 1.0' in metrics
        said = json.dumps(status) + metrics
        assert not [token for token in (ALICE, BOB, "stranger") if token in said]


async def test_token_is_in_no_log_line_and_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever goes wrong with it."""
    async with (
        accounts() as server,
        gateway(tmp_path, {"x": section(server, **FORWARD)}, pace=Pace(backends=UpstreamPace(backoff=NEVER))) as gw,
    ):
        alice, stranger = gw.another_modern(ALICE), gw.another_modern("token-of-stranger")
        answers = [await alice.list(), await alice.call("a1"), await stranger.list(), await stranger.call("a1")]
        await server.stop()
        answers += [await alice.call("a1"), await alice.list()]
        assert not [answer for answer in answers if b"token-of" in answer.body]
    said = capsys.readouterr()
    assert "backend_failing" in said.out + said.err
    assert "token-of" not in said.out + said.err


async def test_backend_that_wants_no_tokens_any_more_gets_none(tmp_path: Path) -> None:
    """A changed config holds for all callers at once, also for those whose streams go on; they are told of the new list."""
    async with (
        accounts(LegacyBackend) as server,
        ModernBackend(*tools("t")) as common,
        gateway(tmp_path, {"x": section(server, **FORWARD), "c": common}) as gw,
    ):
        alice = gw.another_modern(ALICE)
        assert (await alice.list()).names == ["c__t", "x__a1", "x__a2"]
        async with alice.listen() as stream:
            await gw.configure({"c": common})
            await server.by_token[ALICE].received("DELETE")
            await stream.has(2)
            assert (await alice.list()).names == ["t"]
            common.tools += tools("u")
            await common.listened()
            await common.notify()
            await stream.has(3)


async def test_backend_that_begins_to_want_tokens_gets_those_of_the_next_request(tmp_path: Path) -> None:
    """Streams from before end, since nobody kept the tokens that they came with; their clients open them anew."""
    async with accounts() as server, ModernBackend(*tools("t")) as common, gateway(tmp_path, {"c": common}) as gw:
        alice = gw.another_modern(ALICE)
        assert (await alice.list()).names == ["t"]
        async with alice.listen() as stream:
            await gw.configure({"c": common, "x": section(server, **FORWARD)})
            await stream.end()
        assert (await alice.list()).names == ["c__t", "x__a1", "x__a2"]
        async with alice.listen() as stream:
            await server.by_token[ALICE].listened()
            server.by_token[ALICE].tools += tools("a3")
            await server.by_token[ALICE].notify()
            await stream.has(2)


FILES = "https://files.example/mcp"
"""For whom tokens must be made that go on."""


def authenticated(key: SigningKey) -> dict[str, Any]:
    """A gateway that lets in whoever has a token of this key."""
    return {
        "authentication": {
            "issuers": [{"issuer": "https://i.example", "audiences": [AUDIENCE], "jwks": key_set([key])}]
        }
    }


def signed(key: SigningKey, sub: str, *audiences: str, lasts_s: float = 600, **claims: Any) -> str:
    """A token for the gateway and for these."""
    return key.sign(good_claims("https://i.example", sub, lasts_s, aud=[AUDIENCE, *audiences], **claims))


async def test_verified_token_goes_on_only_if_it_was_made_for_the_backend_too(tmp_path: Path) -> None:
    """One that was made for the gateway alone opens the gateway, and stays there."""
    key = SigningKey.make("k")
    for_both, for_one = signed(key, "alice", FILES), signed(key, "alice")
    async with (
        Accounts({for_both: ModernBackend(*tools("a"))}) as server,
        ModernBackend(*tools("t")) as common,
        gateway(
            tmp_path,
            {"x": section(server, auth={"type": "Forward", "audiences": [FILES]}), "c": common},
            **authenticated(key),
        ) as gw,
    ):
        assert (await gw.modern.list()).status == 401
        for _ in range(2):
            assert (await gw.another_modern(for_both).list()).names == ["c__t", "x__a"]
            listed = await gw.another_modern(for_one).list()
            assert listed.names == ["c__t"]
            assert listed.result["_meta"]["dev.switchyard/backends"] == {
                "unavailable": [{"backend": "tools/x", "reason": NO_TOKEN}]
            }
            assert (await gw.another_modern(for_one).call("x__a")).error["message"] == "Unknown tool: x__a"
        assert server.presented == {f"Bearer {for_both}"}
        assert {request.header("Authorization") for request in common.requests} == {None}


async def test_sessions_go_on_with_a_renewed_token(tmp_path: Path) -> None:
    """Both that of the client and those with the backend, which gets the new token from the next request on."""
    key = SigningKey.make("k")
    first, second = signed(key, "alice", FILES), signed(key, "alice", FILES, jti="2", lasts_s=900)
    account = LegacyBackend(*tools("a"))
    async with (
        Accounts({first: account, second: account}) as server,
        gateway(
            tmp_path, {"x": section(server, auth={"type": "Forward", "audiences": [FILES]})}, **authenticated(key)
        ) as gw,
    ):
        alice = gw.another_legacy(first)
        await alice.initialize()
        assert (await alice.list()).names == ["a"]
        assert (await alice.call("a")).text["tool"] == "a"
        alice.token = second
        assert (await alice.call("a")).text["tool"] == "a"
        one, two = server.of("tools/call")
        assert (one.header("Authorization"), two.header("Authorization")) == (f"Bearer {first}", f"Bearer {second}")
        assert one.header("Mcp-Session-Id") == two.header("Mcp-Session-Id")
        assert len(server.of("initialize")) == 2  # for lists, and for calls


async def test_sessions_with_the_backend_end_with_the_token(tmp_path: Path) -> None:
    """Nobody is asked with a token that is over, though its caller may have left without a word."""
    key = SigningKey.make("k")
    section_of = authenticated(key)
    section_of["authentication"]["issuers"][0]["leewayMs"] = 0
    brief = signed(key, "alice", FILES, lasts_s=2)
    async with (
        Accounts({brief: LegacyBackend(*tools("a"))}) as server,
        gateway(tmp_path, {"x": section(server, auth={"type": "Forward", "audiences": [FILES]})}, **section_of) as gw,
    ):
        alice = gw.another_modern(brief)
        assert (await alice.list()).names == ["a"]
        async with alice.listen() as stream:
            await stream.end()
        await server.received("DELETE")
        assert (await alice.list()).status == 401
        assert len(server.of("initialize")) == 1
