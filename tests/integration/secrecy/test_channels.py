"""No credential leaves the gateway but to where it belongs: not in logs, pages, answers or requests, least of all when something fails.

One run of the real process has every kind of credential, and backends that say all they were told, in every place where a
backend can say something. Then all that has left the process is searched.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import LegacyClient, ModernClient
from fakes.gateway import Section, section, write_config
from fakes.hostile import HostileBackend, Reply, Request
from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool
from integration.secrecy.run import Run, sent, watched
from integration.secrecy.scanner import Scanner
from integration.upstream import certificates
from integration.upstream.certificates import Certificates
from switchyard_sidecar.config.load import revision

ISSUER, API = "https://login.example", "https://api.example"
SIGNING, STRANGER = SigningKey.make("one"), SigningKey.make("one")
FAILURES = ("error", "http_error", "refusal", "failed", "log", "garbage", "header", "cut")


@dataclass(frozen=True)
class Secrets:
    """A fresh credential of each kind."""

    static: str
    jwt: str
    bearer: str
    header: str
    basic: str
    session_key: bytes
    directory_key: bytes
    client: bytes
    unusable: bytes
    invalid: str
    expired: str
    forged: str
    queried: str

    @classmethod
    def made(cls, client: bytes) -> "Secrets":
        """``client``: certificate and key of a TLS client."""
        claims = good_claims(ISSUER, "alice", aud=[AUDIENCE, API])
        return cls(
            static=f"static/{secrets.token_urlsafe(24)}",
            jwt=SIGNING.sign(claims),
            bearer=f"bearer/{secrets.token_urlsafe(24)}",
            header=f"header+{secrets.token_urlsafe(24)}",
            basic=f"dXNlcjp{secrets.token_urlsafe(24)}",
            session_key=secrets.token_hex(24).encode(),
            directory_key=secrets.token_hex(24).encode(),
            client=client,
            unusable=b"-----BEGIN PRIVATE KEY-----\n"
            + secrets.token_hex(32).encode()
            + b"\n-----END PRIVATE KEY-----\n",
            invalid=f"invalid/{secrets.token_urlsafe(24)}",
            expired=SIGNING.sign(good_claims(ISSUER, "alice", lasts_s=-600, jti=secrets.token_hex(8))),
            forged=STRANGER.sign(good_claims(ISSUER, "mallory", jti=secrets.token_hex(8))),
            queried=f"queried/{secrets.token_urlsafe(24)}",
        )

    def named(self) -> dict[str, bytes]:
        """All of them, as bytes; of the client's certificate only the key is a secret."""
        _, _, key = self.client.rpartition(b"-----BEGIN")
        values = {name: value for name, value in vars(self).items() if name != "client"}
        return {
            "client": b"-----BEGIN" + key,
            **{name: value.encode() if isinstance(value, str) else value for name, value in values.items()},
        }


class TlsBackend(ModernBackend):
    """Asks its client for a certificate."""

    def __init__(self, made: Certificates) -> None:
        super().__init__(tool("a"))
        self._tls = made.server(wants_client=True)

    @property
    def url(self) -> str:
        """Under TLS."""
        return super().url.replace("http://", "https://")

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]


def talkative(backend: OrdinaryBackend) -> OrdinaryBackend:
    """Have a backend tell in every way what it was told, as the called tool's name says; its lists come with it in headers."""
    ordinary = backend.answer

    def answer(request: Request) -> Reply:
        told = dict(request.headers)
        echo = json.dumps(told)
        said = {"content": [{"type": "text", "text": f"you said {echo}"}], "resultType": "complete"}
        failure = request.params.get("name") if request.kind == "tools/call" else None
        match failure:
            case "error":
                return hostile.error(-32001, f"not with {echo}", {"headers": told})
            case "http_error":
                challenge = f'Bearer error="invalid_token", token="{told.get("Authorization", "")}"'
                return hostile.body(echo.encode(), status=401, fields=[("WWW-Authenticate", challenge)])
            case "refusal":
                return hostile.error(-32001, f"not with {echo}", {"headers": told}, status=400)
            case "failed":
                return hostile.result({**said, "isError": True})
            case "log":
                note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": told}}
                return hostile.sse(note, result_value={"content": [], "resultType": "complete"})
            case "garbage":
                return hostile.body(b"no JSON: " + echo.encode())
            case "header":
                fields = [(f"X-{name}", value) for name, value in told.items()]
                return hostile.result({"content": [], "resultType": "complete"}, fields=fields)
            case "cut":
                return hostile.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + echo.encode())
            case "data":
                return hostile.result(said)
            case _:
                return ordinary(request)

    backend.answer = answer
    return backend


