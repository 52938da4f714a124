"""The real ``switchyard run``, in front of counterpart servers, from manifests."""

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from integration.matrix.programs import PATIENCE_S, ROOT, Counterparts
from integration.matrix.table import EVERYTHING_SSE, Server

SWITCHYARD = ROOT / ".venv" / "bin" / "switchyard"


@dataclass(frozen=True)
class Gateway:
    """A running gateway."""

    url: str
    admin: str

    def status(self) -> Any:
        """What the admin port tells."""
        with urllib.request.urlopen(f"{self.admin}/status", timeout=PATIENCE_S) as response:
            return json.load(response)

    def backend(self, name: str) -> Any:
        """What the admin port tells of one backend."""
        return self.status()["backends"][f"default/{name}"]


def until(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    """Ask again and again until the condition holds; ``TimeoutError`` when it does not come to hold in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"did not come to hold within {within_s} s")
        time.sleep(0.02)


def manifests(backends: Mapping[Server, str], **gateway: Any) -> str:
    """A gateway over these servers, as a person would write it down."""
    documents: list[Any] = [
        {
            "apiVersion": "switchyard.dev/v1alpha1",
            "kind": "MCPBackend",
            "metadata": {"name": server.name},
            "spec": {"url": url, **({"transport": "SSE"} if server is EVERYTHING_SSE else {})},
        }
        for server, url in backends.items()
    ]
    documents.append(
        {
            "apiVersion": "switchyard.dev/v1alpha1",
            "kind": "MCPGateway",
            "metadata": {"name": "main"},
            "spec": {"backends": [{"name": server.name} for server in backends], **gateway},
        }
    )
    return yaml.safe_dump_all(documents, sort_keys=False)


class Gateways:
    """Gateways by the servers behind them, each started when it is first asked for, and once."""

    def __init__(self, counterparts: Counterparts, folder: Path) -> None:
        self._counterparts = counterparts
        self._folder = folder
        self._running = ExitStack()
        self._gateways: dict[tuple[Server, ...], Gateway] = {}

    def over(self, *servers: Server) -> Gateway:
        """A gateway over just these servers."""
        if servers not in self._gateways:
            backends = {server: self._counterparts.server(server.program) for server in servers}
            self._gateways[servers] = self._start(manifests(backends))
        return self._gateways[servers]

    def _start(self, text: str) -> Gateway:
        number = len(self._gateways)
        path = self._folder / f"gateway-{number}.yaml"
        path.write_text(text)
        log = self._running.enter_context((self._folder / f"gateway-{number}.log").open("wb"))
        command: list[str | Path] = [SWITCHYARD, "run", "-f", path, "--port", "0", "--admin-port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        self._running.callback(_end, process)
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        served = re.search(r"served at (\S+), admin (\S+)", line)
        assert served, f"switchyard run said {line!r}; see {log.name}"
        return Gateway(*served.groups())

    def close(self) -> None:
        """End everything."""
        self._running.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=15)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
