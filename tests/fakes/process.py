"""The real command, as a process of its own."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SIDECAR = str(Path(sys.executable).with_name("switchyard-sidecar"))
START_S = 20.0
"""Starting a process on a busy machine takes longer than anything within one."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """A sidecar that listens."""

    process: asyncio.subprocess.Process
    url: str
    admin: str
    log: list[dict[str, Any]] = field(default_factory=list)
    """What it has logged since it listens; a line that is no JSON fails the test."""

    @property
    def port(self) -> int:
        """Of the MCP endpoint."""
        return int(self.url.split("/")[2].rpartition(":")[2])

    @property
    def resident_bytes(self) -> int:
        """Memory it has in use."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * _PAGE_BYTES

    @property
    def descriptors(self) -> int:
        """Files and connections it has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    async def ended(self) -> int:
        """Wait until it has ended; give its exit status."""
        async with asyncio.timeout(START_S):
            return await self.process.wait()


@asynccontextmanager
async def sidecar(directory: Path, *more: str, limits: str | None = None) -> AsyncIterator[Process]:
    """Run the command on free ports while the block runs. ``more``: further arguments; ``limits``: options of ``ulimit``."""
    first = "" if limits is None else f"ulimit {limits} && "
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'{first}exec "$0" "$@"', SIDECAR),
        *("--config", str(directory), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"),
        *more,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    reading: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(START_S):
            async for line in process.stdout:
                if (said := json.loads(line))["event"] == "listening":
                    break
        running = Process(process, said["url"], said["admin"])
        reading = asyncio.create_task(_keep(process.stdout, running.log))
        yield running
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if reading is not None:
            await reading


async def _keep(lines: asyncio.StreamReader, log: list[dict[str, Any]]) -> None:
    async for line in lines:
        log.append(json.loads(line))  # noqa: PERF401 - each counts when it comes
