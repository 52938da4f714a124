"""Legacy sessions, on both sides of the gateway."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import LegacyClient
from fakes.gateway import gateway
from fakes.hostile import Exchange, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from switchyard_sidecar.config.load import revision


async def test_backend_that_gives_no_session_is_sent_none(tmp_path: Path) -> None:
    """A stateless legacy server is a good one; an empty header would be refused by it."""
    async with LegacyBackend(tool("a")) as backend:
        backend.with_sessions = False
        async with gateway(tmp_path, {"a": backend}) as gw:
            assert (await gw.modern.list()).names == ["a"]
            assert (await gw.modern.call("a")).text["tool"] == "a"
            assert all(request.header("Mcp-Session-Id") is None for request in backend.requests)
            assert backend.complaints == []


@pytest.mark.parametrize(
    "forgotten",
    [
        pytest.param(hostile.error(-32001, "Session not found", status=404), id="404"),
        pytest.param(
            hostile.body(
                b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}', status=404
            ),
            id="404 and a null id",
        ),
        pytest.param(hostile.body(b"", status=404, content_type=None), id="404 and no body"),
        pytest.param(
            hostile.body(b"Bad Request: No valid session ID provided", status=400, content_type="text/plain"), id="400"
        ),
    ],
)
async def test_lost_session_of_calls_is_begun_anew(tmp_path: Path, forgotten: Reply) -> None:
    """The backend has forgotten the session: it has not acted, so initialize anew and call again, once."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        assert (await gw.modern.call("a")).text["tool"] == "a"
        backend.sessions.clear()
        backend.fail_next("tools/call", forgotten)
        assert (await gw.modern.call("a")).text["tool"] == "a"
        assert len({request.header("Mcp-Session-Id") for request in backend.of("tools/call")}) == 2
        assert backend.complaints == []


async def test_session_lost_again_and_again_ends_in_an_error(tmp_path: Path) -> None:
    """A backend that forgets every session at once is not asked for ever."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        backend.always("tools/call", hostile.error(-32001, "Session not found", status=404))
        assert (await gw.modern.call("a")).error["code"] == -32603
        assert len(backend.of("tools/call")) <= 3


async def test_many_calls_that_lose_their_session_together_begin_one(tmp_path: Path) -> None:
    """One initialize serves all who were thrown out at the same time."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        await gw.legacy.call("a")
        before = len(backend.of("initialize"))
        backend.sessions.clear()
        answers = await asyncio.gather(*(gw.legacy.call("a") for _ in range(10)))
        assert [answer.text["tool"] for answer in answers] == ["a"] * 10
        assert len(backend.of("initialize")) - before <= 2  # discovery may need one too
        assert backend.complaints == []


