"""Lanes of callers whose own tokens go to backends: what is whose, how long it lasts, and what a token does."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import hostile
from fakes.accounts import UNKNOWN, Accounts
from fakes.http_sse import HttpSseBackend
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tools
from fakes.waiting import PATIENCE_S, eventually
from integration.gateway.lanes import AUTHENTICATION, FORWARD, caller, meant_for, patient, scene
from switchyard_sidecar.access.caller import ANONYMOUS, Caller
from switchyard_sidecar.gateway.lane import NO_TOKEN, TOKEN_EXPIRED
from switchyard_sidecar.protocol.errors import CallerOverloaded, McpError, Overloaded

ALICE, BOB = caller("alice"), caller("bob")
ERAS = [ModernBackend, LegacyBackend, HttpSseBackend]


def accounts(make: Callable[..., OrdinaryBackend] = ModernBackend) -> Accounts:
    """A server at which Alice has one tool and Bob another."""
    return Accounts({"alice": make(*tools("a")), "bob": make(*tools("b"))})


@pytest.mark.parametrize("make", ERAS)
async def test_each_caller_lists_and_calls_its_own_tools(make: Callable[..., OrdinaryBackend]) -> None:
    """One backend, two callers, two lists; a tool of the other's is not to be found, let alone called."""
    async with accounts(make) as server, scene({"x": (server, FORWARD)}) as played:
        for _ in range(3):
            assert await played.names(ALICE) == ["x__a"]
            assert await played.names(BOB) == ["x__b"]
        assert json.loads(await played.call(ALICE, "x__a"))["content"][0]["text"] == '{"tool": "a", "arguments": {}}'
        assert "x__b" not in played.gateway.lane(ALICE).catalog.routes
        assert [request.params["name"] for request in server.of("tools/call")] == ["a"]


@pytest.mark.parametrize("make", ERAS)
async def test_token_goes_with_every_request(make: Callable[..., OrdinaryBackend]) -> None:
    """Discovery, lists, streams, calls, and what ends a session: none is without, and none has another's."""
    async with accounts(make) as server:
        account = server.by_token["alice"]
        async with scene({"x": (server, FORWARD)}) as played:
            await played.names(ALICE)
            await played.call(ALICE, "x__a")
            await account.listened(1 if make is ModernBackend else 2)
        if make is LegacyBackend:  # the sessions for discovery and for calls
            await account.received("DELETE", 2)
        assert server.presented == {"Bearer alice"}
        assert account.complaints == []


async def test_configured_authorization_gives_way_to_the_caller() -> None:
    """A header of the config's own is never sent in place of, or beside, the token."""
    section = {**FORWARD, "headers": [{"name": "authorization", "value": "Basic x"}, {"name": "X-Team", "value": "t"}]}
    async with accounts() as server, scene({"x": (server, section)}) as played:
        assert await played.names(ALICE) == ["x__a"]
        for request in server.requests:
            named = [name.lower() for name, _ in request.headers]
            assert named.count("authorization") == 1
            assert request.header("X-Team") == "t"


async def test_other_backends_are_shared_and_get_no_token() -> None:
    """What knows nothing of callers is asked once for all of them, and not told of any."""
    async with accounts() as server, ModernBackend(*tools("t")) as common:
        async with scene({"x": (server, FORWARD), "c": (common, {})}) as played:
            assert await played.names(ALICE) == ["c__t", "x__a"]
            assert await played.names(BOB) == ["c__t", "x__b"]
            assert await played.names(ANONYMOUS) == ["c__t"]
            await played.call(ALICE, "c__t")
        assert len(common.of("tools/list")) <= 2  # the second when its change stream has opened
        assert {request.header("Authorization") for request in common.requests} == {None}


