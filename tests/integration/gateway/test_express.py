"""The express way on the wire: when it is taken, when it is not, and that a client cannot tell."""

import asyncio
import email.utils
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp.web_protocol import RequestHandler

from fakes import hostile
from fakes.clients import BOTH, META
from fakes.gateway import Gateway, gateway, section
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.waiting import PATIENCE_S, eventually
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace

PARAMS = json.dumps(
    {
        "_meta": {
            META + "protocolVersion": "2026-07-28",
            META + "clientInfo": {"name": "recorder", "version": "1"},
            META + "clientCapabilities": {},
        }
    }
)
HEAD = (
    "POST /mcp HTTP/1.1",
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    f"Accept: {BOTH}",
    "MCP-Protocol-Version: 2026-07-28",
    "Mcp-Method: tools/list",
)


def body(id_: str = "1", params: str = PARAMS) -> str:
    """A list request."""
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"tools/list","params":{params}}}'


def request(text: str | None = None, *more: str, start: str = HEAD[0], host: str = HEAD[1]) -> bytes:
    """The HTTP request that carries it, with ``more`` header lines."""
    text = body() if text is None else text
    lines = (start, host, *HEAD[2:], *more, f"Content-Length: {len(text.encode())}", "", "")
    return ("\r\n".join(lines) + text).encode()


KNOWN = request()


@dataclass(frozen=True)
class Reply:
    """One answer as it was on the wire."""

    status: int
    fields: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        """The JSON-RPC message."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Line:
    """A connection without a client library."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, *pieces: bytes) -> None:
        """Send."""
        self.writer.write(b"".join(pieces))

    async def reply(self, *, bodiless: bool = False) -> Reply:
        """Read one answer."""
        async with asyncio.timeout(PATIENCE_S):
            lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = dict(line.split(": ", 1) for line in lines[1:-2])
            size = 0 if bodiless else int(fields["Content-Length"])
            return Reply(int(lines[0].split()[1]), fields, await self.reader.readexactly(size))

    async def ask(self, *pieces: bytes) -> Reply:
        """Send a request; read its answer."""
        self.send(*pieces)
        return await self.reply()

    async def end(self) -> bytes:
        """What comes until the connection is closed."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()


@asynccontextmanager
async def line(gw: Gateway, host: str = "127.0.0.1", **limits: Any) -> AsyncIterator[Line]:
    """Connect."""
    port = int(gw.url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection(host, port, **limits)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()


async def sample(gw: Gateway, name: str) -> float:
    """A figure of the metrics."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", await gw.metrics(), re.MULTILINE)
    return float(found[1]) if found else 0.0


async def at_once(gw: Gateway) -> float:
    """How many requests have been answered the express way."""
    return await sample(gw, "switchyard_lists_repeated_total")


async def takes_it(gw: Gateway, on: Line, what: bytes = KNOWN) -> bool:
    """Whether this request is answered the express way, the second time at the latest."""
    before = await at_once(gw)
    statuses = [(await on.ask(what)).status for _ in range(2)]
    return statuses == [200, 200] and await at_once(gw) > before


async def test_second_request_in_the_same_words_is_answered_at_once(tmp_path: Path) -> None:
    """On any connection; the answer is the same but for the id, which may be any and is carried as it is written."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        async with line(gw) as one, line(gw) as two:
            first = await one.ask(KNOWN)
            assert await at_once(gw) == 0
            second = await two.ask(KNOWN)
            assert await at_once(gw) == 1
            assert first.fields.keys() == second.fields.keys()
            assert list(first.message) == list(second.message) == ["jsonrpc", "id", "result"]
            assert first.message["result"]["tools"] == second.message["result"]["tools"]
            for id_ in ("2", '"a"', '"\\u0061"', "123456789012345678901234567890"):
                for _ in range(2):  # another length of the id is another length of the body, and so another request
                    assert f'"id":{id_},'.encode() in (await two.ask(request(body(id_)))).body
            assert await at_once(gw) == 1 + 2 + 3


async def test_what_surrounds_id_and_params_may_differ(tmp_path: Path) -> None:
    """Order of members, blanks, further members: the body is read, not compared."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        assert await takes_it(gw, on)
        turned = f'{{"method":"tools/list","params":{PARAMS},"id":7,"jsonrpc":"2.0"}}'
        before = await at_once(gw)
        assert (await on.ask(request(turned))).message["id"] == 7
        assert await at_once(gw) == before + 1