async def test_sessions_of_different_clients_never_meet(tmp_path: Path) -> None:
    """What a backend remembers of one client's session is not another's: a counter counts for each alone."""
    counts: dict[str, int] = {}

    def count(request: Request) -> Reply:
        session = request.header("Mcp-Session-Id") or ""
        counts[session] = counts.get(session, 0) + 1
        return hostile.result({"content": [{"type": "text", "text": json.dumps(counts[session])}]})

    async with LegacyBackend(tool("count")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = count
        one, two = gw.another_legacy(), gw.another_legacy()
        await one.initialize()
        await two.initialize()
        assert [(await one.call("count")).text for _ in range(3)] == [1, 2, 3]
        assert (await two.call("count")).text == 1
        assert (await one.call("count")).text == 4
        discovery = {request.header("Mcp-Session-Id") for request in backend.of("tools/list")}
        assert discovery.isdisjoint(counts)


async def test_end_of_a_clients_session_ends_its_session_with_the_backend(tmp_path: Path) -> None:
    """DELETE here is DELETE there, for that session alone."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        await gw.legacy.call("a")
        used = backend.of("tools/call")[0].header("Mcp-Session-Id")
        assert (await gw.legacy.delete()).status in {200, 204}
        (ended,) = await backend.received("DELETE")
        assert ended.header("Mcp-Session-Id") == used
        assert (await gw.legacy.list()).status == 404


async def test_all_backend_sessions_end_with_the_gateway(tmp_path: Path) -> None:
    """Stopping leaves no session behind at a backend."""
    async with LegacyBackend(tool("a")) as backend:
        async with gateway(tmp_path, {"a": backend}) as gw:
            await gw.modern.call("a")
            assert len(backend.sessions) == 2
        assert backend.sessions == set()


@pytest.mark.parametrize("session", ["unknown", "é", "", "a" * 5000, "session-1@other"])
async def test_unknown_session_is_404_so_that_the_client_begins_anew(tmp_path: Path, session: str) -> None:
    """Made by another gateway, another key or nobody: 404 in every case, on POST, GET and DELETE."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        client = gw.another_legacy()
        client.session = session
        assert (await client.list()).status == 404
        assert (await client.delete()).status == 404
        async with client.listen() as stream:
            assert stream.status == 404
        await client.initialize()
        assert (await client.list()).names == ["a"]


@pytest.mark.parametrize(
    ("params", "headers"),
    [
        ({"protocolVersion": "2025-11-25"}, {"Accept": "text/html"}),
        ({"protocolVersion": "2025-11-25"}, {"Content-Type": "text/plain"}),
        ({"protocolVersion": "2025-11-25"}, {"Host": "attacker.example"}),
        ({"protocolVersion": 7}, {}),
        ({}, {}),
    ],
)
async def test_refused_initialize_begins_no_session(
    tmp_path: Path, params: dict[str, Any], headers: dict[str, str | None]
) -> None:
    """Neither here nor with a backend: first everything is checked."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        for _ in range(20):
            answer = await gw.legacy.request("initialize", params, headers=headers)
            assert "error" in answer.message
            assert "Mcp-Session-Id" not in answer.headers
        assert len(backend.sessions) == 1


async def test_sessions_that_only_list_cost_no_backend_a_session(tmp_path: Path) -> None:
    """Many clients come, list and go: the discovery session serves them all."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        for _ in range(20):
            client = gw.another_legacy()
            await client.initialize()
            assert (await client.list()).names == ["a"]
        assert len(backend.of("initialize")) == 1


async def test_request_without_a_session_is_served(tmp_path: Path) -> None:
    """Some clients drop the header, some never initialize: a list or call needs no session."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        client = gw.another_legacy()
        assert (await client.list()).names == ["a"]
        assert (await client.call("a")).text["tool"] == "a"


async def test_session_is_known_on_every_replica(tmp_path: Path) -> None:
    """With a key in the config directory, a session made on one replica is served by another."""
    gateways = [tmp_path / "1", tmp_path / "2"]
    for directory in gateways:
        directory.mkdir()
        (directory / "cred_key").write_bytes(b"key")
        (directory / "cred_session").write_bytes(b"the key of all replicas")
    session_key = {"file": "cred_session", "revision": revision(b"key", b"the key of all replicas")}
    async with (
        ModernBackend(tool("a")) as backend,
        gateway(gateways[0], {"a": backend}, sessionKey=session_key) as here,
        gateway(gateways[1], {"a": backend}, sessionKey=session_key) as there,
    ):
        await here.legacy.initialize()
        elsewhere = LegacyClient(there.url, there.http)
        elsewhere.session, elsewhere.version = here.legacy.session, here.legacy.version
        assert (await elsewhere.list()).names == ["a"]
        assert (await elsewhere.call("a")).text["tool"] == "a"
        async with elsewhere.listen() as stream:
            assert stream.status == 200


async def test_refused_notification_is_not_a_lost_connection(tmp_path: Path) -> None:
    """A server that answers 400 to ``notifications/initialized`` or ``cancelled`` goes on being used."""
    async with LegacyBackend(tool("a")) as backend:
        backend.always("notifications/cancelled", hostile.body(b"no", status=400, content_type="text/plain"))
        async with gateway(tmp_path, {"a": backend}) as gw:
            held = asyncio.Event()
            backend.call = lambda _: hostile.after(held, hostile.result({"content": []}))
            body, headers = gw.modern.frame("tools/call", {"name": "a", "arguments": {}})
            calling = asyncio.create_task(gw.modern.send("POST", body, headers))
            await backend.received("tools/call")
            calling.cancel()
            await backend.received("notifications/cancelled")
            held.set()
            assert (await gw.modern.list()).names == ["a"]
            assert (await gw.modern.call("a")).result["content"] == []
            assert len(backend.of("initialize")) == 2  # one for discovery, one for calls, and none since


async def test_modern_caller_that_leaves_cancels_at_a_legacy_backend(tmp_path: Path) -> None:
    """Closing the request becomes ``notifications/cancelled`` with the id of our own hop."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.hang()
        calling = asyncio.create_task(gw.modern.call("a", id="the caller's"))
        (call,) = await backend.received("tools/call")
        calling.cancel()
        (cancelled,) = await backend.received("notifications/cancelled")
        assert cancelled.params["requestId"] == call.message["id"]
        assert call.message["id"] != "the caller's"


async def test_modern_caller_that_leaves_cancels_at_a_modern_backend(tmp_path: Path) -> None:
    """Closing the request closes the request to the backend."""
    left = asyncio.Event()

    async def wait(exchange: Exchange) -> None:
        await exchange.left()
        left.set()

    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: wait
        calling = asyncio.create_task(gw.modern.call("a"))
        await backend.received("tools/call")
        calling.cancel()
        async with asyncio.timeout(5):
            await left.wait()
        assert backend.of("notifications/cancelled") == []


async def test_legacy_caller_cancels_by_notification_and_not_by_leaving(tmp_path: Path) -> None:
    """A legacy call goes on when its connection breaks; ``notifications/cancelled`` ends it, with our own id upstream."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.hang()
        await gw.legacy.initialize()
        calling = asyncio.create_task(gw.legacy.call("a", id=77))
        (call,) = await backend.received("tools/call")
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        assert (await gw.legacy.list()).names == ["a"]
        assert backend.of("notifications/cancelled") == []
        await gw.legacy.request("notifications/cancelled", {"requestId": 77}, id=None)
        (cancelled,) = await backend.received("notifications/cancelled")
        assert cancelled.params["requestId"] == call.message["id"]


async def test_progress_reaches_the_caller_under_its_own_token(tmp_path: Path) -> None:
    """Tokens are made anew for each hop and mapped back, type included; notifications come before the answer."""

    def working(request: Request) -> Reply:
        token = request.params["_meta"]["progressToken"]
        progress = {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1, "message": "half"},
        }
        return hostile.sse(progress, result_value={"resultType": "complete", "content": []})

    async with ModernBackend(tool("a")) as new, LegacyBackend(tool("a")) as old:
        new.call = old.call = working
        async with gateway(tmp_path, {"new": new, "old": old}) as gw:
            for name in ("new__a", "old__a"):
                for token in ("mine", 5):
                    answer = await gw.modern.call(name, meta={"progressToken": token})
                    progress, last = answer.messages
                    assert progress["params"] == {"progressToken": token, "progress": 1, "message": "half"}
                    assert last["result"]["content"] == []
            tokens = [
                request.params["_meta"]["progressToken"] for request in [*new.of("tools/call"), *old.of("tools/call")]
            ]
            assert "mine" not in tokens


async def test_input_that_is_required_passes_between_modern_hops_unread(tmp_path: Path) -> None:
    """Needs of a modern tool reach a modern client, and its answers the tool, as they were written."""
    needs = {
        "resultType": "input_required",
        "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}},
        "requestState": "opaque+/=",
    }

    def ask(request: Request) -> Reply:
        if "inputResponses" not in request.params:
            return hostile.result(needs)
        said = [request.params["inputResponses"], request.params["requestState"]]
        return hostile.result({"resultType": "complete", "content": [{"type": "text", "text": json.dumps(said)}]})

    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = ask
        capabilities: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
        first = (await gw.modern.call("a", meta=capabilities)).result
        assert {key: first[key] for key in needs} == needs
        assert backend.of("tools/call")[0].params["_meta"] | capabilities == backend.of("tools/call")[0].params["_meta"]
        retry = {"name": "a", "inputResponses": {"who": {"action": "accept"}}, "requestState": "opaque+/="}
        second = await gw.modern.request("tools/call", retry, headers={"Mcp-Name": "a"})
        assert second.text == [{"who": {"action": "accept"}}, "opaque+/="]
        await gw.legacy.initialize()
        assert (await gw.legacy.call("a")).error["code"] == -32603


async def test_backend_that_asks_a_legacy_hop_for_input_is_answered(tmp_path: Path) -> None:
    """No capability is declared across eras yet: ping is answered, anything else is refused, and the call goes on."""
    replies: list[Request] = []

    def asking(request: Request) -> Reply:
        ping = {"jsonrpc": "2.0", "id": "s1", "method": "ping"}
        sampling = {"jsonrpc": "2.0", "id": "s2", "method": "sampling/createMessage", "params": {}}
        return hostile.sse(ping, sampling, result_value={"content": [{"type": "text", "text": "1"}]})

    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = asking
        assert (await gw.modern.call("a")).text == 1
        replies = await backend.received("POST", 2)
        assert [(reply.message["id"], sorted(reply.message)) for reply in replies] == [
            ("s1", ["id", "jsonrpc", "result"]),
            ("s2", ["error", "id", "jsonrpc"]),
        ]
