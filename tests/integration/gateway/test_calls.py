"""How a call is answered: at once as JSON, or on a stream that shows it is alive; alone, in a batch, and for whoever left."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import BOTH, META, LegacyClient
from fakes.gateway import Gateway, gateway
from fakes.hostile import Exchange, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool
from fakes.waiting import eventually
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace

ERAS = pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
BRISK = Pace(clients=downstream_pace.Pace(quiet_s=0.05))
JSON_ONLY = {"Accept": "application/json"}


def progress(request: Request) -> dict[str, Any]:
    """What a working tool says."""
    token = request.params["_meta"]["progressToken"]
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}


@ERAS
async def test_quiet_call_becomes_a_stream_that_shows_it_is_alive(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """For callers of either era, once the answer takes long: comments until it comes, and then the answer, whole."""
    gate = asyncio.Event()
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=BRISK) as gw:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            gate.clear()
            async with client.stream("POST", *client.frame("tools/call", {"name": "a"}, id="q")) as stream:
                assert stream.headers["Content-Type"] == "text/event-stream"
                assert stream.headers["X-Accel-Buffering"] == "no"
                await stream.has_comments(3)
                assert stream.messages == []
                gate.set()
                (answer,) = await stream.end()
                assert answer["id"] == "q"
                assert json.loads(answer["result"]["content"][0]["text"])["tool"] == "a"


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_of_a_name_that_is_no_tools_little_is_repeated(tmp_path: Path, era: str) -> None:
    """Whatever a caller writes comes back to it in part, so that it knows which call was refused."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        refused = await (gw.modern if era == "modern" else gw.legacy).call("x" * 5000)
        assert refused.error == {"code": -32602, "message": f"Unknown tool: {'x' * 128}"}


@ERAS
async def test_prompt_call_is_plain_json(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """Nothing was said before it, so there is nothing to stream."""
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            assert (await client.call("a")).headers["Content-Type"] == "application/json"


async def test_error_of_a_quiet_call_comes_on_its_stream(tmp_path: Path) -> None:
    """The status has been sent by then; the error is the last message."""
    gate = asyncio.Event()
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=BRISK) as gw:
        backend.call = lambda _: hostile.after(gate, hostile.error(-32602, "its own words"))
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            gate.clear()
            async with client.stream("POST", *client.frame("tools/call", {"name": "a"}, id="q")) as stream:
                gate.set()
                (answer,) = await stream.end()
                assert (answer["id"], answer["error"]) == ("q", {"code": -32602, "message": "its own words"})


async def test_caller_that_takes_no_stream_waits_for_its_json(tmp_path: Path) -> None:
    """Notifications are dropped for it, however many come and however long it takes; the answer is not."""
    gate = asyncio.Event()

    async def work(exchange: Exchange) -> None:
        said = [progress(exchange.request)] * 3
        reply = hostile.sse(*said, result_value={"resultType": "complete", "content": []})
        await hostile.after(gate, reply)(exchange)

    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=BRISK) as gw:
        backend.call = lambda _: work
        calling = asyncio.create_task(gw.modern.call("a", meta={"progressToken": 1}, headers=JSON_ONLY))
        await backend.received("tools/call")
        await asyncio.sleep(0.2)  # long enough for a stream to be opened, if one were
        gate.set()
        answer = await calling
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.result["content"] == []


