"""The real sidecar, in this process, in front of fake backends."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from fakes.clients import LegacyClient, ModernClient
from fakes.hostile import HostileBackend
from fakes.waiting import PATIENCE_S, eventually
from switchyard_sidecar.config.model import CONFIG_FILE
from switchyard_sidecar.serving import PACE, Bound, Pace, serve


@dataclass(frozen=True)
class Section:
    """A backend with keys of its own in the config."""

    backend: HostileBackend
    keys: Mapping[str, Any] = field(default_factory=dict)


def section(backend: HostileBackend, **keys: Any) -> Section:
    """A backend, and keys of its section as they stand in ``gateway.json``."""
    return Section(backend, keys)


Backends = Mapping[str, HostileBackend | Section]


@dataclass(frozen=True)
class Gateway:
    """A running sidecar."""

    directory: Path
    url: str
    admin: str
    http: aiohttp.ClientSession
    modern: ModernClient
    legacy: LegacyClient
    running: "asyncio.Task[None]"

    def another_modern(self, token: str | None = None) -> ModernClient:
        """A client of its own, which presents this token."""
        client = ModernClient(self.url, self.http)
        client.token = token
        return client

    def another_legacy(self, token: str | None = None) -> LegacyClient:
        """A client of its own, which presents this token and has no session yet."""
        client = LegacyClient(self.url, self.http)
        client.token = token
        return client

    async def configure(self, backends: Backends, **keys: Any) -> None:
        """Write another config and wait until the sidecar has taken it over."""
        hash_ = str(write_config(self.directory, backends, **keys))
        await eventually(lambda: self._has_loaded(hash_))

    async def _has_loaded(self, hash_: str) -> bool:
        async with self.http.get(self.admin + "/loaded") as response:
            return hash_ in await response.text()

    async def metrics(self) -> str:
        """What Prometheus would read."""
        async with self.http.get(self.admin + "/metrics") as response:
            return await response.text()

    async def status(self) -> Any:
        """The status as JSON."""
        async with self.http.get(self.admin + "/status") as response:
            return await response.json()


def write_config(directory: Path, backends: Backends, **keys: Any) -> str:
    """Write ``gateway.json``; return its hash. A lone backend has bare names, several are prefixed by their own."""
    sections = []
    for name, named in backends.items():
        one = named if isinstance(named, Section) else Section(named)
        prefix = None if len(backends) == 1 else name
        sections.append({"namespace": "tools", "name": name, "url": one.backend.url, "prefix": prefix, **one.keys})
    config = {"namespace": "agents", "name": "main", "backends": sections, **keys}
    config["configHash"] = hashlib.sha256(json.dumps(config).encode()).hexdigest()
    partial = directory / "gateway.json.partial"
    partial.write_text(json.dumps(config))
    partial.rename(directory / CONFIG_FILE)
    return str(config["configHash"])


@asynccontextmanager
async def gateway(
    directory: Path, backends: Backends, *, pace: Pace = PACE, host: str = "127.0.0.1", **keys: Any
) -> AsyncIterator[Gateway]:
    """Run a sidecar on free ports while the block runs. ``keys`` are further keys of ``gateway.json``."""
    write_config(directory, backends, **keys)
    bound: asyncio.Future[Bound] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        serve(directory, host=host, port=0, admin=("127.0.0.1", 0), ready=bound.set_result, pace=pace)
    )
    running.add_done_callback(lambda _: bound.done() or bound.cancel())
    try:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await bound
        except asyncio.CancelledError:
            if running.done():
                await running  # says why it did not start
            raise
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), skip_auto_headers=("Accept", "Content-Type", "User-Agent")
        ) as http:
            url, admin = bound.result().url, bound.result().admin
            assert admin is not None
            yield Gateway(directory, url, admin, http, ModernClient(url, http), LegacyClient(url, http), running)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
