"""Calls over real connections: made afresh for the backend, sent once, limited, cancelled, and kept apart."""

import asyncio
import json
from typing import Any

import pytest

from fakes import hostile
from fakes.hostile import Exchange, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, said, tool, tools
from integration.upstream.running import NEVER, Heard, session
from switchyard_sidecar.protocol import sse
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream.calls import CallMeta, ToolCall
from switchyard_sidecar.upstream.faults import BackendUnavailable

BOTH_ERAS = pytest.mark.parametrize("fake", [ModernBackend, LegacyBackend])
META = "io.modelcontextprotocol/"
TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"}


def mirroring(header: str) -> dict[str, Any]:
    """A tool whose region is mirrored in a header."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": header}}}
    return tool("routed", inputSchema=schema)


async def test_modern_call_is_made_afresh() -> None:
    """Our own version, identity, id and headers; the caller's arguments byte for byte, log level, trace and capabilities."""
    async with ModernBackend(*tools("ünï")) as backend, session(backend) as run:
        arguments = b'{ "big": 123456789012345678901234567890, "r": 1e400, "z":1,"a":2 }'
        result = await run.call(
            "ünï",
            arguments,
            progress=True,
            log_level="debug",
            trace=TRACE,
            capabilities=b'{"sampling":{},"extensions":{"x/y":{}}}',
        )
        assert result.era == Era.MODERN
        (request,) = backend.of("tools/call")
        assert arguments in request.body
        assert request.header("Mcp-Name") == "=?base64?w7xuw68=?="
        assert request.header("Mcp-Method") == "tools/call"
        meta = request.params["_meta"]
        assert meta == {
            META + "protocolVersion": "2026-07-28",
            META + "clientInfo": {"name": "switchyard", "version": "0.1.0"},
            META + "clientCapabilities": {"sampling": {}},
            META + "logLevel": "debug",
            "traceparent": TRACE["traceparent"],
            "progressToken": request.message["id"],
        }
        assert backend.complaints == []


async def test_legacy_call_is_made_afresh() -> None:
    """In a session of its own, with no word of the modern era."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        result = await run.call("a", b'{"x":1.0}', progress=True, trace=TRACE, capabilities=b'{"sampling":{}}')
        assert result.era == Era.LEGACY
        (request,) = backend.of("tools/call")
        assert request.params == {
            "name": "a",
            "arguments": {"x": 1.0},
            "_meta": {"traceparent": TRACE["traceparent"], "progressToken": request.message["id"]},
        }
        assert request.header("Mcp-Session-Id") == "session-2"
        assert {each.header("Mcp-Session-Id") for each in backend.of("tools/list")} == {"session-1"}
        assert [each.params["capabilities"] for each in backend.of("initialize")] == [{}, {}]
        assert backend.complaints == []


@BOTH_ERAS
async def test_plain_call_carries_nothing_that_was_not_asked_for(fake: type[OrdinaryBackend]) -> None:
    """No arguments, no progress token, no log level of our own."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        await run.call("a")
        (request,) = backend.of("tools/call")
        assert "arguments" not in request.params
        assert "progressToken" not in request.params.get("_meta", {})
        assert META + "logLevel" not in request.params.get("_meta", {})
        assert backend.of("logging/setLevel") == []


async def test_result_comes_back_byte_for_byte() -> None:
    """Digits, key order, white space and unknown members."""
    result = b'{ "z": 1e400, "content": [], "structuredContent":{"n":123456789012345678901234567890}, "x-new" : null}'
    for fake in (ModernBackend, LegacyBackend):
        async with fake(*tools("a")) as backend, session(backend) as run:
            backend.call = lambda _: hostile.result(result)
            assert (await run.call("a")).result == result


async def test_retry_members_go_through_between_modern_hops_alone() -> None:
    """What a modern caller sends when it tries again means nothing to a legacy backend."""
    extra = {"inputResponses": b'{"k":{"action":"accept"}}', "requestState": b'"opaque"'}
    for fake, carried in ((ModernBackend, True), (LegacyBackend, False)):
        async with fake(*tools("a")) as backend, session(backend) as run:
            snapshot = await run.ready()
            await run.session.call(ToolCall(snapshot.tools[0], None, CallMeta(), extra, "p"), Heard())
            (request,) = backend.of("tools/call")
            assert ("requestState" in request.params, "inputResponses" in request.params) == (carried, carried)


