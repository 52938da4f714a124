"""Reading lists over real connections: joined, kept, given up, and never mistaken."""

import asyncio
import json
from typing import Any

import pytest

from fakes import hostile
from fakes.hostile import Exchange, Reply
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from integration.upstream.running import NEVER, session

BOTH_ERAS = pytest.mark.parametrize("fake", [ModernBackend, LegacyBackend])
LIST = {"resultType": "complete", "tools": [tool("a")], "ttlMs": 60_000, "cacheScope": "public"}


def quiet(*names: str, **keys: Any) -> ModernBackend:
    """A modern backend that announces nothing, so that lists are read when a test says so."""
    made = ModernBackend(*tools(*names), **keys)
    made.list_changed = False
    return made


@BOTH_ERAS
async def test_all_pages_are_read(fake: type[OrdinaryBackend]) -> None:
    """Until no cursor is given."""
    async with fake(*tools(*"abcdefg")) as backend, session(backend) as run:
        backend.page_size = 3
        snapshot = await run.ready()
        assert run.names == list("abcdefg")
        assert snapshot.complete
        assert [request.params.get("cursor") for request in backend.of("tools/list")[:3]] == [None, "from 3", "from 6"]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@BOTH_ERAS
async def test_list_may_come_as_a_stream_with_other_messages_before(
    fake: type[OrdinaryBackend], newline: bytes
) -> None:
    """However lines end, and whatever the server says first."""
    noise = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "listing"}}
    async with fake() as backend, session(backend) as run:
        backend.always("tools/list", hostile.sse(b"", noise, newline=newline, result_value=LIST))
        await run.listing("a")


async def test_list_in_small_pieces_is_put_together() -> None:
    """No piece is taken for the whole, in either form."""
    large = {**LIST, "tools": [tool("a", description="x" * 5000)]}
    for reply in (hostile.result(large), hostile.sse(result_value=large)):
        async with quiet() as backend, session(backend) as run:
            backend.always("tools/list", hostile.drip(reply, 7))
            await run.listing("a")


async def test_event_of_several_megabytes_is_no_fault() -> None:
    """Line-based readers stop at 64 KiB or 1 MiB."""
    large = {
        **LIST,
        "tools": [tool("a", description="x" * 900_000), *(tool(f"t{n}", x="y" * 50_000) for n in range(60))],
    }
    async with quiet() as backend, session(backend) as run:
        backend.always("tools/list", hostile.sse(result_value=large))
        snapshot = await run.ready()
        assert len(snapshot.tools) == 61


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(hostile.body(b"no", status=500), "HTTP 500", id="a server error"),
        pytest.param(hostile.body(b"no", status=401), "HTTP 401", id="unauthorized"),
        pytest.param(hostile.error(-32603), "JSON-RPC error -32603", id="an internal error"),
        pytest.param(hostile.body(b"{}"), "answer is not JSON-RPC", id="an empty object"),
        pytest.param(hostile.body(b""), "answer is not JSON-RPC", id="no body"),
        pytest.param(hostile.result({}), "answer holds no list of tools", id="a result without tools"),
        pytest.param(hostile.result({"tools": None}), "answer holds no list of tools", id="tools are null"),
        pytest.param(hostile.result({"tools": {}}), "answer holds no list of tools", id="tools are an object"),
        pytest.param(hostile.body(b"<html>", content_type="text/html"), "answer is not JSON-RPC", id="a page of HTML"),
        pytest.param(hostile.body(b"", status=202, content_type=None), "answer is not JSON-RPC", id="accepted"),
        pytest.param(hostile.sse(), "ended without an answer", id="an empty stream"),
        pytest.param(hostile.raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "answer is not HTTP", id="another protocol"),
        pytest.param(hostile.raw(b""), "connection lost", id="nothing"),
        pytest.param(hostile.reset(), "connection lost", id="a reset"),
        pytest.param(
            hostile.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"),
            "connection lost",
            id="a body that ends early",
        ),
        pytest.param(
            hostile.body(b"\x1f\x8b not really", fields=[("Content-Encoding", "gzip")]),
            "answer is not HTTP",
            id="a false encoding",
        ),
        pytest.param(hostile.hang(), "no answer in time", id="silence"),
        pytest.param(
            hostile.body(b"", status=307, fields=[("Location", "http://elsewhere.example/mcp")]),
            "redirected elsewhere",
            id="a redirection elsewhere",
        ),
    ],
)
async def test_failure_keeps_the_list_and_says_why(reply: Reply, reason: str) -> None:
    """In one of our own phrases, never in the backend's words; and a fault is never an empty list."""
    async with quiet("a") as backend, session(backend, pace={"backoff": NEVER, "answer_s": 0.3}) as run:
        await run.ready()
        backend.always("tools/list", reply)
        await run.read_again()
        await run.failing(reason)
        assert run.names == ["a"]
        view = run.session.view(asyncio.get_running_loop().time())
        assert (view.failing, view.error, view.settled) == (True, reason, True)
        assert view.next_attempt_ms is not None
        assert run.session.fresh_until == 0


