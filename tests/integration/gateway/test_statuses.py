"""HTTP as clients see it: the status of every refusal, its headers, and that the gateway serves on."""

import asyncio
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import BOTH, META, Answer
from fakes.gateway import Gateway, gateway
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.waiting import PATIENCE_S
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace

MODERN = {"MCP-Protocol-Version": "2026-07-28"}


def message(**members: Any) -> bytes:
    """A JSON-RPC message of these members, and no others."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


async def post(gw: Gateway, body: bytes, headers: Mapping[str, str | None]) -> Answer:
    """Send exactly this body."""
    fields: dict[str, str | None] = {"Content-Type": "application/json", "Accept": BOTH}
    return await gw.modern.send("POST", body, fields | dict(headers))


async def serves_on(gw: Gateway) -> bool:
    """Whether lists and calls of either era still work."""
    names = [(await client.list()).names for client in (gw.modern, gw.legacy)]
    return names == [["a"], ["a"]] and (await gw.modern.call("a")).text["tool"] == "a"


@pytest.mark.parametrize(
    ("body", "modern", "legacy", "id_"),
    [
        pytest.param(b"{", (400, -32700), (400, -32700), None, id="no JSON"),
        pytest.param(b'{"jsonrpc":"2.0","x":"\xff"}', (400, -32700), (400, -32700), None, id="no UTF-8"),
        pytest.param(b"7", (400, -32600), (400, -32600), None, id="no object"),
        pytest.param(
            b'{"jsonrpc":"1.0","id":3,"method":"ping"}', (400, -32600), (400, -32600), 3, id="another JSON-RPC"
        ),
        pytest.param(message(id=[], method="ping"), (400, -32600), (400, -32600), None, id="an id that is none"),
        pytest.param(message(id=3, method=7), (400, -32600), (400, -32600), 3, id="a method that is no text"),
        pytest.param(message(id=3, method="ping", params=[]), (400, -32600), (400, -32600), 3, id="params of an array"),
        pytest.param(message(id=3), (400, -32600), (400, -32600), 3, id="no method"),
        pytest.param(message(method="tools/list"), (400, -32600), (202, None), None, id="a request without an id"),
        pytest.param(message(method="notifications/x"), (202, None), (202, None), None, id="a notification"),
        pytest.param(message(id=3, result={}), (400, -32600), (202, None), None, id="a response"),
        pytest.param(message(id=3, error={"code": 1, "message": ""}), (400, -32600), (202, None), None, id="an error"),
        pytest.param(b"[]", (400, -32600), (400, -32600), None, id="an empty array"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{"x":%b%b}}}'
            % (b"[" * 50_000, b"]" * 50_000),
            (400, -32700),
            (400, -32700),
            None,
            id="nesting beyond all need",
        ),
        pytest.param(
            message(id="q", method="tools/list", params={"_meta": 7}), (400, -32602), (200, -32602), "q", id="bad _meta"
        ),
    ],
)
async def test_what_is_not_well_formed_has_its_code_and_status(
    tmp_path: Path, body: bytes, modern: tuple[int, int | None], legacy: tuple[int, int | None], id_: Any
) -> None:
    """In either era; the answer carries the request's id where one could be read, and never a null."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        for headers, expected in ((MODERN, modern), ({}, legacy)):
            answer = await post(gw, body, headers)
            code = answer.error["code"] if answer.body else None
            assert (answer.status, code) == expected
            if code is not None and expected[0] != 202:
                assert answer.message.get("id", "absent") == ("absent" if id_ is None else id_)
        assert await serves_on(gw)