async def test_mirrored_parameters_travel_in_headers() -> None:
    """Under the backend's own annotation."""
    async with ModernBackend(mirroring("Region")) as backend, session(backend) as run:
        await run.call("routed", '{"region":"grün"}'.encode())
        (request,) = backend.of("tools/call")
        assert request.header("Mcp-Param-Region") == "=?base64?Z3LDvG4=?="


async def test_header_mismatch_is_mended_by_reading_the_list_again() -> None:
    """The annotation has changed since: the list is read once more, the call sent once more."""
    async with ModernBackend(mirroring("Region")) as backend, session(backend) as run:
        await run.ready()
        backend.tools = [mirroring("Zone")]
        backend.call = _strict("Mcp-Param-Zone")
        result = await run.call("routed", b'{"region":"eu"}')
        assert b"routed" in result.result
        assert [request.header("Mcp-Param-Zone") for request in backend.of("tools/call")] == [None, "eu"]


async def test_header_mismatch_that_stays_is_not_the_callers() -> None:
    """Two attempts, and then it is told as what it is: a fault of the backend."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda _: hostile.error(-32020, "differs", status=400)
        with pytest.raises(BackendUnavailable, match="rejects its own mirrored headers"):
            await run.call("a")
        assert len(backend.of("tools/call")) == 2


@BOTH_ERAS
async def test_error_of_the_backend_is_the_callers(fake: type[OrdinaryBackend]) -> None:
    """Code, message and data as they are."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda _: hostile.error(-31999, "größer als", {"n": [1, None]})
        with pytest.raises(McpError, match="größer als") as raised:
            await run.call("a")
        assert (raised.value.code, json.loads(bytes(raised.value.data))) == (-31999, {"n": [1, None]})
        assert not isinstance(raised.value, BackendUnavailable)


@BOTH_ERAS
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (hostile.reset(), "connection lost"),
        (hostile.raw(b""), "connection lost"),
        (hostile.body(b"no", status=503), "HTTP 503"),
        (hostile.body(b"", status=202, content_type=None), "answer is not JSON-RPC"),
        (hostile.sse(), "ended without an answer"),
        (hostile.result([]), "answer is not JSON-RPC"),
        (hostile.result(b'{"a":NaN}'), "answer is not JSON-RPC"),
        (hostile.result(b'{"a":"\xff"}'), "answer is not JSON-RPC"),
    ],
)
async def test_call_that_does_not_get_through_is_not_sent_again(
    fake: type[OrdinaryBackend], reply: Reply, reason: str
) -> None:
    """The backend may have acted on it. The caller is told which backend, and why, in our words."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda _: reply
        with pytest.raises(BackendUnavailable) as raised:
            await run.call("a")
        assert raised.value.message == f"Backend unavailable: {reason}"
        assert raised.value.data == {"backend": "tools/one"}
        assert len(backend.of("tools/call")) == 1


@BOTH_ERAS
async def test_result_with_half_a_surrogate_pair_passes(fake: type[OrdinaryBackend]) -> None:
    """It is JSON, if no text."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda _: hostile.result(b'{"content":[],"x":"\\ud800"}')
        assert (await run.call("a")).result == b'{"content":[],"x":"\\ud800"}'