async def test_answers_are_counted_and_timed_as_ever(tmp_path: Path) -> None:
    """Metrics of requests do not tell the two ways apart."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        for _ in range(5):
            await on.ask(KNOWN)
        assert await at_once(gw) == 4
        assert await sample(gw, 'switchyard_requests_total{code="0",era="modern",method="tools/list"}') == 5
        assert await sample(gw, 'switchyard_request_duration_seconds_count{era="modern",method="tools/list"}') == 5


async def test_date_is_the_present_one(tmp_path: Path) -> None:
    """It is not remembered with the request."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        await on.ask(KNOWN)
        await asyncio.sleep(1.0 - time.time() % 1)  # into the next second
        began = int(time.time())
        said = (await on.ask(KNOWN)).fields["Date"]
        assert await at_once(gw) == 1
        assert began <= email.utils.parsedate_to_datetime(said).timestamp() <= time.time()


def other(old: str, new: str) -> bytes:
    """The known request with other bytes somewhere, and a length that fits."""
    assert old in body()
    return request(body().replace(old, new))


CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body()), body().encode())
CURSOR = PARAMS[:-1] + ',"cursor":"%s"}'


@pytest.mark.parametrize(
    ("sent", "statuses", "stays"),
    [
        pytest.param(request(None, "X: y"), [200], True, id="a header more"),
        pytest.param(KNOWN.replace(b"Accept: ", b"accept: "), [200], True, id="a header written otherwise"),
        pytest.param(request(host="Host: localhost"), [200], True, id="another Host that is ours"),
        pytest.param(request(host="Host: evil.example"), [403], True, id="another Host"),
        pytest.param(request(None, "Origin: https://evil.example"), [403], True, id="an Origin"),
        pytest.param(request(start="POST http://127.0.0.1/mcp HTTP/1.1"), [200], True, id="a target in absolute form"),
        pytest.param(request(start="POST /mcp/ HTTP/1.1"), [200], True, id="the other path"),
        pytest.param(request(start="POST /other HTTP/1.1"), [404], True, id="another path"),
        pytest.param(request(start="PUT /mcp HTTP/1.1"), [405], True, id="PUT"),
        pytest.param(request(None, "Connection: close"), [200], False, id="Connection: close"),
        pytest.param(request(start="POST /mcp HTTP/1.0"), [200], False, id="HTTP/1.0"),
        pytest.param(request(None, "Expect: 100-continue"), [200], True, id="Expect, with the body already there"),
        pytest.param(request(None, "Authorization: Bearer a"), [200], True, id="credentials"),
        pytest.param(
            KNOWN.replace(b"Content-Length: %d" % len(body()), b"Transfer-Encoding: chunked", 1)[: -len(body())]
            + CHUNKED,
            [200],
            True,
            id="chunks",
        ),
        pytest.param(request(None, "Content-Length: 7"), [400], False, id="two lengths"),
        pytest.param(request(None, "Mcp-Method: tools/list"), [400], True, id="a mirrored header twice"),
        pytest.param(KNOWN.replace(b"Mcp-Method: tools/list\r\n", b""), [400], True, id="a mirrored header less"),
        pytest.param(other("2026-07-28", "2026-07-27"), [400], True, id="another version"),
        pytest.param(other('"tools/list"', '"server/discover"'), [400], True, id="another method than its header says"),
        pytest.param(
            other('"params"', '"method":"ping","params"'), [400], True, id="a member twice, of which the last counts"
        ),
        pytest.param(request(body(params=CURSOR % "x")), [400], True, id="a cursor"),
        pytest.param(request(body("null")), [400], True, id="no id"),
        pytest.param(request(body("1.5")), [400], True, id="an id that is none"),
        pytest.param(request(f"[{body()}]"), [400], True, id="a batch"),
        pytest.param(request(body().replace("recorder", "recorde\u00e9")), [200], True, id="another client"),
        pytest.param(request(body() + "x"), [400], True, id="a byte too many in the body"),
        pytest.param(KNOWN + b"GARBAGE\r\n\r\n", [400], False, id="bytes beyond the body"),
        pytest.param(KNOWN + b"\r\n", [200], True, id="a line break beyond the body"),
        pytest.param(KNOWN + KNOWN, [200, 200], True, id="one on top of the other"),
        pytest.param(KNOWN + request(start="PUT /mcp HTTP/1.1"), [200, 405], True, id="another on top of it"),
    ],
)
async def test_anything_else_goes_the_ordinary_way(
    tmp_path: Path, sent: bytes, statuses: list[int], stays: bool
) -> None:
    """Though the known request differs in so little; and the known one is answered afterwards, if the connection stays."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        for number in range(3):  # and what was right once is answered the same the next time
            async with line(gw) as on:
                assert await takes_it(gw, on)
                before = await at_once(gw)
                on.send(sent)
                assert [(await on.reply()).status for _ in statuses] == statuses
                assert number or await at_once(gw) == before
                if stays:
                    assert (await on.ask(KNOWN)).status == 200
                else:
                    assert await on.end() == b""


async def test_head_is_answered_without_a_body(tmp_path: Path) -> None:
    """In words that are otherwise those of a known request."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        assert await takes_it(gw, on)
        on.send(request(start="HEAD /mcp HTTP/1.1"))
        assert (await on.reply(bodiless=True)).status == 405
        assert (await on.ask(KNOWN)).status == 200


