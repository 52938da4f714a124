"""Who sees and calls what, on the wire: with tokens that an issuer signed, in both eras, one backend and several."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import BOTH, META, Answer, LegacyClient, ModernClient, OpenStream
from fakes.gateway import Backends, Gateway, gateway, section
from fakes.issuer import Issuer, key_set
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from fakes.waiting import eventually
from integration.gateway.test_express import Line, at_once, line
from switchyard_sidecar.protocol import cursor as cursors

BACKENDS = "dev.switchyard/backends"
ALICE, BOB = "alice", "bob"


def shows(default: str = "Deny", **globs: str | Mapping[str, Any]) -> dict[str, Any]:
    """Visibility: a rule for the team of each of these names, that shows what the globs say."""
    rules = [
        {
            "when": [{"claim": "groups", "anyOf": [team]}],
            "tools": {"include": [glob, "both__*"]} if isinstance(glob, str) else glob,
        }
        for team, glob in globs.items()
    ]
    return {"default": default, "rules": rules}


OWN = shows(alice="alpha__*", bob="beta__*")


class Scene:
    """A gateway, and the issuer whose tokens it takes."""

    def __init__(self, gw: Gateway, issuer: Issuer) -> None:
        self.gw = gw
        self.issuer = issuer

    def token(self, team: str) -> str:
        """A token of somebody of this team."""
        return self.issuer.token(sub=f"{team}-1", groups=["staff", team])

    def modern(self, team: str) -> ModernClient:
        return self.gw.another_modern(self.token(team))

    async def legacy(self, team: str) -> LegacyClient:
        """One with a session."""
        client = self.gw.another_legacy(self.token(team))
        await client.initialize()
        return client

    async def clients(self, team: str) -> tuple[ModernClient, LegacyClient]:
        """One of each era."""
        return self.modern(team), await self.legacy(team)

    async def configure(self, backends: Backends, **keys: Any) -> None:
        """Write another config; who is let in stays as it was."""
        await self.gw.configure(backends, authentication=trusting(self.issuer), **keys)


def trusting(issuer: Issuer) -> dict[str, Any]:
    """Authentication by the tokens of one issuer, whose keys are given."""
    return {"issuers": [issuer.section(jwksUrl=None, jwks=key_set(issuer.keys))]}


@asynccontextmanager
async def scene(
    directory: Path, backends: Backends, visibility: Mapping[str, Any] = OWN, **keys: Any
) -> AsyncIterator[Scene]:
    """Run a gateway with these backends and rules."""
    async with Issuer() as issuer:
        keys = {"authentication": trusting(issuer), "visibility": visibility, **keys}
        async with gateway(directory, backends, **keys) as gw:
            yield Scene(gw, issuer)


@asynccontextmanager
async def three(*, ttl_ms: int = 600_000) -> AsyncIterator[dict[str, OrdinaryBackend]]:
    """One backend of Alice's, one of Bob's, and one of both; the first is of the old era."""
    async with (
        LegacyBackend(*tools("a1", "a2", "a3")) as alpha,
        ModernBackend(*tools("b1", "b2", "b3"), ttl_ms=ttl_ms) as beta,
        ModernBackend(*tools("c1", "c2"), ttl_ms=ttl_ms) as both,
    ):
        yield {"alpha": alpha, "beta": beta, "both": both}


SEEN = {
    ALICE: ["alpha__a1", "alpha__a2", "alpha__a3", "both__c1", "both__c2"],
    BOB: ["beta__b1", "beta__b2", "beta__b3", "both__c1", "both__c2"],
}


async def test_callers_list_and_call_what_their_rule_shows(tmp_path: Path) -> None:
    """In both eras, from backends of both; somebody of no team sees an empty list."""
    async with three() as backends, scene(tmp_path, backends) as played:
        for team, names in SEEN.items():
            for client in await played.clients(team):
                assert (await client.list()).names == names
                for name in names:
                    assert (await client.call(name)).text["tool"] == name.partition("__")[2]
        for client in await played.clients("nobody"):
            assert (await client.list()).names == []
        assert all(backend.complaints == [] for backend in backends.values())


@pytest.mark.parametrize("default", ["Allow", "Deny"])
async def test_whoever_no_rule_is_for_sees_what_the_default_says(tmp_path: Path, default: str) -> None:
    """All or nothing; a caller without a token is let in by nothing."""
    rules = shows(default, alice="alpha__*")
    async with three() as backends, scene(tmp_path, backends, rules) as played:
        seen = (await played.modern(BOB).list()).names
        assert seen == ([] if default == "Deny" else sorted({*SEEN[ALICE], *SEEN[BOB]}))
        assert (await played.gw.modern.list()).status == 401


async def test_rules_hold_without_authentication_too(tmp_path: Path) -> None:
    """Of such callers nothing is known: rules without conditions are for them, and the default."""
    rules = {"default": "Deny", "rules": [{"tools": {"include": ["*1"]}}]}
    async with three() as backends, gateway(tmp_path, backends, visibility=rules) as gw:
        assert (await gw.modern.list()).names == ["alpha__a1", "beta__b1", "both__c1"]
        assert (await gw.modern.call("alpha__a2")).error["message"] == "Unknown tool: alpha__a2"


async def test_rules_are_about_the_names_of_a_lone_backend_and_of_aliases(tmp_path: Path) -> None:
    """Exposed names are what globs are compared with; definitions are as the backend wrote them."""
    odd = b'{"name":"read","title":"R","inputSchema":{"type":"object","x":1e400},"_meta":{"b":[],"a":{}}}'
    alias = {"namespace": "agents", "name": "x", "backend": "tools/one", "tool": "drop", "alias": "safe_drop"}
    rules = shows(alice={"include": ["read", "safe_*"]}, bob={"include": ["*"], "exclude": ["safe_*"]})
    async with (
        ModernBackend(odd, *tools("drop", "write")) as one,
        scene(tmp_path, {"one": one}, rules, aliases=[alias]) as played,
    ):
        alice, bob = await played.modern(ALICE).list(), await played.modern(BOB).list()
        assert (alice.names, bob.names) == (["read", "safe_drop"], ["read", "write"])
        assert odd in alice.body
        assert odd in bob.body
        assert (await played.modern(ALICE).call("safe_drop")).text["tool"] == "drop"
        assert (await played.modern(BOB).call("safe_drop")).error["code"] == -32602


def but_for(name: str, answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """All that there is of an answer, without one name and the time of day."""
    fields = {key: value for key, value in answer.headers.items() if key != "Date"}
    return answer.status, fields, answer.body.replace(name.encode(), b"")


@pytest.mark.parametrize("ttl_ms", [600_000, 0], ids=["fresh", "never fresh"])
async def test_hidden_tool_is_refused_as_one_that_is_not_there(tmp_path: Path, ttl_ms: int) -> None:
    """Byte for byte but for its name, whatever is wrong with the call besides; no backend hears of it."""
    async with three(ttl_ms=ttl_ms) as backends, scene(tmp_path, backends) as played:
        for client in await played.clients(ALICE):
            await client.list()
            for arguments in ({}, {"a": 1}):
                hidden = await client.call("beta__b1", arguments, id=7)
                unknown = await client.call("beta__xx", arguments, id=7)
                assert hidden.error == {"code": -32602, "message": "Unknown tool: beta__b1"}
                assert but_for("beta__b1", hidden) == but_for("beta__xx", unknown)
        assert not backends["beta"].of("tools/call")


async def test_hidden_tool_of_a_batch_is_refused_as_one_that_is_not_there(tmp_path: Path) -> None:
    """Each message of a batch is its caller's."""
    async with three() as backends, scene(tmp_path, backends) as played:
        names = ["beta__b1", "beta__xx", "both__c1"]
        batch = [
            {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name}}
            for id_, name in enumerate(names)
        ]
        client = played.gw.another_legacy(played.token(ALICE))
        await client.initialize("2025-03-26")
        _, fields = client.frame("ping")
        answers = (await client.send("POST", json.dumps(batch).encode(), fields)).message
        assert [each.get("error") for each in answers[:2]] == [
            {"code": -32602, "message": f"Unknown tool: {name}"} for name in names[:2]
        ]
        assert "result" in answers[2]


