"""The express way: on whatever bytes, cut however, a gateway that takes it says what one that does not take it says."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fakes.gateway import Backends, section, write_config
from fakes.modern import ModernBackend
from fakes.ordinary import tools
from fakes.waiting import PATIENCE_S, eventually
from fuzz.texts import budget, damaged
from switchyard_sidecar.config.load import Loaded, load
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace, Sidecar
from switchyard_sidecar.upstream.http import HttpPool

CONFIGS: Final[Sequence[dict[str, Any]]] = (
    {},
    {"pageSize": 1},
    {"order": "Backend"},
    {"listener": {"allowedHosts": ["a.example"], "allowedOrigins": ["https://a.example"]}},
    {"protocols": ["Legacy"]},
)
"""What is served one after another. A backend that is not resolved keeps the time to live at its cap, so that answers can
be compared."""

Head = list[bytes]
"""Request line and header lines, without the length of the body."""

HEAD: Final = (
    b"POST /mcp HTTP/1.1",
    b"Host: 127.0.0.1",
    b"Content-Type: application/json",
    b"Accept: application/json, text/event-stream",
    b"MCP-Protocol-Version: 2026-07-28",
    b"Mcp-Method: tools/list",
)
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARAMS: Final = json.dumps({"_meta": META}).encode()


def plus(*lines: bytes) -> Callable[[Head], Head]:
    """Further header lines."""
    return lambda head: [*head, *lines]


def instead(number: int, *lines: bytes) -> Callable[[Head], Head]:
    """Other lines in place of one."""
    return lambda head: [*head[:number], *lines, *head[number + 1 :]]


HEADS: Final = st.sampled_from(
    [
        plus(b"Connection: close"),
        plus(b"Connection: keep-alive"),
        plus(b"Connection: Upgrade", b"Upgrade: websocket"),
        plus(b"Expect: 100-continue"),
        plus(b"Authorization: Bearer a"),
        plus(b"Origin: https://a.example"),
        plus(b"Origin: http://127.0.0.1"),
        plus(b"Mcp-Method: tools/list"),
        plus(b"Content-Encoding: gzip"),
        plus(b"Content-Length: 7"),
        plus(b"Transfer-Encoding: chunked"),
        plus(b"X-Folded: a", b" b"),
        plus(b"X: " + b"x" * 5_000),
        plus(b"X: " + b"x" * 17_000),
        *(instead(0, method + b" /mcp HTTP/1.1") for method in (b"GET", b"HEAD", b"PUT", b"OPTIONS", b"post")),
        instead(0, b"POST /mcp HTTP/1.0"),
        instead(0, b"POST http://127.0.0.1/mcp HTTP/1.1"),
        instead(0, b"POST /mcp/?a HTTP/1.1"),
        instead(0, b"POST /other HTTP/1.1"),
        instead(0, b"", b"", HEAD[0]),
        instead(1, b"Host: a.example"),
        instead(1),
        instead(2, b"content-type:application/json"),
        instead(3, b"Accept: text/event-stream"),
        instead(4, b"MCP-Protocol-Version: 2025-06-18"),
        instead(5, b"Mcp-Method: server/discover"),
    ]
)
IDS: Final = st.sampled_from([b"1", b"2", b"12", b'"a"', b'"\\u0061"', b"12345678901234567890123", b"-1"])
ODD_IDS: Final = st.sampled_from([b"null", b"1.5", b"[]", b"{}", b'"\xff"', b"1e2"])
OTHER_PARAMS: Final = st.sampled_from(
    [
        PARAMS.replace(b'"a"', b'"b"'),
        PARAMS.replace(b" ", b""),
        PARAMS.replace(b"07-28", b"07-29"),
        *(json.dumps({"_meta": META, "cursor": cursor}).encode() for cursor in (None, "", "x", 7)),
        json.dumps({"_meta": META, "_meta2": {}}).encode(),
        b"{}",
        b"[]",
        b"null",
    ]
)
OTHER_METHODS: Final = st.sampled_from([b'"tools\\/list"', b'"ping"', b'"server/discover"', b'"tools/call"', b"7"])
MORE_MEMBERS: Final = st.sampled_from(
    [b'"id":9', b'"method":"ping"', b'"method":"tools/list"', b'"params":{}', b'"x":"tools/list"', b'"result":{}']
)
SOMETIMES: Final = st.integers(min_value=0, max_value=4).map(lambda number: number == 4)


def plain(id_: bytes) -> bytes:
    """The request that clients send over and over."""
    body = b'{"jsonrpc":"2.0","id":%b,"method":"tools/list","params":%b}' % (id_, PARAMS)
    return b"\r\n".join((*HEAD, b"Content-Length: %d" % len(body), b"", body))


@st.composite
def bodies(draw: DrawFn) -> bytes:
    """Something like a list request."""
    members = [
        b'"jsonrpc":"2.0"',
        b'"id":' + draw(ODD_IDS if draw(SOMETIMES) else IDS),
        b'"method":' + (draw(OTHER_METHODS) if draw(SOMETIMES) else b'"tools/list"'),
        b'"params":' + (draw(OTHER_PARAMS) if draw(SOMETIMES) else PARAMS),
    ]
    if draw(SOMETIMES):
        members = draw(st.permutations([*members, draw(MORE_MEMBERS)]))
    body = draw(st.sampled_from([b"", b"", b" ", b"\r\n\r\n"])) + b"{" + b",".join(members) + b"}"
    return b"[" + body + b"]" if draw(SOMETIMES) else body


@st.composite
def requests(draw: DrawFn) -> bytes:
    """Something like an HTTP request that carries it."""
    body = draw(bodies())
    head = list(HEAD)
    if draw(SOMETIMES):
        head = draw(HEADS)(head)
    shift = draw(st.sampled_from([1, -1, 40])) if draw(SOMETIMES) else 0
    if b"Transfer-Encoding: chunked" not in head:
        head.append(b"Content-Length: %d" % (len(body) + shift))
    elif draw(st.booleans()):
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    text = b"\r\n".join((*head, b"", body))
    return draw(damaged(st.just(text))) if draw(SOMETIMES) else text


@st.composite
def scripts(draw: DrawFn) -> list[bytes | int]:
    """What happens on one connection: pieces that are sent, and changes of config (by number)."""
    steps: list[bytes | int] = []
    for text in draw(st.lists(IDS.map(plain) | requests(), min_size=1, max_size=4)):
        times = draw(st.integers(min_value=1, max_value=3))
        if draw(SOMETIMES):  # one on top of the other, and cut anywhere
            places = sorted(draw(st.lists(st.integers(min_value=0, max_value=len(text) * times), max_size=3)))
            ends = [*places, len(text) * times]
            steps += [(text * times)[start:end] for start, end in zip([0, *places], ends, strict=True)]
        else:
            steps += [text] * times
        if draw(SOMETIMES):
            steps.append(draw(st.integers(min_value=0, max_value=len(CONFIGS) - 1)))
            steps.append(text)
    return steps


@dataclass
class Peer(asyncio.Protocol):
    """A client's end of a connection; keeps what it is told."""

    said: bytearray = field(default_factory=bytearray)
    closed: bool = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.said += data

    def connection_lost(self, _: Exception | None) -> None:
        self.closed = True

    @property
    def told(self) -> tuple[bytes, bool]:
        """All that came, without what differs from one second or session to the next; and whether that is all."""
        return re.sub(rb"(Date|Mcp-Session-Id): [^\r]*", rb"\1", self.said), self.closed


