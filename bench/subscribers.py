"""Many ``subscriptions/listen`` streams, held by one lean process that notes when each is told of a change.

A program: ``python -m bench.subscribers URL COUNT`` opens them and says so. Told ``{"collect": seconds}`` it waits until every
stream has heard of one change since it was last told to, or the time is up, and gives the moments (monotonic seconds).
"""

import asyncio
import contextlib
import sys
import time
from typing import Any, Final, cast
from urllib.parse import urlsplit

import uvloop

from bench import program
from bench.messages import request

AT_ONCE: Final = 200
"""Streams being opened at the same time."""

_CHANGED: Final = b"notifications/tools/list_changed"
_ACKNOWLEDGED: Final = b"notifications/subscriptions/acknowledged"


class _Stream(asyncio.Protocol):
    def __init__(self, asked: bytes) -> None:
        self._asked = asked
        self.acknowledged = asyncio.get_running_loop().create_future()
        self.heard = asyncio.Event()
        self.heard_at: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self._asked)  # uvloop's is none, and has all of it

    def data_received(self, data: bytes) -> None:
        if not self.acknowledged.done():
            if _ACKNOWLEDGED in data:
                self.acknowledged.set_result(None)
            elif not data.startswith(b"HTTP/1.1 200"):
                self.acknowledged.set_exception(RuntimeError(f"not acknowledged: {data[:200]!r}"))
        if changes := data.count(_CHANGED):
            self.heard_at += [time.monotonic()] * changes
            self.heard.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.acknowledged.done():
            self.acknowledged.set_exception(exc or ConnectionResetError("closed before it was acknowledged"))


async def _main(url: str, count: int) -> None:
    loop = asyncio.get_running_loop()
    parts = urlsplit(url)
    what = request("modern", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    headers = {**what.headers, "Host": parts.netloc, "Content-Length": str(len(what.body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    asked = f"POST {parts.path} HTTP/1.1\r\n{lines}\r\n".encode() + what.body
    streams: list[_Stream] = []

    async def opened() -> None:
        _, stream = await loop.create_connection(lambda: _Stream(asked), parts.hostname or "", parts.port or 80)
        await asyncio.wait_for(stream.acknowledged, 60)
        streams.append(stream)

    while len(streams) < count:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(AT_ONCE, count - len(streams))):
                tasks.create_task(opened())
    program.say(open=len(streams))

    async def command(told: dict[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(told["collect"]):
                for stream in streams:
                    await stream.heard.wait()
        heard = [stream.heard_at for stream in streams]
        for stream in streams:
            stream.heard_at = []
            stream.heard.clear()
        return {
            "first_heard_at": sorted(each[0] for each in heard if each),
            "heard_again": sum(len(each) - 1 for each in heard if each),
        }

    await program.obey(command)


if __name__ == "__main__":
    uvloop.run(_main(sys.argv[1], int(sys.argv[2])))
