"""An ordinary modern backend: 2026-07-28, strict about what a client must send."""

from typing import Any

from fakes import hostile
from fakes.hostile import Exchange, Reply, Request
from fakes.ordinary import OrdinaryBackend, Stream, Tool, said
from switchyard_sidecar.protocol import header_values

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"


class ModernBackend(OrdinaryBackend):
    """Serves discovery, lists, calls and change streams."""

    def __init__(
        self, *definitions: Tool, ttl_ms: Any = 60_000, scope: Any = "public", list_changed: bool = True
    ) -> None:
        super().__init__(*definitions)
        self.ttl_ms = ttl_ms
        """What lists say; ``...``: nothing."""
        self.scope = scope
        """What lists say; ``...``: nothing."""
        self.versions = (VERSION,)
        self.list_changed = list_changed
        """Whether changes are announced: said on discovery, and honoured on change streams."""
        self.call = lambda request: hostile.result({"resultType": "complete", **said(request)})

    async def notify(self) -> None:
        """Say on every open change stream that the tools have changed."""
        for stream in list(self.streams):
            await stream.send(_notification("notifications/tools/list_changed", stream.request))

    def _ordinarily(self, request: Request) -> Reply:
        if request.method != "POST":
            return self._refuse(f"{request.method} is not of this era", hostile.body(b"", status=405))
        if refusal := self._refusal(request):
            return refusal
        match request.kind:
            case "server/discover":
                return hostile.result(
                    {
                        "resultType": "complete",
                        "supportedVersions": self.versions,
                        "capabilities": {"tools": {"listChanged": self.list_changed}},
                        "_meta": {META + "serverInfo": self.server_info},
                        "ttlMs": 60_000,
                        "cacheScope": "public",
                    }
                )
            case "tools/list":
                hints = {"resultType": "complete", "ttlMs": self.ttl_ms, "cacheScope": self.scope}
                return self._page(request, {key: value for key, value in hints.items() if value is not ...})
            case "tools/call":
                return self.call(request)
            case "subscriptions/listen":
                return self._listen
            case other:
                return self._refuse(f"{other} is not a method", hostile.error(-32601, status=404))

    async def _listen(self, exchange: Exchange) -> None:
        asked = exchange.request.params.get("notifications", {})
        honoured = {"toolsListChanged": True} if self.list_changed and asked.get("toolsListChanged") else {}
        stream = Stream(exchange)
        await hostile.open_stream(exchange)
        await stream.send(
            _notification("notifications/subscriptions/acknowledged", exchange.request, notifications=honoured)
        )
        await self._hold(stream)

    async def end_streams(self) -> None:
        """End every change stream in order: with the result, then the end of the stream."""
        for stream in list(self.streams):
            meta = {META + "subscriptionId": stream.request.message["id"]}
            await stream.send(hostile.response_to(stream.request, {"resultType": "complete", "_meta": meta}))
            await stream.end()

    def _refusal(self, request: Request) -> Reply | None:
        meta = request.params.get("_meta", {})
        if not {META + key for key in ("protocolVersion", "clientInfo", "clientCapabilities")} <= meta.keys():
            return self._refuse("_meta is incomplete", hostile.error(-32602, "incomplete _meta", status=400))
        mirrored = {"MCP-Protocol-Version": meta[META + "protocolVersion"], "Mcp-Method": request.kind}
        if request.kind == "tools/call":
            mirrored["Mcp-Name"] = request.params["name"]
        for name, value in mirrored.items():
            if header_values.decode(request.header(name) or "") != value:
                return self._refuse(f"{name} is {request.header(name)!r}", hostile.error(-32020, name, status=400))
        if meta[META + "protocolVersion"] not in self.versions:
            data = {"supported": self.versions, "requested": meta[META + "protocolVersion"]}
            return self._refuse("version", hostile.error(-32022, "version", data, status=400))
        for forbidden in ("Mcp-Session-Id", "Last-Event-ID"):
            if request.header(forbidden) is not None:
                self.complaints.append(f"{forbidden} is not of this era")
        if request.header("Accept") != "application/json, text/event-stream":
            self.complaints.append(f"Accept is {request.header('Accept')!r}")
        return None


def _notification(method: str, request: Request, **params: Any) -> dict[str, Any]:
    meta = {META + "subscriptionId": request.message["id"]}
    return {"jsonrpc": "2.0", "method": method, "params": {"_meta": meta, **params}}
