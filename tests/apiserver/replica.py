"""One replica of the real operator, as a process."""

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from fakes.waiting import Pulse, eventually

OPERATOR: Final = str(Path(sys.executable).with_name("switchyard-operator"))
START_S: Final = 20.0
"""Starting a process on a busy machine takes longer than anything within one."""


@dataclass
class Replica:
    """``switchyard-operator``, running."""

    process: asyncio.subprocess.Process
    http: aiohttp.ClientSession
    admin: str = ""
    said: list[dict[str, Any]] = field(default_factory=list)
    """What it has logged."""
    _news: Pulse = field(default_factory=Pulse)
    _silent: bool = False

    async def says(self, event: str, within_s: float = START_S) -> dict[str, Any]:
        """Wait until it has logged this event; give its first line."""

        def lines() -> list[dict[str, Any]]:
            return [line for line in self.said if line["event"] == event]

        await self._news.until(lambda: bool(lines()) or self._silent, within_s)
        assert lines(), f"it has ended without a word of {event}"
        return lines()[0]

    async def answers(self, path: str) -> tuple[int, str]:
        """Status and text of a page of its own port."""
        async with self.http.get(self.admin + path) as response:
            return response.status, await response.text()

    async def metric(self, name: str) -> float:
        """The sum of a metric's samples over all labels; 0 when there are none."""
        _, text = await self.answers("/metrics")
        return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE))

    async def ready(self) -> None:
        """Wait until it has seen everything."""

        async def is_ready() -> bool:
            return (await self.answers("/readyz"))[0] == 200

        await eventually(is_ready, START_S)

    async def leads(self, within_s: float = START_S) -> None:
        """Wait until it leads."""

        async def is_leader() -> bool:
            return await self.metric("switchyard_operator_leader") == 1

        await eventually(is_leader, within_s)

    async def follows(self) -> None:
        """Wait until it knows that it does not lead."""

        async def is_follower() -> bool:
            return await self.metric("switchyard_operator_leader") == 0

        await eventually(is_follower, START_S)

    async def idle(self) -> None:
        """Wait until it leads, has seen everything and has nothing to do."""
        await self.leads()
        await self.ready()

        async def is_idle() -> bool:
            names = ("queue_depth", "queue_running", "queue_failing")
            return sum([await self.metric(f"switchyard_operator_{name}") for name in names]) == 0

        await eventually(is_idle, START_S)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and give the exit status."""
        self.process.send_signal(number)
        return await self.ended()

    async def ended(self, within_s: float = START_S) -> int:
        """Wait until it has ended; give the exit status."""
        async with asyncio.timeout(within_s):
            return await self.process.wait()

    async def listen(self) -> None:
        """Collect what it logs."""
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            print(line.decode(), end="")  # shown when the test fails
            with suppress(json.JSONDecodeError):
                self.said.append(json.loads(line))
            self._news.beat()
        self._silent = True
        self._news.beat()


@asynccontextmanager
async def replica(kubeconfig: Path, *flags: str, namespace: str | None = None) -> AsyncIterator[Replica]:
    """Run a replica while the block runs; its own port answers when the block is entered. ``namespace``: serve that alone."""
    scope = [] if namespace is None else [f"--namespace={namespace}"]
    process = await asyncio.create_subprocess_exec(
        OPERATOR, f"--kubeconfig={kubeconfig}", "--health=127.0.0.1:0", *scope, *flags, stderr=asyncio.subprocess.PIPE
    )
    async with aiohttp.ClientSession() as http:
        running = Replica(process, http)
        listening = asyncio.create_task(running.listen())
        try:
            running.admin = (await running.says("listening"))["url"]
            yield running
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await listening
