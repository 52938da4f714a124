"""A server on ``mcp`` 1.x: legacy alone, with sessions. Low-level, so that definitions go out as written."""

import contextlib
import weakref
from collections.abc import AsyncIterator
from typing import Any

import anyio
from hosting import catalogue, grown, page_of, serve
from mcp import types
from mcp.server.fastmcp.server import StreamableHTTPASGIApp
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import McpError
from starlette.applications import Starlette
from starlette.routing import Route

tools = catalogue(without=("routed",))
cancelled = 0
calls: weakref.WeakKeyDictionary[ServerSession, int] = weakref.WeakKeyDictionary()
"""How often each live session has called ``counter``; also the sessions that are told of changes."""

server: Server[Any, Any] = Server("counterpart-python-v1", version="1.0.0")


def text(value: str, **members: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], **members)


async def slow(steps: int, delay_ms: int) -> types.CallToolResult:
    global cancelled  # noqa: PLW0603 - the server's only state
    ctx = server.request_context
    token = ctx.meta.progressToken if ctx.meta else None
    try:
        for step in range(1, steps + 1):
            await anyio.sleep(delay_ms / 1000)
            if token is not None:
                await ctx.session.send_progress_notification(
                    token, step, steps, f"step {step}", related_request_id=str(ctx.request_id)
                )
            await ctx.session.send_log_message("info", {"step": step}, "slow", related_request_id=ctx.request_id)
    except anyio.get_cancelled_exc_class():
        cancelled += 1
        raise
    return text(f"{steps} steps")


async def announce() -> None:
    """Tell every live session: the SDK itself would tell only the one that called."""
    for session in list(calls):
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await session.send_tool_list_changed()


def decorated() -> types.CallToolResult:
    return types.CallToolResult(
        content=[
            types.TextContent(
                type="text",
                text="one of each",
                annotations=types.Annotations(audience=["user"], priority=0.5),
                _meta={"a": 1},
            ),
            types.ImageContent(type="image", data="iVBORw0KGgo=", mimeType="image/png"),
            types.AudioContent(type="audio", data="UklGRg==", mimeType="audio/wav"),
            types.EmbeddedResource(
                type="resource",
                resource=types.TextResourceContents(uri="demo://text", mimeType="text/plain", text="embedded"),
            ),
            types.ResourceLink(type="resource_link", name="link", uri="demo://link", description="linked", size=3),
        ],
        _meta={"example.com/trace": "abc"},
    )


@server.call_tool(validate_input=False)
async def call(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    session = server.request_context.session
    match name:
        case "echo":
            return text(arguments["text"])
        case "add":
            total = arguments["a"] + arguments["b"]
            return text(str(total), structuredContent={"sum": total})
        case "fail":
            return text(arguments["reason"], isError=True)
        case "slow":
            return await slow(**arguments)
        case "cancelled_count":
            return text(str(cancelled))
        case "counter":
            calls[session] = calls.get(session, 0) + 1
            return text(str(calls[session]))
        case "grow":
            tools[arguments["name"]] = grown(arguments["name"])
            await announce()
            return text(arguments["name"])
        case "shrink":
            del tools[arguments["name"]]
            await announce()
            return text(arguments["name"])
        case "decorated":
            return decorated()
        case _ if name in tools:
            return text(name)
        case _:
            # Becomes a result with isError: a 1.x server has no other answer to an unknown tool.
            raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message=f"Unknown tool: {name}"))


@server.list_tools()
async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
    # The SDK lists for itself, without a request, before the first call.
    if request is not None:
        calls.setdefault(server.request_context.session, 0)
    page, cursor = page_of(list(tools.values()), request.params.cursor if request and request.params else None)
    return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in page], nextCursor=cursor)


@server.set_logging_level()
async def set_level(level: types.LoggingLevel) -> None:
    pass


sessions = StreamableHTTPSessionManager(server)


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with sessions.run():
        yield


if __name__ == "__main__":
    serve(Starlette(routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions))], lifespan=lifespan))