@pytest.mark.parametrize("place", [1, 60, len(KNOWN) - len(body()), len(KNOWN) - 1])
async def test_request_in_two_pieces_is_put_together(tmp_path: Path, place: int) -> None:
    """By the ordinary way; once it was answered, the connection may take the other again."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        assert await takes_it(gw, on)
        before = await at_once(gw)
        on.send(KNOWN[:place])
        await eventually(lambda: has_begun(gw))
        assert (await on.ask(KNOWN[place:])).status == 200
        assert await at_once(gw) == before
        assert await takes_it(gw, on)


async def has_begun(gw: Gateway) -> bool:
    """Whether what was sent on another connection before this was asked has been read."""
    return (await gw.modern.request("server/discover", {})).status == 200


async def test_body_that_is_shorter_than_its_head_says_is_waited_for(tmp_path: Path) -> None:
    """Though what is there of it could be the body of a known request: its rest must not be taken for the next one."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        padded = request(body() + " " * 50)
        assert await takes_it(gw, on, padded)
        before = await at_once(gw)
        on.send(padded[:-50])
        await has_begun(gw)
        assert await at_once(gw) == before
        assert (await on.ask(b" " * 50)).status == 200
        assert await takes_it(gw, on, padded)


UNFINISHED = request(None, start="POST /mcp HTTP/1.1").partition(b"Content-Length")[0]
WITH_LENGTH = UNFINISHED + b"Content-Length: %d\r\n\r\n" % len(KNOWN)
REFUSED = WITH_LENGTH.replace(b"/mcp", b"/other")
CHUNKS = UNFINISHED.replace(b"/mcp", b"/other") + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "statuses"),
    [
        pytest.param(WITH_LENGTH, [400], id="as the body of another request"),
        pytest.param(KNOWN + WITH_LENGTH, [200, 400], id="as the body of a request that came with the one before"),
        pytest.param(REFUSED, [404], id="as the body of a request that is refused unread"),
        pytest.param(KNOWN + REFUSED, [200, 404], id="as the body of a refused one that came with the one before"),
        pytest.param(CHUNKS, [404], id="in place of the chunks of a request that is refused unread"),
    ],
)
async def test_known_bytes_that_are_no_request_are_not_answered(
    tmp_path: Path, first: bytes, statuses: list[int]
) -> None:
    """Whatever a body holds is a body, also when it comes by itself."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        assert await takes_it(gw, on)
        before = await at_once(gw)
        on.send(first)
        await has_begun(gw)
        on.send(KNOWN)
        assert [(await on.reply()).status for _ in statuses] == statuses
        on.writer.write_eof()
        assert await on.end() == b""
        assert await at_once(gw) == before


async def test_answers_keep_the_order_of_the_requests(tmp_path: Path) -> None:
    """A known request on top of a call that is under way waits for it, whichever came with the request before."""
    gate = asyncio.Event()
    called = body().replace("tools/list", "tools/call").replace(PARAMS, PARAMS[:-1] + ',"name":"a"}')
    call = request(called, "Mcp-Name: a").replace(b"Mcp-Method: tools/list", b"Mcp-Method: tools/call")
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        assert await takes_it(gw, on)
        for number, first in enumerate((call, KNOWN + call), 1):
            gate.clear()
            on.send(first)
            await backend.received("tools/call", number)
            on.send(KNOWN)
            await has_begun(gw)
            gate.set()
            answers = [(await on.reply()).message["result"] for _ in range(1 + number)]
            assert ["content" in each for each in answers] == [False, True, False][-1 - number :]


async def test_connection_of_large_requests_goes_the_ordinary_way(tmp_path: Path) -> None:
    """What a client sends is not kept without bound to see where it ends."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        assert await takes_it(gw, on)
        assert (await on.ask(request(None, "X: " + "x" * 20_000))).status == 200
        assert not await takes_it(gw, on)


