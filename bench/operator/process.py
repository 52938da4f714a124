"""``switchyard-operator`` as it runs in a cluster, on the core of what is measured, and what it says of itself."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp

from apiserver.server import ApiServer
from bench.machine import ROOT, SERVER_CORE, BenchError, Process, started
from bench.servers import free_port

PATIENCE_S: Final = 600.0
LOOK_S: Final = 0.1
_NAMESPACE: Final = "default"


@dataclass(frozen=True)
class Operator:
    """One that runs."""

    process: Process
    began: float
    """When it was started, by the monotonic clock."""
    _http: aiohttp.ClientSession
    _admin: str

    async def metrics(self) -> dict[str, float]:
        """Its metrics, each summed over its labels; none while it does not answer."""
        try:
            async with self._http.get(f"{self._admin}/metrics") as response:
                text = await response.text()
        except aiohttp.ClientConnectionError:
            return {}
        found: dict[str, float] = {}
        for name, value in re.findall(r"^switchyard_operator_(\w+)(?:\{.*\})? (\S+)$", text, re.MULTILINE):
            found[name] = found.get(name, 0.0) + float(value)
        return found

    async def until(self, holds: Callable[[dict[str, float]], bool]) -> float:
        """Wait until something holds of its metrics; give the seconds since it was started.

        Raises:
            BenchError: it does not, within :data:`PATIENCE_S`, or the process has ended.
        """
        until = time.monotonic() + PATIENCE_S
        while not ((found := await self.metrics()) and holds(found)):
            if self.process.popen.poll() is not None or time.monotonic() > until:
                raise BenchError(f"the operator has ended, or has not come to rest: {found}")
            await asyncio.sleep(LOOK_S)
        return time.monotonic() - self.began


def settled(metrics: dict[str, float]) -> bool:
    """Whether everything is known and there is nothing to do."""
    return (metrics["leader"], metrics["complete"]) == (1, 1) and not any(
        metrics[name] for name in ("queue_depth", "queue_running", "queue_failing")
    )


@asynccontextmanager
async def running(server: ApiServer, python: str) -> AsyncIterator[Operator]:
    """The operator, while the block runs; entered as soon as it was started."""
    address = f"127.0.0.1:{free_port()}"
    flags = [f"--kubeconfig={server.kubeconfig()}", f"--health={address}", f"--lease-namespace={_NAMESPACE}"]
    command = [python, "-m", "switchyard_operator.controller.main", *flags]
    began = time.monotonic()
    async with aiohttp.ClientSession() as http:
        with started(command, SERVER_CORE, env={"PYTHONPATH": f"{ROOT / 'operator'}:{ROOT / 'sidecar'}"}) as process:
            yield Operator(process, began, http, f"http://{address}")
