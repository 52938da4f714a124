"""What requests carry, where redirects may lead, and whom TLS trusts."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fakes import hostile
from fakes.hostile import HostileBackend, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tools
from integration.upstream import certificates
from integration.upstream.certificates import Certificates
from integration.upstream.running import NEVER, session
from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.upstream.http import HttpPool

CREDENTIALS = {"cred_token": b"tok\n", "cred_key": b"key"}


async def test_every_request_carries_what_is_configured() -> None:
    """List, stream, call, notification and good-bye alike; a protocol header cannot be overridden, in whatever case."""
    async with LegacyBackend(*tools("a")) as backend:
        async with session(
            backend,
            credentials=CREDENTIALS,
            hostHeader="inner:8000",
            headers=[
                {"name": "X-Team", "value": "platform"},
                {"name": "X-Api-Key", "credential": {"file": "cred_key", "revision": ""}},
                {"name": "accept", "value": "text/html"},
                {"name": "mcp-session-id", "value": "mine"},
            ],
            auth={"type": "Bearer", "credential": {"file": "cred_token", "revision": ""}},
        ) as run:
            await run.until(lambda session: session.status.stream == "open")
            await run.call("a")
        assert {request.kind for request in backend.requests} == {
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
            "GET",
            "DELETE",
        }
        for request in backend.requests:
            assert request.header("X-Team") == "platform"
            assert request.header("X-Api-Key") == "key"
            assert request.header("Authorization") == "Bearer tok"
            assert request.header("Host") == "inner:8000"
            names = [name.lower() for name, _ in request.headers]
            assert len(names) == len(set(names))
        listed = backend.of("tools/list")[0]
        assert (listed.header("Accept"), listed.header("Mcp-Session-Id")) == (
            "application/json, text/event-stream",
            "session-1",
        )


async def test_descriptor_that_the_loop_thinks_in_use_is_a_connection_that_could_not_be_made() -> None:
    """As it is where a connection was closed behind the loop's back."""
    async with ModernBackend(*tools("a")) as backend:
        home, port = backend.url.removeprefix("http://").removesuffix("/mcp").split(":")
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, home, int(port))
        taken = transport.get_extra_info("socket").fileno()
        os.close(taken)  # the next socket has the same number
        async with session(backend, pace={"backoff": NEVER}) as run:
            await run.failing("no connection")
            assert os.open(os.devnull, os.O_RDONLY) == taken  # for the transport to close
            transport.abort()


async def test_no_proxy_and_no_password_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would be connected to in place of the address that is judged, and get what only the backend is to have."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password secret\n")
    async with ModernBackend(*tools("a")) as backend, HostileBackend(lambda _: hostile.body(b"{}")) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/mcp"))
        monkeypatch.setenv("NETRC", str(netrc))
        async with session(backend) as run:
            await run.call("a")
        assert proxy.requests == []
        assert {request.header("Authorization") for request in backend.requests} == {None}


async def test_unusable_credential_is_said_and_nothing_is_sent() -> None:
    """A request without what it should carry is none."""
    async with (
        ModernBackend(*tools("a")) as backend,
        session(
            backend,
            pace={"backoff": NEVER},
            auth={"type": "Bearer", "credential": {"file": "cred_token", "revision": ""}},
        ) as run,
    ):
        await run.failing("credential unusable")
        assert backend.requests == []


@pytest.mark.parametrize("status", [307, 308])
async def test_redirect_on_the_same_origin_is_followed(status: int) -> None:
    """With method, body and headers; as servers do whose path ends in a slash, or does not."""
    async with ModernBackend(*tools("a")) as backend:
        ordinarily = backend.answer
        backend.answer = lambda request: (
            ordinarily(request)
            if request.path == "/mcp/"
            else hostile.body(b"", status=status, fields=[("Location", "/mcp/")])
        )
        async with session(backend) as run:
            await run.ready()
            assert run.names == ["a"]
            assert b"a" in (await run.call("a", b'{"x":1}')).result
            assert backend.complaints == []


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://127.0.0.1/mcp",
        "//elsewhere.example/mcp",
        "http://127.0.0.1:1/mcp",
        "http://[broken",
        "",
    ],
)
async def test_redirect_elsewhere_is_not_followed(location: str) -> None:
    """Neither to another host, nor to another scheme or port: what a request carries was meant for this origin."""
    async with (
        HostileBackend(lambda _: hostile.body(b"", status=307, fields=[("Location", location)])) as backend,
        session(backend, pace={"backoff": NEVER}) as run,
    ):
        await run.failing("redirected elsewhere")
        assert [request.kind for request in backend.requests] == ["server/discover", "initialize"]