async def test_further_page_is_never_taken_for_the_first(tmp_path: Path) -> None:
    """A request with a cursor is not remembered; one whose cursor is null is a request for the first page."""
    async with (
        ModernBackend(tool("a"), tool("b")) as backend,
        gateway(tmp_path, {"a": backend}, pageSize=1) as gw,
        line(gw) as on,
    ):
        cursor = (await on.ask(KNOWN)).message["result"]["nextCursor"]
        asked = request(body(params=CURSOR % cursor))
        for _ in range(3):
            assert [each["name"] for each in (await on.ask(asked)).message["result"]["tools"]] == ["b"]
        assert await takes_it(gw, on, request(body(params=PARAMS[:-1] + ',"cursor":null}')))


async def test_stale_list_is_read_anew(tmp_path: Path) -> None:
    """As long as the request was remembered, the list was not to be believed: the next request finds what has changed."""
    async with (
        ModernBackend(tool("a"), ttl_ms=1_000, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}) as gw,
        line(gw) as on,
    ):
        assert await takes_it(gw, on)
        backend.tools.append(tool("b"))

        async def shown() -> bool:
            return len((await on.ask(KNOWN)).message["result"]["tools"]) == 2

        await eventually(shown)


async def test_token_is_part_of_the_words(tmp_path: Path) -> None:
    """Where nobody is asked who they are it changes nothing, and yet what came of one is not what comes of another."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        assert await takes_it(gw, on, request(None, "authorization: Bearer a"))
        before = await at_once(gw)
        await on.ask(request(None, "authorization: Bearer b"))
        assert await at_once(gw) == before


async def test_same_host_header_is_judged_by_the_address_it_came_in_on(tmp_path: Path) -> None:
    """A gateway that listens on all addresses knows each of them as a name of its own there, and there alone."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, host="0.0.0.0") as gw:
        asked = request(host="Host: 127.0.0.2")
        async with line(gw, "127.0.0.2") as there, line(gw, "127.0.0.1") as here:
            assert await takes_it(gw, there, asked)
            assert (await here.ask(asked)).status == 403


async def test_allowed_origin_is_told_so_each_time(tmp_path: Path) -> None:
    """The headers of the answer are remembered with the request."""
    listener = {"allowedOrigins": ["https://a.example"]}
    async with (
        ModernBackend(tool("a")) as backend,
        gateway(tmp_path, {"a": backend}, listener=listener) as gw,
        line(gw) as on,
    ):
        asked = request(None, "Origin: https://a.example")
        first = await on.ask(asked)
        second = await on.ask(asked)
        assert await at_once(gw) == 1
        assert second.fields["Access-Control-Allow-Origin"] == "https://a.example"
        assert list(first.fields) == list(second.fields)


async def test_change_of_config_forgets_what_was_right(tmp_path: Path) -> None:
    """An origin that is no longer allowed is refused at once, on connections that are open too."""
    async with ModernBackend(tool("a")) as backend:
        keys: dict[str, Any] = {"listener": {"allowedHosts": ["a.example"]}}
        async with gateway(tmp_path, {"a": backend}, **keys) as gw, line(gw) as on:
            asked = request(host="Host: a.example")
            assert await takes_it(gw, on, asked)
            await gw.configure({"a": backend})
            assert (await on.ask(asked)).status == 403
            await gw.configure({"a": backend}, **keys)
            assert await takes_it(gw, on, asked)


async def test_what_was_found_right_under_the_config_before_is_not_remembered(tmp_path: Path) -> None:
    """A request that is waiting for a backend while the config changes was let in by the old one, for once."""
    gate = asyncio.Event()
    async with ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as backend:
        keys: dict[str, Any] = {"listener": {"allowedHosts": ["a.example"]}}
        async with gateway(tmp_path, {"a": section(backend)}, **keys) as gw, line(gw) as on:
            await gw.modern.list()
            backend.ttl_ms = 60_000
            ordinary = backend.answer
            backend.answer = lambda request: hostile.after(gate, ordinary(request))
            asked = request(host="Host: a.example")
            on.send(asked)
            await backend.received("tools/list", len(backend.of("tools/list")) + 1)
            await gw.configure({"a": section(backend)})
            gate.set()
            assert (await on.reply()).status == 200
            assert (await on.ask(asked)).status == 403


