"""The fake backends of a soak, which change, fail, and come back.

Each fake notes in the model what it lists and when it was read, and holds every call it executes against the token that
the caller put into it: which backend and tool it meant.
"""

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from fakes import hostile
from fakes.hostile import Exchange, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend
from soak.facts import RECOVERY_S, Definition
from soak.judge import Judge
from soak.plan import Kind, Player
from soak.ports import free_port

_FIRST_TOOLS: Final = 6
_MOST_TOOLS: Final = 14
_STORM: Final = 40
"""How often a backend that storms says that its list has changed."""
_DRIP: Final = (48, 0.03)
"""Bytes a segment, and seconds after each."""
PROMPT_TO_BE_BACK_S: Final = 0.3
"""How long one is away that is restarted as one of the other era."""


class _Played(OrdinaryBackend):
    """What a fake of either era does differently in a soak."""

    actor: "Fake"

    def _reply(self, request: Request) -> Reply:
        ordinary = super()._reply(request)
        if not self.actor.is_authorised(request):
            return hostile.body(b"", status=401)
        return ordinary if self.actor.fault is None else self.actor.fault(request, ordinary)

    def _page(self, request: Request, more: Mapping[str, Any]) -> Reply:
        # Cursors name a version, so that no walk meets two.
        cursor = request.params.get("cursor")
        number, start = map(int, cursor.split("@")) if cursor else (len(self.actor.versions) - 1, 0)
        tools = self.actor.versions[number]
        size = self.page_size or len(tools)
        page = [definition.named(name) for name, definition in list(tools.items())[start : start + size]]
        last = start + size >= len(tools)
        rest = dict(more) | ({} if last else {"nextCursor": f"{number}@{start + size}"})
        members = [b'"tools":[%b]' % b",".join(page)]
        members += [json.dumps(key).encode() + b":" + json.dumps(value).encode() for key, value in rest.items()]
        reply = hostile.result(b"{%b}" % b",".join(members))
        return self.actor.noting(number, reply) if last else reply


class _Modern(_Played, ModernBackend):
    """Of 2026-07-28."""


class _Legacy(_Played, LegacyBackend):
    """Of 2025-11-25."""