async def test_redirects_in_a_circle_end() -> None:
    """After a few."""
    async with (
        HostileBackend(lambda _: hostile.body(b"", status=307, fields=[("Location", "/mcp")])) as backend,
        session(backend, pace={"backoff": NEVER}) as run,
    ):
        await run.failing("redirected elsewhere")
        assert len(backend.requests) == 8


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_redirect_that_would_change_the_method_is_a_refusal(status: int) -> None:
    """A POST must not become a GET."""
    async with (
        HostileBackend(lambda _: hostile.body(b"", status=status, fields=[("Location", "/mcp/")])) as backend,
        session(backend, pace={"backoff": NEVER}) as run,
    ):
        await run.failing(f"HTTP {status}")


async def test_headers_of_an_answer_are_bounded() -> None:
    """A server that floods its headers is a fault of that server."""
    flood = b"HTTP/1.1 200 OK\r\nX-Flood: " + b"x" * 100_000 + b"\r\n\r\n"
    async with (
        HostileBackend(lambda _: hostile.raw(flood)) as backend,
        session(backend, pace={"backoff": NEVER}) as run,
    ):
        await run.failing("answer is not HTTP")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1/mcp", "connection refused"),
        ("http://nowhere.invalid/mcp", "name not resolved"),
        ("ftp://127.0.0.1/mcp", "request cannot be made"),
    ],
)
async def test_backend_that_cannot_be_reached_says_why(url: str, reason: str) -> None:
    """In a fixed phrase."""
    async with session(url, pace={"backoff": NEVER}) as run:
        await run.failing(reason)


async def test_many_streams_do_not_use_up_the_connections() -> None:
    """Each of three hundred listening backends keeps its stream and can still be asked."""
    backend = ModernBackend(*tools("a"))
    async with backend, HttpPool() as http:
        endpoint = await http.endpoint(Backend(namespace="n", name="b", url=backend.url), {})
        backend.answer = lambda request: _held() if request.method == "GET" else hostile.body(b"{}")

        async def hold() -> None:
            async with http.send(endpoint, "GET", {}):
                await asyncio.Event().wait()

        streams = [asyncio.create_task(hold()) for _ in range(300)]
        await backend.received("GET", 300, within_s=20)
        async with http.send(endpoint, "POST", {}, b"{}") as reply:
            assert await reply.body(10) == b"{}"
        for stream in streams:
            stream.cancel()
        await asyncio.wait(streams)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """One authority for all these tests."""
    return certificates.make(tmp_path_factory.mktemp("certificates"))


@asynccontextmanager
async def over_tls(made: Certificates, *, wants_client: bool = False) -> AsyncIterator[tuple[str, list[Any]]]:
    """A modern backend behind TLS that certifies the name ``backend.test``; its URL, and the client certificates it saw."""
    seen: list[Any] = []
    fake = ModernBackend(*tools("a"))
    fake.list_changed = False

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        seen.append(request.transport.get_extra_info("peercert"))
        exchange = _Recorded(Request("POST", "/mcp", tuple(request.headers.items()), await request.read()))
        await fake.answer(exchange.request)(exchange)  # type: ignore[arg-type]
        return web.Response(body=exchange.body, content_type="application/json", status=exchange.status)

    app = web.Application()
    app.router.add_post("/mcp", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=made.server(wants_client=wants_client))
        await site.start()
        assert site._server is not None
        yield f"https://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/mcp", seen  # type: ignore[attr-defined]
    finally:
        await runner.cleanup()