@pytest.mark.parametrize("order", ["Name", "Backend"])
async def test_pages_hold_a_callers_own_tools_and_cursors_lead_nowhere_else(tmp_path: Path, order: str) -> None:
    """Walks are complete; with another's cursor a list begins at that place of its own, or is refused."""
    async with three() as backends, scene(tmp_path, backends, order=order, pageSize=2) as played:
        cursors_of: dict[str, list[str]] = {ALICE: [], BOB: []}
        for team, names in SEEN.items():
            for client in await played.clients(team):
                walked: list[str] = []
                cursor = None
                while True:
                    page = await client.list(cursor)
                    walked += page.names
                    if (cursor := page.result.get("nextCursor")) is None:
                        break
                    cursors_of[team].append(cursor)
                assert walked == names
        for team, other in ((ALICE, BOB), (BOB, ALICE)):
            foreign = [*cursors_of[other], cursors.encode("tools/beta\0beta__b1", "private")]
            for client in await played.clients(team):
                for cursor in foreign:
                    answer = await client.list(cursor)
                    assert "error" in answer.message or set(answer.names) <= set(SEEN[team])
                    if "error" in answer.message:
                        assert answer.error["code"] == -32602
                        forged = await client.list(cursors.encode("tools/nowhere\0x", "private"))
                        assert answer.error == forged.error


