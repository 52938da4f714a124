"""One real session with one fake backend, at a pace that suits tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from fakes.hostile import HostileBackend
from fakes.waiting import PATIENCE_S, Pulse
from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.upstream.backoff import Backoff
from switchyard_sidecar.upstream.calls import CallMeta, CallResult, ToolCall
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.session import BackendSession

PROMPT = Backoff(base_s=0.02, cap_s=0.1)
FAST = Pace(
    probe_s=0.5,
    acknowledge_s=0.5,
    endpoint_s=0.5,
    farewell_s=1.0,
    backoff=PROMPT,
    stream_backoff=PROMPT,
    poll_floor_s=0.2,
    later_look_s=0.2,
    grace_s=0.05,
    gap_s=0.02,
    gap_max_s=1.0,
)
NEVER = Backoff(base_s=3600, cap_s=3600)
"""A back-off that no test outlives: what happens after a failure happens without another attempt."""


@dataclass
class Running:
    """A session that runs."""

    session: BackendSession
    running: "asyncio.Task[None]"
    changes: Pulse = field(default_factory=Pulse)
    told: int = 0
    """How often the session has said that it changed."""

    async def until(self, condition: Callable[[BackendSession], bool], within_s: float = PATIENCE_S) -> None:
        """Wait until what the session shows fulfils a condition."""
        await self.changes.until(lambda: condition(self.session), within_s)

    async def ready(self) -> Snapshot:
        """Wait for the first list."""
        await self.until(lambda session: session.snapshot is not None)
        assert self.session.snapshot is not None
        return self.session.snapshot

    async def listing(self, *names: str) -> None:
        """Wait until the list has just these tools."""
        await self.until(lambda _: self.names == list(names))

    async def failing(self, reason: str) -> None:
        """Wait until the session says that it is failing, and why."""
        await self.until(lambda session: session.status.last_error is not None)
        assert self.session.status.last_error == reason

    @property
    def names(self) -> list[str]:
        """Tools of the last good list."""
        return [] if self.session.snapshot is None else [tool.name for tool in self.session.snapshot.tools]

    async def read_again(self) -> None:
        """Have the list read, as a client's request would."""
        async with asyncio.timeout(PATIENCE_S):
            await self.session.refreshed()

    async def call(
        self,
        name: str,
        arguments: bytes | None = None,
        sink: "Heard | None" = None,
        *,
        principal: str = "p",
        **meta: Any,
    ) -> CallResult:
        """Call a tool by the backend's own name. ``meta``: members of :class:`CallMeta`."""
        snapshot = await self.ready()
        tool = next(tool for tool in snapshot.tools if tool.name == name)
        call = ToolCall(tool, arguments, CallMeta(**meta), {}, principal)
        return await self.session.call(call, sink or Heard())


@dataclass
class Heard:
    """A sink that keeps what it is given."""

    notes: list[tuple[str, bytes]] = field(default_factory=list)
    arrivals: Pulse = field(default_factory=Pulse)

    async def notify(self, method: str, params: bytes) -> None:
        """Keep it."""
        self.notes.append((method, params))
        self.arrivals.beat()

    async def has(self, count: int) -> list[tuple[str, bytes]]:
        """Wait for so many notifications."""
        await self.arrivals.until(lambda: len(self.notes) >= count)
        return self.notes


@asynccontextmanager
async def session(
    backend: HostileBackend | str,
    *,
    credentials: Mapping[str, bytes] | None = None,
    seed: Snapshot | None = None,
    pace: Mapping[str, Any] | None = None,
    **keys: Any,
) -> AsyncIterator[Running]:
    """Run a session while the block runs. ``keys`` are further keys of the backend's section, ``pace`` members of Pace."""
    url = backend if isinstance(backend, str) else backend.url
    config = Backend.model_validate({"namespace": "tools", "name": "one", "url": url, **keys})
    async with HttpPool() as http:
        pulse = Pulse()

        def changed(_: BackendSession) -> None:
            run.told += 1
            pulse.beat()

        made = BackendSession(
            config,
            credentials or {},
            http=http,
            on_change=changed,
            seed=seed,
            pace=replace(FAST, **(pace or {})),
            jitter=lambda: 0.5,
        )
        run = Running(made, asyncio.create_task(made.run()), pulse)
        try:
            yield run
        finally:
            run.running.cancel()
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait([run.running])
            if not run.running.cancelled():
                run.running.result()  # says why it ended by itself
