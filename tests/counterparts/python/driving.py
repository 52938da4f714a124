"""The Python clients' side of the line protocol that ``README.md`` describes: one JSON object a line, in and out.

A client program gives :func:`drive` the four things that a test may ask of an MCP client; everything else is the same for
all of them.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

Event = Callable[[str, Any], None]
"""Tells the test of something that happened: the event's name and its parameters."""


class Connection(Protocol):
    """One connected client."""

    async def list_page(self, cursor: str | None) -> dict[str, Any]:
        """One page, as the SDK understood it, in the wire's own spelling."""

    async def call(self, name: str, arguments: dict[str, Any], event: Event) -> dict[str, Any]:
        """The result. Progress goes to ``event``. Cancelling this task cancels the call as the SDK does it."""

    def listen(self, event: Event) -> AbstractAsyncContextManager[dict[str, Any]]:
        """Tell ``event`` of each ``list_changed`` until the block is left. What it yields is shown to the test."""


Connect = Callable[[str, str | None, Event], AbstractAsyncContextManager[tuple[Connection, dict[str, Any]]]]
"""Opens a connection to a URL with a bearer token, if there is one, and says who answered. Log messages go to the event
callback."""


def authorization(token: str | None) -> dict[str, str]:
    """The headers that present a token."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def described(error: BaseException) -> dict[str, Any]:
    """An exception as the test sees it: the JSON-RPC error where there is one, the exception's name where not."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    data = getattr(error, "error", None)
    if data is not None:
        return {"code": data.code, "message": data.message, "data": data.data}
    if isinstance(error, asyncio.CancelledError):
        return {"cancelled": True}
    return {"exception": type(error).__name__, "message": str(error)}


async def lines() -> AsyncIterator[dict[str, Any]]:
    """The requests on standard input, until its end."""
    reader = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)


class Session:
    """Carries out the requests; each is a task of its own, so that a call can run while a stream is open."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        async for request in lines():
            number = request.pop("id")
            task = asyncio.create_task(self._answer(number, request))
            self._tasks[number] = task
            task.add_done_callback(lambda _, number=number: self._tasks.pop(number, None))
        await self._end_all()

    async def _end_all(self) -> None:
        tasks = [task for task in self._tasks.values() if task is not asyncio.current_task()]
        # The newest first: calls and streams end before the connection that they use.
        for task in reversed(tasks):
            task.cancel()
            await asyncio.wait([task], timeout=5)

    async def _answer(self, number: int, request: dict[str, Any]) -> None:
        def event(name: str, params: Any) -> None:
            say({"id": number, "event": name, "params": params})

        def result(value: Any) -> None:
            say({"id": number, "result": value})

        try:
            match request:
                case {"op": "connect", "url": url}:
                    await self._connected(url, request.get("token"), event, result)
                case {"op": "list"}:
                    result(await self._list())
                case {"op": "call", "name": name, "arguments": arguments}:
                    result(await self._current.call(name, arguments, event))
                case {"op": "cancel", "request": other}:
                    self._tasks[other].cancel()
                    result({})
                case {"op": "listen"}:
                    async with self._current.listen(event) as honoured:
                        result(honoured)
                        await asyncio.Event().wait()
                case {"op": "close"}:
                    await self._end_all()
                    self._connection = None
                    result({})
                case _:
                    say({"id": number, "error": {"message": f"unknown request: {request}"}})
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever an SDK raises is what the test wants to see
            say({"id": number, "error": described(error)})

    async def _connected(self, url: str, token: str | None, event: Event, result: Callable[[Any], None]) -> None:
        try:
            async with self._connect(url, token, event) as (self._connection, info):
                result(info)
                await asyncio.Event().wait()
        except Exception:
            # Some failures end a connection as a whole: whoever waits for an answer on it would wait for ever.
            await self._end_all()
            raise

    @property
    def _current(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("not connected")
        return self._connection

    async def _list(self) -> dict[str, Any]:
        tools: list[Any] = []
        pages = 0
        cursor: str | None = None
        while True:
            page = await self._current.list_page(cursor)
            tools += page["tools"]
            pages += 1
            cursor = page.get("nextCursor")
            if cursor is None:
                return {"tools": tools, "pages": pages}


def drive(connect: Connect) -> None:
    """Serve the line protocol until standard input ends."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Session(connect).run())
