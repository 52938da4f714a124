"""Header values of strangers: what is written into our own headers is a header value, and what is not is refused."""

import asyncio
import re
from pathlib import Path

import pytest

from fakes import hostile
from fakes.gateway import gateway
from fakes.issuer import AUDIENCE, SigningKey, key_set
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.waiting import PATIENCE_S

TRUSTED = {
    "issuers": [{"issuer": "https://i.example", "audiences": [AUDIENCE], "jwks": key_set([SigningKey.make("one")])}]
}
HOSTS = (
    b"[::1", b"[", b"]", b"[::1]x", b"localhost:", b"localhost:x", b'localhost:"a', b"localhost:\\", b"localhost:99999",
    b"localhost:\xe4", b"localhost:\xff\xfe", b"localhost:1/..", b"localhost:1?x=#y", b"localhost:80@evil", b"localhost:a b",
    b"localhost:\t1", "localhost:\u2028".encode(), "\u212aube".encode(), b"",
)  # fmt: skip


async def answered(
    url: str, *lines: bytes, method: bytes = b"POST", path: bytes = b"/mcp", body: bytes = b""
) -> tuple[int, list[bytes]]:
    """Status and header lines that come back for a request with these lines; the head must be one that HTTP allows."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split("/")[2].rpartition(":")[2]))
    writer.write(b"\r\n".join([b"%b %b HTTP/1.1" % (method, path), *lines, b"Connection: close", b"", body]))
    async with asyncio.timeout(PATIENCE_S):
        answer = await reader.read()
    writer.close()
    head = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert re.fullmatch(rb"HTTP/1\.[01] [0-9]{3} .*", head[0]), answer
    for line in head[1:]:
        assert re.fullmatch(rb"[A-Za-z-]+: [\x20-\x7e]*", line), line
    return int(head[0].split()[1]), head[1:]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("allowed", [(), ("*",)])
async def test_any_host_is_named_in_a_challenge_or_refused(
    tmp_path: Path, host: bytes, allowed: tuple[str, ...]
) -> None:
    """The challenge says where to get a token, by the Host that was asked for: nothing of that gets out of its quotes."""
    listener = {"allowedHosts": [*allowed, "kube"]}
    async with (
        ModernBackend(tool("a")) as backend,
        gateway(tmp_path, {"one": backend}, authentication=TRUSTED, listener=listener) as gw,
    ):
        metadata = b"/.well-known/oauth-protected-resource"
        for method, path in ((b"POST", b"/mcp"), (b"GET", metadata)):
            status, lines = await answered(gw.url, b"Host: " + host, b"Content-Length: 0", method=method, path=path)
            assert status in ({200, 400, 403} if path == metadata else {400, 401, 403})
            (challenge,) = [line for line in lines if line.startswith(b"WWW-Authenticate: ")] or [b""]
            if status == 401:
                assert re.fullmatch(rb'WWW-Authenticate: Bearer (?:\w+="(?:[^"\\]|\\.)*"(?:, )?)+', challenge), (
                    challenge
                )
        assert (await gw.modern.list()).status == 401


NAMES = (
    b"Accept", b"Accept-Encoding", b"Access-Control-Request-Headers", b"Authorization", b"Content-Encoding", b"Content-Type", b"Cookie",
    b"Expect", b"Last-Event-ID", b"MCP-Protocol-Version", b"Mcp-Method", b"Mcp-Name", b"Mcp-Param-A", b"Mcp-Session-Id", b"User-Agent",
    b"X-Forwarded-For",
)  # fmt: skip


@pytest.mark.parametrize(
    "value", [b"\xff", b"\xed\xa0\x80", "\u2028\u212a".encode(), b"\t", b"=?base64?/w==?=", b'"\\']
)
async def test_no_value_of_any_header_is_beyond_us(tmp_path: Path, value: bytes) -> None:
    """Each request is answered, with JSON where there is a body, and the connection is not just closed."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"one": backend}) as gw:
        await gw.modern.list()
        for method, params in (
            ("tools/list", {}),
            ("tools/call", {"name": "a"}),
            ("subscriptions/listen", {"notifications": 1}),
        ):
            body, good = gw.modern.frame(method, params)
            own = {name.encode().lower(): text.encode() for name, text in good.items() if text is not None}
            for name in NAMES:
                fields = {**own, name.lower(): value, b"content-length": b"%d" % len(body), b"host": b"localhost"}
                lines = [each + b": " + text for each, text in fields.items()]
                status, _ = await answered(gw.url, *lines, body=body)
                assert status in {200, 400, 406, 415, 417}, (method, name, status)


