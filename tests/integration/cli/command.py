"""The real ``switchyard`` command as a process."""

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from fakes.waiting import PATIENCE_S, Pulse

SWITCHYARD = str(Path(sys.executable).with_name("switchyard"))
START_S = 20.0
"""Starting a process on a busy machine takes longer than anything within one."""


def switchyard(*arguments: str | Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run(
        [SWITCHYARD, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=START_S, check=False
    )


@dataclass
class Running:
    """``switchyard run``, running."""

    process: asyncio.subprocess.Process
    url: str = ""
    admin: str = ""
    said: list[str] = field(default_factory=list)
    """Lines of standard error so far."""
    _news: Pulse = field(default_factory=Pulse)

    async def says(self, pattern: str, times: int = 1) -> str:
        """Wait until that many lines of standard error match; return the last of them."""

        def lines() -> list[str]:
            return [line for line in self.said if re.search(pattern, line)]

        await self._news.until(lambda: len(lines()) >= times, START_S)
        return lines()[-1]

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and give the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(START_S):
            return await self.process.wait()

    async def listen(self) -> None:
        """Collect standard error."""
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.said.append(line.decode().rstrip("\n"))
            self._news.beat()


@asynccontextmanager
async def running(*arguments: str | Path, temporary: Path) -> AsyncIterator[Running]:
    """Run ``switchyard run`` on free ports while the block runs; it serves when the block is entered."""
    process = await asyncio.create_subprocess_exec(
        SWITCHYARD,
        "run",
        *map(str, arguments),
        "--port=0",
        "--admin-port=0",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"TMPDIR": str(temporary), "PATH": ""},
    )
    run = Running(process)
    listening = asyncio.create_task(run.listen())
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_S):
            served = (await process.stdout.readline()).decode()
        match = re.fullmatch(r"(\S+) is served at (http://\S+), admin (http://\S+)\n", served)
        assert match, (served, run.said)
        run.url, run.admin = match[2], match[3]
        yield run
    finally:
        if process.returncode is None:
            process.kill()
        async with asyncio.timeout(PATIENCE_S):
            await listening
            await process.wait()


def manifests(folder: Path, **texts: str) -> Path:
    """Write files ``NAME.yaml`` into a folder, each at once as an editor would; return the folder."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        partial = folder / f".{name}"
        partial.write_text(text)
        partial.replace(folder / f"{name}.yaml")
    return folder


def gateway(*backends: str, spec: str = "") -> str:
    """The gateway ``agents/main``; ``spec`` are further lines, in flow style."""
    return dedent(f"""\
        ---
        apiVersion: switchyard.dev/v1alpha1
        kind: MCPGateway
        metadata: {{name: main, namespace: agents}}
        spec: {{backends: [{", ".join(backends)}]{", " if spec else ""}{spec}}}
        """)


def backend(name: str, url: str, spec: str = "") -> str:
    """A backend of ``agents``; ``spec`` are further lines, in flow style."""
    return dedent(f"""\
        ---
        apiVersion: switchyard.dev/v1alpha1
        kind: MCPBackend
        metadata: {{name: {name}, namespace: agents}}
        spec: {{url: "{url}"{", " if spec else ""}{spec}}}
        """)


def secret(name: str, **data: str) -> str:
    """A Secret of ``agents``."""
    return dedent(f"""\
        ---
        apiVersion: v1
        kind: Secret
        metadata: {{name: {name}, namespace: agents, labels: {{switchyard.dev/credential: "true"}}}}
        stringData: {data}
        """)


OTHER_KIND = "---\n{apiVersion: apps/v1, kind: Deployment}\n"
