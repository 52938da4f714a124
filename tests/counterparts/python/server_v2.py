"""A server on ``mcp`` 2.x: modern, and legacy for clients that initialize. Low-level, so that definitions go out as written."""

import asyncio
import warnings
from typing import Any

import mcp_types as types
from hosting import catalogue, grown, page_of, serve
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

# Logging is deprecated as of 2026-07-28, and still part of it.
warnings.simplefilter("ignore", MCPDeprecationWarning)

# No `counter`: there is no session whose calls it could count.
tools = catalogue(without=("counter",))
bus = InMemorySubscriptionBus()
cancelled = 0

Context = ServerRequestContext[Any]


def text(value: str, **members: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=value)], **members)


async def slow(ctx: Context, steps: int, delay_ms: int) -> types.CallToolResult:
    global cancelled  # noqa: PLW0603 - the server's only state
    try:
        for step in range(1, steps + 1):
            await asyncio.sleep(delay_ms / 1000)
            await ctx.session.report_progress(step, steps, f"step {step}")
            await ctx.session.send_log_message("info", {"step": step}, "slow", related_request_id=ctx.request_id)
    except asyncio.CancelledError:
        cancelled += 1
        raise
    return text(f"{steps} steps")


async def announce(ctx: Context) -> None:
    """Tell both eras: each listens elsewhere."""
    await bus.publish(ToolsListChanged())
    await ctx.session.send_tool_list_changed()


def decorated() -> types.CallToolResult:
    return types.CallToolResult(
        content=[
            types.TextContent(
                text="one of each", annotations=types.Annotations(audience=["user"], priority=0.5), _meta={"a": 1}
            ),
            types.ImageContent(data="iVBORw0KGgo=", mime_type="image/png"),
            types.AudioContent(data="UklGRg==", mime_type="audio/wav"),
            types.EmbeddedResource(
                resource=types.TextResourceContents(uri="demo://text", mime_type="text/plain", text="embedded")
            ),
            types.ResourceLink(name="link", uri="demo://link", description="linked", size=3),
        ],
        _meta={"example.com/trace": "abc"},
    )


async def call(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    match params.name:
        case "echo":
            return text(arguments["text"])
        case "add":
            total = arguments["a"] + arguments["b"]
            return text(str(total), structured_content={"sum": total})
        case "fail":
            return text(arguments["reason"], is_error=True)
        case "slow":
            return await slow(ctx, **arguments)
        case "cancelled_count":
            return text(str(cancelled))
        case "grow":
            tools[arguments["name"]] = grown(**arguments)
            await announce(ctx)
            return text(arguments["name"])
        case "shrink":
            del tools[arguments["name"]]
            await announce(ctx)
            return text(arguments["name"])
        case "decorated":
            return decorated()
        case "routed":
            return text(arguments["region"], structured_content=arguments)
        case name if name in tools:
            return text(name)
        case name:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    page, cursor = page_of(list(tools.values()), params.cursor if params else None)
    return types.ListToolsResult(
        tools=[types.Tool.model_validate(tool) for tool in page], next_cursor=cursor, ttl_ms=0, cache_scope="public"
    )


async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


server = Server(
    "counterpart-python-v2",
    version="1.0.0",
    on_list_tools=list_tools,
    on_call_tool=call,
    on_set_logging_level=set_level,
    on_subscriptions_listen=ListenHandler(bus),
)

if __name__ == "__main__":
    serve(server.streamable_http_app())
