"""Backends that run: one session each with one credential, the task that runs it, and who uses it.

What always holds:

1. A fault in one backend's task costs that backend a restart, and no other anything.
2. A list waits for a backend only within that backend's budget, counted from the start of the fetch and not from the
   request, and never for one that is in back-off. The fetch outlives whoever waited for it.
3. A backend that is let go ends once the calls that it carries have ended.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from typing import Any, Final, cast

import structlog

from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.config.apply import AppliedBackend, Fate
from switchyard_sidecar.upstream.admission import Share
from switchyard_sidecar.upstream.calls import CallResult, CallSink, ToolCall
from switchyard_sidecar.upstream.forwarded import ForwardedToken
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.session import BackendSession

log = structlog.get_logger(__name__)

RESTART_S: Final = 1.0
"""A backend's task that failed by a fault of ours is started again after this."""


Shares = MutableMapping[str, Share]
"""By id of the backend: what all sessions with it have in common."""


class Tasks:
    """The tasks of all backends, also of those that are let go and not at their end: in ``group``, whose owner outlives this."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """Start a task."""
        task = self._group.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def end(self) -> list["asyncio.Task[None]"]:
        """End all; give them, to be waited for."""
        for task in self._running:
            task.cancel()
        return list(self._running)


class RunningBackend:
    """One backend's session and the task that runs it."""

    def __init__(self, tasks: Tasks, session: BackendSession) -> None:
        self.session: Final = session
        self.retired = False
        """Whether it was let go, and lives on for its calls alone."""
        self._tasks = tasks
        self._task = tasks.start(_supervised(session), f"backend {session.config.id}")
        self.settling: asyncio.TimerHandle | None = None
        """What happens when its first list timeout has passed; it is of no use, and must not be kept for that, once it was let go."""
        self._calls = 0
        self._followers = 0
        self._fetch: asyncio.Task[None] | None = None
        self._fetch_deadline = 0.0  # monotonic seconds after which no list waits for it any more

    def fetch(self, now: float) -> Coroutine[Any, Any, None] | None:
        """Something to wait for until the list is fresh, or as fresh as the budget allows; ``None``: not to wait."""
        session = self.session
        if now < session.fresh_until:
            return None
        if self._fetch is None or self._fetch.done():
            self._fetch = self._tasks.start(session.refreshed(), f"refresh {session.config.id}")
            self._fetch_deadline = now + session.config.timeouts.list_ms / 1000
        if now >= self._fetch_deadline:
            return None
        return _until(self._fetch, self._fetch_deadline)

    async def call(self, call: ToolCall, sink: CallSink) -> CallResult:
        """Relay a call. See :meth:`BackendSession.call`."""
        self._calls += 1
        try:
            return await self.session.call(call, sink)
        finally:
            self._calls -= 1
            if self.retired and not self._calls:
                self._task.cancel()

    def follow(self) -> None:
        """Somebody wants to hear of changes: the list is looked at also when nobody asks for it, until :meth:`unfollow`."""
        self._followers += 1
        if self._followers == 1 and not self.retired:
            self.session.interested = True

    def unfollow(self) -> None:
        """See :meth:`follow`."""
        self._followers -= 1
        if not self._followers and not self.retired:
            self.session.interested = False

    def retire(self) -> None:
        """End the session once the calls it still carries have ended."""
        self.retired = True
        self.session.interested = False
        if self.settling is not None:
            self.settling.cancel()
        if not self._calls:
            self._task.cancel()


class Backends:
    """The backends that are asked with one set of credentials: those that all callers share, or those of one caller.

    ``changed`` is called when anything has changed that a catalog is made from. ``shares`` are by id, and common to all who have
    sessions with a backend. ``token`` is what those backends get that are to have their caller's own, and ``lane`` that caller's number.
    """

    def __init__(
        self,
        tasks: Tasks,
        http: HttpPool,
        pace: Pace,
        shares: Shares,
        changed: Callable[[], None],
        token: ForwardedToken | None = None,
        lane: int | None = None,
    ) -> None:
        self.running: Mapping[str, RunningBackend] = {}
        """By id. Replaced as a whole whenever it changes."""
        self._tasks = tasks
        self._http = http
        self._pace = pace
        self._shares = shares
        self._changed = changed
        self._token = token
        self._lane = lane

    def apply(self, backends: Mapping[str, AppliedBackend]) -> None:
        """Have just these running that can be asked: start, restart and end what differs, leave the rest alone."""
        former, running = dict(self.running), {}
        for name, backend in backends.items():
            old = former.pop(name, None)
            if old is not None and backend.fate is Fate.UNCHANGED:
                running[name] = old
                continue
            if backend.config.unresolved is None:
                running[name] = self._start(backend, old.session.snapshot if old else None)
            if old is not None:
                old.retire()
        for old in former.values():
            old.retire()
        self.running = running

    def forget(self, principal: str) -> None:
        """End the sessions for calls that belong to one ended session of a client."""
        for running in self.running.values():
            running.session.forget(principal)

    def _start(self, backend: AppliedBackend, snapshot: Snapshot | None) -> RunningBackend:
        session = BackendSession(
            backend.config,
            backend.credentials,
            http=self._http,
            on_change=lambda _: self._changed(),
            seed=snapshot if backend.fate in {Fate.KEEP, Fate.REPLACE} else None,
            pace=self._pace,
            token=self._token,
            share=self._shares[backend.config.id],
            lane=self._lane,
        )
        running = RunningBackend(self._tasks, session)
        # The first list timeout settles what waited for this backend: names of lower backends, an old snapshot.
        budget_s = backend.config.timeouts.list_ms / 1000
        loop = asyncio.get_running_loop()
        running.settling = loop.call_later(budget_s, self._settle, running, backend.fate is Fate.REPLACE)
        return running

    def _settle(self, running: RunningBackend, replaced: bool) -> None:
        if running.retired:
            return
        if replaced:
            running.session.expire_seed()
        self._changed()


async def _until(fetch: "asyncio.Task[None]", deadline: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await asyncio.shield(fetch)


async def _supervised(session: BackendSession) -> None:
    task = cast("asyncio.Task[object]", asyncio.current_task())
    try:
        while True:
            try:
                await session.run()
            except Exception:
                log.exception("backend_task_failed", **session.about)
                if task.cancelling():  # it failed at its end
                    return
            await asyncio.sleep(RESTART_S)
    finally:
        session.let_go()