@pytest.mark.parametrize(
    ("method", "params", "modern", "legacy"),
    [
        ("nonsense/method", {}, (404, -32601), (200, -32601)),
        ("prompts/list", {}, (404, -32601), (200, -32601)),
        ("tools/list", {"cursor": 7}, (400, -32602), (200, -32602)),
        ("tools/call", {"name": "unheard of"}, (400, -32602), (200, -32602)),
        ("tools/call", {"name": "a", "arguments": []}, (400, -32602), (200, -32602)),
        ("subscriptions/listen", {}, (400, -32602), (200, -32601)),
        ("subscriptions/listen", {"notifications": 7}, (400, -32602), (200, -32601)),
        ("logging/setLevel", {"level": "shouting"}, (404, -32601), (200, -32602)),
        ("initialize", {}, (404, -32601), (200, -32602)),
    ],
)
async def test_refused_request_has_its_code_and_status(
    tmp_path: Path, method: str, params: dict[str, Any], modern: tuple[int, int], legacy: tuple[int, int]
) -> None:
    """By the caller's era and the code; the error carries the request's id."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        for client, expected in ((gw.modern, modern), (gw.legacy, legacy)):
            answer = await client.request(method, params, id="the id")
            assert (answer.status, answer.error["code"], answer.message["id"]) == (*expected, "the id")
        assert await serves_on(gw)


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        pytest.param("POST", {"Origin": "https://evil.example"}, 403, id="another origin"),
        pytest.param("POST", {"Host": "attacker.example"}, 403, id="another host"),
        pytest.param("OPTIONS", {"Origin": "https://evil.example"}, 403, id="another origin's preflight"),
        pytest.param("PUT", {}, 405, id="PUT"),
        pytest.param("HEAD", {}, 405, id="HEAD"),
        pytest.param("GET", {**MODERN, "Accept": "text/event-stream"}, 405, id="GET of the modern era"),
        pytest.param("DELETE", MODERN, 405, id="DELETE of the modern era"),
        pytest.param("DELETE", {}, 400, id="DELETE without a session"),
        pytest.param("GET", {"Accept": "application/json"}, 406, id="GET that takes no stream"),
        pytest.param("POST", {"Accept": "image/png"}, 406, id="POST that takes neither type"),
        pytest.param("POST", {"Content-Type": "text/plain"}, 415, id="a body of text"),
        pytest.param("POST", {"Content-Type": None}, 415, id="a body of no type"),
        pytest.param("POST", {"Content-Encoding": "gzip"}, 415, id="an encoded body"),
        pytest.param("POST", {"Content-Encoding": "nonsense"}, 415, id="a body encoded in no known way"),
    ],
)
async def test_what_http_itself_refuses_is_a_json_rpc_error_too(
    tmp_path: Path, method: str, headers: dict[str, str | None], status: int
) -> None:
    """Before the body is read; with ``Allow`` where the method is the reason, and with no body to HEAD."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        own: dict[str, str | None] = {"Accept": BOTH}
        body = None
        if method == "POST":
            body, own = gw.modern.frame("tools/list")
        answer = await gw.modern.send(method, body, own | headers)
        assert answer.status == status
        assert (answer.headers.get("Allow") == "POST, GET, DELETE, OPTIONS") == (status == 405)
        assert answer.headers["Content-Type"] == "application/json"
        if method != "HEAD":
            assert answer.error["code"] == -32600
        assert await serves_on(gw)


async def test_other_paths_are_not_served(tmp_path: Path) -> None:
    """404, with the path that is."""
    async with gateway(tmp_path, {}) as gw, gw.http.post(gw.url.replace("/mcp", "/other")) as response:
        assert response.status == 404
        assert "/mcp" in (await response.json())["error"]["message"]


async def test_body_beyond_the_limit_is_refused_unread(tmp_path: Path) -> None:
    """413, also where its length is not said beforehand."""

    async def chunks() -> Any:
        for _ in range(5):
            yield b" " * 1024 * 1024

    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        _, headers = gw.modern.frame("tools/list")
        fields = {name: value for name, value in headers.items() if value is not None}
        for data in (io.BytesIO(b" " * (4 * 1024 * 1024 + 1)), chunks()):
            async with gw.http.post(gw.url, data=data, headers=fields) as response:
                assert response.status == 413
                assert (await response.json())["error"]["code"] == -32600
        assert await serves_on(gw)


async def exchanged(gw: Gateway, *pieces: bytes) -> tuple[int, bytes]:
    """Send these bytes and close; the status and body of what came back."""
    host, port = gw.url.split("/")[2].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        async with asyncio.timeout(PATIENCE_S):
            for piece in pieces:
                writer.write(piece.replace(b"HOST", host.encode()))
                await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            return int(head.split()[1]), await reader.readexactly(length)
    finally:
        writer.close()