@pytest.mark.parametrize(("fake", "status"), [(ModernBackend, 404), (LegacyBackend, 200), (LegacyBackend, 404)])
async def test_unknown_method_is_a_healthy_backend_without_tools(fake: type[OrdinaryBackend], status: int) -> None:
    """A server of resources alone; 404 with this error is no lost session."""
    async with fake() as backend, session(backend) as run:
        backend.always("tools/list", hostile.error(-32601, status=status))
        snapshot = await run.ready()
        assert snapshot.tools == ()
        assert snapshot.complete
        assert run.session.status.last_error is None


async def test_refused_cursor_restarts_the_walk() -> None:
    """The list changed between two pages; the next walk gets all of it."""
    async with quiet(*"abcd") as backend, session(backend) as run:
        backend.page_size = 2
        first = backend.answer

        def refusing(request: hostile.Request) -> Reply:
            backend.answer = first if request.params.get("cursor") else refusing
            if request.params.get("cursor"):
                backend.tools.append(tool("e"))
                return hostile.error(-32602, "stale cursor", status=400)
            return first(request)

        backend.answer = refusing
        await run.ready()
        assert run.names == list("abcde")


async def test_incomplete_walk_removes_nothing() -> None:
    """Tools that a cut-short walk did not meet may well be there."""
    async with quiet(*"abc") as backend, session(backend, limits={"pages": 2}) as run:
        await run.ready()
        backend.page_size = 1
        backend.tools[0] = tool("a", description="new")
        await run.read_again()
        snapshot = run.session.snapshot
        assert snapshot is not None
        assert (run.names, snapshot.complete) == (list("abc"), False)
        assert b'"new"' in snapshot.tools[0].raw


async def test_page_beyond_the_limit_of_bytes_is_not_read() -> None:
    """On the first page that is a failure; the answer is given up, not buffered."""
    async with quiet() as backend, session(backend, pace={"backoff": NEVER}, limits={"bytes": 100_000}) as run:
        backend.always("tools/list", _endless())
        await run.failing("answer too large")


async def test_all_who_wait_share_one_read() -> None:
    """Whoever asks during a read joins it; whoever leaves takes nothing from the others."""
    gate = asyncio.Event()
    async with quiet("a", ttl_ms=0) as backend, session(backend) as run:
        await run.ready()
        backend.tools.append(tool("b"))
        backend.fail_next("tools/list", hostile.after(gate, backend._ordinarily(_listing(backend))))
        waiting = [asyncio.create_task(run.session.refreshed()) for _ in range(50)]
        await backend.received("tools/list", 2)
        waiting += [asyncio.create_task(run.session.refreshed()) for _ in range(50)]
        await asyncio.sleep(0)
        waiting.pop().cancel()
        gate.set()
        await asyncio.wait_for(asyncio.gather(*waiting), 5)
        assert len(backend.of("tools/list")) == 2
        assert run.names == ["a", "b"]


