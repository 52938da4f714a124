"""Change streams of both eras: opened when they are worth it, opened again when they end, never a storm, nothing missed."""

import asyncio
from typing import Any

import pytest

from fakes import hostile
from fakes.hostile import Exchange, Reply
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from integration.upstream.running import NEVER, session

LISTEN: dict[type[OrdinaryBackend], str] = {ModernBackend: "subscriptions/listen", LegacyBackend: "GET"}
BOTH_ERAS = pytest.mark.parametrize("fake", [ModernBackend, LegacyBackend])
ACKNOWLEDGED = {
    "jsonrpc": "2.0",
    "method": "notifications/subscriptions/acknowledged",
    "params": {"notifications": {"toolsListChanged": True}},
}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


@BOTH_ERAS
async def test_announced_change_is_read(fake: type[OrdinaryBackend]) -> None:
    """A notification leads to a new list."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        backend.tools.append(tool("b"))
        await backend.notify()
        await run.listing("a", "b")
        assert run.session.status.counters.notifications == 1
        assert backend.complaints == []


@BOTH_ERAS
async def test_change_before_the_stream_opened_is_read(fake: type[OrdinaryBackend]) -> None:
    """The first list is not held up for the stream, so it is read again once nothing can be missed any more."""
    gate = asyncio.Event()
    async with fake(*tools("a")) as backend:
        kind = LISTEN[fake]

        def late(exchange: Exchange) -> Any:
            return backend._ordinarily(exchange.request)(exchange)

        backend.fail_next(kind, hostile.after(gate, late))
        async with session(backend, pace={"acknowledge_s": 5.0}) as run:
            await run.ready()
            await backend.received(kind)
            backend.tools.append(tool("b"))  # while no stream is there to tell it
            gate.set()
            await run.listing("a", "b")
            assert run.session.status.counters.notifications == 0


async def test_no_stream_where_a_modern_backend_announces_no_changes() -> None:
    """A connection for nothing is not opened."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        backend.list_changed = False
        await run.ready()
        await run.read_again()
        assert backend.of("subscriptions/listen") == []
        assert run.session.status.stream == "none"


async def test_stream_of_a_legacy_backend_is_opened_whatever_it_announces() -> None:
    """Servers on the official Python SDK say ``listChanged: false``, and notify."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        backend.capabilities = {"tools": {"listChanged": False}}
        await run.until(lambda session: session.status.stream == "open")


@pytest.mark.parametrize(
    ("fake", "refusal"),
    [
        pytest.param(ModernBackend, hostile.error(-32601, status=404), id="modern: method not found"),
        pytest.param(ModernBackend, hostile.error(-32601), id="modern: method not found, with 200"),
        pytest.param(ModernBackend, hostile.error(-32602, status=400), id="modern: invalid params"),
        pytest.param(ModernBackend, hostile.body(b"", status=404, content_type=None), id="modern: a bare 404"),
        pytest.param(ModernBackend, hostile.result({"resultType": "complete"}), id="modern: over before it began"),
        pytest.param(
            ModernBackend, hostile.sse(result_value={"resultType": "complete"}), id="modern: the same as a stream"
        ),
        pytest.param(LegacyBackend, hostile.body(b"", status=405, content_type=None), id="legacy: 405"),
        pytest.param(LegacyBackend, hostile.body(b"no", status=400), id="legacy: 400"),
        pytest.param(LegacyBackend, hostile.body(b"{}"), id="legacy: JSON"),
    ],
)
async def test_backend_without_a_stream_is_used_without_one(fake: type[OrdinaryBackend], refusal: Reply) -> None:
    """That is no failure, and it is asked once: however often the list is read, no storm follows."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        backend.always(LISTEN[fake], refusal)
        await run.ready()
        await backend.received(LISTEN[fake])
        for _ in range(3):
            await run.read_again()
        assert len(backend.of(LISTEN[fake])) == 1
        assert run.session.status.stream == "none"
        assert run.session.status.last_error is None


