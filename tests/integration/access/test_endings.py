"""What ends with a token: open streams, remembered lists, sessions; and what does not pass from one caller to another."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

from fakes import hostile
from fakes.clients import BOTH
from fakes.gateway import gateway
from fakes.issuer import Issuer
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.waiting import PATIENCE_S, eventually
from integration.access.doors import QUICK, challenge, guarded, static
from integration.gateway.test_express import at_once, line

STRICT = {"leewayMs": 0}
EVENTS = "text/event-stream"


def lasting(issuer: Issuer, seconds: float) -> tuple[str, float]:
    """A token that expires so soon, to the full second; and when."""
    until = int(time.time() + seconds) + 1
    return issuer.token(exp=until), float(until)


async def test_streams_end_in_order_when_the_token_expires(tmp_path: Path) -> None:
    """A listen stream with its result, a GET stream with the end of its body; at that moment, though nothing changes."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a"), ttl_ms=600_000) as backend,
        guarded(tmp_path, {"x": backend}, issuer, section=STRICT) as gw,
    ):
        token, until = lasting(issuer, 1)
        lasts = gw.modern
        modern, legacy = gw.another_modern(token), gw.another_legacy(token)
        await legacy.initialize()
        async with lasts.listen() as stays, modern.listen(id="mine") as listen, legacy.listen() as stream:
            last = (await listen.end())[-1]
            assert await stream.end() == []
            assert until <= time.time() < until + PATIENCE_S
            assert last["id"] == "mine"
            assert last["result"]["resultType"] == "complete"
            assert not stays.ended
            backend.tools.append(tool("b"))
            await backend.notify()
            await stays.has(2)
        for client in (modern, legacy):
            assert challenge(await client.list())["error_description"] == "The token has expired"
            assert (await client.send("GET", None, {"Accept": "text/event-stream"})).status == 401


async def test_remembered_list_ends_with_its_token(tmp_path: Path) -> None:
    """It is answered at once until then, in the same words, and refused from then on."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a"), ttl_ms=600_000) as backend,
        guarded(tmp_path, {"x": backend}, issuer, section=STRICT) as gw,
        line(gw) as on,
    ):
        token, until = lasting(issuer, 1)
        body, fields = gw.another_modern().frame("tools/list")
        head = [f"{name}: {value}" for name, value in fields.items()]
        text = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", *head, f"Authorization: Bearer {token}"]
        asked = "\r\n".join([*text, f"Content-Length: {len(body)}", "", ""]).encode() + body
        statuses: list[int] = []
        while not statuses or statuses[-1] == 200:
            statuses.append((await on.ask(asked)).status)
        assert time.time() >= until
        assert statuses[-1] == 401
        assert await at_once(gw) >= 0.9 * len(statuses)  # not those that a busy machine delivers in pieces


async def test_list_that_was_waited_for_is_for_nobody_whose_token_has_expired(tmp_path: Path) -> None:
    """However it would be answered: as JSON, as an event stream, or in a batch, of which the rest was the caller's."""
    gate = asyncio.Event()
    late = hostile.result({"resultType": "complete", "tools": [tool("a")], "ttlMs": 0, "cacheScope": "private"})
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend:
        backend.always("tools/list", hostile.after(gate, late))
        async with guarded(tmp_path, {"x": backend}, issuer, section=STRICT) as gw:
            token, until = lasting(issuer, 1)
            modern, legacy, oldest = gw.another_modern(token), gw.another_legacy(token), gw.another_legacy(token)
            await legacy.initialize()
            await oldest.initialize("2025-03-26")
            _, fields = oldest.frame("ping")
            batch = [{"jsonrpc": "2.0", "id": method, "method": method} for method in ("ping", "tools/list")]
            asked = [
                asyncio.create_task(each)
                for each in (
                    *(client.list(headers={"Accept": kind}) for client in (modern, legacy) for kind in (BOTH, EVENTS)),
                    oldest.send("POST", json.dumps(batch).encode(), fields),
                )
            ]

            async def over() -> bool:
                return time.time() > until

            await eventually(over)
            assert not any(each.done() for each in asked)
            gate.set()
            *lists, together = [await each for each in asked]
            assert [each.status for each in lists] == [401] * 4
            assert {each.error["message"] for each in lists} == {"The token has expired"}
            ping, refused = together.message
            assert (ping["result"], refused["error"]["message"]) == ({}, "The token has expired")