async def test_failing_backend_is_not_waited_for() -> None:
    """Neither in back-off, nor while another attempt is under way."""
    async with quiet("a") as backend, session(backend) as run:
        backend.always("server/discover", hostile.body(b"", status=503))
        await run.failing("HTTP 503")
        backend.always("server/discover", hostile.hang())
        await backend.received("server/discover", len(backend.of("server/discover")) + 1)
        async with asyncio.timeout(0.2):
            await run.session.refreshed()


@pytest.mark.parametrize(
    ("ttl_ms", "cache", "effective_ms"),
    [
        (60_000, {}, 60_000),
        (10**9, {}, 600_000),
        (..., {}, 0),
        (-5, {}, 0),
        ("60000", {}, 0),
        (0, {"minTtlMs": 1500}, 1500),
        (60_000, {"maxTtlMs": 1000}, 1000),
    ],
)
async def test_time_to_live_of_a_modern_list(ttl_ms: Any, cache: dict[str, int], effective_ms: int) -> None:
    """What the backend says, within what the config allows; what it does not say is 0."""
    async with quiet("a", ttl_ms=ttl_ms) as backend, session(backend, cache=cache) as run:
        snapshot = await run.ready()
        assert snapshot.ttl_ms == effective_ms
        assert run.session.fresh_until == snapshot.fetched_at + effective_ms / 1000


@pytest.mark.parametrize(
    ("fake", "scope", "expected"),
    [
        (ModernBackend, "public", "public"),
        (ModernBackend, "private", "private"),
        (ModernBackend, "", "private"),
        (ModernBackend, ..., "private"),
        (LegacyBackend, "public", "private"),
    ],
)
async def test_scope_of_a_list(fake: type[OrdinaryBackend], scope: Any, expected: str) -> None:
    """Public only where the revision knows the word and the backend says it."""
    listed = {"tools": [tool("a")], "ttlMs": 60_000} | ({} if scope is ... else {"cacheScope": scope})
    async with fake() as backend, session(backend) as run:
        backend.always("tools/list", hostile.result(listed))
        snapshot = await run.ready()
        assert snapshot.scope == expected


async def test_list_with_no_time_to_live_is_fresh_for_a_while_under_a_stream() -> None:
    """Served from memory for five seconds, but handed down as already stale."""
    async with ModernBackend(*tools("a"), ttl_ms=0) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        await run.read_again()
        snapshot = await run.ready()
        assert run.session.fresh_until == snapshot.fetched_at + 5
        assert run.session.remaining_ttl_ms(snapshot.fetched_at) == 0


async def test_notification_makes_the_list_stale_at_once() -> None:
    """From then until it has been read, it counts as nothing."""
    gate = asyncio.Event()
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        await run.until(lambda session: session.status.stream == "open")
        await run.read_again()
        backend.fail_next("tools/list", hostile.after(gate, backend._ordinarily(_listing(backend))))
        await backend.notify()
        await run.until(lambda session: session.fresh_until == 0)
        assert run.session.remaining_ttl_ms(asyncio.get_running_loop().time()) == 0
        gate.set()
        await run.until(lambda session: session.fresh_until > 0)


async def test_equal_list_keeps_its_definitions() -> None:
    """A refetch that is canonically equal keeps the very objects, so that nothing made of them is made again."""
    async with quiet(*"ab") as backend, session(backend) as run:
        before = await run.ready()
        backend.tools = [json.dumps(tool(name), indent=1).encode() for name in "ab"]
        await run.read_again()
        after = run.session.snapshot
        assert after is not None
        assert after.tools is before.tools
        assert after.fetched_at > before.fetched_at


