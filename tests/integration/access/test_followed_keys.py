"""An issuer's keys over HTTP: rotated, withdrawn, out of reach, and answered with anything but keys."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import hostile
from fakes.clients import ModernClient
from fakes.gateway import gateway
from fakes.hostile import Reply
from fakes.issuer import AUDIENCE, Issuer, SigningKey, good_claims, key_set
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.waiting import eventually
from integration.access.doors import KEY, QUICK, guarded
from integration.upstream.certificates import make
from switchyard_sidecar.access import pace as access_pace
from switchyard_sidecar.config.load import revision
from switchyard_sidecar.serving import Pace

SLOW = Pace(issuers=access_pace.Pace(gap_s=0.05, retry_s=0.1))
"""Keys are read again only when somebody asks for one that is not known."""


async def status_of(client: ModernClient) -> int:
    return (await client.list()).status


async def health(gw: Any) -> Any:
    """What is said of the only issuer."""
    return (await gw.status())["issuers"][0]


async def test_new_key_is_found_by_its_first_token(tmp_path: Path) -> None:
    """However many come with it at once; the old key's tokens are good while it is published."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer, pace=SLOW) as gw,
    ):
        old = gw.modern
        assert await status_of(old) == 200
        issuer.keys.append(issuer.rotate("second"))
        clients = [gw.another_modern(issuer.token(str(number))) for number in range(50)]
        assert await asyncio.gather(*map(status_of, clients)) == [200] * 50
        assert await status_of(old) == 200
        assert issuer.reads == 2


async def test_keys_are_not_looked_for_where_a_redirect_leads(tmp_path: Path) -> None:
    """Not even on the same server, where there are good ones: the config says where who is let in is decided."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend:
        ordinary = issuer.answer
        moved = hostile.body(b"", status=307, fields=[("Location", "/keys")])
        issuer.answer = lambda request: moved if request.path == "/jwks" else ordinary(request)
        async with guarded(tmp_path, {"x": backend}, issuer) as gw:
            assert await status_of(gw.modern) == 503
            assert (await health(gw))["lastError"] == "redirected elsewhere"
        assert {request.path for request in issuer.requests} == {"/jwks"}


async def test_rotation_after_rotation_loses_nobody(tmp_path: Path) -> None:
    """While callers go on, and a stranger sends tokens of keys that never were, each valid one is served."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer, pace=SLOW) as gw,
    ):
        over = asyncio.Event()

        async def strange() -> set[int]:
            seen, number = set(), 0
            while not over.is_set():
                number += 1
                key = SigningKey.make(f"never {number}")
                seen.add(await status_of(gw.another_modern(key.sign(good_claims(issuer.name)))))
            return seen

        strangers = [asyncio.create_task(strange()) for _ in range(4)]
        for number in range(8):
            issuer.keys[1:] = [issuer.rotate(f"key {number}")]
            issuer.keys[:] = issuer.keys[:2]
            clients = [gw.another_modern(issuer.token(str(each))) for each in range(5)]
            assert await asyncio.gather(*map(status_of, clients)) == [200] * 5
        over.set()
        assert set().union(*await asyncio.gather(*strangers)) == {401}


async def test_withdrawn_key_opens_nothing_any_more(tmp_path: Path) -> None:
    """Its tokens are refused after the next read, also lists that were remembered; streams that it opened end in order."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a"), ttl_ms=600_000) as backend,
        guarded(tmp_path, {"x": backend}, issuer) as gw,
    ):
        await gw.legacy.initialize()
        for _ in range(3):
            assert await status_of(gw.modern) == 200
        async with gw.modern.listen() as listen, gw.legacy.listen() as stream:
            issuer.rotate("second")
            assert (await listen.end())[-1]["result"]["resultType"] == "complete"
            assert await stream.end() == []
        answer = await gw.modern.list()
        assert answer.status == 401
        assert "has published" in answer.error["message"]
        assert await status_of(gw.another_modern(issuer.token())) == 200


@pytest.mark.parametrize(
    ("instead", "error"),
    [
        pytest.param(hostile.body(b"<html>", content_type="text/html"), "not a key set", id="a page"),
        pytest.param(hostile.body(b'{"keys":[{"kty":"oct","k":"AA"}]}'), "no usable key in the key set", id="no use"),
        pytest.param(hostile.body(b"{}", status=500), "HTTP 500", id="an error"),
        pytest.param(hostile.body(b" " * 300_000), "answer too large", id="too much"),
        pytest.param(hostile.hang(), "no answer in time", id="nothing"),
        pytest.param(hostile.reset(), "connection lost", id="a reset"),
        pytest.param(
            hostile.body(b"", status=307, fields=[("Location", "/jwks")]), "redirected elsewhere", id="a redirect"
        ),
        pytest.param(hostile.raw(b"SSH-2.0\r\n"), "answer is not HTTP", id="another protocol"),
    ],
)
async def test_what_is_no_answer_costs_no_valid_caller(tmp_path: Path, instead: Reply, error: str) -> None:
    """The last good keys stay; a key that nobody knows is answered 503 meanwhile, and never 401. It is said why."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend, guarded(tmp_path, {"x": backend}, issuer) as gw:
        assert await status_of(gw.modern) == 200
        issuer.instead = instead

        async def failing() -> bool:
            return bool((await health(gw))["lastError"] == error)

        await eventually(failing)
        assert await status_of(gw.modern) == 200
        stranger = gw.another_modern(SigningKey.make("new").sign(good_claims(issuer.name)))
        answer = await stranger.list()
        assert answer.status == 503
        assert answer.headers["Retry-After"] == "1"
        assert "WWW-Authenticate" not in answer.headers
        shown = await gw.metrics()
        assert f'switchyard_issuer_keys_up{{issuer="{issuer.name}"}} 0.0' in shown
        assert f'switchyard_issuer_keys{{issuer="{issuer.name}"}} 1.0' in shown
        assert 'switchyard_requests_denied_total{reason="keys_unavailable"}' in shown
        issuer.instead = None
        issuer.rotate("new")

        async def well() -> bool:
            return await status_of(gw.another_modern(issuer.token())) == 200

        await eventually(well)
        assert (await health(gw))["lastError"] is None