@ERAS
async def test_progress_of_a_call_reaches_its_caller_at_once(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """Each notification is passed on when it comes, not with the answer."""
    gates = [asyncio.Event() for _ in range(4)]

    async def work(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        for gate in gates[:-1]:
            await gate.wait()
            await exchange.chunk(hostile.event(progress(exchange.request)))
        await gates[-1].wait()
        answer = hostile.response_to(exchange.request, {"resultType": "complete", "content": []})
        await exchange.chunk(hostile.event(answer))
        await exchange.chunk(b"")

    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: work
        framed = gw.modern.frame("tools/call", {"name": "a"}, meta={"progressToken": "mine"})
        gates[0].set()
        async with gw.modern.stream("POST", *framed) as stream:
            for count, gate in enumerate(gates[1:], 1):
                await stream.has(count)
                assert stream.messages[-1]["params"] == {"progressToken": "mine", "progress": 1}
                gate.set()
            (*_, answer) = await stream.end()
            assert answer["result"]["content"] == []


async def batch(client: LegacyClient, *messages: Any, **headers: str | None) -> Any:
    """Send several messages in one array."""
    _, own = client.frame("ping")
    return await client.send("POST", json.dumps(messages).encode(), own | headers)


def request(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    """A request in a batch."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


async def test_each_request_of_a_batch_has_its_own_answer(tmp_path: Path) -> None:
    """Results, errors and refusals under their ids, in the order asked; calls are relayed like any other."""
    modern_meta = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize("2025-03-26")
        answer = await batch(
            gw.legacy,
            request(1, "tools/call", name="a", arguments={"x": 1}),
            request("two", "tools/call", name="unheard of"),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 9, "result": {}},
            request(3, "nonsense"),
            request(4, "tools/list", _meta=7),
            request(5, "tools/list", _meta=modern_meta),
            {"jsonrpc": "2.0", "id": 6, "method": 7},
            "text",
            request(7, "tools/list"),
        )
        assert answer.status == 200
        told = [(each.get("id"), each.get("error", {}).get("code")) for each in answer.message]
        assert told == [
            (1, None),
            ("two", -32602),
            (3, -32601),
            (4, -32602),
            (5, -32600),
            (6, -32600),
            (None, -32600),
            (7, None),
        ]
        assert json.loads(answer.message[0]["result"]["content"][0]["text"]) == {"tool": "a", "arguments": {"x": 1}}
        assert [each["name"] for each in answer.message[-1]["result"]["tools"]] == ["a"]


async def test_batch_is_answered_in_a_type_that_is_taken(tmp_path: Path) -> None:
    """In one array, or to a caller that takes event streams alone in an event each; small ones and lists."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize("2025-03-26")
        asked = [request(1, "ping"), request(2, "tools/list"), request(3, "tools/list"), request(4, "ping")]
        for accept in (BOTH, "application/json", "text/event-stream"):
            answer = await batch(gw.legacy, *asked, Accept=accept)
            assert (answer.status, answer.headers["Content-Type"]) == (200, accept.partition(",")[0])
            answers = answer.messages if accept == "text/event-stream" else answer.message
            assert [each["id"] for each in answers] == [1, 2, 3, 4]
            assert [[one["name"] for one in each["result"]["tools"]] for each in answers[1:3]] == [["a"], ["a"]]


async def test_batch_without_requests_is_accepted(tmp_path: Path) -> None:
    """202 and nothing else."""
    async with gateway(tmp_path, {}) as gw:
        await gw.legacy.initialize("2025-03-26")
        answer = await batch(gw.legacy, {"jsonrpc": "2.0", "method": "notifications/x"})
        assert (answer.status, answer.body) == (202, b"")


async def test_batch_that_is_refused_is_refused_whole(tmp_path: Path) -> None:
    """``initialize`` stands alone, there is an end to the number of messages, and an unknown session is 404."""
    async with gateway(tmp_path, {}) as gw:
        await gw.legacy.initialize("2025-03-26")
        hello = request(1, "initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "c"})
        for messages in ([request(0, "ping"), hello], [request(number, "ping") for number in range(101)]):
            answer = await batch(gw.legacy, *messages)
            assert (answer.status, answer.error["code"]) == (400, -32600)
        assert (await batch(gw.legacy, request(1, "ping"), **{"Mcp-Session-Id": "unknown"})).status == 404
        assert (await batch(gw.legacy, request(1, "ping"))).status == 200


async def test_batch_belongs_to_the_oldest_version_alone(tmp_path: Path) -> None:
    """Which a request without session and header speaks; with the header of another version it is refused."""
    async with gateway(tmp_path, {}) as gw:
        sessionless = gw.another_legacy()
        assert (await batch(sessionless, request(1, "ping"))).status == 200
        for version in ("2025-06-18", "2025-11-25", "2026-07-28"):
            answer = await batch(sessionless, request(1, "ping"), **{"MCP-Protocol-Version": version})
            assert (answer.status, answer.error["code"]) == (400, -32600)


async def test_call_cancelled_by_notification_is_not_answered(tmp_path: Path) -> None:
    """Its request ends without a result, and another session's request of the same id goes on."""
    gate = asyncio.Event()
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        other = gw.another_legacy()
        await gw.legacy.initialize()
        await other.initialize()
        cancelled = asyncio.create_task(gw.legacy.call("a", id=5))
        kept = asyncio.create_task(other.call("a", id=5))
        await backend.received("tools/call", 2)
        await gw.legacy.request("notifications/cancelled", {"requestId": 5}, id=None)
        answer = await cancelled
        assert (answer.status, answer.messages) == (202, [])
        gate.set()
        assert (await kept).text["tool"] == "a"


async def test_callers_that_leave_leave_nothing_behind(tmp_path: Path) -> None:
    """Fifty modern callers gone in the middle of their calls: none is counted as running any more."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.hang()
        calling = [asyncio.create_task(gw.modern.call("a")) for _ in range(50)]
        await backend.received("tools/call", 50)
        for each in calling:
            each.cancel()
        await asyncio.gather(*calling, return_exceptions=True)
        await eventually(lambda: idle(gw))
        assert backend.connections <= 3


async def idle(gw: Gateway) -> bool:
    """Whether no call is under way."""
    return bool((await gw.status())["callsRunning"] == 0)


@pytest.mark.parametrize("how", ["first", "always"])
async def test_stale_header_schema_is_cured_by_one_new_list(tmp_path: Path, how: str) -> None:
    """-32020 from the backend: list again, make the headers anew, try once more; never a third time."""
    plain: dict[str, Any] = {"type": "object", "properties": {"r": {"type": "string"}}}
    mirrored: dict[str, Any] = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "R"}}}

    async with ModernBackend(tool("a", inputSchema=plain), list_changed=False) as backend:

        def strict(request: Request) -> Reply:
            if how == "always" or request.header("Mcp-Param-R") != "x":
                return hostile.error(-32020, "Header mismatch", status=400)
            return hostile.result({"resultType": "complete", "content": []})

        async with gateway(tmp_path, {"a": backend}) as gw:
            await gw.modern.list()
            backend.tools[:] = [tool("a", inputSchema=mirrored)]
            backend.call = strict
            answer = await gw.modern.call("a", {"r": "x"}, headers={"Accept": BOTH})
            sent = [each.header("Mcp-Param-R") for each in backend.of("tools/call")]
            if how == "first":
                assert answer.result["content"] == []
            else:
                assert (answer.status, answer.error["code"]) == (200, -32603)
            assert sent == [None, "x"]
            assert len(backend.of("tools/list")) == 2