POST = b"POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(b"HELLO\r\n\r\n", id="no request line"),
        pytest.param(b"POST /mcp HTTP/1.1\r\nHost: HOST\r\nno header\r\n\r\n", id="no header"),
        pytest.param(POST + b"X: " + b"x" * 40_000 + b"\r\n\r\n", id="a header line beyond 32 KiB"),
        pytest.param(POST + b"Content-Length: nine\r\n\r\n", id="no length"),
        pytest.param(POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n", id="no chunks"),
    ],
)
async def test_request_that_is_no_http_is_refused_in_json(tmp_path: Path, request_: bytes) -> None:
    """400, never the library's page or a traceback, and the gateway serves on."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        status, body = await exchanged(gw, request_)
        assert (status, json.loads(body)["error"]["code"]) == (400, -32600)
        assert await serves_on(gw)


async def test_header_of_many_kilobytes_is_read(tmp_path: Path) -> None:
    """Tokens and trace context grow; what others read must not fail here."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        assert (await gw.modern.list(headers={"Authorization": "Bearer " + "x" * 30_000})).names == ["a"]


async def test_client_that_does_not_send_its_body_is_not_waited_for_long(tmp_path: Path) -> None:
    """408, and the connection ends."""
    hasty = Pace(clients=downstream_pace.Pace(body_s=0.1))
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=hasty) as gw:
        status, body = await exchanged(gw, POST + b"Content-Length: 100\r\n\r\n", b"{")
        assert (status, json.loads(body)["error"]["code"]) == (408, -32600)
        assert await serves_on(gw)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing at all"),
        pytest.param(POST + b"X-Slow: ", id="half a head"),
        pytest.param(
            b"PUT /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n" + POST, id="half a head after a request"
        ),
    ],
)
async def test_connection_that_asks_nothing_is_closed(tmp_path: Path, sent: bytes) -> None:
    """Whoever opens connections and says nothing, or says it ever so slowly, holds none for long."""
    hasty = Pace(clients=downstream_pace.Pace(idle_s=0.1))
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=hasty) as gw:
        host, port = gw.url.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent.replace(b"HOST", host.encode()))
        async with asyncio.timeout(PATIENCE_S):
            await reader.read()
        writer.close()
        assert await serves_on(gw)


async def test_client_that_takes_its_time_to_read_gets_the_whole_list(tmp_path: Path) -> None:
    """Only who takes nothing at all is dropped: a list of megabytes may need longer than one write's limit."""
    definition = tool("a", description="x" * 1_000_000)
    many = [definition | {"name": f"t{number:02}"} for number in range(24)]
    hasty = Pace(clients=downstream_pace.Pace(write_s=0.1))
    async with ModernBackend(*many) as backend, gateway(tmp_path, {"a": backend}, pace=hasty) as gw:
        await gw.modern.list()
        host, port = gw.url.split("/")[2].split(":")
        body, headers = gw.modern.frame("tools/list")
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        request = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        reader, writer = await asyncio.open_connection(host, int(port), limit=100_000)
        writer.write(request)
        answer_head = await reader.readuntil(b"\r\n\r\n")
        left = int(answer_head.lower().partition(b"content-length:")[2].split()[0])
        assert left > 24_000_000
        while left:
            piece = await reader.read(1_000_000)
            assert piece, f"cut off with {left} bytes to go"
            left -= len(piece)
            await asyncio.sleep(0.002)  # slower than it could, as a poor line is
        writer.write(request)  # the connection is as good as new
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_overload_is_said_and_when_to_come_again(tmp_path: Path) -> None:
    """503 with ``Retry-After`` in either era; what is under way goes on."""
    small = Pace(clients=downstream_pace.Pace(streams=1, calls=1))
    gate = asyncio.Event()
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=small) as gw:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        await gw.modern.list()
        calling = asyncio.create_task(gw.modern.call("a"))
        await backend.received("tools/call")
        async with gw.modern.listen() as stream:
            refused = [await gw.modern.call("a"), await gw.legacy.call("a")]
            listen = gw.modern.frame("subscriptions/listen", {"notifications": {}})
            refused += [await gw.modern.send("POST", *listen)]
            refused += [await gw.modern.send("GET", None, {"Accept": "text/event-stream"})]
            for answer in refused:
                assert (answer.status, answer.error["code"]) == (503, -32603)
                assert int(answer.headers["Retry-After"]) > 0
            assert not stream.ended
        gate.set()
        assert (await calling).text["tool"] == "a"


