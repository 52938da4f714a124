"""The sidecar under test: a process with a config directory, its log, and what the kernel and its admin port say of it."""

import asyncio
import hashlib
import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp

from fakes.waiting import eventually
from soak.ports import free_port
from switchyard_operator.compile import directory

READY_S: Final = 20.0
"""A new process answers within this; an interpreter on a loaded machine takes the most of it."""
STOPPED_S: Final = 15.0
"""It is gone within this after SIGTERM: its calls are waited for 10 s at most."""
ADMIN_S: Final = 5.0
"""The admin port answers within this."""
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_GAUGE: Final = re.compile(r"^(switchyard_tasks|switchyard_subscribers|switchyard_calls_running) (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Sample:
    """What the process holds at one moment.

    Sessions that calls have left with legacy backends are declared, bounded, and wait for minutes to be used again. Each has a
    stream: a task and a connection, which are left out here so that what nobody declares shows.
    """

    at: float
    rss_bytes: int
    descriptors: int
    tasks: int
    call_sessions: int
    subscribers: int
    calls: int


class SidecarProcess:
    """``switchyard-sidecar``, started again and again on the same ports and the same directory."""

    def __init__(self, folder: Path, http: aiohttp.ClientSession) -> None:
        self.directory = folder / "config"
        self.log = folder / "sidecar.log"
        self._http = http
        port, admin = free_port(), free_port()
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.admin = f"http://127.0.0.1:{admin}"
        self._command = [
            str(Path(sys.executable).parent / "switchyard-sidecar"),
            *("--config", str(self.directory), "--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin}"),
        ]
        self._process: asyncio.subprocess.Process | None = None
        self._hash = ""

    @property
    def pid(self) -> int:
        """Of the process that runs."""
        assert self._process is not None
        return self._process.pid

    @property
    def exited(self) -> int | None:
        """The exit status, if it has ended by itself."""
        return None if self._process is None else self._process.returncode

    async def start(self) -> None:
        """Start it and wait until it serves the config that is there."""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(*self._command, stdout=log, stderr=log)
        await eventually(self.has_loaded, READY_S)

    async def terminate(self) -> int:
        """End it gracefully; give its exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOPPED_S):
            return await self._process.wait()

    async def kill(self) -> None:
        """End it at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def write(self, config: Mapping[str, Any], credentials: Mapping[str, bytes]) -> None:
        """Write the config directory as the kubelet does."""
        self._hash = hashlib.sha256(json.dumps(config).encode()).hexdigest()
        text = json.dumps({**config, "configHash": self._hash}).encode()
        directory.write(self.directory, {"gateway.json": text, **credentials})

    def spoil(self, credentials: Mapping[str, bytes]) -> None:
        """Write a config that cannot be read."""
        directory.write(self.directory, {"gateway.json": b'{"format": 1, "backends": [', **credentials})

    async def has_loaded(self) -> bool:
        """Whether it serves the config that was written last."""
        try:
            return self._hash in await self.ask("/loaded")
        except aiohttp.ClientError:
            return False

    async def ask(self, path: str) -> str:
        """What the admin port says.

        Raises:
            aiohttp.ClientError: it does not, or not with 200.
            TimeoutError: it does not within :data:`ADMIN_S`.
        """
        async with asyncio.timeout(ADMIN_S), self._http.get(self.admin + path) as response:
            response.raise_for_status()
            return await response.text()

    async def sample(self, at: float) -> Sample:
        """What the process holds now."""
        status = json.loads(await self.ask("/status"))
        sessions = sum(each.get("callSessions", 0) for each in status["backends"].values())
        metrics = await self.ask("/metrics")
        gauges = {name: int(float(value)) for name, value in _GAUGE.findall(metrics)}
        process = Path("/proc") / str(self.pid)
        resident = int((process / "statm").read_text().split()[1]) * _PAGE_BYTES
        return Sample(
            at,
            resident,
            len(list((process / "fd").iterdir())) - sessions,
            gauges["switchyard_tasks"] - sessions,
            sessions,
            gauges["switchyard_subscribers"],
            gauges["switchyard_calls_running"],
        )

    def waited_s(self) -> float:
        """For how long it has waited for a CPU since it started."""
        try:
            return int((Path("/proc") / str(self.pid) / "schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError):
            return 0.0  # it has just ended

    def log_around(self, unix_s: float, before_s: float = 3.0, after_s: float = 0.5) -> list[str]:
        """What it logged around a moment."""
        lines = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                stamp = datetime.fromisoformat(json.loads(line)["timestamp"]).astimezone(UTC).timestamp()
            except (ValueError, KeyError, TypeError):
                continue
            if unix_s - before_s <= stamp <= unix_s + after_s:
                lines.append(line)
        return lines

    def own_faults(self) -> list[str]:
        """What it logged that nothing from outside may cause: tracebacks, and lines that are no log."""
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                found.append(line)
                continue
            if "exception" in record or record.get("level") == "critical":
                found.append(line[:2000])
        return found