def credential(name: str, secret: bytes, key: bytes) -> dict[str, str]:
    return {"file": f"cred_{name}", "revision": revision(key, secret)}


@dataclass(frozen=True)
class Stage:
    """The whole of a run: a process, its backends by name, and the credentials in use."""

    run: Run
    backends: Mapping[str, OrdinaryBackend | HostileBackend]
    secrets: Secrets
    scanner: Scanner


@asynccontextmanager
async def stage(
    tmp_path: Path, make: type[OrdinaryBackend], log_format: str = "json", name: str = "echo"
) -> AsyncIterator[Stage]:
    """Backends of one era, each with credentials of its own, and a gateway with all kinds of callers. ``name``: of one of them."""
    config = tmp_path / "config"
    config.mkdir()
    folder = tmp_path / "tls"
    folder.mkdir()
    made = await asyncio.to_thread(certificates.make, folder)
    own = Secrets.made(made.client)
    key = own.directory_key
    files = {
        "cred_key": key,
        "cred_static": own.static.encode(),
        "cred_bearer": own.bearer.encode(),
        "cred_header": own.header.encode(),
        "cred_basic": b"Basic " + own.basic.encode(),
        "cred_session": own.session_key,
        "cred_client": own.client,
        "cred_unusable": own.unusable,
        "cred_ca": made.ca,
    }

    def named(file: str) -> dict[str, str]:
        return credential(file, files[f"cred_{file}"], key)

    tls = {"serverName": "backend.test"}
    with_keys = {
        "auth": {"type": "Bearer", "credential": named("bearer")},
        "headers": [
            {"name": "X-Api-Key", "credential": named("header")},
            {"name": "X-Basic", "credential": named("basic")},
        ],
    }
    async with AsyncExitStack() as stack:
        echo = talkative(make(*(tool(each) for each in (*FAILURES, "data", "good"))))
        forward = talkative(make(*(tool(each) for each in (*FAILURES, "good"))))
        plain, secure = make(tool("a")), TlsBackend(made)
        denying = HostileBackend(lambda request: hostile.body(repr(request.headers).encode(), status=401))
        backends: dict[str, OrdinaryBackend | HostileBackend] = {
            name: echo, "forward": forward, "plain": plain, "secure": secure, "denying": denying,
        }  # fmt: skip
        for each in backends.values():
            await stack.enter_async_context(each)
        sections: dict[str, HostileBackend | Section] = {
            name: section(echo, **with_keys),
            "forward": section(forward, auth={"type": "Forward", "audiences": [API]}),
            "plain": plain,
            "secure": section(secure, tls={**tls, "ca": named("ca"), "clientCertificate": named("client")}),
            "untrusted": section(secure, tls={**tls, "clientCertificate": named("client")}, auth=with_keys["auth"]),
            "unusable": section(secure, tls={**tls, "ca": named("ca"), "clientCertificate": named("unusable")}),
            "denying": section(denying, **with_keys),
            "crashing": section(plain, url=plain.url.replace("/mcp", "/crash"), **with_keys),
            "nowhere": section(plain, url="http://127.0.0.1:1/mcp", **with_keys),
        }
        authentication = {
            "issuers": [{"issuer": ISSUER, "audiences": [AUDIENCE], "jwks": key_set([SIGNING])}],
            "tokens": [{"name": "robot", "credential": named("static")}],
        }
        for file, content in files.items():
            (config / file).write_bytes(content)
        write_config(config, sections, authentication=authentication, sessionKey=named("session"))
        run = await stack.enter_async_context(watched(config, tmp_path / "log", "--log-format", log_format))
        yield Stage(run, backends, own, Scanner(own.named()))