async def test_browser_of_an_allowed_origin_can_read_every_answer(tmp_path: Path) -> None:
    """Preflight with the headers it asks for; the same on results, refusals and streams; nothing to other origins."""
    origin = "https://app.example"
    listener = {"allowedOrigins": [origin]}
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, listener=listener) as gw:
        asked = {"Origin": origin, "Access-Control-Request-Headers": "mcp-param-x, mcp-method"}
        preflight = await gw.modern.send("OPTIONS", None, asked)
        assert (preflight.status, preflight.body) == (204, b"")
        assert "Content-Length" not in preflight.headers
        assert preflight.headers["Access-Control-Allow-Headers"] == "mcp-param-x, mcp-method"
        assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
        answers = [
            await gw.modern.list(headers={"Origin": origin}),
            await gw.modern.request("nonsense", headers={"Origin": origin}),
            await gw.modern.list(headers={"Origin": origin, "Accept": "text/html"}),
            await gw.legacy.request("ping", headers={"Origin": origin}),
        ]
        async with gw.modern.listen(headers={"Origin": origin}) as stream:
            headers = [preflight.headers, *(answer.headers for answer in answers), stream.headers]
        for each in headers:
            assert each["Access-Control-Allow-Origin"] == origin
            assert each["Vary"] == "Origin"
            assert each["Access-Control-Expose-Headers"] == "Mcp-Session-Id, WWW-Authenticate, Retry-After"
        other = await gw.modern.list(headers={"Origin": "https://evil.example"})
        assert (other.status, other.headers.get("Access-Control-Allow-Origin")) == (403, None)


async def test_error_the_backend_means_for_the_callers_capabilities_reaches_it(tmp_path: Path) -> None:
    """A capability that the caller did not declare is its own affair: -32021 with HTTP status 400, as the revision says."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        needs: dict[str, Any] = {"requiredCapabilities": {"elicitation": {}}}
        backend.call = lambda _: hostile.error(-32021, "Missing required client capability", needs)
        answer = await gw.modern.call("a", id="q")
        assert (answer.status, answer.error["code"], answer.message["id"]) == (400, -32021, "q")
        assert answer.error["data"] == needs


async def test_only_the_eras_that_are_configured_are_served(tmp_path: Path) -> None:
    """A client of both eras finds the one that is: a modern gateway names its versions, a legacy one is fallen back to."""
    async with ModernBackend(tool("a")) as backend:
        async with gateway(tmp_path, {"a": backend}, protocols=["Modern"]) as gw:
            answer = await gw.legacy.request("initialize", {"protocolVersion": "2025-11-25"})
            assert (answer.status, answer.error["code"]) == (400, -32022)
            assert answer.error["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}
            assert (await gw.modern.send("GET", None, {"Accept": "text/event-stream"})).status == 405
            assert (await gw.modern.list()).names == ["a"]
        async with gateway(tmp_path, {"a": backend}, protocols=["Legacy"]) as gw:
            answer = await gw.modern.request("server/discover", {})
            assert answer.status == 400
            assert answer.error["code"] not in {-32020, -32021, -32022}
            await gw.legacy.initialize()
            assert (await gw.legacy.list()).names == ["a"]


async def test_discovery_says_what_is_served(tmp_path: Path) -> None:
    """Versions, what works, our own name, and for how long that may be believed."""
    async with gateway(tmp_path, {}, instructions="Ask politely.") as gw:
        result = (await gw.modern.request("server/discover", {})).result
        assert {key: result[key] for key in ("resultType", "supportedVersions", "capabilities", "instructions")} == {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": True}, "logging": {}},
            "instructions": "Ask politely.",
        }
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] == "public"
        assert result["_meta"][META + "serverInfo"]["name"] == "agents/main"
        assert (await gw.legacy.initialize()).result["instructions"] == "Ask politely."