async def test_stream_that_does_not_honour_tool_changes_is_closed() -> None:
    """An open connection that will never say anything is given back; the list is believed for its ttl alone."""
    async with ModernBackend(*tools("a")) as backend:
        unhonoured = {**ACKNOWLEDGED, "params": {"notifications": {}}}
        closed = asyncio.Event()
        backend.always("subscriptions/listen", _held(unhonoured, closed))
        async with session(backend) as run:
            await asyncio.wait_for(closed.wait(), 5)
            await run.until(lambda session: session.status.stream == "none")
            assert len(backend.of("subscriptions/listen")) == 1


async def test_stream_that_never_acknowledges_is_closed_and_tried_again() -> None:
    """Silence is no subscription."""
    closed = asyncio.Event()
    async with ModernBackend(*tools("a")) as backend:
        backend.fail_next("subscriptions/listen", _held(None, closed))
        async with session(backend, pace={"acknowledge_s": 0.1}) as run:
            await asyncio.wait_for(closed.wait(), 5)
            await run.until(lambda session: session.status.stream == "open")
            assert len(backend.of("subscriptions/listen")) == 2


@BOTH_ERAS
@pytest.mark.parametrize("abrupt", [False, True])
async def test_stream_that_ends_is_opened_again_and_the_list_read(fake: type[OrdinaryBackend], abrupt: bool) -> None:
    """Graceful or not, what happened in between is not missed."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        (stream,) = await backend.listened()
        backend.tools.append(tool("b"))
        if abrupt:
            stream.reset()
        elif isinstance(backend, ModernBackend):
            await backend.end_streams()
        else:
            await stream.end()
        await run.listing("a", "b")
        await run.until(lambda session: session.status.stream == "open")
        assert run.session.status.counters.streams == 2
        assert run.session.status.last_error is None


async def test_cancelled_notification_ends_a_subscription() -> None:
    """One text of the specification has the server send it; whoever does is taken at its word."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        (stream,) = await backend.listened()
        request_id = stream.request.message["id"]
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
        await stream.send(cancelled)
        await backend.received("subscriptions/listen", 2)
        await run.until(lambda session: session.status.stream == "open")


async def test_lost_stream_of_a_dead_backend_shows_that_it_is_dead() -> None:
    """The stream is the first to know; nobody need ask for the list to find out."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        await backend.stop()
        await run.failing("connection refused")
        assert run.names == ["a"]
        backend.tools.append(tool("b"))
        await backend.start()
        await run.listing("a", "b")
        assert run.session.status.last_error is None


async def test_session_that_is_gone_is_made_anew_with_its_stream() -> None:
    """The GET stream finds 404, initialize follows without the old id, then the list and another stream."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        (stream,) = await backend.listened()
        backend.sessions.clear()
        backend.tools.append(tool("b"))
        stream.reset()
        await run.listing("a", "b")
        await run.until(lambda session: session.status.stream == "open")
        assert len(backend.of("initialize")) == 2
        assert backend.complaints == []


async def test_stream_still_held_at_the_server_is_tried_again() -> None:
    """409 means that the server has not yet noticed the end of the stream before."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        backend.fail_next("GET", *[hostile.body(b"only one stream", status=409)] * 2)
        await run.until(lambda session: session.status.stream == "open")
        assert len(backend.of("GET")) == 3


@pytest.mark.parametrize("fake", [ModernBackend, LegacyBackend])
async def test_notifications_that_bring_nothing_do_not_loop(fake: type[OrdinaryBackend]) -> None:
    """A server that notifies whenever its list is read would be read for ever."""
    async with fake(*tools("a")) as backend:
        ordinarily = backend.answer

        def telling(request: hostile.Request) -> Reply:
            if request.kind != "tools/list":
                return ordinarily(request)
            return _then(ordinarily(request), backend.notify)

        backend.answer = telling
        async with session(backend, pace={"gap_s": 0.05, "gap_max_s": 3600}) as run:
            await run.until(lambda session: session.status.counters.notifications >= 3)
            reads = run.session.status.counters.reads
            await asyncio.sleep(0.5)  # the distances by now: 0.4 s, 0.8 s, ...
            assert run.session.status.counters.reads <= reads + 2


async def test_burst_of_notifications_causes_few_reads() -> None:
    """Two hundred at once: those before a read are one, those during it another."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        await run.read_again()
        before = len(backend.of("tools/list"))
        backend.tools.append(tool("b"))
        (stream,) = await backend.listened()
        await stream.exchange.chunk(b"".join(hostile.event(CHANGED) for _ in range(200)))
        await run.until(lambda session: session.status.counters.notifications >= 200)
        await run.listing("a", "b")
        assert len(backend.of("tools/list")) - before <= 3


