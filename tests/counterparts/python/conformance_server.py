"""The server that the official conformance suite asks for: the tools, resources and prompts that its scenarios name.

It stands on ``mcp`` 2.x, low-level. The suite is run against it directly and through the gateway, and the two are compared,
so what counts is that it gives each scenario something to look at.
"""

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from hosting import serve
from mcp.server import Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

# Logging and sampling are deprecated as of 2026-07-28, and still part of it.
warnings.simplefilter("ignore", MCPDeprecationWarning)

Context = ServerRequestContext[Any]
Params = types.CallToolRequestParams
Answer = types.CallToolResult | types.InputRequiredResult
Tool = Callable[[Context, Params], Awaitable[Answer]]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

bus = InMemorySubscriptionBus()
handlers: dict[str, Tool] = {}
definitions: dict[str, types.Tool] = {}
prompts: dict[str, types.Prompt] = {}
DYNAMIC = types.Tool(name="test_dynamic_tool", description="Comes and goes.", input_schema={"type": "object"})


def tool(description: str, schema: dict[str, Any] | None = None) -> Callable[[Tool], Tool]:
    """Register a handler under its own name."""

    def register(handler: Tool) -> Tool:
        name = handler.__name__
        handlers[name] = handler
        definitions[name] = types.Tool(
            name=name, description=description, input_schema=schema or {"type": "object", "properties": {}}
        )
        return handler

    return register


def takes(**properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of required string arguments."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def content(*blocks: types.ContentBlock, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=list(blocks), is_error=is_error)


def text(value: str, *, is_error: bool = False) -> types.CallToolResult:
    return content(types.TextContent(text=value), is_error=is_error)


def embedded(uri: str, mime_type: str, value: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=value))


# Plain results.


@tool("One text block.")
async def test_simple_text(ctx: Context, params: Params) -> Answer:
    return text("This is a simple text response for testing.")


@tool("One image.")
async def test_image_content(ctx: Context, params: Params) -> Answer:
    return content(types.ImageContent(data=PIXEL, mime_type="image/png"))


@tool("One sound.")
async def test_audio_content(ctx: Context, params: Params) -> Answer:
    return content(types.AudioContent(data=SILENCE, mime_type="audio/wav"))


@tool("One embedded resource.")
async def test_embedded_resource(ctx: Context, params: Params) -> Answer:
    return content(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))