async def test_caller_without_a_token_is_told_what_is_missing() -> None:
    """The backend is not asked, and says nothing of anybody else's list."""
    async with (
        accounts() as server,
        ModernBackend(*tools("t"), list_changed=False) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}) as played,
    ):
        assert await played.reasons(ANONYMOUS) == {"n/x": NO_TOKEN}
        assert server.requests == []
        assert played.gateway.lane(ANONYMOUS).ttl_ms() > 50_000
        assert await played.reasons(ALICE) == {}
        route = played.gateway.lane(ALICE).catalog.routes["x__a"]
        with pytest.raises(McpError, match=NO_TOKEN):
            await played.gateway.lane(ANONYMOUS).call(route, None, None)  # type: ignore[arg-type]


async def test_gateway_without_any_list_for_a_caller_says_why() -> None:
    """An empty list would look like a backend without tools."""
    async with accounts() as server, scene({"x": (server, FORWARD)}) as played:
        with pytest.raises(McpError) as refusal:
            await played.names(ANONYMOUS)
        assert refusal.value.data == {"backends": {"n/x": NO_TOKEN}}


async def test_authenticated_token_goes_only_where_it_was_issued_for() -> None:
    """With gateway authentication, a backend gets a token that names one of its audiences, and no other."""
    async with accounts() as one, accounts() as two, ModernBackend(*tools("t")) as common:
        backends = {"x": (one, meant_for("x", "xx")), "y": (two, meant_for("y")), "c": (common, {})}
        async with scene(backends, **AUTHENTICATION) as played:
            both, neither = caller("bob", aud=["mcp", "y", "xx"]), caller("alice", aud=["mcp"])
            assert await played.names(caller("alice", aud=["mcp", "xx"])) == ["c__t", "x__a"]
            assert await played.reasons(caller("alice", aud=["mcp", "xx"])) == {"n/y": NO_TOKEN}
            assert await played.names(both) == ["c__t", "x__b", "y__b"]
            assert await played.names(neither) == ["c__t"]
            assert played.gateway.lane(neither) is played.gateway.shared
        assert two.presented == {"Bearer bob"}


async def test_backend_without_audiences_gets_no_authenticated_token() -> None:
    """Whoever forgets to say for whom tokens must be has none sent."""
    async with accounts() as server, ModernBackend(*tools("t")) as common:
        async with scene({"x": (server, FORWARD), "c": (common, {})}, **AUTHENTICATION) as played:
            assert await played.names(caller("alice", aud=["mcp"])) == ["c__t"]
        assert server.requests == []


async def test_renewed_token_takes_over_and_sessions_go_on() -> None:
    """The next request carries the new token; the session with the backend and what was read stay."""
    async with accounts(LegacyBackend) as server, scene({"x": (server, FORWARD)}) as played:
        await played.names(caller("alice", iat=1, exp=2, jti="1"))
        await played.call(caller("alice", iat=1, exp=2, jti="1"), "x__a")
        server.by_token["new"] = server.by_token["alice"]
        renewed = caller("alice", "new", iat=11, exp=12, jti="2")
        await played.call(renewed, "x__a")
        assert [request.header("Authorization") for request in server.of("tools/call")] == [
            "Bearer alice",
            "Bearer new",
        ]
        assert len({request.header("Mcp-Session-Id") for request in server.of("tools/call")}) == 1
        assert len(server.of("initialize")) == 2  # one for discovery, one for calls
        assert played.gateway.lanes == 1


async def test_token_that_ends_sooner_takes_nothing_from_one_that_lasts() -> None:
    """A person has several agents, each with a token of its own; one that is renewed late must not end what the others see."""
    async with accounts() as server, scene({"x": (server, FORWARD)}) as played:
        server.by_token["soon over"] = server.by_token["alice"]
        lasting = caller("alice", lives_s=600, exp=600)
        assert await played.names(lasting) == ["x__a"]
        for _ in range(2):
            await played.call(caller("alice", "soon over", lives_s=60, exp=60), "x__a")
            await played.call(lasting, "x__a")
        assert {request.header("Authorization") for request in server.of("tools/call")} == {"Bearer alice"}
        assert played.gateway.lanes == 1