@BOTH_ERAS
async def test_progress_and_log_messages_reach_the_caller(fake: type[OrdinaryBackend]) -> None:
    """Progress without our token; messages at or above the level that was asked for."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda request: hostile.sse(
            _progress(request.message["id"], 0.5),
            _progress("somebody else's", 1),
            _log("debug"),
            _log("warning"),
            result_value={"content": []},
        )
        heard = Heard()
        await run.call("a", sink=heard, progress=True, log_level="info")
        assert [(method, json.loads(params)) for method, params in heard.notes] == [
            ("notifications/progress", {"progress": 0.5, "total": 2, "message": "…"}),
            ("notifications/message", {"level": "warning", "data": {"n": 1}}),
        ]


@BOTH_ERAS
async def test_unreadable_notification_does_not_cost_the_call(fake: type[OrdinaryBackend]) -> None:
    """It is left out; the answer after it is what the caller waits for."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        unreadable = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":NaN}}'
        backend.call = lambda _: hostile.sse(unreadable, result_value={"content": []})
        heard = Heard()
        assert (await run.call("a", sink=heard, log_level="debug")).result == b'{"content": []}'
        assert heard.notes == []


@BOTH_ERAS
async def test_what_was_not_asked_for_does_not_reach_the_caller(fake: type[OrdinaryBackend]) -> None:
    """Neither progress without a token nor messages without a level; and nothing that concerns this hop alone."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        backend.call = lambda request: hostile.sse(
            _progress(request.message["id"], 0.5), _log("emergency"), changed, result_value={"content": []}
        )
        heard = Heard()
        await run.call("a", sink=heard)
        assert heard.notes == []


async def test_legacy_session_is_told_the_log_level_once() -> None:
    """Per session, when it changes; modern calls carry it each."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        for level in ("info", "info", "error"):
            await run.call("a", log_level=level)
        assert [request.params for request in backend.of("logging/setLevel")] == [{"level": "info"}, {"level": "error"}]
        assert {request.header("Mcp-Session-Id") for request in backend.of("logging/setLevel")} == {"session-2"}


async def test_list_change_told_in_a_call_is_heeded() -> None:
    """Servers say it on whatever stream is at hand."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        backend.with_stream = False
        await run.ready()

        def growing(request: Request) -> Reply:
            backend.tools.append(tool("b"))
            changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            return hostile.sse(changed, result_value=said(request))

        backend.call = growing
        await run.call("a")
        await run.listing("a", "b")


async def test_session_of_a_call_has_a_stream_of_its_own() -> None:
    """Servers on the Python SDK tell a change to the session that caused it alone; and some log there, not in the answer."""
    gate = asyncio.Event()
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))
        heard = Heard()
        call = asyncio.create_task(run.call("a", sink=heard, log_level="info"))
        streams = await backend.listened(2)
        await backend.received("tools/call")
        (own,) = [stream for stream in streams if stream.request.header("Mcp-Session-Id") == "session-2"]
        await own.send(_log("warning"))
        backend.tools.append(tool("b"))
        await own.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await run.listing("a", "b")
        await heard.has(1)
        gate.set()
        await call


@BOTH_ERAS
async def test_idle_time_ends_a_call_and_messages_restart_it(fake: type[OrdinaryBackend]) -> None:
    """Five messages at 0.1 s take longer than the idle limit of 0.3 s; silence of that length ends the call."""

    async def slow(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        for step in range(5):
            await asyncio.sleep(0.1)
            await exchange.chunk(hostile.event(_progress(exchange.request.message["id"], step)))
        if exchange.request.params["arguments"]["end"]:
            await exchange.chunk(hostile.event(hostile.response_to(exchange.request, {"content": []})))
        await exchange.left()

    async with fake(*tools("a")) as backend, session(backend, timeouts={"callMs": 300}) as run:
        backend.call = lambda _: slow
        await run.call("a", b'{"end":true}', progress=True)
        heard = Heard()
        with pytest.raises(BackendUnavailable, match="no message for too long"):
            await run.call("a", b'{"end":false}', heard, progress=True)
        assert len(heard.notes) == 5


@BOTH_ERAS
async def test_absolute_limit_ends_a_call_that_goes_on_talking(fake: type[OrdinaryBackend]) -> None:
    """However lively."""

    async def endless(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        while True:
            await asyncio.sleep(0.02)
            await exchange.chunk(hostile.event(_log("info")))

    async with fake(*tools("a")) as backend, session(backend, timeouts={"callMs": 200, "callMaxMs": 400}) as run:
        backend.call = lambda _: endless
        with pytest.raises(BackendUnavailable, match="absolute limit"):
            await run.call("a")


async def test_cancelling_a_modern_call_closes_its_stream() -> None:
    """That is how this era cancels."""
    left = asyncio.Event()
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda _: _until_left(left)
        call = asyncio.create_task(run.call("a"))
        await backend.received("tools/call")
        call.cancel()
        await asyncio.wait_for(left.wait(), 5)
        assert backend.of("notifications/cancelled") == []


@pytest.mark.parametrize("by_time", [False, True])
async def test_cancelling_a_legacy_call_says_so(by_time: bool) -> None:
    """With the id that this hop gave the request; also when the gateway gives it up."""
    left = asyncio.Event()
    async with (
        LegacyBackend(*tools("a")) as backend,
        session(backend, timeouts={"callMs": 200 if by_time else 60_000}) as run,
    ):
        backend.call = lambda _: _until_left(left)
        call = asyncio.create_task(run.call("a"))
        (request,) = await backend.received("tools/call")
        if not by_time:
            call.cancel()
        (cancelled,) = await backend.received("notifications/cancelled")
        assert cancelled.params["requestId"] == request.message["id"]
        assert cancelled.header("Mcp-Session-Id") == "session-2"
        await asyncio.wait([call])
        assert call.cancelled() is not by_time
        if by_time:
            assert isinstance(call.exception(), BackendUnavailable)


async def test_principals_never_share_a_session() -> None:
    """Nor does any of them use the session that lists are read in."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await run.ready()
        for principal in ("alice", "bob", "alice"):
            await run.call("a", principal=principal)
        assert [request.header("Mcp-Session-Id") for request in backend.of("tools/call")] == [
            "session-2",
            "session-3",
            "session-2",
        ]
        assert run.session.status.call_sessions == 2


