"""The real ``switchyard run``, in front of counterpart servers, from manifests."""

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from integration.matrix.programs import PATIENCE_S, ROOT, Counterparts
from integration.matrix.table import Server

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


def manifests(backends: Mapping[str, Mapping[str, Any]], **gateway: Any) -> str:
    """A gateway over backends, by name and spec, as a person would write it down."""

    def resource(kind: str, name: str, spec: Mapping[str, Any]) -> Any:
        return {"apiVersion": "switchyard.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}

    documents = [resource("MCPBackend", name, spec) for name, spec in backends.items()]
    documents.append(resource("MCPGateway", "main", {"backends": [{"name": name} for name in backends], **gateway}))
    return yaml.safe_dump_all(documents, sort_keys=False)


@contextmanager
def running(manifest: Path, log: Path) -> Iterator[Gateway]:
    """Serve a manifest for the duration of the block."""
    command: list[str | Path] = [SWITCHYARD, "run", "-f", manifest, "--port", "0", "--admin-port", "0"]
    with log.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            served = re.search(r"served at (\S+), admin (\S+)", line)
            assert served, f"switchyard run said {line!r}; see {log}"
            yield Gateway(*served.groups())
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


class Gateways:
    """Gateways by the servers behind them, each started when it is first asked for, and once."""

    def __init__(self, counterparts: Counterparts, folder: Path) -> None:
        self._counterparts = counterparts
        self._folder = folder
        self._running = ExitStack()
        self._gateways: dict[tuple[Server, ...], Gateway] = {}

    def over(self, *servers: Server) -> Gateway:
        """A gateway over just these servers. It has read the lists of all: a dozen that start at once may take their time."""
        if servers not in self._gateways:
            manifest = self._folder / f"gateway-{len(self._gateways)}.yaml"
            specs = {
                server.name: {"url": self._counterparts.server(server.program), "transport": server.transport}
                for server in servers
            }
            manifest.write_text(manifests(specs))
            gateway = self._running.enter_context(running(manifest, manifest.with_suffix(".log")))
            until(lambda: all(each["tools"] is not None for each in gateway.status()["backends"].values()))
            self._gateways[servers] = gateway
        return self._gateways[servers]

    def close(self) -> None:
        """End everything."""
        self._running.close()