async def test_changed_list_is_read_at_once(tmp_path: Path) -> None:
    """What is remembered is the request, not the answer; one that is not fresh is waited for the ordinary way."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        await backend.listened(1)
        assert await takes_it(gw, on)
        backend.tools.append(tool("b"))
        await backend.notify()

        async def shown() -> bool:
            listed = (await on.ask(KNOWN)).message["result"]["tools"]
            return [each["name"] for each in listed] == ["a", "b"]

        await eventually(shown)
        assert await takes_it(gw, on)


async def test_large_list_goes_the_ordinary_way(tmp_path: Path) -> None:
    """It may have to wait for its client."""
    small, large = tool("a", description="x" * 55_000), tool("a", description="x" * 65_000)
    async with ModernBackend(small) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        await backend.listened(1)
        assert await takes_it(gw, on)
        backend.tools = [large]
        await backend.notify()

        async def grown() -> bool:
            return len((await on.ask(KNOWN)).body) > 65_000

        await eventually(grown)
        assert not await takes_it(gw, on)


async def test_client_that_reads_nothing_is_dropped(tmp_path: Path) -> None:
    """It asks on and on in known words; what it leaves unread is bounded, and then it is not waited for long."""
    hasty = Pace(clients=downstream_pace.Pace(write_s=0.1))
    definition = tool("a", description="x" * 50_000)
    async with ModernBackend(definition) as backend, gateway(tmp_path, {"a": backend}, pace=hasty) as gw:
        await gw.modern.list()
        async with line(gw, limit=1) as deaf:
            before = await at_once(gw)

            async def dropped() -> bool:
                deaf.send(KNOWN)
                return deaf.writer.is_closing()

            await eventually(dropped)
            assert 0 < await at_once(gw) - before < 1_000
        async with line(gw) as on:
            assert await takes_it(gw, on)


async def test_connection_in_use_is_not_idle_and_ends_when_it_is(tmp_path: Path) -> None:
    """Each answer puts off the end of an idle connection, as ever."""
    hasty = Pace(clients=downstream_pace.Pace(idle_s=0.4))
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=hasty) as gw, line(gw) as on:
        loop = asyncio.get_running_loop()
        await on.ask(KNOWN)
        began = loop.time()
        while loop.time() < began + 1.0:
            assert (await on.ask(KNOWN)).status == 200
            await asyncio.sleep(0.05)
        last = loop.time()
        assert await on.end() == b""
        assert loop.time() - last > 0.2
        assert await at_once(gw) > 5


async def test_last_answer_when_the_gateway_stops_takes_the_ordinary_way(tmp_path: Path) -> None:
    """While calls under way are waited for, what is known is not answered at once: the answer has to say that it is the last."""
    gate = asyncio.Event()
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw, line(gw) as on:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        assert await takes_it(gw, on)
        calling = asyncio.create_task(gw.modern.call("a"))
        await backend.received("tools/call")
        gw.running.cancel()

        async def stopping() -> bool:
            async with gw.http.get(gw.admin + "/readyz") as response:
                return response.status == 503

        await eventually(stopping)
        on.send(KNOWN)
        assert (await on.reply()).fields["Connection"] == "close"
        assert await on.end() == b""
        gate.set()
        assert (await calling).text["tool"] == "a"


async def test_gateway_can_be_told_to_remember_nothing(tmp_path: Path) -> None:
    """Then every request goes the ordinary way."""
    plain = Pace(clients=downstream_pace.Pace(remembered=0))
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=plain) as gw, line(gw) as on:
        assert not await takes_it(gw, on)


@pytest.mark.parametrize(
    "name", ["_close", "_force_close", "_messages", "_next_keepalive_close_time", "_request_count", "_waiter"]
)
def test_library_still_has_the_state_that_is_used(name: str) -> None:
    """When this fails, see in ``downstream/http.py`` what each is used for, and what has taken its place."""
    assert name in RequestHandler.__slots__


@pytest.mark.parametrize("call", ["close", "force_close"])
def test_library_still_hears_nothing_once_it_is_closing(call: str) -> None:
    """These two flags are all that its own reading of bytes looks at first."""
    names = RequestHandler.data_received.__code__.co_names[:2]
    assert set(names) == {"_force_close", "_close"}
    assert f"_{call}" in getattr(RequestHandler, call).__code__.co_names