async def test_change_of_who_is_let_in_holds_at_once(tmp_path: Path) -> None:
    """For remembered lists, open streams and sessions: a removed token, changed claims, and authentication that begins."""
    async with ModernBackend(tool("a"), ttl_ms=600_000) as backend:
        ci, dev = static(tmp_path, "ci", "secret-of-ci"), static(tmp_path, "dev", "secret-of-dev")
        async with gateway(tmp_path, {"x": backend}) as gw:
            await gw.modern.list()
            async with gw.modern.listen() as open_before:
                await gw.configure({"x": backend}, authentication={"tokens": [ci, dev]})
                assert (await open_before.end())[-1]["result"]["resultType"] == "complete"
            assert (await gw.modern.list()).status == 401
            clients = [gw.another_modern(f"secret-of-{name}") for name in ("ci", "dev")]
            for client in clients * 3:
                assert (await client.list()).names == ["a"]
            async with clients[0].listen() as goes, clients[1].listen() as stays:
                await gw.configure({"x": backend}, authentication={"tokens": [dev]})
                assert (await goes.end())[-1]["result"]["resultType"] == "complete"
                assert [(await each.list()).status for each in clients] == [401, 200]
                assert not stays.ended
                promoted = {**dev, "claims": {"team": "ops"}}
                await gw.configure({"x": backend}, authentication={"tokens": [promoted]})
                assert (await stays.end())[-1]["result"]["resultType"] == "complete"
            assert (await clients[1].list()).status == 200


async def test_session_belongs_to_who_began_it(tmp_path: Path) -> None:
    """Another caller finds nothing there, and cannot end it; a renewed token of the same caller goes on with it."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer) as gw,
    ):
        alice = gw.legacy
        await alice.initialize()
        thief = gw.another_legacy(issuer.token("mallory"))
        thief.session = alice.session
        async with alice.listen() as stream:
            assert (await thief.list()).status == 404
            assert (await thief.call("a")).status == 404
            assert (await thief.delete()).status == 404
            async with thief.listen() as stolen:
                assert stolen.status == 404
            assert not stream.ended
            alice.token = issuer.token("alice", 900)
            assert (await alice.list()).names == ["a"]
        assert (await alice.delete()).status == 204
        assert (await alice.list()).status == 404


async def test_session_of_an_open_gateway_is_nobodys_in_a_closed_one(tmp_path: Path) -> None:
    """Its client initializes anew, as itself."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend, gateway(tmp_path, {"x": backend}) as gw:
        await gw.legacy.initialize()
        await gw.configure({"x": backend}, authentication={"issuers": [issuer.section()]})
        gw.legacy.token = issuer.token()
        assert (await gw.legacy.list()).status == 404
        await gw.legacy.initialize()
        assert (await gw.legacy.list()).names == ["a"]


async def test_calls_of_two_callers_share_no_session_with_a_backend(tmp_path: Path) -> None:
    """Calls of one caller do, whichever of its tokens it presents."""
    async with LegacyBackend(tool("a")) as backend, Issuer() as issuer:
        authentication = {"issuers": [issuer.section()], "tokens": [static(tmp_path, "ci", "secret-of-ci")]}
        async with gateway(tmp_path, {"x": backend}, authentication=authentication) as gw:
            for token in (issuer.token("alice"), issuer.token("alice", 900), issuer.token("bob"), "secret-of-ci"):
                assert (await gw.another_modern(token).call("a")).text["tool"] == "a"
            sessions = [request.header("Mcp-Session-Id") for request in backend.of("tools/call")]
            assert sessions[0] == sessions[1]
            assert len(set(sessions)) == 3


async def test_withdrawn_config_ends_what_it_let_in(tmp_path: Path) -> None:
    """Streams end and nothing is listed any more, to whoever asks."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a"), ttl_ms=600_000) as backend,
        guarded(tmp_path, {"x": backend}, issuer, pace=replace(QUICK, withdrawn_after_s=0.2)) as gw,
    ):
        assert (await gw.modern.list()).names == ["a"]
        async with gw.modern.listen() as listen:
            (tmp_path / "gateway.json").unlink()
            assert (await listen.end())[-1]["result"]["resultType"] == "complete"

        async def empty() -> bool:
            answer = await gw.another_modern().list()
            return answer.status == 200 and answer.names == []

        await eventually(empty)