async def test_token_that_ends_sooner_takes_over_from_one_that_is_not_as_good() -> None:
    """Which the backend will not have; or which another key has signed, since that may have been withdrawn."""
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}, pace=patient()) as played,
    ):
        for name, voucher in (("carol", ""), ("alice", "another key")):
            server.by_token["soon over"] = ModernBackend(*tools("new"))
            await played.names(caller(name, lives_s=600, exp=600))
            then = replace(caller(name, "soon over", lives_s=60, exp=60), voucher=voucher)
            await played.names(then)
            await played.call(then, "x__new" if name == "carol" else "x__a")
        assert [request.header("Authorization") for request in server.of("tools/call")] == ["Bearer soon over"] * 2


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(caller("alice", "narrow", scope="read"), id="other scopes"),
        pytest.param(caller("alice", "narrow", aud=["elsewhere"], scope="all"), id="other audiences"),
        pytest.param(caller("else", "narrow", scope="all"), id="another principal"),
        pytest.param(
            Caller("alice", {"scope": "all"}, audiences=frozenset({"x"}), token="narrow"),
            id="audiences it has by other means",
        ),
    ],
)
async def test_token_that_entitles_to_something_else_sees_nothing_of_the_first(other: Any) -> None:
    """Also when it is the same person's: what a mighty token has fetched is not for a lesser one."""
    async with accounts() as server, scene({"x": (server, FORWARD)}) as played:
        server.by_token["narrow"] = ModernBackend(*tools("little"))
        mighty = caller("alice", scope="all")
        for _ in range(2):
            assert await played.names(mighty) == ["x__a"]
            assert await played.names(other) == ["x__little"]
        await played.call(other, "x__little")
        assert server.of("tools/call")[0].header("Authorization") == "Bearer narrow"


async def test_denied_token_costs_its_own_caller_alone() -> None:
    """The list that it had brought is shown no more, with the reason, while others keep theirs."""
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}, pace=patient()) as played,
    ):
        assert await played.names(ALICE) == ["c__t", "x__a"]
        assert await played.names(BOB) == ["c__t", "x__b"]
        streams = server.by_token["alice"].streams
        del server.by_token["alice"]
        with pytest.raises(McpError, match="Backend unavailable: HTTP 401"):
            await played.call(ALICE, "x__a")

        async def told() -> bool:
            return await played.names(ALICE) == ["c__t"]

        await eventually(told)
        assert await played.reasons(ALICE) == {"n/x": "HTTP 401"}
        assert await played.reasons(BOB) == {}
        assert await played.names(BOB) == ["c__t", "x__b"]
        for stream in streams:
            stream.reset()


async def test_denied_caller_with_another_token_need_not_wait() -> None:
    """The list that is asked for with it is read with it, whatever the back-off."""
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}, pace=patient()) as played,
    ):
        assert await played.names(caller("carol", "old")) == ["c__t"]
        server.by_token["new"] = ModernBackend(*tools("mine"))
        assert await played.reasons(caller("carol", "old")) == {"n/x": "HTTP 401"}
        assert await played.names(caller("carol", "new")) == ["c__t", "x__mine"]


async def test_token_stays_on_its_origin() -> None:
    """A redirection to anywhere else is not followed, so nobody there gets to see it."""
    async with ModernBackend(*tools("t")) as elsewhere, ModernBackend(*tools("t")) as common:
        away = hostile.body(b"", status=307, fields=[("Location", elsewhere.url)])
        async with (
            hostile.HostileBackend(lambda _: away) as server,
            scene({"x": (server, FORWARD), "c": (common, {})}, pace=patient()) as played,
        ):
            assert await played.reasons(ALICE) == {"n/x": "redirected elsewhere"}
        assert elsewhere.requests == []