class _Recorded:
    """An exchange whose answer is kept instead of written."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.status = 0
        self.body = b""

    async def respond(self, status: int, body: bytes, _: hostile.Fields = ()) -> None:
        self.status, self.body = status, body


CA = {"file": "cred_ca", "revision": ""}
CLIENT = {"file": "cred_client", "revision": ""}


@pytest.mark.parametrize(
    ("tls", "reason"),
    [
        pytest.param({"ca": CA, "serverName": "backend.test"}, None, id="its authority and its name"),
        pytest.param({"insecureSkipVerify": True}, None, id="no verification"),
        pytest.param({}, "certificate not trusted", id="the system's authorities"),
        pytest.param({"ca": CA}, "certificate not trusted", id="another name"),
        pytest.param({"serverName": "backend.test"}, "certificate not trusted", id="its name, but not its authority"),
    ],
)
async def test_whom_tls_trusts(made: Certificates, tls: dict[str, Any], reason: str | None) -> None:
    """The given authority alone, the given name; everybody only where that is said."""
    async with (
        over_tls(made) as (url, _),
        session(url, credentials={"cred_ca": made.ca}, tls=tls, pace={"backoff": NEVER}) as run,
    ):
        if reason is None:
            await run.ready()
        else:
            await run.failing(reason)


async def test_client_certificate_is_presented(made: Certificates) -> None:
    """Certificate and key come from one credential."""
    tls = {"ca": CA, "clientCertificate": CLIENT, "serverName": "backend.test"}
    async with (
        over_tls(made, wants_client=True) as (url, seen),
        session(url, credentials={"cred_ca": made.ca, "cred_client": made.client}, tls=tls) as run,
    ):
        await run.ready()
        assert {cert["subject"] for cert in seen} == {((("commonName", "client"),),)}


@pytest.mark.parametrize(
    "content", [b"", b"no PEM", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\xff"]
)
@pytest.mark.parametrize("key", ["ca", "clientCertificate"])
async def test_unusable_certificate_is_said(content: bytes, key: str) -> None:
    """As a fault of this backend's configuration."""
    async with session(
        "https://127.0.0.1:1/mcp",
        credentials={"cred_x": content},
        tls={key: {"file": "cred_x", "revision": ""}},
        pace={"backoff": NEVER},
    ) as run:
        await run.failing("CA or client certificate unusable")


async def test_equal_tls_settings_share_one_context(made: Certificates) -> None:
    """Equal by content: each context costs most of a mebibyte."""
    config = Backend.model_validate({"namespace": "n", "name": "b", "url": "https://b.test/mcp", "tls": {"ca": CA}})
    other = config.model_copy(update={"name": "c"})
    async with HttpPool() as http:
        first, second = await asyncio.gather(
            http.endpoint(config, {"cred_ca": made.ca}), http.endpoint(other, {"cred_ca": bytes(made.ca)})
        )
        third = await http.endpoint(config, {"cred_ca": made.ca + b"\n"})
        assert first.tls is second.tls
        assert first.tls is not third.tls


async def test_hundreds_of_backends_are_begun_with_in_groups() -> None:
    """The first ten at once, and the rest ten at a time: the loop has other things to do."""
    loop = asyncio.get_running_loop()
    async with HttpPool() as http:
        began = loop.time()
        waits: list[float] = []

        async def begin() -> None:
            await http.turn_to_begin()
            waits.append(loop.time() - began)

        beginning = asyncio.gather(*(begin() for _ in range(35)))
        await asyncio.sleep(0)
        assert len(waits) == 10
        await beginning
        assert [waits[place] >= least for place, least in ((10, 0.01), (20, 0.02), (30, 0.03))] == [True] * 3


def _held() -> Reply:
    async def play(exchange: hostile.Exchange) -> None:
        await hostile.open_stream(exchange)
        await exchange.left()

    return play
