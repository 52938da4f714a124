"""Serve one of the demo's MCP servers on a loopback port, until standard input ends.

A line on standard input is a word from outside, such as "somebody has just deployed a new tool".
"""

import argparse
import asyncio
import json
import socket
import sys
from collections.abc import Awaitable, Callable

import uvicorn


async def _nothing(_word: str) -> None:
    pass


async def _run(app, listener: socket.socket, on_word: Callable[[str], Awaitable[None]]) -> None:
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    words = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(words), sys.stdin)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(sockets=[listener]))
        while line := await words.readline():
            await on_word(line.decode().strip())
        server.should_exit = True


def serve(app, *, on_word: Callable[[str], Awaitable[None]] = _nothing) -> None:
    """Serve an ASGI app at ``/mcp``; print one JSON line with the URL when it is ready."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    # By its full name: of a socket that does not say TCP, asyncio does not switch off Nagle's delay.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", parser.parse_args().port))
    listener.listen()
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)
    asyncio.run(_run(app, listener, on_word))
