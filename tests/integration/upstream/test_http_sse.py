"""HTTP+SSE of 2024-11-05: one stream for all that the server says."""

import asyncio
from typing import Any

import pytest

from fakes import hostile
from fakes.hostile import Exchange, HostileBackend, Reply, Request
from fakes.http_sse import HttpSseBackend
from fakes.ordinary import said, tool, tools
from integration.upstream.running import NEVER, Heard, session
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream.faults import BackendUnavailable


async def test_list_call_and_change() -> None:
    """All of it through one stream and one endpoint, with neither session nor version header."""
    async with HttpSseBackend(*tools("a", "b")) as backend, session(backend, transport="SSE") as run:
        await run.until(lambda session: session.status.stream == "open")
        assert [request.method for request in backend.requests[:2]] == ["GET", "POST"]
        result = await run.call("a", b'{"x":1}')
        assert result.era == Era.LEGACY
        assert b'\\"x\\": 1' in result.result
        backend.tools.append(tool("c"))
        await backend.notify()
        await run.listing("a", "b", "c")
        for request in backend.requests:
            assert request.header("Mcp-Session-Id") is None
            assert request.header("MCP-Protocol-Version") is None


async def test_calls_have_a_stream_of_their_own() -> None:
    """One for each principal, closed when it is idle."""
    async with (
        HttpSseBackend(*tools("a")) as backend,
        session(backend, transport="SSE", pace={"session_idle_s": 0.1}) as run,
    ):
        await asyncio.gather(run.call("a", principal="alice"), run.call("a", principal="bob"))
        assert len(backend.of("GET")) == 3
        assert len({request.path for request in backend.of("tools/call")}) == 2
        await backend.listened(1)


async def test_calls_side_by_side_get_their_own_answers() -> None:
    """In whatever order they come; progress goes to whom its token names."""
    gate = asyncio.Event()

    def call(request: Request) -> Reply:
        async def play(exchange: Exchange) -> None:
            if request.params["arguments"]["n"] == 0:
                await gate.wait()
            params = {"progressToken": request.message["id"], "progress": request.params["arguments"]["n"]}
            await exchange.chunk(
                hostile.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            )
            await exchange.chunk(hostile.event(hostile.response_to(request, said(request))))
            gate.set()

        return play

    async with HttpSseBackend(*tools("a")) as backend, session(backend, transport="SSE") as run:
        backend.call = call
        sinks = [Heard(), Heard()]
        results = await asyncio.gather(
            *(run.call("a", b'{"n":%d}' % n, sink, progress=True) for n, sink in enumerate(sinks))
        )
        for n, (sink, result) in enumerate(zip(sinks, results, strict=True)):
            assert b'\\"n\\": %d' % n in result.result
            assert sink.notes == [("notifications/progress", b'{"progress":%d}' % n)]


async def test_error_is_the_callers() -> None:
    """Code and message as they are."""
    async with HttpSseBackend(*tools("a")) as backend, session(backend, transport="SSE") as run:
        backend.call = lambda _: hostile.error(-32602, "Unknown tool")
        with pytest.raises(McpError, match="Unknown tool"):
            await run.call("a")


async def test_lost_stream_fails_calls_and_is_made_anew() -> None:
    """Whoever waits learns it at once; nothing is sent twice, and the list is read in a new session."""
    async with HttpSseBackend(*tools("a")) as backend, session(backend, transport="SSE") as run:
        backend.call = lambda _: hostile.hang()
        call = asyncio.create_task(run.call("a"))
        await backend.received("tools/call")
        backend.tools.append(tool("b"))
        for stream in list(backend.streams):
            stream.reset()
        with pytest.raises(BackendUnavailable, match="connection lost"):
            await call
        await run.listing("a", "b")
        assert len(backend.of("tools/call")) == 1
        backend.call = lambda request: hostile.result(said(request))
        assert b"a" in (await run.call("a")).result


async def test_requests_of_the_server_are_answered() -> None:
    """At the endpoint, like everything we say."""
    async with HttpSseBackend(*tools("a")) as backend, session(backend, transport="SSE") as run:
        await run.ready()
        (stream,) = await backend.listened()
        await stream.send({"jsonrpc": "2.0", "id": "s", "method": "ping"})
        (answer,) = await backend.received("POST")
        assert answer.message == {"jsonrpc": "2.0", "id": "s", "result": {}}


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        pytest.param(
            b"event: endpoint\ndata: https://elsewhere.example/m\n\n",
            "endpoint event names another origin",
            id="elsewhere",
        ),
        pytest.param(
            b"event: endpoint\ndata: //169.254.169.254/m\n\n", "endpoint event names another origin", id="another host"
        ),
        pytest.param(b"event: endpoint\ndata: http://[\n\n", "endpoint event names another origin", id="no URL"),
        pytest.param(b": hello\n\n", "no answer in time", id="nothing"),
        pytest.param(b"data: " + b"x" * 2_000_000, "answer too large", id="too much"),
    ],
)
async def test_stream_without_a_usable_endpoint_is_a_fault(stream: bytes, reason: str) -> None:
    """What we say goes to the stream's own origin, or nowhere."""

    async def play(exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        await exchange.chunk(stream)
        await exchange.left()

    async with (
        HostileBackend(lambda _: play) as backend,
        session(
            backend, transport="SSE", timeouts={"connectMs": 100}, limits={"bytes": 1_000_000}, pace={"backoff": NEVER}
        ) as run,
    ):
        await run.failing(reason)
        assert [request.method for request in backend.requests] == ["GET"]


async def test_endpoint_may_be_an_absolute_url_of_the_same_origin() -> None:
    """Servers write it either way."""
    async with HttpSseBackend(*tools("a")) as backend:
        ordinarily = backend.answer

        def absolute(request: Request) -> Reply:
            return _absolute(backend) if request.method == "GET" else ordinarily(request)

        backend.answer = absolute
        async with session(backend, transport="SSE") as run:
            await run.ready()
            assert run.names == ["a"]


def _absolute(backend: HttpSseBackend) -> Reply:
    async def play(exchange: Exchange) -> None:
        chunk = exchange.chunk

        async def written(data: bytes) -> None:
            origin = backend.url.removesuffix("/mcp").encode()
            await chunk(data.replace(b"data: /messages", b"data: " + origin + b"/messages"))

        held: Any = exchange
        held.chunk = written
        await backend._channel(exchange)

    return play
