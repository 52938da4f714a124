"""Bytes that no well-meaning peer sends, and bytes that must arrive unchanged."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.gateway import Gateway, gateway, section
from fakes.hostile import Exchange, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool, tools
from fakes.waiting import eventually

GOOD = b'{"name":"good","inputSchema":{"type":"object"}}'
DEEP = b"[" * 20_000 + b"]" * 20_000


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("size", [None, 1, 7])
async def test_event_streams_are_read_however_they_are_framed_and_cut(
    tmp_path: Path, newline: bytes, size: int | None
) -> None:
    """Lists and calls answered as event streams, in any line ending and any segments."""

    def streamed(value: Any) -> Reply:
        notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "é"}}
        reply = hostile.sse(notice, newline=newline, result_value=value)
        return reply if size is None else hostile.drip(reply, size)

    listing = {"resultType": "complete", "tools": [json.loads(GOOD)], "ttlMs": 60_000, "cacheScope": "public"}
    async with ModernBackend() as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("tools/list", streamed(listing))
        backend.call = lambda _: streamed({"resultType": "complete", "content": [{"type": "text", "text": '"é"'}]})
        assert (await gw.modern.list()).names == ["good"]
        assert (await gw.modern.call("good")).text == "é"


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(b"\xef\xbb\xbfdata: %b\n\n", id="a byte order mark"),
        pytest.param(b": hello\n\n:\n\ndata: %b\n\n", id="comments"),
        pytest.param(b"id: 1\nretry: 5\ndata:\n\ndata:%b\n\n", id="an empty event first, no blank after the colon"),
        pytest.param(b"event: endpoint\ndata: /x\n\nevent: message\ndata: %b\n\n", id="an event of another type"),
        pytest.param(b"foo: bar\ndata: %b\nDATA: no\n\n", id="fields nobody knows"),
    ],
)
async def test_what_is_no_message_in_a_stream_is_passed_over(tmp_path: Path, events: bytes) -> None:
    """Everything the standard allows around the data is harmless."""

    def reply(request: Request) -> Reply:
        answer = hostile.response_to(request, b'{"resultType":"complete","tools":[%b]}' % GOOD)
        return hostile.body(events.replace(b"%b", answer), content_type="Text/Event-Stream; charset=UTF-8")

    async with ModernBackend() as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("tools/list", lambda exchange: reply(exchange.request)(exchange))
        assert (await gw.modern.list()).names == ["good"]


async def test_data_on_several_lines_is_one_message(tmp_path: Path) -> None:
    """Pretty-printed JSON comes as many data lines."""

    def reply(request: Request) -> Reply:
        text = json.dumps(json.loads(hostile.response_to(request, b'{"tools":[%b]}' % GOOD)), indent=1)
        lines = "".join(f"data: {line}\n" for line in text.splitlines())
        return hostile.body(f"{lines}\n".encode(), content_type="text/event-stream")

    async with ModernBackend() as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("tools/list", lambda exchange: reply(exchange.request)(exchange))
        assert (await gw.modern.list()).names == ["good"]


@pytest.mark.parametrize("megabytes", [0.4, 8])
@pytest.mark.parametrize("as_stream", [True, False])
async def test_huge_list_in_one_line_is_read_whole(tmp_path: Path, megabytes: float, as_stream: bool) -> None:
    """No reader of lines, chunks or bodies has a limit below the configured ones."""
    size = 400
    count = int(megabytes * 1_000_000 / size)
    definitions = [tool(f"t{number:06}", description="x" * size) for number in range(count)]
    async with ModernBackend(*definitions) as backend, gateway(tmp_path, {"a": backend}) as gw:
        if as_stream:
            listing = {"resultType": "complete", "tools": definitions, "ttlMs": 60_000, "cacheScope": "public"}
            backend.always("tools/list", hostile.sse(result_value=listing))
        assert (await gw.modern.list()).result["tools"] == definitions


async def test_list_beyond_its_limit_is_given_up_and_said(tmp_path: Path) -> None:
    """A backend that sends without end costs a bounded amount and only itself."""
    endless = b"data: " + b"x" * 3_000_000
    async with ModernBackend() as backend, ModernBackend(tool("b")) as other:
        backend.always("tools/list", hostile.body(endless, content_type="text/event-stream"))
        limited = section(backend, limits={"bytes": 1_000_000})
        async with gateway(tmp_path, {"a": limited, "b": other}) as gw:
            answer = await gw.modern.list()
            assert answer.names == ["b__b"]
            (missing,) = answer.result["_meta"]["dev.switchyard/backends"]["unavailable"]
            assert (missing["backend"], missing["reason"]) == ("tools/a", "answer too large")


DEFINITIONS = [
    b'{"name":"e400","inputSchema":{"type":"object","properties":{"n":{"maximum":1e400,"const":1.0}}}}',
    b'{"name":"int64","inputSchema":{"type":"object","maximum":340282366920938463463374607431768211455,"minimum":-9223372036854775808}}',
    b'{"name":"refs","inputSchema":{"type":"object","properties":{"i":{"$ref":"#/definitions/I"}},"definitions":{"I":{"type":"string"}}}}',
    b'{"name":"bools","inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{"items":true}},"additionalProperties":false}}',
    b'{"name":"draft","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["b"]}}}',
    b'{ "inputSchema" : {"type":"object"} ,\t"name":"blanks" , "x" : [ ] }',
    b'{"inputSchema":{"type":"object","anyOf":[{"required":["b"]},{"$dynamicRef":"#x"}]},"name":"order","zz":{"b":1,"a":2}}',
    b'{"name":"extras","title":"T","icons":[{"src":"data:,"}],"annotations":{"readOnlyHint":true,"x":null},"_meta":{"vendor/k":1},"inputSchema":{"type":"object"}}',
    '{"name":"text","description":"ü \\u00fc \\ud83d\\ude00 😀 \\/ \\u0000","inputSchema":{"type":"object"}}'.encode(),
]
LEGACY = {DEFINITIONS[3]: DEFINITIONS[3].replace(b'"a":true,"b":false', b'"a":{},"b":{"not":{}}')}
"""What legacy clients see otherwise."""


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_definitions_arrive_byte_for_byte(
    tmp_path: Path, make: type[ModernBackend] | type[LegacyBackend]
) -> None:
    """What a backend wrote is what a client of either era reads: keys, order, blanks, numbers, escapes.

    Only boolean property schemas are written as objects for legacy clients, whose SDKs would refuse the whole list.
    """
    async with make(*DEFINITIONS) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            body = (await client.list()).body
            expected = [LEGACY.get(each, each) if client is gw.legacy else each for each in DEFINITIONS]
            assert [definition for definition in expected if definition not in body] == []


async def test_only_the_name_changes_when_a_tool_is_exposed_under_another(tmp_path: Path) -> None:
    """A prefix replaces the value of ``name`` and not one byte else, wherever the key stands and however it is written."""
    written = b'{ "x":{"name":"inner"}, "n\\u0061me" : "a" ,"inputSchema":{"type":"object"}}'
    async with (
        ModernBackend(written) as one,
        ModernBackend() as two,
        gateway(tmp_path, {"one": one, "two": two}) as gw,
    ):
        assert written.replace(b'"a"', b'"one__a"') in (await gw.modern.list()).body


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(b"null", id="null"),
        pytest.param(b'"tool"', id="a string"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b"{}", id="without a name"),
        pytest.param(b'{"name":7,"inputSchema":{"type":"object"}}', id="a name that is no text"),
        pytest.param(b'{"name":"","inputSchema":{"type":"object"}}', id="an empty name"),
        pytest.param(b'{"name":"bad"}', id="without a schema"),
        pytest.param(b'{"name":"bad","inputSchema":null}', id="a schema of null"),
        pytest.param(b'{"name":"bad","inputSchema":{"type":"object","x":NaN}}', id="NaN"),
        pytest.param(b'{"name":"bad","inputSchema":{"type":"object","x":Infinity}}', id="Infinity"),
        pytest.param(b'{"name":"bad\\ud800","inputSchema":{"type":"object"}}', id="a lone surrogate"),
        pytest.param(b'{"name":"bad\xff","inputSchema":{"type":"object"}}', id="no UTF-8"),
        pytest.param(
            b'{"name":"bad","description":"\xed\xa0\x80","inputSchema":{"type":"object"}}', id="UTF-8 of a surrogate"
        ),
        pytest.param(
            b'{"name":"bad","inputSchema":' + b'{"not":' * 10_000 + b"true" + b"}" * 10_001, id="deep nesting"
        ),
        pytest.param(b'{"name":"bad","name":"worse","inputSchema":{"type":"object"}}', id="a key twice"),
        pytest.param(b'{"name":"bad","inputSchema":{"type":"object"},"x":"' + b"x" * 1_100_000 + b'"}', id="too large"),
    ],
)
@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_bad_definition_costs_only_itself(
    tmp_path: Path, make: type[ModernBackend] | type[LegacyBackend], bad: bytes
) -> None:
    """The tools beside it are listed and callable; status says what was left out."""
    last = b'{"name":"last","inputSchema":{"type":"object"}}'
    async with make(GOOD, bad, last) as backend, gateway(tmp_path, {"a": backend}) as gw:
        assert (await gw.modern.list()).names == ["good", "last"]
        assert (await gw.modern.call("last")).text["tool"] == "last"
        assert len((await gw.status())["leftOut"]) == 1


async def test_name_that_comes_twice_is_listed_once(tmp_path: Path) -> None:
    """Of two tools of one name the first is served, for many models refuse a list with both; the other is reported."""
    same = [tool("a", title="first"), tool("a", title="second")]
    async with ModernBackend(*same) as backend, gateway(tmp_path, {"a": backend}) as gw:
        assert [each["title"] for each in (await gw.modern.list()).result["tools"]] == ["first"]
        assert [entry["tool"] for entry in (await gw.status())["leftOut"]] == ["a"]


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(hostile.body(b""), id="nothing"),
        pytest.param(hostile.body(b"{}"), id="an empty object"),
        pytest.param(hostile.body(b"null"), id="null"),
        pytest.param(hostile.body(b"[]"), id="an empty batch"),
        pytest.param(hostile.body(b"[" * 100_000), id="brackets"),
        pytest.param(hostile.body(b'{"jsonrpc":"2.0","id":1,"result":{"tools":'), id="cut off"),
        pytest.param(hostile.body(b"<html></html>", content_type="text/html"), id="a web page"),
        pytest.param(hostile.body(b"\xff\xfe\x00"), id="no text"),
        pytest.param(hostile.result([]), id="a result that is no object"),
        pytest.param(hostile.result({"tools": {}}), id="tools that are no array"),
        pytest.param(hostile.result({"tools": None}), id="tools of null"),
        pytest.param(hostile.result({"resultType": "complete"}), id="no tools"),
        pytest.param(hostile.sse(), id="an empty stream"),
        pytest.param(hostile.sse(b"not json"), id="a stream of no JSON"),
        pytest.param(
            hostile.sse({"jsonrpc": "2.0", "id": 99999, "result": {"tools": []}}), id="another request's answer"
        ),
        pytest.param(hostile.body(b"x", fields=[("Content-Encoding", "gzip")]), id="not the encoding it says"),
        pytest.param(
            hostile.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{"), id="short"
        ),
        pytest.param(
            hostile.raw(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"
            ),
            id="no chunks",
        ),
        pytest.param(
            hostile.raw(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"x" * 100_000 + b"\r\n\r\n"), id="an endless header"
        ),
        pytest.param(hostile.raw(b"\x16\x03\x01\x02\x00"), id="TLS on a plain port"),
    ],
)
async def test_answer_that_is_no_list_is_a_failure_and_no_empty_list(tmp_path: Path, garbage: Reply) -> None:
    """What cannot be read is never taken for "no tools": the list before it stays, and without one there is an error."""
    async with (
        ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}) as gw,
    ):
        backend.always("tools/list", garbage)
        assert (await gw.modern.list()).error["code"] == -32603
    async with (
        ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}) as gw,
    ):
        assert (await gw.modern.list()).names == ["a"]
        backend.always("tools/list", garbage)
        assert (await gw.modern.list()).names == ["a"]
        assert (await gw.modern.call("a")).text["tool"] == "a"


async def test_backends_words_reach_neither_headers_nor_status(tmp_path: Path) -> None:
    """What a hostile backend writes into an error goes to the caller of a call alone, as JSON."""
    words = "<script>\r\nX-Evil: 1"
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.error(-32000, words)
        answer = await gw.modern.call("a")
        assert answer.error["message"] == words
        assert "X-Evil" not in answer.headers
        backend.always("tools/list", hostile.error(-32000, words, status=400))
        await backend.notify()
        assert "script" not in json.dumps(await gw.status())


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (
            b'{"resultType":"complete","content":[],"x":1e400,"y":340282366920938463463374607431768211455}',
            b'"x":1e400,"y":340282366920938463463374607431768211455',
        ),
        (
            '{"resultType":"complete","content":[{"type":"text","text":"\\u00fc ü"}],"_meta":{"v/k":1.0}}'.encode(),
            b'"v/k":1.0',
        ),
        (
            b'{"resultType":"complete","content":[],"structuredContent":{"b":1,"a":[1.0, 2e3]}}',
            b'{"b":1,"a":[1.0, 2e3]}',
        ),
        (
            b'{"resultType":"complete","content":[{"type":"text","text":"cut in an emoji: \\ud83d"}]}',
            b'"cut in an emoji: \\ud83d"',
        ),
    ],
)
async def test_results_of_calls_arrive_as_they_were_written(tmp_path: Path, result: bytes, kept: bytes) -> None:
    """Numbers, order and unknown members of a result are the tool's own."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.result(result)
        await gw.legacy.initialize()
        assert kept in (await gw.modern.call("a")).body
        assert kept in (await gw.legacy.call("a")).body


