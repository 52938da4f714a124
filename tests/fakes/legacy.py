"""An ordinary legacy backend: ``initialize`` first, sessions, and a GET stream for what it has to say."""

from typing import Any

from fakes import hostile
from fakes.hostile import Exchange, Reply, Request
from fakes.ordinary import OrdinaryBackend, Stream, Tool


class LegacyBackend(OrdinaryBackend):
    """Serves sessions, lists, calls, pings and the GET stream of one legacy version."""

    def __init__(self, *definitions: Tool, version: str = "2025-11-25") -> None:
        super().__init__(*definitions)
        self.version = version
        """What ``initialize`` is answered with."""
        self.with_sessions = True
        """Whether sessions have ids; a stateless server gives none."""
        self.with_stream = True
        """Whether GET gives a stream, or 405."""
        self.capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}}
        self.sessions: set[str] = set()
        """Ids of the live sessions. A server that restarts has forgotten them: ``clear()``."""
        self._made = 0

    async def notify(self) -> None:
        """Say on every open change stream that the tools have changed."""
        for stream in list(self.streams):
            await stream.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def _ordinarily(self, request: Request) -> Reply:
        if request.kind == "initialize":
            return self._initialize(request)
        if request.kind == "server/discover":  # how a client of both eras begins; here, a request without its session
            return hostile.error(-32600, "Bad Request: Missing session ID", status=400)
        if refusal := self._refusal(request):
            return refusal
        match request.kind:
            case "GET":
                return self._stream if self.with_stream else hostile.body(b"", status=405)
            case "DELETE":
                self.sessions.discard(request.header("Mcp-Session-Id") or "")
                return hostile.body(b"", content_type=None)
            case "ping" | "logging/setLevel":
                return hostile.result({})
            case "tools/list":
                return self._page(request, {})
            case "tools/call":
                return self.call(request)
            case other if "id" in request.message:
                return self._refuse(f"{other} is not a method", hostile.error(-32601))
            case _:
                return hostile.body(b"", status=202, content_type=None)

    def _initialize(self, request: Request) -> Reply:
        fields = []
        if self.with_sessions:
            self._made += 1
            session = f"session-{self._made}"
            self.sessions.add(session)
            fields = [("Mcp-Session-Id", session)]
        if request.header("Mcp-Session-Id") is not None:
            self.complaints.append("initialize with a session id")
        return hostile.result(
            {"protocolVersion": self.version, "capabilities": self.capabilities, "serverInfo": self.server_info},
            fields=fields,
        )

    async def _stream(self, exchange: Exchange) -> None:
        await hostile.open_stream(exchange)
        await self._hold(Stream(exchange))

    def _refusal(self, request: Request) -> Reply | None:
        session = request.header("Mcp-Session-Id")
        if not self.with_sessions and session is not None:
            self.complaints.append(f"a session id {session!r} that was never given")
        if self.with_sessions and session is None:
            return self._refuse("no session id", hostile.error(-32600, "Missing session ID", status=400))
        if self.with_sessions and session not in self.sessions:
            return hostile.error(-32001, "Session not found", status=404)
        expected = self.version if self.version >= "2025-06-18" else None
        if expected is not None and request.header("MCP-Protocol-Version") != expected:
            complaint = f"MCP-Protocol-Version is {request.header('MCP-Protocol-Version')!r}"
            return self._refuse(complaint, hostile.body(b"Bad Request: Unsupported protocol version", status=400))
        for forbidden in ("Mcp-Method", "Mcp-Name"):
            if request.header(forbidden) is not None:
                self.complaints.append(f"{forbidden} is not of this era")
        accepted = "text/event-stream" if request.kind == "GET" else "application/json, text/event-stream"
        if request.kind != "DELETE" and request.header("Accept") != accepted:
            self.complaints.append(f"Accept of {request.kind} is {request.header('Accept')!r}")
        return None
