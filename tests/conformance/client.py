"""The client that the suite's client scenarios look at: a gateway, with a plain client behind it.

The suite starts this program with the URL of its server. It serves that URL through ``switchyard run``, lists the tools
and calls each, as somebody at the gateway would: with the arguments that the suite provides or else some that fit the
schema, answering what a result asks for. All that the suite's server sees is the gateway's.
"""

import base64
import json
import os
import signal
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

from integration.matrix.gateways import manifests, running

VERSION: Final = "2026-07-28"
SAMPLES: Final[dict[Any, Any]] = {
    "string": "text",
    "integer": 3,
    "number": 4.5,
    "boolean": True,
    "array": [],
    "object": {},
}
ACCEPTED: Final = {"action": "accept", "content": {"confirmed": True}}


def ask(url: str, number: int, method: str, params: dict[str, Any], headers: dict[str, str]) -> Any:
    """Send one modern request and return the response's JSON-RPC message."""
    own = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "behind the gateway", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": own, **params}}
    fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    fields |= {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
    request = urllib.request.Request(url, json.dumps(body).encode(), fields | headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return message_in(response.read())
    except urllib.error.HTTPError as error:
        return message_in(error.read())


def message_in(body: bytes) -> Any:
    """The response in a body of JSON, or in the last event of a stream."""
    return json.loads(body.strip().rpartition(b"\ndata:")[2])


def arguments_for(tool: Any, tools: list[Any]) -> dict[str, Any]:
    """Some that fit: what the suite provides, a schema of a neighbour where a schema is asked for, else samples."""
    provided = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls", [])
    for call in provided:
        if call["name"] == tool["name"]:
            given: dict[str, Any] = call["arguments"]
            return given
    properties = tool["inputSchema"].get("properties", {})
    others = [other["inputSchema"] for other in tools if other is not tool]
    return {
        name: others[0] if name == "schema" and others else SAMPLES.get(schema.get("type"))
        for name, schema in properties.items()
    }


def mirrored(tool: Any, arguments: dict[str, Any]) -> dict[str, str]:
    """The ``Mcp-Param-*`` headers of a call whose annotated parameters are all at the top."""
    headers = {}
    for name, schema in tool["inputSchema"].get("properties", {}).items():
        value = arguments.get(name)
        if "x-mcp-header" in schema and value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            plain = text.isascii() and text.isprintable() and text == text.strip()
            encoded = text if plain else f"=?base64?{base64.b64encode(text.encode()).decode()}?="
            headers[f"Mcp-Param-{schema['x-mcp-header']}"] = encoded
    return headers


def use(url: str) -> None:
    """List the tools and call each; a result that needs input gets it, once."""
    tools = ask(url, 1, "tools/list", {}, {})["result"]["tools"]
    for number, tool in enumerate(tools, 2):
        arguments = arguments_for(tool, tools)
        headers = {"Mcp-Name": tool["name"], **mirrored(tool, arguments)}
        call = {"name": tool["name"], "arguments": arguments}
        answer = ask(url, number, "tools/call", call, headers)
        print(tool["name"], json.dumps(answer), file=sys.stderr)
        result = answer.get("result", {})
        if result.get("resultType") == "input_required":
            retry = call | {"inputResponses": dict.fromkeys(result["inputRequests"], ACCEPTED)}
            retry |= {key: result[key] for key in ("requestState",) if key in result}
            ask(url, number + 1000, "tools/call", retry, headers)


def main() -> None:
    """Serve the suite's URL, and use it. The suite may end this before its time: then the gateway ends with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        manifest = Path(folder, "gateway.yaml")
        manifest.write_text(manifests({"suite": {"url": sys.argv[1]}}))
        with running(manifest, Path(folder, "log")) as gateway:
            use(gateway.url)


if __name__ == "__main__":
    main()