@tool("Text, image and resource together.")
async def test_multiple_content_types(ctx: Context, params: Params) -> Answer:
    return content(
        types.TextContent(text="Multiple content types test:"),
        types.ImageContent(data=PIXEL, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    )


@tool("Fails, as a tool does.")
async def test_error_handling(ctx: Context, params: Params) -> Answer:
    return text("This tool intentionally returns an error for testing", is_error=True)


@tool(
    "A schema with the vocabulary of JSON Schema 2020-12.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def json_schema_2020_12_tool(ctx: Context, params: Params) -> Answer:
    return text(json.dumps(params.arguments))


@tool(
    "Mirrors its argument in a header.",
    {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
)
async def test_x_mcp_header(ctx: Context, params: Params) -> Answer:
    return text(json.dumps(params.arguments))


# Messages during a call.


async def log(ctx: Context, message: str) -> None:
    await ctx.session.send_log_message("info", message, related_request_id=ctx.request_id)


@tool("Logs three lines.")
async def test_tool_with_logging(ctx: Context, params: Params) -> Answer:
    await log(ctx, "Tool execution started")
    await asyncio.sleep(0.05)
    await log(ctx, "Tool processing data")
    await asyncio.sleep(0.05)
    await log(ctx, "Tool execution completed")
    return text("Tool with logging executed successfully")


@tool("Logs one line.")
async def test_logging_tool(ctx: Context, params: Params) -> Answer:
    await log(ctx, "logged")
    return text("logged")


@tool("Reports 0, 50 and 100 of 100.")
async def test_tool_with_progress(ctx: Context, params: Params) -> Answer:
    for step in (0, 50, 100):
        await ctx.session.report_progress(step, 100, f"Completed step {step} of 100")
        await asyncio.sleep(0.05)
    return text("done")


@tool("Adds or removes a tool, and announces it.")
async def test_trigger_tool_change(ctx: Context, params: Params) -> Answer:
    if definitions.pop(DYNAMIC.name, None) is None:
        definitions[DYNAMIC.name] = DYNAMIC
    await bus.publish(ToolsListChanged())
    await ctx.session.send_tool_list_changed()
    return text("changed")


@tool("Adds or removes a prompt, and announces it.")
async def test_trigger_prompt_change(ctx: Context, params: Params) -> Answer:
    if prompts.pop("test_dynamic_prompt", None) is None:
        prompts["test_dynamic_prompt"] = types.Prompt(name="test_dynamic_prompt", description="Comes and goes.")
    await bus.publish(PromptsListChanged())
    return text("changed")


# Requests to a legacy client in the middle of a call.


@tool("Has the client's model complete a prompt.", takes(prompt={"type": "string"}))
async def test_sampling(ctx: Context, params: Params) -> Answer:
    prompt = types.TextContent(text=(params.arguments or {})["prompt"])
    result = await ctx.session.create_message(
        [types.SamplingMessage(role="user", content=prompt)], max_tokens=100, related_request_id=ctx.request_id
    )
    return text(f"LLM response: {result.content.text if isinstance(result.content, types.TextContent) else '?'}")


async def elicited(ctx: Context, message: str, properties: dict[str, Any], required: list[str]) -> Answer:
    schema = {"type": "object", "properties": properties, "required": required}
    result = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return text(f"Elicitation completed: action={result.action}, content={json.dumps(result.content)}")


@tool("Asks the user.", takes(message={"type": "string"}))
async def test_elicitation(ctx: Context, params: Params) -> Answer:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await elicited(ctx, (params.arguments or {})["message"], properties, ["username", "email"])


@tool("Asks the user, with defaults of every primitive type.")
async def test_elicitation_sep1034_defaults(ctx: Context, params: Params) -> Answer:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicited(ctx, "With defaults", properties, [])


@tool("Asks the user, with every kind of choice.")
async def test_elicitation_sep1330_enums(ctx: Context, params: Params) -> Answer:
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": options, "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicited(ctx, "Choose", properties, [])


# Needs of a modern server: a result that asks, and the same call again with the answers.


def asks(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def samples(prompt: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def needs(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests or None, request_state=state)


def field(params: Any, key: str, name: str) -> str | None:
    """What the user filled in, None where there is no usable answer."""
    answer = (params.input_responses or {}).get(key)
    return answer.content.get(name) if isinstance(answer, types.ElicitResult) and answer.content else None


@tool("Needs a name.")
async def test_input_required_result_elicitation(ctx: Context, params: Params) -> Answer:
    name = field(params, "user_name", "name")
    return text(f"Hello, {name}!") if name else needs(user_name=asks("What is your name?", "name"))


@tool("Streams nothing but what it needs.")
async def test_streaming_elicitation(ctx: Context, params: Params) -> Answer:
    return needs(user_name=asks("What is your name?", "name"))


@tool("Needs the client's model.")
async def test_input_required_result_sampling(ctx: Context, params: Params) -> Answer:
    answer = (params.input_responses or {}).get("capital_question")
    if isinstance(answer, types.CreateMessageResult):
        return text(answer.content.text if isinstance(answer.content, types.TextContent) else "?")
    return needs(capital_question=samples("What is the capital of France?", 100))


@tool("Needs the client's roots.")
async def test_input_required_result_list_roots(ctx: Context, params: Params) -> Answer:
    answer = (params.input_responses or {}).get("client_roots")
    if isinstance(answer, types.ListRootsResult):
        return text(", ".join(str(root.uri) for root in answer.roots))
    return needs(client_roots=types.ListRootsRequest())


@tool("Needs a confirmation, and its own state back.")
async def test_input_required_result_request_state(ctx: Context, params: Params) -> Answer:
    if params.request_state == "nonce" and "confirm" in (params.input_responses or {}):
        return text("state-ok")
    return needs("nonce", confirm=asks("Please confirm", "ok", "boolean"))


@tool("Notices a state that is not its own.")
async def test_input_required_result_tampered_state(ctx: Context, params: Params) -> Answer:
    # The seal is checked by RequestStateBoundary before this runs.
    return (
        text("state-ok") if params.request_state else needs("sealed", confirm=asks("Please confirm", "ok", "boolean"))
    )


@tool("Needs three things at once.")
async def test_input_required_result_multiple_inputs(ctx: Context, params: Params) -> Answer:
    if {"user_name", "greeting", "client_roots"} <= (params.input_responses or {}).keys():
        return text("All inputs received.")
    return needs(
        "multiple",
        user_name=asks("What is your name?", "name"),
        greeting=samples("Generate a greeting", 50),
        client_roots=types.ListRootsRequest(),
    )


@tool("Needs two things, one after the other.")
async def test_input_required_result_multi_round(ctx: Context, params: Params) -> Answer:
    name = field(params, "step1", "name")
    color = field(params, "step2", "color")
    if name:
        return needs(f"name:{name}", step2=asks("Step 2: What is your favorite color?", "color"))
    if color and params.request_state and params.request_state.startswith("name:"):
        return text(f"{params.request_state.removeprefix('name:')} likes {color}.")
    return needs("start", step1=asks("Step 1: What is your name?", "name"))


@tool("Needs only what the client can give.")
async def test_input_required_result_capabilities(ctx: Context, params: Params) -> Answer:
    capabilities = ctx.session.client_capabilities
    requests: dict[str, Any] = {}
    if capabilities and capabilities.sampling:
        requests["sample"] = samples("Say hello", 50)
    if capabilities and capabilities.elicitation:
        requests["ask"] = asks("What is your name?", "name")
    return needs("capabilities", **requests)


@tool("Cannot be served to a client without sampling.")
async def test_missing_capability(ctx: Context, params: Params) -> Answer:
    capabilities = ctx.session.client_capabilities
    if capabilities and capabilities.sampling:
        return text("The client has sampling.")
    raise MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        "This tool needs the client's sampling capability",
        {"requiredCapabilities": {"sampling": {}}},
    )


async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=list(definitions.values()), ttl_ms=0, cache_scope="private")


async def call_tool(ctx: Context, params: Params) -> Answer:
    if params.name not in handlers:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await handlers[params.name](ctx, params)


# Resources, prompts, completion.

WATCHED = "test://watched-resource"
RESOURCES = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PIXEL),
    WATCHED: types.TextResourceContents(uri=WATCHED, mime_type="text/plain", text="Watched."),
}


async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
    resources = [
        types.Resource(uri=uri, name=uri.removeprefix("test://"), description=uri, mime_type=item.mime_type)
        for uri, item in RESOURCES.items()
    ]
    return types.ListResourcesResult(resources=resources)


async def list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri in RESOURCES:
        return types.ReadResourceResult(contents=[RESOURCES[uri]])
    if uri.startswith("test://template/") and uri.endswith("/data"):
        number = uri.removeprefix("test://template/").removesuffix("/data")
        body = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="application/json", text=body)]
        )
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


