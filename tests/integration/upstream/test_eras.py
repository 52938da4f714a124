"""Finding out how a backend wants to be spoken to, and noticing when that changes."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import hostile
from fakes.hostile import HostileBackend, Reply, Request
from fakes.http_sse import HttpSseBackend
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tools
from integration.upstream.running import NEVER, session
from switchyard_sidecar.protocol.versions import Era

V = "2026-07-28"


def kinds(backend: HostileBackend) -> list[str]:
    """What was asked, in order."""
    return [request.kind for request in backend.requests]


async def test_modern_backend_is_asked_as_the_specification_says() -> None:
    """Metadata in the body, mirrored in headers; no session, no initialize."""
    async with ModernBackend(*tools("a", "b")) as backend, session(backend) as run:
        backend.list_changed = False
        await run.ready()
        assert run.names == ["a", "b"]
        discover, listed = backend.requests
        assert discover.message == {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "server/discover",
            "params": {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": V,
                    "io.modelcontextprotocol/clientInfo": {"name": "switchyard", "version": "0.1.0"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            },
        }
        assert dict(discover.headers) == {
            "Host": backend.url.removeprefix("http://").removesuffix("/mcp"),
            "User-Agent": "switchyard/0.1.0",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": V,
            "Mcp-Method": "server/discover",
            "Content-Length": str(len(discover.body)),
        }
        assert listed.header("Mcp-Method") == "tools/list"
        assert "cursor" not in listed.params
        assert backend.complaints == []
        status = run.session.status
        assert (status.era, status.version, status.server_info.name) == (Era.MODERN, V, "fake")


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(hostile.error(-32601), id="method not found"),
        pytest.param(hostile.error(-32600, "Missing ID field", status=400), id="invalid request"),
        pytest.param(hostile.error(-32602, status=200), id="invalid params"),
        pytest.param(hostile.error(-32000, "not initialized", status=400), id="not initialized"),
        pytest.param(hostile.body(b"", status=400), id="400 with no body"),
        pytest.param(hostile.body(b"", status=404, content_type=None), id="404 with no body"),
        pytest.param(hostile.body(b"Not Acceptable", status=406, content_type="text/plain"), id="plain text"),
        pytest.param(
            hostile.body(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":""}}', status=400),
            id="an id of null",
        ),
        pytest.param(hostile.body(b"<html>", content_type="text/html"), id="a page of HTML"),
        pytest.param(hostile.result({}), id="an empty result"),
        pytest.param(hostile.body(b"", status=202, content_type=None), id="accepted, and no answer"),
        pytest.param(hostile.sse(), id="a stream with nothing in it"),
        pytest.param(hostile.hang(), id="silence"),
    ],
)
async def test_legacy_servers_are_found_however_they_refuse_the_probe(refusal: Reply) -> None:
    """Whatever is not a modern answer leads to initialize, and from there to the list."""
    async with LegacyBackend(*tools("a")) as backend, session(backend, pace={"probe_s": 0.1}) as run:
        backend.with_stream = False
        backend.always("server/discover", refusal)
        await run.ready()
        assert run.names == ["a"]
        assert [kind for kind in kinds(backend) if kind != "GET"] == [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
        ]
        initialize = backend.requests[1]
        assert initialize.params == {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "switchyard", "version": "0.1.0"},
        }
        for absent in ("Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method"):
            assert initialize.header(absent) is None
        assert backend.complaints == []


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
async def test_status_that_others_may_have_sent_decides_nothing(status: int) -> None:
    """No era is assumed, and the next attempt probes again."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        backend.fail_next("server/discover", hostile.body(b"no", status=status), hostile.body(b"no", status=status))
        await run.failing(f"HTTP {status}")
        await run.listing("a")
        assert "initialize" not in kinds(backend)
        assert run.session.status.last_error is None


async def test_offered_version_is_tried_and_then_not_believed() -> None:
    """Refused twice with the very version it offers, the server gets initialize."""
    refusal = hostile.error(-32022, data={"supported": [V], "requested": V}, status=400)
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        backend.always("server/discover", refusal)
        await run.ready()
        assert kinds(backend)[:3] == ["server/discover", "server/discover", "initialize"]


@pytest.mark.parametrize("code", [-32020, -32021])
async def test_recognised_modern_error_stays_modern(code: int) -> None:
    """Such a server is never asked to initialize, even if it tells nothing of itself."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        backend.always("server/discover", hostile.error(code, status=400))
        await run.ready()
        assert kinds(backend) == ["server/discover", "tools/list"]
        assert run.session.status.stream == "none"


@pytest.mark.parametrize(
    ("version", "header"), [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2025-03-26", None)]
)
async def test_negotiated_version_is_sent_where_the_revision_has_the_header(version: str, header: str | None) -> None:
    """The backend's version, whatever was asked for; earlier revisions do not know the header."""
    async with LegacyBackend(*tools("a"), version=version) as backend, session(backend) as run:
        await run.ready()
        assert run.session.status.version == version
        (listed,) = backend.of("tools/list")[:1]
        assert listed.header("MCP-Protocol-Version") == header
        assert backend.complaints == []


@pytest.mark.parametrize("version", ["2024-10-07", V, "", 3])
async def test_version_that_we_do_not_speak_is_a_failure(version: Any) -> None:
    """It is said, and nothing more is sent."""
    async with LegacyBackend(*tools("a")) as backend, session(backend, pace={"backoff": NEVER}) as run:
        backend.version = version
        await run.failing("no common protocol version")
        assert "tools/list" not in kinds(backend)