async def test_list_is_private_and_differs_by_what_a_request_presents(tmp_path: Path) -> None:
    """On one connection, in turns: nothing sticks to it."""
    async with three() as backends, scene(tmp_path, backends) as played, line(played.gw) as on:
        words = {team: listing(played.token(team)) for team in (ALICE, BOB)}
        for _ in range(3):
            for team, names in SEEN.items():
                result = (await on.ask(words[team])).message["result"]
                assert [each["name"] for each in result["tools"]] == names
                assert result["cacheScope"] == "private"


async def test_another_token_of_the_same_caller_is_another_view(tmp_path: Path) -> None:
    """What counts is what this token says, also in a session."""
    async with three() as backends, scene(tmp_path, backends) as played:
        legacy = await played.legacy(ALICE)
        assert (await legacy.list()).names == SEEN[ALICE]
        legacy.token = played.issuer.token(sub="alice-1", groups=["bob"])
        assert (await legacy.list()).names == SEEN[BOB]


async def test_list_is_answered_at_once_to_each_caller_and_never_by_former_rules(tmp_path: Path) -> None:
    """What is remembered of a request is written from its own caller's view, as it is now."""
    async with three() as backends, scene(tmp_path, backends) as played, line(played.gw) as on:
        words = {team: listing(played.token(team)) for team in (ALICE, BOB)}

        async def listed(team: str) -> list[str]:
            return [each["name"] for each in (await on.ask(words[team])).message["result"]["tools"]]

        for team, names in SEEN.items():
            assert await listed(team) == names
            before = await at_once(played.gw)
            assert await listed(team) == names
            assert await at_once(played.gw) == before + 1
        backends["alpha"].tools.append(tool("a4"))
        await backends["alpha"].notify()
        await eventually(lambda: listed_is(played.modern(ALICE), sorted([*SEEN[ALICE], "alpha__a4"])))
        before = await at_once(played.gw)
        assert "alpha__a4" in await listed(ALICE)
        assert await listed(BOB) == SEEN[BOB]
        assert await at_once(played.gw) == before + 2
        await played.configure(backends, visibility=shows(alice="beta__*", bob="alpha__a1"))
        assert await listed(ALICE) == SEEN[BOB]
        assert await listed(BOB) == ["alpha__a1", "both__c1", "both__c2"]


async def listed_is(client: ModernClient, names: list[str]) -> bool:
    """Whether the list holds exactly these tools."""
    return (await client.list()).names == names


async def named(client: ModernClient | LegacyClient) -> list[str]:
    """The backends that a list says are unavailable."""
    meta = (await client.list()).result.get("_meta", {})
    return [each["backend"] for each in meta.get(BACKENDS, {}).get("unavailable", [])]


