"""What the Python counterpart servers share: the catalogue, pages, and a server on a free port of the loopback address."""

import argparse
import asyncio
import json
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import uvicorn

PAGE_SIZE = 5
"""Small, so that the catalogue takes several pages."""


def catalogue(*, without: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """The tool definitions of ``tools.json`` by name, in the file's order."""
    path = Path(__file__).resolve().parent.parent / "tools.json"
    return {tool["name"]: tool for tool in json.loads(path.read_text()) if tool["name"] not in without}


def grown(name: str, **schemas: Any) -> dict[str, Any]:
    """The definition of a tool that ``grow`` adds. ``inputSchema`` and ``outputSchema`` may be given."""
    return {"name": name, "description": "Added at run time.", "inputSchema": {"type": "object"}, **schemas}


def page_of(items: list[Any], cursor: str | None) -> tuple[list[Any], str | None]:
    """One page and the cursor of the next. A cursor is an offset, in words so that nobody mistakes it for a number."""
    start = int(cursor.removeprefix("from-")) if cursor else 0
    end = start + PAGE_SIZE
    return items[start:end], f"from-{end}" if end < len(items) else None


def exit_with_stdin(server: uvicorn.Server) -> None:
    """Stop the server when whoever started it closes the pipe or dies: no counterpart outlives its test run."""

    def wait() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True

    threading.Thread(target=wait, daemon=True).start()


def guarded(app: Any, token: str) -> Any:
    """The application, for those who present the token; others get a bare 401."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or (b"authorization", f"Bearer {token}".encode()) in scope["headers"]:
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
        await send({"type": "http.response.body"})

    return answer


def serve(app: Any) -> None:
    """Serve an ASGI application under ``/mcp`` and print one JSON line with its URL when it accepts connections."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on; in a pod 0.0.0.0")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--token", help="answer only requests with this bearer token")
    where = parser.parse_args()
    if where.token is not None:
        app = guarded(app, where.token)
    # By its full name: of a socket that does not say TCP, asyncio does not switch off Nagle's delay.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((where.host, where.port))
    listener.listen(128)
    # An SDK client that sends into a connection which is just being closed for idleness gives up. That is between the two of
    # them, and no test is about it: idle connections live longer than any test.
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, timeout_keep_alive=300)
    server = uvicorn.Server(config)
    exit_with_stdin(server)
    print(json.dumps({"url": f"http://{where.host}:{listener.getsockname()[1]}/mcp"}), flush=True)
    asyncio.run(server.serve(sockets=[listener]))