async def test_calls_that_come_together_share_one_handshake() -> None:
    """A new session is made once, for all who wait for it."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await asyncio.gather(*(run.call("a") for _ in range(20)))
        assert len(backend.of("initialize")) == 2
        assert len(backend.of("tools/call")) == 20


@pytest.mark.parametrize(
    "refusal",
    [
        hostile.error(-32001, "Session not found", status=404),
        hostile.body(b"", status=404, content_type=None),
        hostile.body(b"Bad Request: No valid session ID provided", status=400, content_type="text/plain"),
    ],
)
async def test_call_is_sent_once_more_in_a_new_session(refusal: Reply) -> None:
    """The server has done nothing: it did not know the session."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await run.call("a")
        backend.sessions.discard("session-2")
        backend.fail_next("tools/call", refusal)
        assert b"a" in (await run.call("a")).result
        assert [request.header("Mcp-Session-Id") for request in backend.of("tools/call")] == [
            "session-2",
            "session-2",
            "session-3",
        ]
        assert [request.header("Mcp-Session-Id") for request in backend.of("initialize")] == [None] * 3


async def test_many_calls_that_find_their_session_gone_make_one_new_one() -> None:
    """Single flight."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await run.call("a")
        backend.sessions.clear()
        await asyncio.gather(*(run.call("a") for _ in range(10)))
        calls = [request for request in backend.of("initialize") if request.header("Mcp-Session-Id") is None]
        assert len(calls) in {3, 4}  # discovery, the first session, its successor, and perhaps discovery anew


async def test_idle_sessions_are_ended() -> None:
    """With DELETE; the next call makes another."""
    async with LegacyBackend(*tools("a")) as backend, session(backend, pace={"session_idle_s": 0.1}) as run:
        await run.call("a")
        (farewell,) = await backend.received("DELETE")
        assert farewell.header("Mcp-Session-Id") == "session-2"
        assert run.session.status.call_sessions == 0
        await run.call("a")
        assert backend.of("tools/call")[-1].header("Mcp-Session-Id") == "session-3"


async def test_least_recently_used_session_makes_room() -> None:
    """The number of sessions is bounded, and no session in use is ended."""
    async with LegacyBackend(*tools("a")) as backend, session(backend, pace={"sessions": 2}) as run:
        for principal in ("alice", "bob", "alice", "carol"):
            await run.call("a", principal=principal)
        (farewell,) = await backend.received("DELETE")
        assert farewell.header("Mcp-Session-Id") == "session-3"  # bob's


async def test_sessions_in_use_are_not_ended_for_others() -> None:
    """Who comes too late is told."""
    gate = asyncio.Event()
    async with LegacyBackend(*tools("a")) as backend, session(backend, pace={"sessions": 1}) as run:
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))
        first = asyncio.create_task(run.call("a", principal="alice"))
        await backend.received("tools/call")
        with pytest.raises(BackendUnavailable, match="too many sessions in use"):
            await run.call("a", principal="bob")
        gate.set()
        await first


async def test_forgotten_principal_loses_its_session() -> None:
    """Once the call that uses it is over."""
    gate = asyncio.Event()
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))
        call = asyncio.create_task(run.call("a", principal="alice"))
        await backend.received("tools/call")
        run.session.forget("alice")
        run.session.forget("nobody")
        assert backend.of("DELETE") == []
        gate.set()
        await call
        (farewell,) = await backend.received("DELETE")
        assert farewell.header("Mcp-Session-Id") == "session-2"


async def test_all_sessions_are_ended_with_the_backend() -> None:
    """None is left behind at the server."""
    async with LegacyBackend(*tools("a")) as backend:
        async with session(backend) as run:
            for principal in ("alice", "bob"):
                await run.call("a", principal=principal)
        assert backend.sessions == set()


async def test_too_many_calls_at_once_are_refused() -> None:
    """Rather than queued."""
    gate = asyncio.Event()
    async with ModernBackend(*tools("a")) as backend, session(backend, pace={"calls": 1}) as run:
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))
        first = asyncio.create_task(run.call("a"))
        await backend.received("tools/call")
        with pytest.raises(BackendUnavailable, match="too many calls at once"):
            await run.call("a")
        gate.set()
        await first


async def test_answer_that_breaks_off_is_taken_up_again() -> None:
    """2025-11-25: a stream whose events have ids may be closed, to be asked for the rest; the call is not sent again."""

    async def part(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        await exchange.chunk(b"id: 7\nretry: 10\ndata:\n\n")
        await exchange.chunk(b"")

    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        ordinarily = backend.answer
        backend.call = lambda _: part
        backend.answer = lambda request: (
            ordinarily(request) if request.header("Last-Event-ID") is None else _rest(backend)
        )
        result = await run.call("a")
        assert b"resumed" in result.result
        assert len(backend.of("tools/call")) == 1
        (resumed,) = [request for request in backend.of("GET") if request.header("Last-Event-ID") is not None]
        assert (resumed.header("Last-Event-ID"), resumed.header("Mcp-Session-Id")) == ("7", "session-2")


async def test_answer_that_always_breaks_off_is_not_asked_for_in_a_loop() -> None:
    """Even if the server asks for no wait at all; the call ends by its own limit."""

    async def part(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        await exchange.chunk(b"id: 7\nretry: 0\ndata:\n\n")
        await exchange.chunk(b"")

    async with LegacyBackend(*tools("a")) as backend, session(backend, timeouts={"callMs": 550}) as run:
        backend.call = lambda _: part
        ordinarily = backend.answer
        backend.answer = lambda request: ordinarily(request) if request.header("Last-Event-ID") is None else part
        with pytest.raises(BackendUnavailable, match="no message for too long"):
            await run.call("a")
        assert 1 <= len([request for request in backend.requests if request.header("Last-Event-ID")]) <= 6


async def test_broken_answer_may_come_on_the_sessions_own_stream() -> None:
    """Some servers know one stream a session, and write there what was asked for on another."""
    opened = asyncio.Event()

    async def part(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        await exchange.chunk(b"id: 7\nretry: 10\ndata:\n\n")
        await opened.wait()
        await exchange.chunk(b"")

    async def own_stream(exchange: Exchange) -> None:
        await backend.received("tools/call")
        await hostile.open_stream(exchange)
        answer = hostile.response_to(backend.of("tools/call")[-1], {"content": [{"type": "text", "text": "elsewhere"}]})
        await exchange.chunk(sse.encode(answer))
        opened.set()
        await exchange.left()

    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        ordinarily = backend.answer
        backend.call = lambda _: part

        def answer(request: Request) -> Reply:
            if request.method != "GET" or request.header("Mcp-Session-Id") != "session-2":
                return ordinarily(request)
            return hostile.hang() if request.header("Last-Event-ID") else own_stream

        backend.answer = answer
        assert b"elsewhere" in (await run.call("a")).result


async def test_cookies_stay_in_their_session() -> None:
    """They hold a session to its replica; another principal's session never sends them."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await run.ready()
        ordinarily = backend._initialize

        def setting(request: Request) -> Reply:
            return _with_cookie(ordinarily(request), f"replica={backend._made}")

        backend._initialize = setting  # type: ignore[method-assign]
        await run.call("a", principal="alice")
        await run.call("a", principal="bob")
        await run.read_again()
        assert [request.header("Cookie") for request in backend.of("tools/call")] == ["replica=2", "replica=3"]
        assert backend.of("tools/list")[-1].header("Cookie") is None