async def test_view_is_settled_by_an_answer_or_by_time() -> None:
    """What waits for a backend's first answer waits for its list timeout at most."""
    async with quiet("a") as backend, session(backend, pace={"backoff": NEVER}, timeouts={"listMs": 300}) as run:
        backend.always("server/discover", hostile.body(b"", status=503))
        await run.failing("HTTP 503")
        now = asyncio.get_running_loop().time()
        assert not run.session.view(now).settled
        assert run.session.view(now + 0.3).settled


async def test_seed_is_shown_until_the_first_answer() -> None:
    """Stale, but better than nothing; its tools can be called meanwhile."""
    async with quiet("a") as backend, session(backend) as run:
        seed = await run.ready()
    async with quiet("b") as backend:
        gate = asyncio.Event()
        backend.fail_next("server/discover", hostile.after(gate, hostile.error(-32020, status=400)))
        async with session(backend, seed=seed) as run:
            assert b"a" in (await run.call("a")).result  # even before anything else was sent
            assert run.names == ["a"]
            assert run.session.fresh_until == 0
            gate.set()
            await run.listing("b")
            run.session.expire_seed()
            assert run.names == ["b"]


async def test_seed_expires() -> None:
    """A list that belongs to another server or credential is dropped when the new one does not answer."""
    async with quiet("a") as backend, session(backend) as run:
        seed = await run.ready()
    async with session(backend, seed=seed, pace={"backoff": NEVER}) as run:
        await run.failing("connection refused")
        run.session.expire_seed()
        assert run.session.snapshot is None


async def test_end_of_the_session_is_told_to_a_legacy_backend() -> None:
    """DELETE with the session's id; a server that refuses it has lost nothing."""
    async with LegacyBackend(*tools("a")) as backend:
        async with session(backend) as run:
            await run.ready()
        (farewell,) = backend.of("DELETE")
        assert farewell.header("Mcp-Session-Id") == "session-1"
        assert backend.sessions == set()


async def test_end_takes_bounded_time_when_the_backend_hangs() -> None:
    """Nobody waits for a good-bye that is not returned."""
    async with LegacyBackend(*tools("a")) as backend:
        backend.always("DELETE", hostile.hang())
        async with session(backend, pace={"farewell_s": 0.1}) as run:
            await run.ready()
        assert len(backend.of("DELETE")) == 1


async def test_closed_idle_connection_costs_a_list_nothing() -> None:
    """A server that closes idle connections at the wrong moment is asked once more, and nobody hears of it."""
    async with quiet("a") as backend, session(backend, pace={"backoff": NEVER}) as run:
        await run.ready()
        backend.fail_next("tools/list", hostile.reset())
        backend.tools.append(tool("b"))
        await run.read_again()
        assert run.names == ["a", "b"]
        assert run.session.status.counters.failures == 0


async def test_rejected_tools_cost_themselves() -> None:
    """Their neighbours stay, and the reasons are shown."""
    definitions: list[Any] = [tool("a"), b"null", b'{"name":"bad"}', tool("b"), b'{"name":NaN}', tool("a")]
    async with ModernBackend(*definitions) as backend, session(backend) as run:
        snapshot = await run.ready()
        assert run.names == ["a", "b"]
        assert [rejection.tool for rejection in snapshot.rejected] == ["#1", "bad", "#4", "a"]


async def test_each_read_is_told() -> None:
    """So that whoever owns the session can see how fresh it has become."""
    async with quiet("a") as backend, session(backend) as run:
        await run.ready()
        told = run.told
        await run.read_again()
        assert run.told == told + 1


def _listing(backend: ModernBackend) -> hostile.Request:
    """A list request that a backend has received."""
    return backend.of("tools/list")[-1]


def _endless() -> Reply:
    async def play(exchange: Exchange) -> None:
        await exchange.head(200, [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")])
        while True:
            await exchange.chunk(b" " * 50_000)

    return play
