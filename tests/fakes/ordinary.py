"""What the ordinary backends of both eras have in common: a list of tools that a test changes while it runs, and faults."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

from fakes import hostile
from fakes.hostile import Exchange, HostileBackend, Reply, Request
from fakes.waiting import PATIENCE_S, Pulse

Tool = Mapping[str, Any] | bytes
"""A definition; ``bytes`` are sent exactly so."""


def tool(name: str, **keys: Any) -> dict[str, Any]:
    """A small definition, with any further members."""
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **keys}


def tools(*names: str) -> list[Tool]:
    """Small definitions of these names."""
    return [tool(name) for name in names]


def said(request: Request) -> dict[str, Any]:
    """What a tool answers unless told otherwise: the name and arguments it was called with."""
    called = {"tool": request.params["name"], "arguments": request.params.get("arguments", {})}
    return {"content": [{"type": "text", "text": json.dumps(called)}]}


class Stream:
    """A change stream that the backend holds open."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.request = exchange.request
        self.over = asyncio.Event()

    async def send(self, message: Any) -> None:
        """Send one message."""
        await self.exchange.chunk(hostile.event(message))

    async def end(self) -> None:
        """End the stream as a server does that closes it in order."""
        await self.exchange.chunk(b"")
        self.over.set()

    def reset(self) -> None:
        """Cut the connection."""
        self.exchange.reset()


class OrdinaryBackend(HostileBackend, ABC):
    """A backend of one era that follows its specification, and judges by it what it is sent.

    Everything public may be changed at any time and holds for the next request.
    """

    def __init__(self, *definitions: Tool) -> None:
        super().__init__(self._reply)
        self.tools: list[Tool] = list(definitions)
        self.page_size = 0
        """Tools a page; 0: all in one."""
        self.call: Callable[[Request], Reply] = lambda request: hostile.result(said(request))
        """What ``tools/call`` is replied with, once the request was found in order."""
        self.server_info = {"name": "fake", "version": "1"}
        self.complaints: list[str] = []
        """What was wrong with requests, by the specification of the backend's era."""
        self.streams: list[Stream] = []
        """Change streams that are open."""
        self._streams_changed = Pulse()
        self._next: defaultdict[str, deque[Reply]] = defaultdict(deque)
        self._always: dict[str, Reply] = {}

    def fail_next(self, kind: str, *replies: Reply) -> None:
        """Reply in these ways to the next requests of a kind (a JSON-RPC method, or ``GET`` and ``DELETE``)."""
        self._next[kind].extend(replies)

    def always(self, kind: str, reply: Reply | None) -> None:
        """Reply in this way to every request of a kind; ``None``: in the ordinary way again."""
        if reply is None:
            self._always.pop(kind, None)
        else:
            self._always[kind] = reply

    @abstractmethod
    async def notify(self) -> None:
        """Say on every open change stream that the tools have changed (whether they have or not)."""

    async def listened(self, count: int = 1, within_s: float = PATIENCE_S) -> list[Stream]:
        """Wait until exactly so many change streams are open; return them."""
        await self._streams_changed.until(lambda: len(self.streams) == count, within_s)
        return self.streams

    @abstractmethod
    def _ordinarily(self, request: Request) -> Reply:
        """The reply of a server that follows its specification."""

    def _reply(self, request: Request) -> Reply:
        if self._next[request.kind]:
            return self._next[request.kind].popleft()
        return self._always.get(request.kind) or self._ordinarily(request)

    def _refuse(self, complaint: str, reply: Reply) -> Reply:
        self.complaints.append(complaint)
        return reply

    def _page(self, request: Request, more: Mapping[str, Any]) -> Reply:
        cursor = request.params.get("cursor")
        start = int(cursor.removeprefix("from ")) if cursor else 0
        size = self.page_size or max(len(self.tools), 1)
        page = [
            each if isinstance(each, bytes) else json.dumps(each).encode() for each in self.tools[start : start + size]
        ]
        rest = dict(more) | ({"nextCursor": f"from {start + size}"} if start + size < len(self.tools) else {})
        text = (
            b'{"tools":['
            + b",".join(page)
            + b"]"
            + b"".join(
                b"," + json.dumps(key).encode() + b":" + json.dumps(value).encode() for key, value in rest.items()
            )
        )
        return hostile.result(text + b"}")

    async def _hold(self, stream: Stream) -> None:
        """Keep a change stream open until either side ends it."""
        self.streams.append(stream)
        self._streams_changed.beat()
        left = asyncio.create_task(stream.exchange.left())
        over = asyncio.create_task(stream.over.wait())
        try:
            await asyncio.wait({left, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            over.cancel()
            self.streams.remove(stream)
            self._streams_changed.beat()
