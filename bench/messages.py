"""What is said over MCP in the bench: requests of both eras, tools of ordinary size, and one plain way to ask."""

import http.client
import json
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from bench.machine import BenchError

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
CALLED: Final = "operation_000"
"""The tool that calls are made of; every backend has it."""
ARGUMENTS: Final = {"query": "status:open", "limit": 20}
ASK_S: Final = 60.0

_INFO: Final = {"name": "bench", "version": "1"}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": _INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Request:
    """One POST."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def request(era: str, method: str, params: dict[str, Any] | None = None, *, session: str | None = None) -> Request:
    """A request of either era. ``session``: the id that a legacy server gave to ``initialize``."""
    params = {} if params is None else params
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era == "modern":
        params = {**params, "_meta": _META}
        headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if method == "tools/call":
            headers["Mcp-Name"] = params["name"]
    elif method != "initialize":
        headers["MCP-Protocol-Version"] = LEGACY
        if session is not None:
            headers["Mcp-Session-Id"] = session
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    if method.startswith("notifications/"):
        del message["id"]
    return Request(json.dumps(message).encode(), headers)


def call(era: str, name: str, *, session: str | None = None) -> Request:
    """A call of one tool."""
    return request(era, "tools/call", {"name": name, "arguments": ARGUMENTS}, session=session)


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    session: str | None
    body: bytes
    wire_bytes: int
    """Head and body, as sent."""

    @property
    def result(self) -> dict[str, Any]:
        """The result in it, also where the answer is an event stream.

        Raises:
            BenchError: there is none.
        """
        text = self.body
        if not text.startswith(b"{"):
            text = next(
                (line[5:] for line in text.splitlines() if line.startswith(b"data:") and b'"id"' in line), b"{}"
            )
        message = json.loads(text)
        if self.status != 200 or "result" not in message:
            raise BenchError(f"HTTP {self.status} and no result: {self.body[:300]!r}")
        result: dict[str, Any] = message["result"]
        return result


def ask(url: str, what: Request) -> Reply:
    """Ask once, over a connection of its own.

    Raises:
        OSError: nothing answers there.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=ASK_S)
    try:
        connection.request("POST", parts.path, what.body, what.headers)
        answer = connection.getresponse()
        body = answer.read()
        head_bytes = len(f"HTTP/1.1 {answer.status} {answer.reason}\r\n\r\n")
        head_bytes += sum(len(f"{name}: {value}\r\n") for name, value in answer.getheaders())
        return Reply(answer.status, answer.getheader("Mcp-Session-Id"), body, head_bytes + len(body))
    finally:
        connection.close()


def open_session(url: str) -> str | None:
    """Shake hands as a legacy client; give the session's id, if there is one."""
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _INFO}
    reply = ask(url, request("legacy", "initialize", params))
    if "protocolVersion" not in reply.result:
        raise BenchError(f"initialize was answered with {reply.result}")
    ask(url, request("legacy", "notifications/initialized", session=reply.session))
    return reply.session


def tool(number: int, size: int, note: str) -> dict[str, Any]:
    """A tool as public servers have them, and about ``size`` bytes long, 600 at the least."""
    definition: dict[str, Any] = {
        "name": f"operation_{number:03}",
        "title": f"Operation {number}",
        "description": f"{note}. ",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to search for, in the search syntax of the service"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
                "filters": {"type": "array", "items": {"$ref": "#/$defs/filter"}},
            },
            "required": ["query"],
            "$defs": {"filter": {"type": "object", "properties": {"field": {"type": "string"}, "value": True}}},
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }
    sentence = "Searches records by free text and filters, and gives them page by page. "
    missing = max(0, size - len(json.dumps(definition)))
    definition["description"] += (sentence * (missing // len(sentence) + 1))[:missing]
    return definition