async def test_backend_that_is_down_is_named_to_whose_tools_it_would_have(tmp_path: Path) -> None:
    """One that answered before, and one that never did; whoever sees nothing of it does not learn that it exists."""
    async with three(ttl_ms=0) as backends:
        backends["beta"].always("server/discover", hostile.reset())
        backends["beta"].always("initialize", hostile.reset())
        quick = {name: section(each, timeouts={"listMs": 200}) for name, each in backends.items()}
        rules = shows(
            alice="alpha__*", bob="beta__*", carol={"include": ["*"]}, dan={"include": ["*"], "exclude": ["beta__*"]}
        )
        async with scene(tmp_path, quick, rules) as played:
            for client in await played.clients(BOB):
                assert await named(client) == ["tools/beta"]
            for team, expected in ((ALICE, []), ("carol", ["tools/beta"]), ("dan", []), ("nobody", [])):
                for client in await played.clients(team):
                    answer = await client.list()
                    assert await named(client) == expected
                    assert (b"beta" in answer.body) is bool(expected)


async def test_strict_gateway_names_silent_backends_to_whose_tools_they_would_have(tmp_path: Path) -> None:
    """Everybody gets the error, for a list, for an unknown tool and for a hidden one; it says no more than they may know."""
    async with three() as backends:
        backends["beta"].always("server/discover", hostile.reset())
        backends["beta"].always("initialize", hostile.reset())
        quick = {name: section(each, timeouts={"listMs": 200}) for name, each in backends.items()}
        async with scene(tmp_path, quick, failurePolicy="Strict") as played:
            for team, known in ((ALICE, []), (BOB, ["tools/beta"])):
                for client in await played.clients(team):
                    for answer in (await client.list(), await client.call("beta__b1"), await client.call("xx")):
                        assert answer.error["code"] == -32603
                        assert list(answer.error["data"]["backends"]) == known
                        assert (b"tools/beta" in answer.body) is bool(known)


async def test_subscriber_is_told_when_its_own_view_changes_and_only_then(tmp_path: Path) -> None:
    """In both eras: of a tool, an alias, a definition that others see nobody else hears; of one that all see, everyone."""
    async with three() as backends, scene(tmp_path, backends) as played, streams(played) as (of_alice, of_bob):
        heard = {ALICE: 0, BOB: 0}

        async def expect(*teams: str) -> None:
            for team in teams:
                heard[team] += 1
            await told(of_alice, heard[ALICE])
            await told(of_bob, heard[BOB])

        backends["alpha"].tools.append(tool("a4"))
        await backends["alpha"].notify()
        await expect(ALICE)
        backends["beta"].tools[0] = tool("b1", title="changed")
        await backends["beta"].notify()
        await expect(BOB)
        backends["both"].tools.pop()
        await backends["both"].notify()
        await expect(ALICE, BOB)
        alias = {"namespace": "agents", "name": "x", "backend": "tools/beta", "tool": "b2", "alias": "beta__alias"}
        await played.configure(backends, visibility=OWN, aliases=[alias])
        await expect(BOB)
        await played.configure(backends, visibility=shows(alice="alpha__a*", bob="alpha__*"), aliases=[alias])
        await expect(BOB)
        assert (await played.modern(BOB).list()).names == (await played.modern(ALICE).list()).names
        await played.configure(backends, visibility=shows(bob="alpha__*"), aliases=[alias])
        await expect(ALICE)
        backends["alpha"].tools.append(tool("a5"))
        await backends["alpha"].notify()
        await expect(BOB)


Streams = tuple[OpenStream, OpenStream]


@asynccontextmanager
async def streams(played: Scene) -> AsyncIterator[tuple[Streams, Streams]]:
    """A stream of each era for Alice and for Bob, who have listed before."""
    for team in SEEN:
        await played.modern(team).list()
    (alice, old_alice), (bob, old_bob) = await played.clients(ALICE), await played.clients(BOB)
    async with alice.listen() as one, old_alice.listen() as two, bob.listen() as three_, old_bob.listen() as four:
        await two.has_comments(1)
        await four.has_comments(1)
        yield (one, two), (three_, four)


async def told(of_one: Streams, times: int) -> None:
    """Wait until both streams have told of exactly so many changes: the modern one says first that it is open."""
    modern, legacy = of_one
    assert len(await modern.has(times + 1)) == times + 1
    assert len(await legacy.has(times)) == times