async def test_arguments_of_calls_arrive_as_they_were_written(tmp_path: Path) -> None:
    """So are the arguments the caller's own, to the last digit."""
    arguments = b'{"n": 340282366920938463463374607431768211455, "e":1e400,"z":{"b":1,"a":2}, "s":"\\u00fc"}'
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        body, headers = gw.modern.frame("tools/call", {"name": "a", "arguments": "HERE"})
        backend.call = lambda _: hostile.result({"resultType": "complete", "content": []})
        await gw.modern.send("POST", body.replace(b'"HERE"', arguments), headers)
        assert arguments in backend.of("tools/call")[0].body


async def test_numbers_beside_a_mirrored_argument_may_be_of_any_size(tmp_path: Path) -> None:
    """Only what is mirrored is looked at; what no header can carry is an error of parameters, not of the gateway."""
    schema = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "R"}}}
    async with ModernBackend(tool("a", inputSchema=schema)) as backend, gateway(tmp_path, {"a": backend}) as gw:
        body, headers = gw.modern.frame("tools/call", {"name": "a", "arguments": "HERE"}, headers={"Mcp-Param-R": "x"})
        arguments = b'{"r":"x","n":1e400,"m":340282366920938463463374607431768211455}'
        answer = await gw.modern.send("POST", body.replace(b'"HERE"', arguments), headers)
        assert answer.status == 200
        assert arguments in backend.of("tools/call")[0].body
        refused = await gw.modern.send("POST", body.replace(b'"HERE"', b'{"r":1e400}'), headers)
        assert (refused.status, refused.error["code"]) == (400, -32602)