async def use(stage: Stage, client: ModernClient | LegacyClient, name: str) -> None:
    """What a client does: list, and call all that fails, and some that does not."""
    if isinstance(client, LegacyClient):
        await client.initialize()
    await client.list()
    await client.list(cursor="no cursor")
    for backend in (name, "forward"):
        for failure in FAILURES:
            await client.call(f"{backend}__{failure}")
        await client.call(f"{backend}__good")
    for tool_name in ("plain__a", "secure__a", "untrusted__a", "crashing__a", "nobody__a"):
        await client.call(tool_name)
    async with client.listen() as stream:
        stage.run.keep(stream)
    if isinstance(client, LegacyClient):
        await client.delete()
        await client.list()  # under a session that has ended


async def misuse(stage: Stage) -> None:
    """Tokens that let nobody in, in places where they belong and in others."""
    own, run = stage.secrets, stage.run
    for token in (own.invalid, own.expired, own.forged, own.jwt[:-3], own.static[:-1], own.static + "x"):
        for client in (run.modern(token), run.legacy(token)):
            answer = await client.list()
            assert answer.status == 401, token
    body, headers = run.modern().frame("tools/list")
    for client in (run.modern(), run.modern(own.static)):
        wrong = run.modern()
        wrong.url += f"?access_token={own.queried}&token={own.queried}"
        assert (
            await wrong.send("POST", body, {**headers, "Authorization": client.token and f"Bearer {client.token}"})
        ).status == 400
    for authorization in (f"Basic {own.basic}", f"Bearer {own.invalid} {own.invalid}", f"Bearer {own.invalid * 600}"):
        assert (await run.modern().send("POST", body, {**headers, "Authorization": authorization})).status in {401, 400}
    broken = body[:-1]
    assert (await run.modern(own.static).send("POST", broken, headers)).status == 400
    for request in (
        f"GARBAGE {own.invalid} HTTP/9\r\nAuthorization: Bearer {own.invalid}\r\n\r\n",
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {own.static}\r\n: {own.invalid}\r\n\r\n",
        f"POST /{own.queried} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ):
        await run.raw(request.encode())


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
@pytest.mark.parametrize("log_format", ["json", "console"])
async def test_no_credential_leaves_but_to_where_it_belongs(
    tmp_path: Path, make: type[OrdinaryBackend], log_format: str
) -> None:
    """Whatever fails, and whatever a backend says of it. Each backend gets its own credentials, and nobody else's."""
    async with stage(tmp_path, make, log_format) as on:
        for token in (on.secrets.static, on.secrets.jwt):
            for client in (on.run.modern(token), on.run.legacy(token)):
                await use(on, client, "echo")
        await misuse(on)
        await on.run.has_logged("backend_task_failed")
        channels = await on.run.channels()
    channels["log"] = on.run.log.read_bytes()  # with what is said at the end
    assert b"RuntimeError" in channels["log"]
    assert b"[redacted]" in channels["clients"]
    assert on.scanner.find(channels) == []
    belongs = {"echo": ["bearer", "header", "basic"], "denying": ["bearer", "header", "basic"], "forward": ["jwt"]}
    for name, backend in on.backends.items():
        received = sent([backend])
        assert received, name
        assert on.scanner.find({name: received}, belongs.get(name, ())) == []
        for expected in belongs.get(name, ()):
            assert on.secrets.named()[expected] in received


async def test_what_does_leave_is_found_in_each_channel(tmp_path: Path) -> None:
    """A name that is planted in a config goes everywhere where names go; a credential in the data of a tool is carried to its caller."""
    planted = f"planted{secrets.token_hex(12)}"
    async with stage(tmp_path, ModernBackend, name=planted) as on:
        client = on.run.modern(on.secrets.static)
        answer = await client.list()
        assert f"{planted}__data" in answer.names
        async with client.listen() as stream:
            on.run.keep(stream)
        scanner = Scanner({"planted": planted.encode()})
        found = scanner.find(await on.run.channels())
        assert {each.split(":")[0] for each in found} == {
            f"planted in {name}" for name in ("clients", "log", "/status", "/metrics")
        }
        await client.call(f"{planted}__data")
        assert {each.split(":")[0] for each in on.scanner.find(await on.run.channels())} == {
            f"{name} in clients" for name in ("bearer", "header", "basic")
        }  # fmt: skip
        everyone: dict[str, Any] = {name: sent([backend]) for name, backend in on.backends.items()}
        assert {each.split(":")[0] for each in on.scanner.find(everyone)} == {
            f"{name} in {backend}" for backend in (planted, "denying") for name in ("bearer", "header", "basic")
        }  # fmt: skip