async def test_change_concerns_the_caller_whose_list_it_is() -> None:
    """Of two who follow, one hears of a change of its own tools, and both of one that they share."""
    settled_late = {"timeouts": {"listMs": 60_000}}
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, {**FORWARD, **settled_late}), "c": (common, settled_late)}) as played,
    ):
        alice, bob = played.gateway.lane(ALICE), played.gateway.lane(BOB)
        for each in (alice, bob):
            await each.fresh()
            each.follow()
        await server.by_token["alice"].listened()
        await common.listened()
        digests = {lane: lane.catalog.modern.digest for lane in (alice, bob)}
        server.by_token["alice"].tools += tools("more")
        await server.by_token["alice"].notify()
        while "x__more" not in alice.catalog.routes:
            await played.hears(alice, played.published.count(alice) + 1)
        assert bob.catalog.modern.digest == digests[bob]
        common.tools += tools("u")
        await common.notify()
        for lane in (alice, bob):
            while "c__u" not in lane.catalog.routes:
                await played.hears(lane, played.published.count(lane) + 1)
        alice.unfollow()
        bob.unfollow()


async def test_catalog_that_nobody_looks_at_is_not_made() -> None:
    """A change costs each lane nothing until its caller asks, and then it is there. To look at the status is not to ask."""
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}) as played,
    ):
        lane = played.gateway.lane(ALICE)
        await lane.fresh()
        await common.listened()
        made = played.published.count(lane)
        common.tools += tools("u")
        await common.notify()
        while "c__u" not in played.gateway.shared.catalog.routes:
            await played.hears(played.gateway.shared, played.published.count(played.gateway.shared) + 1)
        assert played.gateway.callers_as_pinned == {}
        assert played.published.count(lane) == made
        assert lane.warm() is None
        assert "c__u" in lane.catalog.routes


async def test_backends_of_a_followed_lane_are_looked_at_unasked() -> None:
    """Its caller's own and the shared ones, for as long as somebody follows: also what nobody announces is noticed."""
    silent = ModernBackend(*tools("a"), ttl_ms=0, list_changed=False)
    async with (
        Accounts({"alice": silent}) as server,
        ModernBackend(*tools("t"), ttl_ms=0, list_changed=False) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}, pace=patient(poll_floor_s=0.02)) as played,
    ):
        lane = played.gateway.lane(ALICE)
        lane.follow()
        await server.received("tools/list", 3)
        await common.received("tools/list", 3)
        lane.unfollow()
        assert not any(running.session.interested for running in lane._running.values())


async def test_gateway_ends_also_when_nothing_can_be_sent_any_more() -> None:
    """Sessions that cannot say good-bye are over all the same, and not begun anew."""
    async with LegacyBackend(*tools("t")) as common, scene({"c": (common, {})}) as played:
        await played.names(ANONYMOUS)
        await common.listened()
        await played.http.close()
        with capture_logs() as said:
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait(played.gateway.retire_all())
        assert [line["event"] for line in said] == ["backend_task_failed"]


async def test_what_a_new_config_hides_is_gone_from_every_lane_at_once() -> None:
    """Also from one that nobody has looked at since."""
    async with accounts() as server, ModernBackend(*tools("t")) as common:
        backends = {"x": (server, FORWARD), "c": (common, {})}
        async with scene(backends) as played:
            lane = played.gateway.lane(ALICE)
            assert "c__t" in (await lane.fresh()).routes
            made = played.published.count(lane)
            played.configure(backends | {"c": (common, {"filters": [{"exclude": ["t"]}]})})
            assert played.published.count(lane) == made
            assert "c__t" not in lane.catalog.routes
            assert "x__a" in lane.catalog.routes