async def subscribe(ctx: Context, params: Any) -> types.EmptyResult:
    await bus.publish(ResourceUpdated(uri=str(params.uri)))
    return types.EmptyResult()


async def unsubscribe(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def needing(*names: str) -> list[types.PromptArgument]:
    return [types.PromptArgument(name=name, required=True) for name in names]


prompts.update(
    (prompt.name, prompt)
    for prompt in (
        types.Prompt(name="test_simple_prompt", description="No arguments."),
        types.Prompt(name="test_prompt_with_arguments", description="Two.", arguments=needing("arg1", "arg2")),
        types.Prompt(
            name="test_prompt_with_embedded_resource", description="A resource.", arguments=needing("resourceUri")
        ),
        types.Prompt(name="test_prompt_with_image", description="An image."),
        types.Prompt(name="test_input_required_result_prompt", description="Needs a context."),
    )
)


async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=list(prompts.values()))


async def get_prompt(
    ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    blocks: list[types.ContentBlock]
    match params.name:
        case "test_simple_prompt":
            blocks = [types.TextContent(text="This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            blocks = [types.TextContent(text=f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            blocks = [
                embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
                types.TextContent(text="Please process the embedded resource above."),
            ]
        case "test_prompt_with_image":
            blocks = [
                types.ImageContent(data=PIXEL, mime_type="image/png"),
                types.TextContent(text="Please analyze the image above."),
            ]
        case "test_input_required_result_prompt":
            context = field(params, "user_context", "context")
            if context is None:
                return needs(user_context=asks("What context should the prompt use?", "context"))
            blocks = [types.TextContent(text=f"Context: {context}")]
        case name:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=block) for block in blocks])


async def complete(ctx: Context, params: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park", "party"], total=3, has_more=False))


async def set_level(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


server = Server(
    "counterpart-conformance",
    version="1.0.0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
    on_set_logging_level=set_level,
    on_subscriptions_listen=ListenHandler(bus),
)
server.middleware.append(
    RequestStateBoundary(
        RequestStateSecurity(keys=[b"a key of the tests, and of nothing else"]), default_audience=server.name
    )
)

if __name__ == "__main__":
    serve(server.streamable_http_app())