async def test_modern_backend_is_sent_no_cookies() -> None:
    """There is no session that they could belong to."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        backend.call = lambda request: hostile.result(said(request), fields=[("Set-Cookie", "a=b")])
        await run.call("a")
        await run.call("a")
        assert [request.header("Cookie") for request in backend.requests] == [None] * len(backend.requests)


async def test_call_goes_on_while_the_list_cannot_be_read() -> None:
    """What was last known of the backend is enough."""
    async with ModernBackend(*tools("a")) as backend, session(backend, pace={"backoff": NEVER}) as run:
        backend.list_changed = False
        await run.ready()
        backend.always("tools/list", hostile.body(b"", status=500))
        await run.read_again()
        await run.failing("HTTP 500")
        assert b"a" in (await run.call("a")).result


async def test_call_that_fails_like_another_era_leads_to_a_new_look() -> None:
    """The backend was exchanged for one of the other era; the first call to fail finds out."""
    modern, legacy = ModernBackend(*tools("a")), LegacyBackend(*tools("a", "old"))
    async with modern, session(modern) as run:
        modern.list_changed = False
        await run.ready()
        modern.answer = legacy.answer
        with pytest.raises(McpError):
            await run.call("a")
        await run.listing("a", "old")
        assert (await run.call("a")).era == Era.LEGACY


async def test_call_to_a_withdrawn_backend_is_refused() -> None:
    """Its session has ended; nothing is sent."""
    async with ModernBackend(*tools("a")) as backend:
        async with session(backend) as run:
            await run.ready()
        with pytest.raises(BackendUnavailable, match="backend withdrawn"):
            await run.call("a")


def _progress(token: Any, progress: float) -> dict[str, Any]:
    params = {"progressToken": token, "progress": progress, "total": 2, "message": "…"}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def _log(level: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": level, "data": {"n": 1}}}


def _strict(header: str) -> Any:
    """A tool that insists on a header."""

    def call(request: Request) -> Reply:
        if request.header(header) is None:
            return hostile.error(-32020, f"{header} is missing", status=400)
        return hostile.result({"resultType": "complete", **said(request)})

    return call


def _until_left(left: asyncio.Event) -> Reply:
    """A call that goes on until the client leaves."""

    async def play(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        await exchange.left()
        left.set()

    return play


def _rest(backend: LegacyBackend) -> Reply:
    """The rest of the last call's answer, on a stream of its own."""

    async def play(exchange: Exchange) -> None:
        call = backend.of("tools/call")[-1]
        await hostile.sse(hostile.response_to(call, {"content": [{"type": "text", "text": "resumed"}]}))(exchange)

    return play


def _with_cookie(reply: Reply, cookie: str) -> Reply:
    async def play(exchange: Exchange) -> None:
        head = exchange.head

        async def more(status: int, fields: hostile.Fields) -> None:
            await head(status, [*fields, ("Set-Cookie", cookie)])

        exchange.head = more  # type: ignore[method-assign]
        await reply(exchange)
        exchange.head = head  # type: ignore[method-assign]

    return play