async def test_oldest_unused_lane_makes_room() -> None:
    """However many callers come, so many sessions there are; one who is used steadily keeps what it has."""
    async with accounts(LegacyBackend) as server:
        server.by_token["carol"] = LegacyBackend(*tools("c"))
        async with scene({"x": (server, FORWARD)}, pace=patient(lanes=2)) as played:
            await played.names(ALICE)
            of_bob = played.gateway.lane(BOB)
            for who in (BOB, ALICE, caller("carol")):
                await played.names(who)
            await server.by_token["bob"].received("DELETE")
            assert played.gateway.lanes == 2
            assert len(server.by_token["alice"].of("initialize")) == 1
            assert server.by_token["alice"].of("DELETE") == []
            assert of_bob.warm() is None  # for whoever still holds it
            assert of_bob.catalog.routes == {}


async def test_lane_in_use_is_not_thrown_out() -> None:
    """Where all are followed or carry calls, the next caller is asked to come again."""
    async with accounts() as server, scene({"x": (server, FORWARD)}, pace=patient(lanes=2)) as played:
        await played.names(BOB)
        await played.names(ALICE)
        gate = asyncio.Event()
        server.by_token["alice"].call = lambda _: hostile.after(gate, hostile.result({"content": []}))
        calling = asyncio.create_task(played.call(ALICE, "x__a"))
        await server.received("tools/call")
        played.gateway.lane(BOB).follow()
        with pytest.raises(Overloaded):
            played.gateway.lane(caller("carol"))
        assert await played.names(ALICE) == ["x__a"]
        gate.set()
        await calling
        assert played.gateway.lane(caller("carol")).warm() is None
        played.gateway.lane(BOB).unfollow()


async def test_one_caller_cannot_take_the_lanes_of_all_others() -> None:
    """However many different tokens an issuer gives it: its own oldest unused lane makes room; where it uses all, it is told so."""
    async with accounts() as server, scene({"x": (server, FORWARD)}, pace=patient(lanes=4, lanes_of_one=2)) as played:
        others = [played.gateway.lane(each) for each in (ALICE, BOB)]
        own = [played.gateway.lane(caller("carol", str(number), scope=str(number))) for number in range(4)]
        assert [played.gateway.lane(each) for each in (ALICE, BOB)] == others
        assert played.gateway.lanes == 4
        for lane in own[2:]:
            lane.follow()
        with pytest.raises(CallerOverloaded):
            played.gateway.lane(caller("carol", "5", scope="5"))
        assert played.gateway.lane(caller("carol", "3", scope="3")) is own[3]
        played.gateway.lane(caller("dave"))
        for lane in own[2:]:
            lane.unfollow()


async def test_backend_that_hangs_takes_no_more_than_its_share_through_all_callers() -> None:
    """However many they are: what one of them cannot have of it, none can, and other backends are free."""
    async with (
        accounts() as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}, pace=patient(calls=2)) as played,
    ):
        for who in (ALICE, BOB):
            await played.names(who)
        server.by_token["alice"].call = lambda _: hostile.hang()
        calling = [asyncio.create_task(played.call(ALICE, "x__a")) for _ in range(2)]
        await server.received("tools/call", 2)
        with pytest.raises(McpError, match="too many calls at once"):
            await played.call(BOB, "x__b")
        await played.call(BOB, "c__t")
        for each in calling:
            each.cancel()
        await asyncio.gather(*calling, return_exceptions=True)
        await played.call(BOB, "x__b")


async def test_unused_lane_ends_after_a_while() -> None:
    """Its session with the backend is ended properly; a caller who comes back has a new one. One that is followed stays."""
    async with (
        accounts(LegacyBackend) as server,
        scene({"x": (server, FORWARD)}, pace=patient(lane_idle_s=0.05)) as played,
    ):
        await played.names(BOB)
        played.gateway.lane(BOB).follow()
        await played.names(ALICE)
        await server.by_token["alice"].received("DELETE")
        assert await played.names(ALICE) == ["x__a"]
        assert len(server.by_token["alice"].of("initialize")) == 2
        assert len(server.by_token["bob"].of("initialize")) == 1
        played.gateway.lane(BOB).unfollow()
        await server.by_token["bob"].received("DELETE")


