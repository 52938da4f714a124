"""The gateway itself: one session a backend, one catalog made from what they know, one way in which it changes.

What always holds:

1. The catalog is a pure function of config and snapshots. It is made anew, whole, whenever one of them changed, and is
   swapped in one step; whoever follows it (``on_catalog``) is told after the swap. Where that is much work it is done in a
   thread, one catalog at a time, and the one before is served no more but to callers of its tools.
2. A request never changes what another request sees, except by making it fresher.
3. A list waits for a backend only within that backend's budget, counted from the start of the fetch and not from the
   request, and never for one that is in back-off. The fetch outlives whoever waited for it.
4. A fault in one backend's task costs that backend a restart, and no other anything.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from switchyard_sidecar import findings
from switchyard_sidecar.catalog import catalog as catalogs
from switchyard_sidecar.catalog import freshness
from switchyard_sidecar.catalog.catalog import BackendView, Catalog
from switchyard_sidecar.catalog.part import Route
from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.config.apply import Applied, AppliedBackend, Fate
from switchyard_sidecar.config.model import GatewayConfig
from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.calls import CallResult, CallSink, ToolCall
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.session import BackendSession

log = structlog.get_logger(__name__)

RESTART_S: Final = 1.0
"""A backend's task that failed by a fault of ours is started again after this."""
REST_RATIO: Final = 3
"""After a rebuild, changes wait this many times as long as it took."""
MUCH: Final = 1_000
"""Tools to be named and rendered for a catalog, or twenty times as many to be merged: more holds up the loop too long."""
LONGEST_TTL_MS: Final = 24 * 3600 * 1000
"""No list is to be believed longer than this, whatever the config allows."""


@dataclass(slots=True, eq=False)
class _Running:
    """One backend's session and the task that runs it."""

    session: BackendSession
    task: "asyncio.Task[None]"
    calls: int = 0
    retired: bool = False
    fetch: "asyncio.Task[None] | None" = None
    """The fetch that lists wait for; it goes on when they no longer do."""
    fetch_deadline: float = 0.0
    """Monotonic seconds after which no list waits for it any more."""


