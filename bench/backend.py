"""MCP backends of both eras that cost next to nothing, so that what is measured in front of them is the gateway.

A program: ``python -m bench.backend '[{"era": "modern", "tools": 10}, ...]'`` listens on a port for each and says the URLs.
It is told ``{"change": n}``: backend n alters one tool and notifies its streams; and ``{"report": n}``. Requests are read by
a few lines on an asyncio protocol: enough for wrk and for the sidecar, and for nobody else.
"""

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec
import uvloop
from msgspec import Raw

from bench import program
from bench.messages import LEGACY, MODERN, tool

TTL_MS: Final = 600_000

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_CHANGED: Final = "notifications/tools/list_changed"
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


@dataclass(frozen=True)
class Spec:
    """What a backend is like."""

    era: str = "modern"
    tools: int = 10
    tool_bytes: int = 850
    delay_ms: float = 0.0
    """Every answer takes this long."""


class _Params(msgspec.Struct):
    name: str = ""
    arguments: Raw = Raw(b"{}")


class _Message(msgspec.Struct):
    method: str = ""
    id: Raw = Raw(b"null")
    params: _Params = msgspec.field(default_factory=_Params)


_decode: Final = msgspec.json.Decoder(_Message).decode


class Backend:
    """One backend: its list, its open streams, and when what happened (monotonic seconds, the same in every process)."""

    def __init__(self, number: int, spec: Spec) -> None:
        self.number = number
        self.spec = spec
        self.streams: dict[asyncio.Transport, bytes] = {}
        self.revision = 0
        self.first_asked_at: float | None = None
        self.listed_at = 0.0
        self._tools = [json.dumps(tool(each, spec.tool_bytes, self._note())).encode() for each in range(spec.tools)]
        self._join()

    def change(self) -> float:
        """Alter the last tool and notify; give the moment."""
        self.revision += 1
        last = len(self._tools) - 1
        self._tools[last] = json.dumps(tool(last, self.spec.tool_bytes, self._note())).encode()
        self._join()
        at = time.monotonic()
        for stream, params in self.streams.items():
            stream.write(_event(b'{"jsonrpc":"2.0","method":"%b"%b}' % (_CHANGED.encode(), params)))
        return at

    def answer(self, message: _Message) -> tuple[int, bytes]:
        """HTTP status and body for one request."""
        if message.method == "tools/call":
            text = b"backend %d ran %b" % (self.number, message.params.name.encode())
            result = b'{"content":[{"type":"text","text":"%b"}],"structuredContent":%b,"isError":false%b}'
            extra = b',"resultType":"complete"' if self.spec.era == "modern" else b""
            return 200, _result(message.id, result % (text, message.params.arguments, extra))
        if message.method == "tools/list":
            self.listed_at = time.monotonic()
            return 200, _result(message.id, self._list)
        if message.method == "server/discover" and self.spec.era == "modern":
            return 200, _result(message.id, _DISCOVERED)
        if message.method == "initialize" and self.spec.era == "legacy":
            return 200, _result(message.id, _INITIALIZED)
        if message.method.startswith("notifications/"):
            return 202, b""
        refusal = b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"Method not found"}}' % message.id
        return (404 if self.spec.era == "modern" else 400), refusal

    def _note(self) -> str:
        return f"Backend {self.number}, revision {self.revision}"

    def _join(self) -> None:
        extra = b""
        if self.spec.era == "modern":
            extra = b',"ttlMs":%d,"cacheScope":"public","resultType":"complete"' % TTL_MS
        self._list = b'{"tools":[%b]%b}' % (b",".join(self._tools), extra)


class _Connection(asyncio.Protocol):
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._backend.streams.pop(self._transport, None)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end]
            length = _LENGTH.search(head)
            after = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < after:
                return
            body, self._received = self._received[end + 4 : after], self._received[after:]
            if self._backend.first_asked_at is None:
                self._backend.first_asked_at = time.monotonic()
            self._serve(head, body)

    def _serve(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._later(_STREAM if self._backend.spec.era == "legacy" else _head(405, b""))
            if self._backend.spec.era == "legacy":
                self._backend.streams[self._transport] = b""
        elif head.startswith(b"DELETE"):
            self._later(_head(200, b""))
        else:
            message = _decode(body)
            if message.method == "subscriptions/listen" and self._backend.spec.era == "modern":
                tag = b'"_meta":{"%b":%b}' % (_SUBSCRIPTION.encode(), message.id)
                opening = b'{"jsonrpc":"2.0","method":"%b","params":{%b,"notifications":{"toolsListChanged":true}}}'
                self._later(_STREAM + _event(opening % (_ACKNOWLEDGED.encode(), tag)))
                self._backend.streams[self._transport] = b',"params":{%b}' % tag
            else:
                status, answer = self._backend.answer(message)
                session = b"Mcp-Session-Id: bench\r\n" if message.method == "initialize" else b""
                self._later(_head(status, answer, session), answer)

    def _later(self, *parts: bytes) -> None:
        if delay_s := self._backend.spec.delay_ms / 1000:
            asyncio.get_running_loop().call_later(delay_s, self._transport.write, b"".join(parts))
        else:
            self._transport.write(b"".join(parts))


_STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_DISCOVERED: Final = json.dumps(
    {
        "supportedVersions": [MODERN],
        "capabilities": {"tools": {"listChanged": True}},
        "ttlMs": 0,
        "cacheScope": "public",
        "resultType": "complete",
    }
).encode()
_INITIALIZED: Final = json.dumps(
    {
        "protocolVersion": LEGACY,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "backend", "version": "1"},
    }
).encode()


def _head(status: int, body: bytes, more: bytes = b"") -> bytes:
    media = b"Content-Type: application/json\r\n" if body else b""
    return b"HTTP/1.1 %d -\r\n%b%bContent-Length: %d\r\n\r\n" % (status, media, more, len(body))


def _result(request_id: Raw, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)


def _event(message: bytes) -> bytes:
    event = b"data: %b\n\n" % message
    return b"%x\r\n%b\r\n" % (len(event), event)


async def _main(specs: list[Spec]) -> None:
    loop = asyncio.get_running_loop()
    backends = [Backend(number, spec) for number, spec in enumerate(specs)]
    urls = []
    for backend in backends:
        server = await loop.create_server(partial(_Connection, backend), "127.0.0.1", 0, backlog=1024)
        urls.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
    program.say(urls=urls)

    async def command(told: dict[str, Any]) -> dict[str, Any]:
        if "change" in told:
            return {"at": backends[told["change"]].change()}
        backend = backends[told["report"]]
        return {
            "first_asked_at": backend.first_asked_at,
            "listed_at": backend.listed_at,
            "streams": len(backend.streams),
        }

    await program.obey(command)


if __name__ == "__main__":
    uvloop.run(_main([Spec(**each) for each in json.loads(sys.argv[1])]))
