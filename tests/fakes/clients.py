"""Clients of both eras that add nothing to what is on the wire: each answer is its status, headers and bytes."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import aiohttp
from multidict import CIMultiDict

from fakes.waiting import PATIENCE_S, Pulse
from switchyard_sidecar.protocol import header_values, sse

META = "io.modelcontextprotocol/"
BOTH = "application/json, text/event-stream"
MAX_EVENT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """One HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    """Case-insensitive."""
    body: bytes

    @cached_property
    def messages(self) -> list[Any]:
        """All JSON-RPC messages in it, from JSON or from an event stream."""
        if not self.body:
            return []
        if self.headers.get("Content-Type", "").startswith("text/event-stream"):
            events = sse.Decoder(MAX_EVENT_BYTES).feed(self.body)
            return [json.loads(event.data) for event in events if event.data]
        return [json.loads(self.body)]

    @property
    def message(self) -> Any:
        """The last message: the response."""
        return self.messages[-1]

    @property
    def result(self) -> Any:
        """The result; the test fails where there is an error instead."""
        assert "result" in self.message, self.message
        return self.message["result"]

    @property
    def error(self) -> Any:
        """The error; the test fails where there is a result instead."""
        assert "error" in self.message, self.message
        return self.message["error"]

    @property
    def names(self) -> list[str]:
        """Names of the listed tools."""
        return [tool["name"] for tool in self.result["tools"]]

    @property
    def text(self) -> Any:
        """The first text of a call's result, as the JSON that the ordinary backends put there."""
        return json.loads(self.result["content"][0]["text"])


@dataclass
class OpenStream:
    """An event stream that is being read; every message is kept."""

    status: int
    headers: Mapping[str, str]
    messages: list[Any] = field(default_factory=list)
    comments: int = 0
    """Keep-alive comments seen, by their effect on the bytes."""
    ended: bool = False
    """Whether the server has ended the body (or cut it)."""
    _pulse: Pulse = field(default_factory=Pulse)

    async def has(self, count: int, within_s: float = PATIENCE_S) -> list[Any]:
        """Wait until at least ``count`` messages have come since the beginning; return all."""
        await self._pulse.until(lambda: len(self.messages) >= count, within_s)
        return self.messages

    async def has_comments(self, count: int, within_s: float = PATIENCE_S) -> None:
        """Wait until at least ``count`` comments have come since the beginning."""
        await self._pulse.until(lambda: self.comments >= count, within_s)

    async def end(self, within_s: float = PATIENCE_S) -> list[Any]:
        """Wait until the server ends the stream; return all messages."""
        await self._pulse.until(lambda: self.ended, within_s)
        return self.messages

    async def read(self, response: aiohttp.ClientResponse) -> None:
        """Read to the end."""
        decoder = sse.Decoder(MAX_EVENT_BYTES)
        try:
            async for chunk in response.content.iter_any():
                self.comments += chunk.count(sse.COMMENT)
                self.messages += [json.loads(event.data) for event in decoder.feed(chunk) if event.data]
                self._pulse.beat()
        except aiohttp.ClientError:
            pass
        finally:
            self.ended = True
            self._pulse.beat()