async def test_sessions_end_with_the_token() -> None:
    """What follows the lane is told that the backend is missing, and why; a renewed token brings it back."""
    async with (
        accounts(LegacyBackend) as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}) as played,
    ):
        short = caller("alice", lives_s=0.3)
        lane = played.gateway.lane(short)
        lane.follow()
        assert list((await lane.fresh()).modern.names) == ["c__t", "x__a"]
        await server.received("DELETE")
        assert list((await lane.fresh()).modern.names) == ["c__t"]
        assert {each.reason for each in lane.catalog.degraded} == {TOKEN_EXPIRED}
        assert played.gateway.lane(short) is played.gateway.shared
        server.by_token["new"] = server.by_token["alice"]
        assert played.gateway.lane(caller("alice", "new")) is lane
        assert await played.names(caller("alice", "new")) == ["c__t", "x__a"]
        lane.unfollow()


@pytest.mark.parametrize(
    "revoked",
    [
        pytest.param({"auth": {"type": "None"}}, id="no tokens any more"),
        pytest.param({"unresolved": "SecretNotFound"}, id="unresolved"),
        pytest.param(None, id="removed"),
    ],
)
async def test_lanes_end_when_the_backend_is_revoked(revoked: dict[str, Any] | None) -> None:
    """Nothing goes on with a token that the config would not send any more."""
    async with accounts(LegacyBackend) as server, ModernBackend(*tools("t")) as common:
        backends: dict[str, Any] = {"x": (server, FORWARD), "c": (common, {})}
        async with scene(backends, pace=patient()) as played:
            await played.names(ALICE)
            played.gateway.lane(BOB).follow()
            await played.names(BOB)
            rest = {"c": backends["c"]} if revoked is None else backends | {"x": (server, revoked)}
            played.configure(rest)
            await server.by_token["alice"].received("DELETE")
            await server.by_token["bob"].received("DELETE")
            assert played.gateway.lanes == 1  # Bob's, who is followed
            assert played.gateway.lane(ALICE) is played.gateway.shared
            assert await played.names(ALICE) == ["c__t"]


async def test_audience_that_is_wanted_no_more_ends_the_session() -> None:
    """The rule who gets a token holds for lanes that are there as for those that come."""
    async with accounts(LegacyBackend) as server, ModernBackend(*tools("t")) as common:
        backends: dict[str, Any] = {"x": (server, meant_for("x")), "c": (common, {})}
        async with scene(backends, **AUTHENTICATION) as played:
            who = caller("alice", aud=["x"])
            assert await played.names(who) == ["c__t", "x__a"]
            played.configure(backends | {"x": (server, meant_for("z"))}, **AUTHENTICATION)
            await server.received("DELETE")
            assert await played.reasons(who) == {"n/x": NO_TOKEN}


async def test_lanes_end_when_others_are_let_in() -> None:
    """Whose issuer is no more cannot come back for its lane; everyone else gets another."""
    async with accounts(LegacyBackend) as server, scene({"x": (server, meant_for("x"))}, **AUTHENTICATION) as played:
        await played.names(caller("alice", aud=["x"]))
        played.configure({"x": (server, meant_for("x"))}, authentication={"issuers": []})
        await server.received("DELETE")
        assert played.gateway.lanes == 0


async def test_claims_may_hold_whatever_json_holds() -> None:
    """They tell callers apart by what they say, not by how it is written."""
    odd: dict[str, Any] = {"n": 10**30, "s": "\ud800", "o": {"b": [None, 1.5], "a": True}}
    again: dict[str, Any] = {"o": {"a": True, "b": [None, 1.5]}, "s": "\ud800", "n": 10**30}
    async with accounts() as server, scene({"x": (server, FORWARD)}) as played:
        assert await played.names(caller("alice", **odd)) == ["x__a"]
        assert played.gateway.lane(caller("alice", **odd)) is played.gateway.lane(caller("alice", **again))