@dataclass(frozen=True)
class Stage:
    """Two gateways in front of the same backends, one of which remembers nothing."""

    sidecars: tuple[Sidecar, Sidecar]
    ports: tuple[int, int]
    configs: list[Loaded]

    @property
    def answered(self) -> tuple[int, int]:
        """Requests that each has answered at once."""
        one, two = (sidecar.state.service.express.answered for sidecar in self.sidecars)
        return one, two

    def configure(self, number: int) -> None:
        """Change the config of both."""
        for sidecar in self.sidecars:
            sidecar.apply(self.configs[number])

    async def play(self, script: Sequence[bytes | int]) -> None:
        """Do the same to both; they must answer the same, and so they must do afterwards."""
        self.configure(0)
        loop = asyncio.get_running_loop()
        peers = [(await loop.create_connection(Peer, "127.0.0.1", port))[1] for port in self.ports]
        try:
            for step in (*script, plain(b"1"), plain(b"1")):
                if isinstance(step, int):
                    await agreed(*peers)  # what was asked before a change of config is answered before it
                    self.configure(step)
                    continue
                for peer in peers:
                    if not peer.closed:
                        peer.transport.write(step)
                await turns(6)
            await agreed(*peers)
        finally:
            for peer in peers:
                peer.transport.abort()
            await turns(2)


