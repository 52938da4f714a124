"""Orders, on the Python SDK 2.x without its conveniences: a long list of tools in pages, which changes while it runs."""

import mcp_types as types
from hosting import serve
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

PAGE_SIZE = 4
TITLES = {
    "find_order": "Find an order",
    "order_status": "Status of an order",
    "cancel_order": "Cancel an order",
    "refund": "Refund a payment",
    "invoice": "Send the invoice again",
    "change_address": "Change the delivery address",
    "stock": "What is in stock",
    "reserve": "Reserve an article",
    "return_label": "Make a return label",
}
subscribers = InMemorySubscriptionBus()


def definition(name: str) -> types.Tool:
    return types.Tool(
        name=name,
        title=TITLES[name],
        description=f"{TITLES[name]}, by its number.",
        input_schema={"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    )


async def list_tools(_ctx, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    names = list(TITLES)
    start = names.index(params.cursor) if params and params.cursor else 0
    end = start + PAGE_SIZE
    return types.ListToolsResult(
        tools=[definition(name) for name in names[start:end]],
        next_cursor=names[end] if end < len(names) else None,
        ttl_ms=60_000,
        cache_scope="public",
    )


async def call_tool(_ctx, params: types.CallToolRequestParams) -> types.CallToolResult:
    number = (params.arguments or {})["number"]
    return types.CallToolResult(content=[types.TextContent(text=f"{TITLES[params.name]}: {number}. Done.")])


async def deploy(name: str) -> None:
    """Somebody deploys a new tool: it is there at once, and whoever listens is told."""
    TITLES[name] = name.replace("_", " ").capitalize()
    await subscribers.publish(ToolsListChanged())


server = Server(
    "orders",
    version="11.0.4",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_subscriptions_listen=ListenHandler(subscribers),
)

if __name__ == "__main__":
    serve(server.streamable_http_app(), on_word=deploy)