class Gateway:
    """Runs the backends of one config. Sessions live in ``tasks``, whose owner outlives this object."""

    def __init__(self, tasks: asyncio.TaskGroup, http: HttpPool, config: GatewayConfig, pace: Pace) -> None:
        self._tasks = tasks
        self._http = http
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._running: dict[str, _Running] = {}
        self._unresolved: dict[str, str] = {}
        self._interested = False
        self._rebuild_due = False
        self._making: asyncio.Future[Catalog] | None = None
        """The catalog that is being made in a thread. A change meanwhile makes another one due."""
        self._rest_until = 0.0
        self._fresh_until = 0.0
        self._ttl_until = 0.0
        self._ttl_cap_ms = 0
        self._config = config
        self.on_catalog: Callable[[Catalog], None] = lambda _: None
        """Called with each new catalog, after it can be read."""
        self.catalog = catalogs.build(config, {})
        """What is served now."""

    @property
    def sessions(self) -> Mapping[str, BackendSession]:
        """Sessions by backend id, in the gateway's order."""
        return {name: running.session for name, running in self._running.items()}

    @property
    def unresolved(self) -> Mapping[str, str]:
        """Backends that cannot be asked, and why."""
        return self._unresolved

    def apply(self, applied: Applied) -> None:
        """Take over a config: start, restart and end what it says, leave the rest alone."""
        self._config = applied.config
        former, self._running, self._unresolved = self._running, {}, {}
        for name, backend in applied.backends.items():
            old = former.pop(name, None)
            if backend.config.unresolved is not None:
                self._unresolved[name] = backend.config.unresolved
            elif old is not None and backend.fate is Fate.UNCHANGED:
                self._running[name] = old
                continue
            else:
                self._running[name] = self._start(backend, old.session.snapshot if old else None)
            if old is not None:
                self._retire(old)
        for old in former.values():
            self._retire(old)
        self.rebuild()

    def warm(self) -> Catalog | None:
        """The catalog, if it is fresh: what a list is answered with at no cost."""
        outdated = self._rebuild_due or self._making is not None
        return self.catalog if self._loop.time() < self._fresh_until and not outdated else None

    async def fresh(self) -> Catalog:
        """The catalog, as fresh as its backends' budgets allow.

        Raises:
            McpError: -32603 where nothing at all is known, or where the failure policy is Strict and a backend has never
                answered.
        """
        now = self._loop.time()
        waits = [wait for running in self._running.values() if (wait := self._fetch(running, now)) is not None]
        if waits:
            await asyncio.gather(*waits)
        await self._made()  # which may have begun before what is known now
        if self._rebuild_due:
            self.rebuild()
            await self._made()
        self._check_policy()
        return self.catalog

    def ttl_ms(self) -> int:
        """How long a client may believe the list that is served now."""
        return max(0, min(self._ttl_cap_ms, int((self._ttl_until - self._loop.time()) * 1000)))

    async def call(self, route: Route, call: ToolCall, sink: CallSink) -> CallResult:
        """Relay a call to the backend its route names.

        Raises:
            McpError: the backend's own error, or -32603 when it cannot be reached.
        """
        if (running := self._running.get(route.backend)) is None:
            reason = self._unresolved.get(route.backend, "Removed")
            raise McpError(errors.INTERNAL_ERROR, f"The tool's backend is not available: {reason}")
        running.calls += 1
        try:
            return await running.session.call(call, sink)
        finally:
            running.calls -= 1
            if running.retired and not running.calls:
                running.task.cancel()

    def retire_all(self) -> list["asyncio.Task[None]"]:
        """End every session, whatever it carries; give the tasks to wait for."""
        for running in self._running.values():
            running.task.cancel()
        return [running.task for running in self._running.values()]

    def forget(self, principal: str) -> None:
        """End the sessions with backends that belong to one ended session of a client."""
        for running in self._running.values():
            running.session.forget(principal)

    def set_interest(self, interested: bool) -> None:
        """Say whether anyone subscribes: backends are then looked at by themselves, not only when a list is asked for."""
        self._interested = interested
        for running in self._running.values():
            running.session.interested = interested

    def rebuild(self) -> None:
        """Make the catalog anew from what is known now, and tell who follows it if a client could see a difference."""
        self._rebuild_due = True
        if self._making is not None:
            return  # the next one is made when that one is done
        self._rebuild_due = False
        now = self._loop.time()
        views = {name: running.session.view(now) for name, running in self._running.items()}
        views |= {name: _unresolved_view(reason) for name, reason in self._unresolved.items()}
        make = partial(catalogs.build, self._config, views, self.catalog)
        to_make, to_merge = catalogs.effort(self._config, views, self.catalog)
        if to_make + to_merge // 20 <= MUCH:
            self._publish(make(), views, now)
        else:
            self._making = self._loop.run_in_executor(None, make)
            self._making.add_done_callback(partial(self._made_aside, views, now))

    def _made_aside(self, views: Mapping[str, BackendView], began: float, made: "asyncio.Future[Catalog]") -> None:
        self._making = None
        try:
            if made.result().config is self._config:
                self._publish(made.result(), views, began)
        finally:
            if self._rebuild_due:
                self._loop.call_at(self._rest_until, self._rebuild_if_due)

    async def _made(self) -> None:
        """Wait for the catalog that is being made, if one is."""
        if self._making is not None:
            await asyncio.wait((self._making,))

    def _publish(self, catalog: Catalog, views: Mapping[str, BackendView], began: float) -> None:
        findings.say(self.catalog, catalog)
        self.catalog = catalog
        self._judge(views, began)
        self.on_catalog(catalog)
        done = self._loop.time()
        self._rest_until = done + REST_RATIO * (done - began)

    def _judge(self, views: Mapping[str, BackendView], now: float) -> None:
        """Work out until when the catalog is fresh, and how its time to live runs down.

        A backend in back-off leaves the catalog as fresh as it can be until its next attempt.
        """
        self._fresh_until, self._ttl_until = math.inf, now + LONGEST_TTL_MS / 1000
        self._ttl_cap_ms = freshness.UNREACHABLE_MS if self._unresolved else LONGEST_TTL_MS if views else 0
        for name, running in self._running.items():
            session, view = running.session, views[name]
            contribution = freshness.contribution_ms(
                answered=view.snapshot is not None,
                failing=view.failing,
                remaining_ms=session.remaining_ttl_ms(now),
                next_attempt_ms=view.next_attempt_ms,
            )
            if view.failing:
                self._ttl_cap_ms = min(self._ttl_cap_ms, contribution)
                self._fresh_until = min(self._fresh_until, now + (view.next_attempt_ms or 0) / 1000)
            else:
                self._ttl_until = min(self._ttl_until, now + contribution / 1000)
                self._fresh_until = min(self._fresh_until, session.fresh_until)
        if self._awaited():  # not a list to be served, however fresh: it is for fresh() to say why
            self._fresh_until = 0.0

    def _start(self, backend: AppliedBackend, snapshot: Snapshot | None) -> _Running:
        seed = snapshot if backend.fate in {Fate.KEEP, Fate.REPLACE} else None
        session = BackendSession(
            backend.config,
            backend.credentials,
            http=self._http,
            on_change=lambda _: self._changed(),
            seed=seed,
            pace=self._pace,
        )
        session.interested = self._interested
        running = _Running(session, self._tasks.create_task(_supervised(session), name=f"backend {backend.config.id}"))
        # The first list timeout settles what waited for this backend: names of lower backends, an old snapshot.
        budget_s = backend.config.timeouts.list_ms / 1000
        self._loop.call_later(budget_s, self._settle, running, backend.fate is Fate.REPLACE)
        return running

    def _settle(self, running: _Running, replaced: bool) -> None:
        if running.retired:
            return
        if replaced:
            running.session.expire_seed()
        self._changed()

    def _retire(self, running: _Running) -> None:
        """End a session once the calls it still carries have ended."""
        running.retired = True
        running.session.interested = False
        if not running.calls:
            running.task.cancel()

    def _changed(self) -> None:
        """Rebuild soon: once for all that changes until then.

        Many backends that answer one after another must not cost a rebuild each: after one, the loop has its turn for
        some times as long. Whoever asks for the list meanwhile gets the new one (:meth:`fresh`).
        """
        if not self._rebuild_due:
            self._rebuild_due = True
            self._loop.call_at(self._rest_until, self._rebuild_if_due)

    def _rebuild_if_due(self) -> None:
        if self._rebuild_due:
            self.rebuild()

    def _fetch(self, running: _Running, now: float) -> Coroutine[Any, Any, None] | None:
        """Something to wait for until this backend is fresh, or as fresh as its budget allows; ``None``: not to wait."""
        session = running.session
        if now < session.fresh_until:
            return None
        if running.fetch is None or running.fetch.done():
            running.fetch = self._tasks.create_task(session.refreshed(), name=f"refresh {session.config.id}")
            running.fetch_deadline = now + session.config.timeouts.list_ms / 1000
        if now >= running.fetch_deadline:
            return None
        return _until(running.fetch, running.fetch_deadline)

    def _awaited(self) -> tuple[str, ...]:
        """Backends without whose first answer there is no list: any under Strict, under Partial all or none."""
        silent = self.catalog.unanswered
        strict = self._config.failure_policy == "Strict"
        return silent if strict or len(silent) == len(self._config.backends) else ()

    def _check_policy(self) -> None:
        if awaited := self._awaited():
            reasons = {each.backend: each.reason for each in self.catalog.degraded if each.backend in awaited}
            raise McpError(errors.INTERNAL_ERROR, "No list yet: backends have not answered", {"backends": reasons})


async def _until(fetch: "asyncio.Task[None]", deadline: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await asyncio.shield(fetch)


async def _supervised(session: BackendSession) -> None:
    while True:
        try:
            await session.run()
        except Exception:
            log.exception("backend_task_failed", backend=session.config.id)
        await asyncio.sleep(RESTART_S)


def _unresolved_view(reason: str) -> BackendView:
    return BackendView(settled=True, failing=True, error=reason)