async def test_change_that_follows_its_notification_is_found_by_a_later_look() -> None:
    """Some servers notify first and change then."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        await run.read_again()
        reads = run.session.status.counters.reads
        await backend.notify()
        await run.until(lambda session: session.status.counters.reads == reads + 1)
        backend.tools.append(tool("b"))
        await run.listing("a", "b")
        assert run.session.status.counters.notifications == 1


async def test_silent_changes_are_found_while_anyone_subscribes() -> None:
    """A list is read again as it ages, with or without a stream; else it is left alone."""
    async with ModernBackend(*tools("a"), ttl_ms=0) as backend, session(backend) as run:
        await run.ready()
        run.session.interested = True
        backend.tools.append(tool("b"))
        await run.listing("a", "b")
        backend.tools.append(tool("c"))
        await run.listing("a", "b", "c")


async def test_server_requests_are_answered() -> None:
    """``ping`` is served, all else is refused: nothing that a server asks for was declared."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        (stream,) = await backend.listened()
        for number, method in enumerate(["ping", "elicitation/create", "sampling/createMessage", "roots/list"]):
            await stream.send({"jsonrpc": "2.0", "id": f"s{number}", "method": method, "params": {}})
        answers = await backend.received("POST", 4)
        told = {request.message["id"]: request.message for request in answers}
        assert told["s0"] == {"jsonrpc": "2.0", "id": "s0", "result": {}}
        for refused in ("s1", "s2", "s3"):
            assert told[refused]["error"]["code"] == -32601
        assert {request.header("Mcp-Session-Id") for request in answers} == {"session-1"}


async def test_keep_alive_comments_and_unknown_messages_mean_nothing() -> None:
    """Neither ends a stream, nor counts as a change."""
    async with ModernBackend(*tools("a")) as backend, session(backend, pace={"stream_backoff": NEVER}) as run:
        await run.until(lambda session: session.status.stream == "open")
        (stream,) = await backend.listened()
        await stream.exchange.chunk(b": keep-alive\n\n")
        await stream.exchange.chunk(b":\r\n\r\n")
        await stream.send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "x://y"}})
        backend.tools.append(tool("b"))
        await backend.notify()
        await run.listing("a", "b")
        assert run.session.status.counters.notifications == 1


@BOTH_ERAS
async def test_message_beyond_the_limit_ends_the_stream(fake: type[OrdinaryBackend]) -> None:
    """And is no failure of the backend: another stream is opened."""
    async with fake(*tools("a")) as backend, session(backend, pace={"stream_event_bytes": 1000}) as run:
        (stream,) = await backend.listened()
        await stream.exchange.chunk(b"data: " + b"x" * 2000)
        await run.until(lambda session: session.status.counters.streams == 2)
        assert run.session.status.last_error is None


def _held(message: Any, closed: asyncio.Event) -> Reply:
    """A stream that says one thing at most, and then nothing until the client leaves."""

    async def play(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        if message is not None:
            await exchange.chunk(hostile.event(message))
        await exchange.left()
        closed.set()

    return play


def _then(reply: Reply, action: Any) -> Reply:
    async def play(exchange: Exchange) -> None:
        await reply(exchange)
        await action()

    return play