class Fake:
    """A fake that may change its era while it keeps its tools."""

    def __init__(self, player: Player, judge: Judge, seed: int) -> None:
        self.player = player
        self.fault: Callable[[Request, Reply], Reply] | None = None
        self.versions: list[Mapping[str, Definition]] = []
        self.tokens: set[str] = set()
        """Bearer tokens it takes; none: it wants none."""
        self._judge = judge
        self._chance = random.Random(f"{seed} {player.name}")
        self._revisions = 0
        self._lives = 0
        self._grown = _FIRST_TOOLS
        self._change({f"t{number}": self._definition() for number in range(_FIRST_TOOLS)})
        self.era = player.era
        self.server: OrdinaryBackend = self._made(self.era)
        self.server._port = free_port()

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.server.url

    async def start(self) -> None:
        """Be there."""
        await self.server.start()

    async def stop(self) -> None:
        """Be gone."""
        await self.server.stop()

    def _made(self, era: str) -> OrdinaryBackend:
        player = self.player
        server: _Modern | _Legacy
        if era == "modern":
            server = _Modern(ttl_ms=player.ttl_ms, list_changed=player.announces)
        else:
            server = _Legacy()
            server._made = 1_000 * self._lives  # no session of this life has the id of one of a former life
            self._lives += 1
            server.with_stream = player.announces
        server.actor = self
        server.page_size = player.page_size
        server.call = self._called
        return server

    # Its list.

    async def change(self, kind: Kind, *, announced: bool) -> None:
        """Grow, shrink or edit a definition; say so, or not."""
        tools = dict(self.versions[-1])
        if kind is Kind.SHRINK and len(tools) > 2:
            del tools[self._chance.choice(sorted(tools.keys() - {"t0"}))]
        elif kind is Kind.EDIT or len(tools) >= _MOST_TOOLS:
            tools[self._chance.choice(sorted(tools))] = self._definition()
        else:
            tools[f"t{self._grown}"] = self._definition()
            self._grown += 1
        number = self._change(tools)
        if announced and self.fault is None and self.server.streams:
            await self._notify()
            self._judge.announced(self.player.name, number)

    async def storm(self) -> None:
        """Say that the list has changed, again and again, while it has not."""
        for _ in range(_STORM):
            await self._notify()
            await asyncio.sleep(0.01)

    async def _notify(self) -> None:
        with suppress(ConnectionError):
            await self.server.notify()

    def _change(self, tools: Mapping[str, Definition]) -> int:
        self.versions.append(tools)
        return self._judge.version(self.player.name, tools)

    def _definition(self) -> Definition:
        self._revisions += 1
        said = json.dumps(f"Revision {self._revisions} of a tool of {self.player.name}: 🚦 “ü”").encode()
        schema = b'"inputSchema":{"type":"object","properties":{"token":{"type":"string"},"flag":{"default":true}}}'
        parts = [b'"description":' + said, b'"x-huge":123456789012345678901234567890', schema, b'"x-e": 1.0E+2']
        self._chance.shuffle(parts)
        cut = self._chance.randrange(len(parts) + 1)
        head = b"".join(part + b", " for part in parts[:cut])
        return Definition(b"{" + head + b'"name" : ', b"".join(b"," + part for part in parts[cut:]) + b"}")

    def noting(self, number: int, reply: Reply) -> Reply:
        """A reply that brings a version to its end."""

        async def play(exchange: Exchange) -> None:
            await reply(exchange)
            self._judge.read(self.player.name, number)

        return play

    # Calls.

    def _called(self, request: Request) -> Reply:
        name, arguments = request.params["name"], request.params.get("arguments", {})
        if name not in self.versions[-1]:
            return hostile.error(-32602, f"Unknown tool: {name}")
        session = request.header("Mcp-Session-Id")
        self._judge.executed(self.player.name, name, arguments["token"], session, arguments["caller"])
        said = {"backend": self.player.name, "tool": name, "token": arguments["token"]}
        result: dict[str, Any] = {"content": [{"type": "text", "text": json.dumps(said)}]}
        if self.era == "modern":
            result["resultType"] = "complete"
        token = request.params.get("_meta", {}).get("progressToken")
        steps = arguments.get("steps", 0) if token is not None else 0
        progress = [
            {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": step},
            }
            for step in range(steps)
        ]
        reply = hostile.sse(*progress, result_value=result) if progress else hostile.result(result)

        async def play(exchange: Exchange) -> None:
            await asyncio.sleep(arguments.get("ms", 0) / 1000)
            await reply(exchange)

        return play

    def is_authorised(self, request: Request) -> bool:
        """Whether a request shows a token that it takes."""
        if not self.tokens or request.header("Authorization") in {f"Bearer {token}" for token in self.tokens}:
            return True
        self._judge.wrong_token(self.player.name)
        return False

    # Faults.

    async def suffer(self, kind: Kind, for_s: float) -> None:
        """Be unwell in this way for a while, and then well again."""
        illness = self._judge.falls_ill(self.player.name, kind, recovery_s=RECOVERY_S)
        if kind is Kind.REBORN:
            illness.call_recovery_s = RECOVERY_S  # calls use what was last known of it
        try:
            match kind:
                case Kind.DIE:
                    await self.server.stop()
                    self._forget()
                    await asyncio.sleep(for_s)
                    await self.server.start()
                case Kind.REBORN:
                    await self._reborn()
                case Kind.HANG:
                    gate = asyncio.Event()
                    self.fault = lambda _, ordinary: hostile.after(gate, ordinary)
                    await asyncio.sleep(for_s)
                    self.fault = None
                    gate.set()
                case Kind.GARBAGE:
                    self.fault = lambda request, _: self._chance.choice(GARBAGE if "id" in request.message else NOISE)
                    await asyncio.sleep(for_s)
                case _:
                    self.fault = lambda _, ordinary: hostile.drip(ordinary, *_DRIP)
                    await asyncio.sleep(for_s)
        finally:
            self.fault = None
            self._judge.is_well(illness)

    async def _reborn(self) -> None:
        await self.server.stop()
        self.era = "legacy" if self.era == "modern" else "modern"
        self.server = self._made(self.era).in_place_of(self.server)
        await asyncio.sleep(PROMPT_TO_BE_BACK_S)
        await self.server.start()

    def expire(self) -> None:
        """Forget all sessions; nobody outside may notice."""
        self._forget()

    def _forget(self) -> None:
        if isinstance(self.server, _Legacy):
            self.server.sessions.clear()


NOISE: Final[tuple[Reply, ...]] = (
    hostile.body(b"upstream connect error", status=502, content_type="text/plain"),
    hostile.body(b"", status=503),
    hostile.body(b"<html>welcome</html>", content_type="text/html"),
    hostile.body(b'{"jsonrpc":"2.0","id":1,"resu'),
    hostile.body(b"\xff\xfe[[[[", content_type=None),
    hostile.sse(b"not json"),
    hostile.sse(),
    hostile.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
    hostile.raw(b"\x00\x01\x02"),
    hostile.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    hostile.reset(),
)
"""What a backend out of its mind answers, to anything."""
GARBAGE: Final[tuple[Reply, ...]] = (
    *NOISE,
    hostile.result(b'{"tools":"none"}'),
    hostile.result(b"[]"),
    hostile.error(-32603, "out of memory", status=500),
)
"""What it answers to requests. None of it may be taken for a list without tools."""