async def test_client_that_waits_to_be_told_to_send_its_body_is_told(tmp_path: Path) -> None:
    """Some clients (curl) do so with large bodies, and would wait a second each time."""
    async with gateway(tmp_path, {}) as gw:
        host, port = gw.url.split("/")[2].split(":")
        body, headers = gw.modern.frame("tools/list")
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"POST /mcp HTTP/1.1\r\nHost: {host}\r\n{head}Expect: 100-continue\r\n".encode())
        writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        writer.close()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'"x"', -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":7}', -32600),
    ],
)
async def test_malformed_request_is_a_json_rpc_error(tmp_path: Path, body: bytes, code: int) -> None:
    """400 with a JSON-RPC error, never the library's page, and the gateway goes on."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        _, headers = gw.modern.frame("tools/list")
        answer = await gw.modern.send("POST", body, headers)
        assert answer.status == 400
        assert answer.error["code"] in {code, -32600, -32602}
        _, headers = gw.legacy.frame("ping")
        assert (await gw.legacy.send("POST", body, headers)).status in {200, 400}
        assert (await gw.modern.list()).names == ["a"]


async def test_tools_of_many_backends_keep_one_order(tmp_path: Path) -> None:
    """By exposed name, code point by code point, however they came and whoever was first."""
    names = ["b", "a", "Z", "é", "_", "10", "9"]
    async with (
        ModernBackend(*tools(*names)) as one,
        LegacyBackend(*tools(*reversed(names))) as two,
        gateway(tmp_path, {"two": two, "one": one}) as gw,
    ):
        expected = sorted(f"{prefix}__{name}" for prefix in ("one", "two") for name in names)
        assert (await gw.modern.list()).names == expected


@pytest.mark.parametrize("kind", ["server/discover", "tools/list", "tools/call"])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b'"result":{"deep":%b}' % DEEP, id="result"),
        pytest.param(b'"error":{"code":-32000,"message":"","data":%b}' % DEEP, id="error"),
    ],
)
async def test_answer_that_nests_too_deeply_is_the_backends_fault(tmp_path: Path, kind: str, answer: bytes) -> None:
    """It is said in status and to the caller in our own words; the session lives on and is well once the backend is."""

    async def reply(exchange: Exchange) -> None:
        request_id = str(exchange.request.message["id"]).encode()
        await hostile.body(b'{"jsonrpc":"2.0","id":%b,%b}' % (request_id, answer))(exchange)

    async with ModernBackend(tool("a")) as backend:
        backend.always(kind, reply)
        async with gateway(tmp_path, {"a": backend}) as gw:
            if kind == "tools/call":
                assert (await gw.modern.call("a")).error["message"] == "Backend unavailable: answer is not JSON-RPC"
            else:
                assert (await gw.modern.list()).error["code"] == -32603
                assert (await gw.status())["backends"]["tools/a"]["state"] == "failing"
            backend.always(kind, None)
            await eventually(lambda: _is_well(gw))
            assert (await gw.modern.call("a")).text["tool"] == "a"


async def _is_well(gw: Gateway) -> bool:
    return bool((await gw.status())["backends"]["tools/a"]["state"] == "ready")


async def test_large_and_unusual_answers_hold_up_nobody_else(tmp_path: Path) -> None:
    """What takes long to read is read aside: the gateway answers others all the while."""
    heavy = b'{"name":"%d","inputSchema":{"type":"object","x":[' + b"1," * 400_000 + b"1]}}"
    listed = b'{"tools":[%b,NaN]}' % b",".join(heavy % number for number in range(3))
    async with ModernBackend(tool("a")) as quick, ModernBackend() as slow:
        slow.always("tools/list", hostile.result(listed))
        async with gateway(tmp_path, {"quick": quick, "slow": section(slow, timeouts={"listMs": 30_000})}) as gw:
            reading = asyncio.create_task(gw.modern.list())
            await slow.received("tools/list")
            answered = 0
            while not reading.done():
                assert (await gw.modern.call("quick__a")).text["tool"] == "a"
                answered += 1
            assert len((await reading).names) == 4
            assert answered > 10


async def test_large_and_unusual_results_hold_up_nobody_else(tmp_path: Path) -> None:
    """The same goes for what a call brings: nobody waits for anything like the second that it takes to read."""
    heavy = b'{"resultType":"complete","content":[],"structuredContent":{"x":[%b"\\ud800"]}}' % (
        b'{"a":"b"},' * 1_000_000
    )
    async with ModernBackend(tool("a")) as quick, ModernBackend(tool("b")) as slow:
        slow.call = lambda _: hostile.result(heavy)
        async with gateway(tmp_path, {"quick": quick, "slow": slow}) as gw:
            loop = asyncio.get_running_loop()
            calling = asyncio.create_task(gw.modern.call("slow__b"))
            await slow.received("tools/call")
            waits = []
            while not calling.done():
                began = loop.time()
                await gw.modern.call("quick__a")
                waits.append(loop.time() - began)
            assert (await calling).status == 200
            assert max(waits) < 0.4
