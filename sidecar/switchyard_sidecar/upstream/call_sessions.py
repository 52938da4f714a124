"""Upstream sessions for calls to a legacy backend: one for each principal, so that nobody meets another's state.

Made on demand, bounded in number, ended when idle. None of them is ever used for discovery, but each has its stream of the
server's own messages: servers on the official Python SDK tell a change to the session that caused it, and to no other.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.connect import opened
from switchyard_sidecar.upstream.errands import Errands
from switchyard_sidecar.upstream.faults import Fault
from switchyard_sidecar.upstream.legacy import LegacySession
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.stream import ChangeStream
from switchyard_sidecar.upstream.wire import About


@dataclass(slots=True, eq=False)
class Lease:
    """A principal's session while calls use it."""

    pattern: LegacySession
    """What a session with this backend looks like."""
    hear: Callable[[LegacySession, asyncio.Event], "asyncio.Task[None] | None"]
    """Starts the task that keeps a session's stream; the event is set when it is open, or there is none."""
    patience_s: float
    """How long the first call of a session waits for that."""
    users: int = 0
    idle_since: float = 0.0
    forgotten: bool = False
    _session: LegacySession | None = None
    _hearing: "asyncio.Task[None] | None" = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def session(self, lost: LegacySession | None = None) -> LegacySession:
        """The open session, another one than ``lost``; all who need it together wait for one handshake.

        Raises:
            McpError: the backend refused the handshake.
            Fault: the backend cannot be reached.
        """
        async with self._opening:
            if self._session is None or self._session is lost or self._session.lost:
                self._drop()
                self._session = await opened(self.pattern.another())
                # Open before the first call, which may be the one that changes the list.
                decided = asyncio.Event()
                self._hearing = self.hear(self._session, decided)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.patience_s if self._hearing else 0):
                        await decided.wait()
            return self._session

    async def end(self) -> None:
        """End the session, if there is one."""
        session = self._drop()
        if session is not None:
            await session.close()

    def _drop(self) -> LegacySession | None:
        session, self._session = self._session, None
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None
        return session


class CallSessions:
    """The sessions of one backend by principal, least recently used first. ``about``: for log lines."""

    def __init__(self, about: About, pace: Pace, jitter: Callable[[], float], errands: Errands) -> None:
        self._about = about
        self._pace = pace
        self._jitter = jitter
        self._errands = errands
        self._leases: dict[str, Lease] = {}
        self._released = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        return len(self._leases)

    @asynccontextmanager
    async def lease(self, principal: str, pattern: LegacySession) -> AsyncIterator[Lease]:
        """Hold the principal's session for one call.

        Raises:
            Fault: as many sessions as there may be are in use.
        """
        lease = self._leases.pop(principal, None)
        if lease is None:
            self._make_room()
            lease = Lease(pattern, self._hear, self._pace.call_stream_s)
        lease.pattern = pattern
        self._leases[principal] = lease
        lease.users += 1
        try:
            yield lease
        finally:
            lease.users -= 1
            lease.idle_since = self._loop.time()
            if lease.forgotten and not lease.users:
                self._errands.send(lease.end(), "end a call session")
            self._released.set()

    def forget(self, principal: str) -> None:
        """End a principal's session, once the calls that use it are over."""
        lease = self._leases.pop(principal, None)
        if lease is not None:
            lease.forgotten = True
            if not lease.users:
                self._errands.send(lease.end(), "end a call session")

    def _hear(self, session: LegacySession, decided: asyncio.Event) -> "asyncio.Task[None] | None":
        def moved() -> None:
            if stream.state != "opening":
                decided.set()

        # What the stream brings, the session itself takes.
        stream = ChangeStream(self._about, self._pace, self._jitter, moved=moved)
        return self._errands.keep(stream.follow(session), f"call stream of {self._about['backend']}")

    async def reap(self) -> None:
        """End idle sessions until cancelled, and then all."""
        try:
            while True:
                self._released.clear()
                now = self._loop.time()
                for principal, lease in list(self._leases.items()):
                    if not lease.users and lease.idle_since + self._pace.session_idle_s <= now:
                        self.forget(principal)
                await self._until_next_is_due()
        finally:
            leases, self._leases = self._leases, {}
            await asyncio.gather(*(lease.end() for lease in leases.values()))

    async def _until_next_is_due(self) -> None:
        idle = [lease.idle_since for lease in self._leases.values() if not lease.users]
        if not idle:
            await self._released.wait()
            return
        await asyncio.sleep(max(min(idle) + self._pace.session_idle_s - self._loop.time(), 0))

    def _make_room(self) -> None:
        if len(self._leases) < self._pace.sessions:
            return
        unused = next((principal for principal, lease in self._leases.items() if not lease.users), None)
        if unused is None:
            raise Fault(faults.TOO_MANY_SESSIONS)
        self.forget(unused)