PARAMS = {
    "_meta": {
        META + "protocolVersion": "2026-07-28",
        META + "clientInfo": {"name": "recorder", "version": "1"},
        META + "clientCapabilities": {},
    }
}


def words(token: str, method: str, id_: int, **params: Any) -> bytes:
    """A modern request as it is on the wire."""
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": {**PARAMS, **params}}
    body = json.dumps(message).encode()
    named = [f"Mcp-Name: {params['name']}"] if "name" in params else []
    head = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Accept: {BOTH}",
        "MCP-Protocol-Version: 2026-07-28",
        f"Mcp-Method: {method}",
        *named,
        f"Content-Length: {len(body)}",
        "",
        "",
    ]
    return "\r\n".join(head).encode() + body


def listing(token: str) -> bytes:
    """A list request."""
    return words(token, "tools/list", 1)


TIMES = 10_000
CHANGES = 20


async def test_nothing_of_one_caller_reaches_another_in_ten_thousand_turns(tmp_path: Path) -> None:
    """Lists, pages, calls, refusals and notifications of two callers, in turns, while tools come and go."""
    async with (
        three() as backends,
        scene(tmp_path, backends, pageSize=2) as played,
        streams(played) as (of_alice, of_bob),
        line(played.gw) as one,
        line(played.gw) as two,
    ):
        hidden = {ALICE: (b"beta__b", b"Does b", b"tools/beta"), BOB: (b"alpha__a", b"Does a", b"tools/alpha")}
        hidden_name = {ALICE: "beta__b1", BOB: "alpha__a1"}
        own = {ALICE: "alpha__a", BOB: "beta__b"}
        cursor: dict[str, str] = {}
        choices = random.Random(7)
        turns = {ALICE: 0, BOB: 0}

        async def turn(on: Line, team: str, token: str) -> None:
            id_ = turns[team] = turns[team] + 1
            kind = choices.choices(("list", "page", "foreign", "refused", "call"), weights=(50, 15, 15, 15, 5))[0]
            other = BOB if team == ALICE else ALICE
            match kind:
                case "list":
                    answer = await on.ask(words(token, "tools/list", id_))
                    result = answer.message["result"]
                    assert len(result["tools"]) == 2
                    cursor[team] = result["nextCursor"]
                    assert result["cacheScope"] == "private"
                case "page" | "foreign":
                    place = cursor.get(team if kind == "page" else other, cursors.encode("\0m", "private"))
                    answer = await on.ask(words(token, "tools/list", id_, cursor=place))
                    assert "result" in answer.message
                case "refused":
                    name = hidden_name[team]
                    answer = await on.ask(words(token, "tools/call", id_, name=name))
                    error = {"code": -32602, "message": f"Unknown tool: {name}"}
                    assert answer.message == {"jsonrpc": "2.0", "id": id_, "error": error}
                    return
                case "call":
                    answer = await on.ask(words(token, "tools/call", id_, name=own[team] + "1"))
                    assert json.loads(answer.message["result"]["content"][0]["text"])["tool"] == own[team][-1] + "1"
            assert answer.message["id"] == id_
            assert not any(word in answer.body for word in hidden[team])

        async def converse(on: Line, team: str, times: int) -> None:
            token = played.token(team)
            for _ in range(times):
                await turn(on, team, token)

        for change in range(1, CHANGES + 1):
            changing = "alpha" if change % 2 else "beta"
            letter = changing[0]
            times = TIMES // CHANGES // 2
            talking = asyncio.gather(converse(one, ALICE, times), converse(two, BOB, times))
            backends[changing].tools[1:] = tools(*(f"{letter}{number}" for number in range(2, 4 + change)))
            await backends[changing].notify()
            await talking
            await told(of_alice, (change + 1) // 2)
            await told(of_bob, change // 2)
        assert turns[ALICE] + turns[BOB] == TIMES
        assert await at_once(played.gw) > TIMES // 4
        called = {
            name: {request.params["name"] for request in each.of("tools/call")} for name, each in backends.items()
        }
        assert called == {"alpha": {"a1"}, "beta": {"b1"}, "both": set()}