async def turns(count: int) -> None:
    """Let the loop go round so many times: what was sent on the loopback is then read, by itself."""
    for _ in range(count):
        await asyncio.sleep(0)


async def agreed(one: Peer, two: Peer) -> None:
    """Wait until both were told the same, and nothing more comes."""

    async def quiet() -> bool:
        before = one.told, two.told
        await turns(20)
        return before == (one.told, two.told) and one.told == two.told

    with contextlib.suppress(TimeoutError):
        await eventually(quiet, within_s=PATIENCE_S / 5)
    assert one.told == two.told


@contextlib.asynccontextmanager
async def stage(directory: Path) -> AsyncIterator[Stage]:
    """Run both."""
    async with (
        ModernBackend(*tools("b", "a"), ttl_ms=600_000) as backend,
        asyncio.TaskGroup() as tasks,
        HttpPool() as http,
    ):
        backends: Backends = {"a": backend, "missing": section(backend, unresolved="SecretNotFound")}
        configs = []
        for keys in CONFIGS:
            write_config(directory, backends, **keys)
            configs.append(await asyncio.to_thread(load, directory))
        sidecars = tuple(
            Sidecar(tasks, http, Pace(clients=downstream_pace.Pace(**pace)), host="127.0.0.1", path=None)
            for pace in ({}, {"remembered": 0})
        )
        async with contextlib.AsyncExitStack() as listening:
            bound = [await listening.enter_async_context(each.listening(0, None)) for each in sidecars]
            ports = [int(each.url.split(":")[2].split("/")[0]) for each in bound]
            played = Stage((sidecars[0], sidecars[1]), (ports[0], ports[1]), configs)
            played.configure(0)
            for sidecar in sidecars:
                await sidecar.gateway.fresh()
                assert len(sidecar.gateway.catalog.modern.names) == 2
            yield played
        for sidecar in sidecars:
            await asyncio.gather(*sidecar.gateway.retire_all(), return_exceptions=True)


def test_express_way_is_not_to_be_told_from_the_ordinary_one(tmp_path: Path) -> None:
    """The same bytes come back, the same connections close; and the express way is really taken."""
    played = 0

    async def held(ready: "asyncio.Future[Stage]", done: asyncio.Event) -> None:
        async with stage(tmp_path) as both:
            ready.set_result(both)
            await done.wait()

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        ready, done = loop.create_future(), asyncio.Event()
        holder = loop.create_task(held(ready, done))
        runner.run(asyncio.wait({ready, holder}, return_when=asyncio.FIRST_COMPLETED))
        both = ready.result()

        @budget
        @given(scripts())
        def same(script: list[bytes | int]) -> None:
            nonlocal played
            played += 1
            runner.run(both.play(script))

        try:
            same()
            at_once, never = both.answered
            assert never == 0
            assert at_once > played / 2
        finally:
            done.set()
            runner.run(asyncio.wait({holder}))
    holder.result()