async def test_before_the_first_good_answer_the_gateway_says_try_again(tmp_path: Path) -> None:
    """503, since a client that is answered 401 drops a good token. It starts all the same, and lets in as soon as it can."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend:
        await issuer.stop()
        with capture_logs() as logs:
            async with guarded(tmp_path, {"x": backend}, issuer) as gw:
                answer = await gw.modern.list()
                assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
                assert (await gw.another_modern().list()).status == 401
                assert (await health(gw))["keys"] is None
                await issuer.start()
                await eventually(lambda: _is_well(gw.modern))
        events = [each["event"] for each in logs if str(each["event"]).startswith("keys_")]
        assert events == ["keys_not_read", "keys_read"], "each turn of things is said once"
        assert not any(issuer.token()[:20] in str(each) for each in logs)


async def _is_well(client: ModernClient) -> bool:
    return await status_of(client) == 200


async def test_one_issuer_that_is_away_takes_nothing_from_another(tmp_path: Path) -> None:
    """Each is asked for its own tokens alone, and tokens of one never open by keys of another."""
    async with Issuer() as here, Issuer() as away, ModernBackend(tool("a")) as backend:
        await away.stop()
        authentication = {"issuers": [here.section(), away.section()]}
        async with gateway(tmp_path, {"x": backend}, pace=QUICK, authentication=authentication) as gw:
            assert await status_of(gw.another_modern(here.token())) == 200
            assert await status_of(gw.another_modern(away.token())) == 503
            crossed = here.keys[0].sign(good_claims(away.name))
            assert await status_of(gw.another_modern(crossed)) == 503
            await away.start()
            await eventually(lambda: _is_well(gw.another_modern(away.token())))
            assert await status_of(gw.another_modern(crossed)) == 401


async def test_keys_stay_when_another_part_of_the_config_changes(tmp_path: Path) -> None:
    """They are not read anew, so that a change during an outage loses nobody; what the issuer's section says holds at once."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer, pace=SLOW) as gw,
    ):
        assert await status_of(gw.modern) == 200
        await issuer.stop()
        await gw.configure({"x": backend}, authentication={"issuers": [issuer.section()]}, pageSize=1)
        assert await status_of(gw.modern) == 200
        narrowed = issuer.section(requiredScopes=["more"])
        await gw.configure({"x": backend}, authentication={"issuers": [narrowed]})
        assert await status_of(gw.modern) == 403
        await gw.configure({"x": backend}, authentication={"issuers": [issuer.section(audiences=["other"])]})
        assert await status_of(gw.modern) == 401


async def test_keys_are_read_over_tls_from_whom_the_config_trusts(tmp_path: Path) -> None:
    """By the issuer's own authority alone; until that has arrived, and where it is another, nobody can tell."""
    for name in ("ours", "other"):
        (tmp_path / name).mkdir()
    ours, other = (make(tmp_path / name, "IP:127.0.0.1") for name in ("ours", "other"))
    key, name = SigningKey.make("k"), "https://issuer.example"
    context = ours.server(wants_client=False)
    server = await asyncio.start_server(_answers(key_set([key]).encode()), "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/jwks"
    (tmp_path / "cred_key").write_bytes(KEY)

    def trusting(ca: bytes) -> dict[str, Any]:
        authority = {"file": "cred_ca", "revision": revision(KEY, ca)}
        return {"issuers": [{"issuer": name, "audiences": [AUDIENCE], "jwksUrl": url, "ca": authority}]}

    async with (
        server,
        ModernBackend(tool("a")) as backend,
        gateway(tmp_path, {"x": backend}, pace=QUICK, authentication=trusting(ours.ca)) as gw,
    ):
        client = gw.another_modern(key.sign(good_claims(name)))
        assert await status_of(client) == 503
        assert (await health(gw))["lastError"] == "its CA has not arrived"
        (tmp_path / "cred_ca").write_bytes(ours.ca)
        await eventually(lambda: _is_well(client))
        (tmp_path / "cred_ca").write_bytes(other.ca)
        await gw.configure({"x": backend}, authentication=trusting(other.ca))

        async def reached() -> bool:
            return bool((await health(gw))["lastError"] == "certificate not trusted")

        await eventually(reached)
        assert await status_of(client) == 503


def _answers(body: bytes) -> Any:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    return answer


async def test_keys_over_plain_http_are_warned_of(tmp_path: Path) -> None:
    """Whoever is on the way could put others in their place. On loopback nobody is."""
    with capture_logs() as logs:
        section = {"issuer": "i", "audiences": ["a"], "jwksUrl": "http://issuer.invalid/jwks"}
        async with gateway(tmp_path, {}, authentication={"issuers": [section]}):
            pass
        async with Issuer() as issuer, guarded(tmp_path, {}, issuer):
            pass
    warned = [str(each["detail"]) for each in logs if each["event"] == "config_warning"]
    assert len(warned) == 1
    assert "read over http" in warned[0]
    assert json.dumps(section["issuer"]) not in warned[0]