async def test_server_without_sessions_is_sent_no_session_header() -> None:
    """Not an empty one either, which is what a header with nothing in it on initialize would lead to."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        backend.with_sessions = False
        initialized = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        backend.always("initialize", hostile.result(initialized, fields=[("Mcp-Session-Id", "")]))
        await run.ready()
        assert all(request.header("Mcp-Session-Id") is None for request in backend.requests)
        assert backend.complaints == []


async def test_failed_handshake_leaves_no_session_behind() -> None:
    """A session that cannot be used is ended at the server."""
    async with LegacyBackend(*tools("a")) as backend, session(backend) as run:
        backend.fail_next("notifications/initialized", hostile.body(b"no", status=500))
        await run.listing("a")
        await backend.received("DELETE")
        await backend.received("tools/list")
        assert backend.sessions == {"session-2"}


@pytest.mark.parametrize(("pin", "first"), [("Modern", "server/discover"), ("Legacy", "initialize")])
async def test_pinned_era_is_not_probed(pin: str, first: str) -> None:
    """What the config says is not put to the test."""
    fake: type[ModernBackend | LegacyBackend] = ModernBackend if pin == "Modern" else LegacyBackend
    async with fake(*tools("a")) as backend, session(backend, protocol=pin) as run:
        backend.always("server/discover", hostile.error(-32601, status=404))
        await run.ready()
        assert kinds(backend)[0] == first
        assert run.session.status.era == pin.lower()


async def test_modern_backend_that_is_slow_to_answer_is_found_in_the_end() -> None:
    """Patience grows with each attempt; the first probe's alone would never find it out."""
    async with ModernBackend(*tools("a")) as backend:
        ordinarily = backend.answer

        def slowly(request: Request) -> Reply:
            return hostile.after(_passed(0.3), ordinarily(request))

        backend.answer = slowly
        async with session(backend, pace={"probe_s": 0.1}) as run:
            await run.listing("a")
            assert run.session.status.era == Era.MODERN
            assert len(backend.of("server/discover")) == 3  # given up after 0.1 s, and after 0.2 s


async def test_modern_backend_that_is_too_slow_is_not_said_to_refuse_what_is_not_of_its_era() -> None:
    """That it did not answer in time is what matters; the refused attempt at the other era comes after it."""
    async with ModernBackend(*tools("a")) as backend:
        backend.always("server/discover", hostile.hang())
        async with session(backend, pace={"probe_s": 0.1, "backoff": NEVER}) as run:
            await run.failing("no answer to server/discover in time; initialize: HTTP 400")


async def test_http_sse_is_the_last_resort() -> None:
    """A server that refuses POST with 405 and names an endpoint on GET speaks the transport of 2024-11-05."""
    async with HttpSseBackend(*tools("a", "b")) as backend, session(backend) as run:
        await run.ready()
        assert run.names == ["a", "b"]
        assert kinds(backend)[:6] == [
            "server/discover",
            "initialize",
            "GET",
            "initialize",
            "notifications/initialized",
            "tools/list",
        ]
        assert run.session.status.version == "2024-11-05"


async def test_refusal_of_initialize_is_what_is_told_when_all_fails() -> None:
    """What the configured URL said to an ordinary request says more than that it has no stream either."""
    with capture_logs() as logged:
        async with (
            HostileBackend(lambda _: hostile.body(b"nothing here", status=404)) as backend,
            session(backend, pace={"backoff": NEVER}) as run,
        ):
            await run.failing("HTTP 404")
            assert kinds(backend) == ["server/discover", "initialize", "GET"]
    hints = [each["advice"] for each in logged if each["event"] == "backend_failing"]
    assert hints == ["see the path of its address"]


async def test_legacy_backend_that_restarts_as_modern_is_found() -> None:
    """The next list finds its session unknown, and everything is found out anew, at once."""
    legacy, modern = LegacyBackend(*tools("old")), ModernBackend(*tools("new"))
    async with legacy, session(legacy, pace={"backoff": NEVER, "stream_backoff": NEVER}) as run:
        legacy.with_stream = False
        await run.ready()
        legacy.answer = modern.answer
        await run.read_again()
        assert run.names == ["new"]
        assert run.session.status.era == Era.MODERN


async def test_modern_backend_that_restarts_as_legacy_is_found() -> None:
    """Its refusal of a modern request is no outage, so nothing waits for a back-off."""
    modern, legacy = ModernBackend(*tools("new")), LegacyBackend(*tools("old"))
    async with modern, session(modern, pace={"backoff": NEVER, "stream_backoff": NEVER}) as run:
        modern.list_changed = False
        await run.ready()
        modern.answer = legacy.answer
        await run.read_again()
        assert run.names == ["old"]
        assert run.session.status.era == Era.LEGACY


async def test_backend_that_keeps_forgetting_its_sessions_is_tried_ever_more_seldom() -> None:
    """One new start is made at once; a server behind which every other request ends elsewhere must not cause a storm."""
    async with LegacyBackend(*tools("a")) as backend, session(backend, pace={"backoff": NEVER}) as run:
        backend.with_stream = False
        await run.ready()
        backend.sessions.clear()
        await run.read_again()
        assert len(backend.of("initialize")) == 2
        backend.sessions.clear()
        await run.read_again()
        await run.failing("session unknown to the backend")
        assert len(backend.of("initialize")) == 2
        assert run.names == ["a"]


def _passed(seconds: float) -> asyncio.Event:
    """A gate that opens by itself."""
    gate = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, gate.set)
    return gate
