"""A server on ``fastmcp`` 4.x, written as its users write them: decorated functions, schemas from type hints."""

import asyncio
from typing import Annotated, Any

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import Tool, ToolResult
from hosting import PAGE_SIZE, serve
from pydantic import BaseModel, Field

mcp = FastMCP("counterpart-fastmcp", version="1.0.0", list_page_size=PAGE_SIZE)
cancelled = 0


class Sum(BaseModel):
    sum: int


class Address(BaseModel):
    street: str
    zip: Annotated[str, Field(pattern="^[0-9]{5}$")]


@mcp.tool(output_schema=None)
def echo(text: str) -> str:
    """Returns the text it is given."""
    return text


@mcp.tool(title="Add two integers")
def add(a: int, b: int) -> Sum:
    """Returns the sum as structured content."""
    return Sum(sum=a + b)


@mcp.tool(output_schema=None)
def fail(reason: str) -> str:
    """Answers with isError and the reason it is given."""
    raise ToolError(reason)


@mcp.tool(output_schema=None)
async def slow(steps: int, delay_ms: int, ctx: Context) -> str:
    """Reports progress and logs a line at every step; counts the calls that were cancelled."""
    global cancelled  # noqa: PLW0603 - the server's only state
    try:
        for step in range(1, steps + 1):
            await asyncio.sleep(delay_ms / 1000)
            await ctx.report_progress(step, steps, f"step {step}")
            await ctx.info(f"step {step}", logger_name="slow")
    except asyncio.CancelledError:
        cancelled += 1
        raise
    return f"{steps} steps"


@mcp.tool(output_schema=None)
def cancelled_count() -> str:
    """How many calls of slow were cancelled since the server started."""
    return str(cancelled)


@mcp.tool(output_schema=None)
async def grow(name: str, ctx: Context) -> str:
    """Adds a tool of the given name and tells the caller alone that the list has changed: FastMCP has no other way."""
    mcp.add_tool(Tool.from_function(lambda: name, name=name, description="Added at run time."))
    await ctx.send_notification(types.ToolListChangedNotification())
    return name


@mcp.tool(output_schema=None)
async def shrink(name: str, ctx: Context) -> str:
    """Takes a tool that grow has added away again."""
    mcp.local_provider.remove_tool(name)
    await ctx.send_notification(types.ToolListChangedNotification())
    return name


@mcp.tool(output_schema=None)
def rich(
    home: Address,
    work: Address | None = None,
    kind: Annotated[str, Field(json_schema_extra={"enum": ["person", "company"]})] = "person",
    signed64: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] = 0,
    unsigned128: Annotated[int, Field(le=2**128 - 1)] = 0,
    ratio: Annotated[float, Field(gt=0.0, multiple_of=1e-9)] = 1.0,
) -> str:
    """A schema as pydantic writes it, with huge bounds."""
    return "rich"


@mcp.tool(
    title="A tool with everything around it",
    annotations={"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    icons=[types.Icon(src="https://icons.example/decorated.svg", mime_type="image/svg+xml", sizes=["any"])],
    meta={"example.com/owner": "matrix", "example.com/nested": {"list": [1, 2.5, None, "ü"], "empty": {}}},
    tags={"matrix"},
    output_schema=None,
)
def decorated() -> ToolResult:
    """Has a title, annotations, icons and _meta; answers with several kinds of content and _meta."""
    return ToolResult(
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
        meta={"example.com/trace": "abc"},
    )


@mcp.tool
def routed(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    shard: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Shard"})] = 0,
) -> dict[str, Any]:
    """Its region is mirrored in a header, so that a load balancer can read it."""
    return {"region": region, "shard": shard}


if __name__ == "__main__":
    serve(mcp.http_app())