@pytest.mark.parametrize(
    "origin", [b"\xe4", b"\xff", "https://\u00e4.example".encode(), b"null", b'"', b"https://a, https://b", b""]
)
async def test_any_origin_is_reflected_as_it_is_or_not_at_all(tmp_path: Path, origin: bytes) -> None:
    """Also where any may come: an answer has a head that browsers can read."""
    async with (
        ModernBackend(tool("a")) as backend,
        gateway(tmp_path, {"one": backend}, listener={"allowedOrigins": ["*"]}) as gw,
    ):
        for method in (b"POST", b"OPTIONS"):
            status, lines = await answered(
                gw.url, b"Host: localhost", b"Origin: " + origin, b"Content-Length: 0", method=method
            )
            assert status in {200, 204, 400, 403, 406, 415}
            allowed = [line for line in lines if line.startswith(b"Access-Control-Allow-Origin: ")]
            assert allowed in ([], [b"Access-Control-Allow-Origin: " + origin])


SESSIONS = (b"a b", b"\xe4", b"a\tb", b"", "\u2028".encode(), b"x" * 20_000)


@pytest.mark.parametrize("session", SESSIONS)
async def test_any_session_of_a_backend_stays_between_the_two(tmp_path: Path, session: bytes) -> None:
    """What a backend calls its session goes back to it as it is, or is refused; no client gets to see it."""
    async with LegacyBackend(tool("a")) as backend:
        ordinary = backend.answer

        def answer(request: hostile.Request) -> hostile.Reply:
            if request.kind != "initialize":
                return ordinary(request)
            body = (
                b'{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
                % (request.message["id"])
            )
            body += b'"serverInfo":{"name":"x","version":"1"}}}'
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
            return hostile.raw(head + b"Mcp-Session-Id: " + session + b"\r\nX-Other: " + session + b"\r\n\r\n" + body)

        backend.answer = answer
        async with gateway(tmp_path, {"one": backend}) as gw:
            listed = await gw.legacy.list()
            assert listed.status == 200
            for answer_ in (listed, await gw.modern.list()):
                assert "X-Other" not in answer_.headers
                assert "Mcp-Session-Id" not in answer_.headers


@pytest.mark.parametrize(
    ("head", "said"),
    [
        pytest.param(b"GET http://[::1/?t=%b HTTP/1.1\r\nHost: a", b"the target is no URL", id="no host"),
        pytest.param(b"GET http://a:99999/?t=%b HTTP/1.1\r\nHost: a", b"the target is no URL", id="no port"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %b" + b"a" * 40_000,
            b"a line of the head exceeds 32768 bytes",
            id="a long header",
        ),
        pytest.param(b"GET /%b" + b"a" * 40_000 + b" HTTP/1.1", b"a line of the head exceeds", id="a long target"),
        pytest.param(b"GET / HTTP/1.1\r\n%b" + b"a" * 40_000 + b": b", b"a line of the head exceeds", id="a long name"),
        pytest.param(b"%b / HTTP/1.1\r\nHost: a", b"Invalid method", id="no method"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: %b\0", b"Invalid header value char", id="a control character"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 7%b", b"Invalid character in Cont", id="no length"),
        pytest.param(b"GET / HTTP/1.%b\r\nHost: a", b"Bad status line", id="no version"),
    ],
)
async def test_refusal_of_what_is_no_request_repeats_nothing_of_it(tmp_path: Path, head: bytes, said: bytes) -> None:
    """It says in words of ours, or the library's, what is wrong; a token may have stood there."""
    secret = b"S3CRETXX"
    async with gateway(tmp_path, {}) as gw:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(gw.url.split("/")[2].rpartition(":")[2]))
        writer.write(head % secret + b"\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert said in answer
    assert secret not in answer