async def test_unchanged_config_leaves_lanes_alone() -> None:
    """Only a backend whose own section differs starts again, in every lane; another caller may come in between."""
    async with accounts(LegacyBackend) as server, ModernBackend(*tools("t")) as common:
        backends: dict[str, Any] = {"x": (server, FORWARD), "c": (common, {})}
        async with scene(backends) as played:
            await played.names(ALICE)
            played.configure(backends | {"c": (common, {"timeouts": {"listMs": 4000}})})
            await played.names(ALICE)
            assert len(server.of("initialize")) == 1
            played.configure(backends | {"x": (server, {**FORWARD, "timeouts": {"listMs": 4000}})})
            await played.names(ALICE)
            await played.names(BOB)
            await played.names(ALICE)
            assert len(server.by_token["alice"].of("initialize")) == 2
            assert len(server.by_token["bob"].of("initialize")) == 1


async def test_ended_session_of_a_client_ends_its_sessions_in_lanes() -> None:
    """As with backends that are shared: DELETE reaches the session that was held for its calls."""
    async with accounts(LegacyBackend) as server, scene({"x": (server, FORWARD)}) as played:
        await played.names(ALICE)
        await played.call(ALICE, "x__a", session="one")
        await played.call(ALICE, "x__a", session="two")
        ended = server.of("tools/call")[0].header("Mcp-Session-Id")
        played.gateway.forget("one")
        (request,) = await server.received("DELETE")
        assert request.header("Mcp-Session-Id") == ended


async def test_server_that_denies_everyone_is_no_outage() -> None:
    """Who presents nothing that it knows is told so, each for itself, and may try again."""
    async with (
        hostile.HostileBackend(lambda _: UNKNOWN) as server,
        ModernBackend(*tools("t")) as common,
        scene({"x": (server, FORWARD), "c": (common, {})}, pace=patient()) as played,
    ):
        assert await played.reasons(ALICE) == {"n/x": "HTTP 401"}
        assert await played.reasons(BOB) == {"n/x": "HTTP 401"}
        assert await played.reasons(ANONYMOUS) == {"n/x": NO_TOKEN}


def test_token_shows_itself_to_nobody() -> None:
    """Nor in the representation of what holds it."""
    assert "alice" not in repr(caller("someone", "alice"))


@pytest.mark.parametrize("make", ERAS)
async def test_log_lines_about_one_caller_say_whose_lane_they_are_of(make: Callable[..., OrdinaryBackend]) -> None:
    """By a number, so that callers are told apart, and of whom it is nothing. What all share has none."""
    with capture_logs() as logged:
        async with (
            accounts(make) as server,
            ModernBackend(*tools("t")) as common,
            scene({"x": (server, FORWARD), "c": (common, {})}) as played,
        ):
            await played.names(ALICE)
            await played.names(BOB)
            await played.names(caller("alice", "alice", iat=1))  # another token that entitles to the same
            await played.names(caller("stranger"))
            await server.stop()
            with pytest.raises(McpError):
                await played.call(ALICE, "x__a")
    assert {each.get("lane") for each in logged if each.get("backend") == "n/c"} == {None}
    lines = [(each["event"], each["lane"]) for each in logged if each.get("backend") == "n/x"]
    assert {line for line in lines if line[0] == "list_read"} == {("list_read", 1), ("list_read", 2)}
    assert {line for line in lines if line[0] == "backend_failing"} >= {("backend_failing", 3)}
    assert ("call_failed", 1) in lines
    assert not [word for word in ("alice", "bob", "stranger") if word in repr(logged)]


async def test_a_lane_that_begins_anew_has_another_number() -> None:
    """One that ended says nothing about the next one's caller."""
    with capture_logs() as logged:
        async with accounts() as server, scene({"x": (server, FORWARD)}, pace=patient(lanes=1)) as played:
            for who in (ALICE, BOB, ALICE):
                await played.names(who)
    assert [each["lane"] for each in logged if each["event"] == "backend_connected"] == [1, 2, 3]
