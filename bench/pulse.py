"""The longest time a server took to answer a trivial request: what a pause of its event loop looks like from outside.

A program: ``python -m bench.pulse HOST:PORT PATH`` asks every 5 ms; told ``{}`` it gives the longest wait since it was last told to.
"""

import asyncio
import sys
import time
from typing import Any, Final

import uvloop

from bench import program

EVERY_S: Final = 0.005


async def _main(host: str, port: int, path: str) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    asked = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    worst_s = 0.0

    async def pulse() -> None:
        nonlocal worst_s
        while True:
            began = time.monotonic()
            writer.write(asked)
            await reader.readuntil(b"\r\n\r\nok\n")
            worst_s = max(worst_s, time.monotonic() - began)
            await asyncio.sleep(EVERY_S)

    async def command(_: dict[str, Any]) -> dict[str, Any]:
        nonlocal worst_s
        worst, worst_s = worst_s, 0.0
        return {"worst_ms": worst * 1000}

    async with asyncio.TaskGroup() as tasks:
        pulsing = tasks.create_task(pulse())
        program.say(running=True)
        await program.obey(command)
        pulsing.cancel()


if __name__ == "__main__":
    where, _, at = sys.argv[1].rpartition(":")
    uvloop.run(_main(where, int(at), sys.argv[2]))