class Client:
    """What both eras share: one endpoint, one HTTP session without memory."""

    token: str | None = None
    """A bearer token to present with every request that says nothing else."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.url = url
        self.http = http
        self._ids = 0

    async def send(self, method: str, body: bytes | None, headers: Mapping[str, str | None]) -> Answer:
        """Send exactly this; a header of ``None`` is left out."""
        async with self.http.request(method, self.url, data=body, headers=self._fields(headers)) as response:
            return Answer(response.status, response.headers, await response.read())

    @asynccontextmanager
    async def stream(
        self, method: str, body: bytes | None, headers: Mapping[str, str | None]
    ) -> AsyncIterator[OpenStream]:
        """Send exactly this and read the answer while the block runs; leave it by closing the connection."""
        async with self.http.request(method, self.url, data=body, headers=self._fields(headers)) as response:
            opened = OpenStream(response.status, response.headers)
            reader = asyncio.create_task(opened.read(response))
            try:
                yield opened
            finally:
                response.close()
                await reader

    def _fields(self, headers: Mapping[str, str | None]) -> CIMultiDict[str]:
        own = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return _present(own | dict(headers))

    def next_id(self) -> int:
        """A request id not used before."""
        self._ids += 1
        return self._ids


class ModernClient(Client):
    """Speaks 2026-07-28."""

    version = "2026-07-28"

    def frame(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        id: Any = ...,  # noqa: A002
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> tuple[bytes, dict[str, str | None]]:
        """Body and headers of a request as a good client makes them.

        ``meta`` and ``headers`` add to them, replace, or (``None``) take away.
        """
        own: dict[str, Any] = {
            META + "protocolVersion": self.version,
            META + "clientInfo": {"name": "recorder", "version": "1"},
            META + "clientCapabilities": {},
        }
        merged = {key: value for key, value in (own | dict(meta or {})).items() if value is not None}
        message = {
            "jsonrpc": "2.0",
            "id": self.next_id() if id is ... else id,
            "method": method,
            "params": {"_meta": merged, **(params or {})},
        }
        fields: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Accept": BOTH,
            "MCP-Protocol-Version": self.version,
            "Mcp-Method": method,
        }
        if method == "tools/call":
            fields["Mcp-Name"] = header_values.encode((params or {})["name"])
        return json.dumps(message).encode(), fields | dict(headers or {})

    async def request(self, method: str, params: Mapping[str, Any] | None = None, **how: Any) -> Answer:
        """Send a request; ``how`` as in :meth:`frame`."""
        return await self.send("POST", *self.frame(method, params, **how))

    async def list(self, cursor: str | None = None, **how: Any) -> Answer:
        """Ask for one page of tools."""
        return await self.request("tools/list", {} if cursor is None else {"cursor": cursor}, **how)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, **how: Any) -> Answer:
        """Call a tool."""
        params = {"name": name} | ({} if arguments is None else {"arguments": arguments})
        return await self.request("tools/call", params, **how)

    @asynccontextmanager
    async def listen(self, notifications: Mapping[str, Any] | None = None, **how: Any) -> AsyncIterator[OpenStream]:
        """Open a change stream, by default for the list of tools, and wait for its acknowledgement."""
        asked = {"toolsListChanged": True} if notifications is None else notifications
        async with self.stream("POST", *self.frame("subscriptions/listen", {"notifications": asked}, **how)) as opened:
            await opened.has(1)
            yield opened


class LegacyClient(Client):
    """Speaks a version that begins with ``initialize``, and remembers its session."""

    version = "2025-11-25"
    session: str | None = None

    def frame(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        id: Any = ...,  # noqa: A002
        headers: Mapping[str, str | None] | None = None,
    ) -> tuple[bytes, dict[str, str | None]]:
        """Body and headers of a request (``id=None``: a notification) as a good client makes them."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if id is not None:
            message["id"] = self.next_id() if id is ... else id
        if params is not None:
            message["params"] = params
        fields: dict[str, str | None] = {"Content-Type": "application/json", "Accept": BOTH, **self._own_headers()}
        return json.dumps(message).encode(), fields | dict(headers or {})

    def _own_headers(self) -> dict[str, str | None]:
        asked = self.session is not None and self.version >= "2025-06-18"
        return {"MCP-Protocol-Version": self.version if asked else None, "Mcp-Session-Id": self.session}

    async def request(self, method: str, params: Mapping[str, Any] | None = None, **how: Any) -> Answer:
        """Send a request; ``how`` as in :meth:`frame`."""
        return await self.send("POST", *self.frame(method, params, **how))

    async def initialize(self, version: str | None = None) -> Answer:
        """Begin a session as clients do: ``initialize``, then ``notifications/initialized``."""
        self.version, self.session = version or self.version, None
        asked = {
            "protocolVersion": self.version,
            "capabilities": {},
            "clientInfo": {"name": "recorder", "version": "1"},
        }
        answer = await self.request("initialize", asked)
        self.session = answer.headers.get("Mcp-Session-Id")
        self.version = answer.result["protocolVersion"]
        confirmed = await self.request("notifications/initialized", id=None)
        assert confirmed.status == 202
        return answer

    async def list(self, cursor: str | None = None, **how: Any) -> Answer:
        """Ask for one page of tools."""
        return await self.request("tools/list", None if cursor is None else {"cursor": cursor}, **how)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, **how: Any) -> Answer:
        """Call a tool."""
        return await self.request("tools/call", {"name": name, "arguments": dict(arguments or {})}, **how)

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[OpenStream]:
        """Open the GET stream."""
        async with self.stream("GET", None, {"Accept": "text/event-stream", **self._own_headers()}) as opened:
            yield opened

    async def delete(self) -> Answer:
        """End the session."""
        return await self.send("DELETE", None, self._own_headers())


def _present(headers: Mapping[str, str | None]) -> CIMultiDict[str]:
    return CIMultiDict((name, value) for name, value in headers.items() if value is not None)
