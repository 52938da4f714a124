"""The express way: on whatever bytes, cut however, a gateway that takes it says what one that does not take it says."""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fakes.gateway import Backends, section, write_config
from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set
from fakes.modern import ModernBackend
from fakes.ordinary import tools
from fakes.waiting import PATIENCE_S, eventually
from fuzz.texts import budget, damaged
from switchyard_sidecar.access.keys import KeySet
from switchyard_sidecar.config.load import Loaded, load
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace, Sidecar
from switchyard_sidecar.upstream.http import HttpPool

KEYS: Final = [SigningKey.make("old"), SigningKey.make("new", "EdDSA")]
ISSUER: Final = "https://issuer.example"


def trusting(*keys: SigningKey) -> dict[str, Any]:
    """Authentication by tokens that these keys have signed."""
    return {"issuers": [{"issuer": ISSUER, "audiences": [AUDIENCE], "jwks": key_set(keys)}]}


VISIBILITY: Final = {"rules": [{"when": [{"claim": "team", "anyOf": ["a"]}], "tools": {"include": ["a__a"]}}]}
CONFIGS: Final[Sequence[dict[str, Any]]] = (
    {},
    {"pageSize": 1},
    {"order": "Backend"},
    {"listener": {"allowedHosts": ["a.example"], "allowedOrigins": ["https://a.example"]}},
    {"protocols": ["Legacy"]},
    {"authentication": trusting(*KEYS)},
    {"authentication": trusting(KEYS[1])},
    {"authentication": trusting(*KEYS), "visibility": VISIBILITY},
    {"authentication": trusting(*KEYS), "visibility": {**VISIBILITY, "default": "Allow"}},
    {"authentication": {}},
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
        plus(b"Origin: https://a.example"),
        plus(b"Origin: http://127.0.0.1"),
        plus(b"Mcp-Method: tools/list"),
        plus(b"Content-Encoding: gzip"),
        plus(b"Content-Length: 7"),
        plus(b"Connection: Upgrade", b"Upgrade: h2c"),
        plus(b"Transfer-Encoding: chunked"),
        plus(b"X-Folded: a", b" b"),
        plus(b"X: " + b"x" * 5_000),
        plus(b"X: " + b"x" * 17_000),
        *(
            instead(0, method + b" /mcp HTTP/1.1")
            for method in (b"GET", b"HEAD", b"PUT", b"OPTIONS", b"CONNECT", b"post")
        ),
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
YEAR_S: Final = 365 * 24 * 3600
TOKENS: Final = [
    key.sign(good_claims(ISSUER, sub, lasts_s, team=team)).encode()
    for key in KEYS
    for sub, team, lasts_s in (("alice", "a", 10 * YEAR_S), ("bob", "b", 10 * YEAR_S), ("carol", "a", 30 * YEAR_S))
]
"""Two of each key expire when the clock is put on, and one does not."""
CREDENTIALS: Final = st.sampled_from(
    [
        *(plus(b"Authorization: Bearer " + token) for token in TOKENS for _ in range(3)),
        plus(b"Authorization: Bearer " + TOKENS[0][:-1]),
        plus(b"Authorization: Bearer a"),
        plus(b"authorization:bEARER\t" + TOKENS[0]),
        plus(b"Authorization: Bearer " + TOKENS[0], b"Authorization: Bearer " + TOKENS[1]),
        plus(b"X-Authorization: Bearer " + TOKENS[0]),
    ]
)
"""Tokens that are good under some configs, and some that never are."""
IDS: Final = st.sampled_from([b"1", b"2", b"12", b'"a"', b'"\\u0061"', b"12345678901234567890123", b"-1"])


def written(body: bytes, head: Sequence[bytes] = HEAD, more: int = 0) -> bytes:
    """A request with this body, whose length is given as so much ``more`` than it is."""
    return b"\r\n".join((*head, b"Content-Length: %d" % (len(body) + more), b"", body))


def list_request(id_: bytes) -> bytes:
    """The message that is sent over and over."""
    return b'{"jsonrpc":"2.0","id":%b,"method":"tools/list","params":%b}' % (id_, PARAMS)


def with_id(id_: bytes) -> Callable[[bytes], bytes]:
    """The message with another id."""
    return lambda body: re.sub(rb'"id":[^,]*,', lambda _: b'"id":%b,' % id_, body)


def with_method(method: bytes) -> Callable[[bytes], bytes]:
    """The message with another method."""
    return lambda body: body.replace(b'"tools/list"', method)


def with_params(params: bytes) -> Callable[[bytes], bytes]:
    """The message with other params."""
    return lambda body: body.replace(PARAMS, params)


def with_member(member: bytes, at: int) -> Callable[[bytes], bytes]:
    """The message with a member more, at its beginning (1) or its end (-1)."""
    return lambda body: body[:at] + (member + b"," if at > 0 else b"," + member) + body[at:]


BODIES: Final = st.one_of(
    st.sampled_from([b"null", b"1.5", b"[]", b"{}", b'"\xff"', b"1e2"]).map(with_id),
    st.sampled_from([b'"tools\\/list"', b'"ping"', b'"server/discover"', b'"tools/call"', b"7"]).map(with_method),
    st.sampled_from(
        [
            PARAMS.replace(b'"a"', b'"b"'),
            PARAMS.replace(b" ", b""),
            PARAMS.replace(b"07-28", b"07-29"),
            *(json.dumps({"_meta": META, "cursor": cursor}).encode() for cursor in (None, "", "x", 7)),
            b"{}",
            b"[]",
            b"null",
        ]
    ).map(with_params),
    st.builds(
        with_member,
        st.sampled_from([b'"id":9', b'"method":"ping"', b'"params":{}', b'"x":"tools/list"', b'"result":{}']),
        st.sampled_from([1, -1]),
    ),
    st.sampled_from(
        [
            lambda body: b"[" + body + b"]",
            lambda body: body + b" ",
            lambda body: b"\r\n\r\n" + body,
            lambda body: body + b"x",
            lambda body: body[:-1],
        ]
    ),
)


@st.composite
def requests(draw: DrawFn) -> bytes:
    """The request that clients send over and over, mostly with something odd about it."""
    body, head = list_request(draw(IDS)), list(HEAD)
    if draw(st.booleans()):
        head = draw(CREDENTIALS)(head)
    match draw(st.sampled_from(["nothing", "nothing", "body", "head", "both", "length", "chunks", "bytes"])):
        case "body":
            body = draw(BODIES)(body)
        case "head":
            head = draw(HEADS)(head)
        case "both":
            body, head = draw(BODIES)(body), draw(HEADS)(head)
        case "length":
            return written(body, head, draw(st.sampled_from([1, -1, 40, len(list_request(b"1"))])))
        case "chunks":
            ended = draw(st.sampled_from([b"\r\n0\r\n\r\n", b"\r\n", b""]))
            return b"\r\n".join((*head, b"Transfer-Encoding: chunked", b"", b"%x" % len(body), body)) + ended
        case "bytes":
            return draw(damaged(st.just(written(body, head))))
    return written(body, head)


def steady() -> st.SearchStrategy[bytes]:
    """The request that one caller sends over and over."""
    return CREDENTIALS.map(lambda presented: written(list_request(b"1"), presented(list(HEAD))))


NUMBERS: Final = st.integers(0, len(CONFIGS) - 1) | st.sampled_from(
    [number for number, keys in enumerate(CONFIGS) if keys.get("authentication")]
)
Step = bytes | int | float | None
"""Bytes that are sent, the number of a config that is applied, or seconds by which the clock is put on; ``None``: the issuer has
withdrawn its old key."""


@st.composite
def scripts(draw: DrawFn) -> list[Step]:
    """What happens on one connection."""
    steps: list[Step] = [draw(NUMBERS), b""]
    for text in draw(st.lists(requests(), min_size=1, max_size=6)):
        last = steps[-1]
        match draw(st.sampled_from(["whole", "whole", "whole", "again", "joined", "cut", "change", "change"])):
            case "again":
                steps += [text, text]
            case "joined" if isinstance(last, bytes):
                steps[-1] = last + text
            case "cut":
                place = draw(
                    st.sampled_from([1, len(text) - 1, text.find(b"\r\n\r\n") + 4]) | st.integers(0, len(text))
                )
                steps += [text[:place], text[place:]]
            case "change":
                asked = draw(st.just(text) | steady())
                change = draw(st.sampled_from([None, 20.0 * YEAR_S]) | NUMBERS)
                steps += [draw(NUMBERS), asked, asked, change, asked, asked]
            case _:
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


@dataclass
class Clock:
    """The wall clock, as far ahead as a script puts it."""

    now: Callable[[], float]
    ahead_s: float = 0.0

    def __call__(self) -> float:
        return self.now() + self.ahead_s


@dataclass(frozen=True)
class Stage:
    """Two gateways in front of the same backends, one of which remembers nothing."""

    sidecars: tuple[Sidecar, Sidecar]
    ports: tuple[int, int]
    configs: list[Loaded]
    clock: "Clock"

    @property
    def answered(self) -> tuple[int, int]:
        """Requests that each has answered at once."""
        one, two = (sidecar.state.service.express.answered for sidecar in self.sidecars)
        return one, two

    async def configure(self, number: int) -> None:
        """Change the config of both, and wait until keys that came with it are ready."""
        for sidecar in self.sidecars:
            sidecar.apply(self.configs[number])
        while any(each.keys is None for sidecar in self.sidecars for each in sidecar.state.authenticator.health):
            await asyncio.sleep(0.001)

    def withdraw(self) -> None:
        """Let both learn that the old key is not to be believed any more, as from an issuer that is followed."""
        for sidecar in self.sidecars:
            authenticator = sidecar.state.authenticator
            for each in authenticator._trusted.values():
                each.source._keys = KeySet.of(key_set(KEYS[1:]), each.applied.config.algorithms)
            authenticator._keys_changed()

    async def play(self, script: Sequence[Step]) -> None:
        """Do the same to both; they must answer the same, and so they must do afterwards."""
        self.clock.ahead_s = 0.0
        await self.configure(0)
        good = written(list_request(b"1"))
        for _ in range(2):  # what is right on one connection is right on the next
            await self._play((good, *script, good, good))

    async def _play(self, script: Sequence[Step]) -> None:
        loop = asyncio.get_running_loop()
        peers = [(await loop.create_connection(Peer, "127.0.0.1", port))[1] for port in self.ports]
        try:
            for step in script:
                if not isinstance(step, bytes):
                    await agreed(*peers)  # what was asked before a change is answered before it
                    if step is None:
                        self.withdraw()
                    elif isinstance(step, int):
                        await self.configure(step)
                    else:
                        self.clock.ahead_s += step
                    continue
                for peer in peers:
                    if not peer.closed:
                        peer.transport.write(step)
                await turns(12)
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
async def stage(directory: Path, clock: Clock) -> AsyncIterator[Stage]:
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
            played = Stage((sidecars[0], sidecars[1]), (ports[0], ports[1]), configs, clock)
            await played.configure(0)
            for sidecar in sidecars:
                await sidecar.gateway.shared.fresh()
                assert len(sidecar.gateway.shared.catalog.modern.names) == 2
            yield played
        for sidecar in sidecars:
            await asyncio.gather(*sidecar.retire_all(), return_exceptions=True)


def test_express_way_is_not_to_be_told_from_the_ordinary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes come back, the same connections close; and the express way is really taken.

    Whoever asks, with whatever token, while configs and keys change and tokens expire.
    """
    clock = Clock(time.time)
    monkeypatch.setattr(time, "time", clock)
    played = 0

    async def held(ready: "asyncio.Future[Stage]", done: asyncio.Event) -> None:
        async with stage(tmp_path, clock) as both:
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
        def same(script: list[Step]) -> None:
            nonlocal played
            played += 1
            runner.run(both.play(script))

        try:
            same()
            at_once, never = both.answered
            assert never == 0
            assert at_once > played / 10  # seeds differ: most scripts hold something that must not go this way
        finally:
            done.set()
            runner.run(asyncio.wait({holder}))
    holder.result()
