"""One replica of the operator: all parts, and how they hang together.

```
kopf ──▶ intake ──▶ store ──▶ graph ──▶ queue ──▶ workers ──▶ API server
lists ──▶   │         ▲                              │  only while this replica leads,
            ▼         └──── answers to writes ◀──────┘  and only after everything was listed once
        vigilance ──▶ /healthz
```

Every replica sees everything; the one that leads does what is to be done, and everything when it begins to lead.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.backends import Section, own_section
from switchyard_operator.compile.session_keys import ADOPTION_S
from switchyard_operator.controller.access import Access
from switchyard_operator.controller.certificates.keeper import Keeper, Webhook
from switchyard_operator.controller.definitions import Definitions
from switchyard_operator.controller.deployments import Deployments
from switchyard_operator.controller.discovery import api_server_addresses, kinds_served, may_watch
from switchyard_operator.controller.election import Election
from switchyard_operator.controller.graph import Graph
from switchyard_operator.controller.health import Health
from switchyard_operator.controller.intake import Intake
from switchyard_operator.controller.kube import Kube
from switchyard_operator.controller.listing import Lister
from switchyard_operator.controller.loaded import Loaded
from switchyard_operator.controller.metrics import Gauges, LoopLag, Metrics, Reading
from switchyard_operator.controller.observed import Child
from switchyard_operator.controller.pacer import Pacer
from switchyard_operator.controller.probing.addresses import Guard
from switchyard_operator.controller.probing.look import look
from switchyard_operator.controller.probing.prober import Prober
from switchyard_operator.controller.queue import WorkQueue
from switchyard_operator.controller.reconcile import Configs
from switchyard_operator.controller.replicas import Replicas
from switchyard_operator.controller.resources import (
    BACKENDS,
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    WATCHED,
    WORKLOADS,
    Resource,
    streams,
)
from switchyard_operator.controller.rollout import Rollout
from switchyard_operator.controller.service_accounts import ServiceAccounts
from switchyard_operator.controller.shelf import Change
from switchyard_operator.controller.status.conditions import Truth
from switchyard_operator.controller.status.deployment import Placed
from switchyard_operator.controller.status.gateway import Written
from switchyard_operator.controller.status.probed import Reach
from switchyard_operator.controller.status.writer import DISTANCE_S, StatusWriter
from switchyard_operator.controller.statuses import Statuses
from switchyard_operator.controller.store import Store
from switchyard_operator.controller.vigilance import Vigilance
from switchyard_operator.controller.watching import Watching
from switchyard_operator.controller.work import Task, Work
from switchyard_operator.controller.workers import Workers
from switchyard_operator.workloads.settings import Installation

_IN_THE_WAY: Final = frozenset({Written.NAME_CONFLICT, Written.BEING_DELETED})
"""Another object has a child's name. We may not watch it, so that nothing may tell when it is gone."""
_PLACE_TAKEN: Final = frozenset({Placed.NAME_CONFLICT, Placed.BEING_DELETED})
"""The same of a Deployment or what stands beside it."""
_RECHECK_S: Final = 60.0
"""After so long it is tried again."""
_SESSION_KEYS_S: Final = ADOPTION_S / 4
"""How often it is looked whether keys of sessions are to be replaced."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    kubeconfig: Path | None
    namespaces: tuple[str, ...]
    """Those that are served; empty: all."""
    health: tuple[str, int] | None
    """Where health and metrics are told; ``None``: nowhere."""
    lease: Key
    lease_duration_s: float
    workers: int
    list_period_s: float
    watch_inactivity_s: float
    probes: bool
    """Whether backends are looked at."""
    nudges_per_second: float
    """Pods whose kubelet is nudged after a write; 0: none."""
    installation: Installation
    """What sidecars are like whose gateway says nothing else. Where no image is known, none is outdated for it."""
    webhook: Webhook | None
    """Whose certificates are kept; ``None``: somebody else keeps them, or there is no webhook."""


async def operate(options: Options) -> None:
    """Run one replica until cancelled. Then the Lease is given back, once nothing more is written.

    Raises:
        NoAccess: there is no way to an API server.
        OSError: the address for health cannot be listened on.
        ExceptionGroup: it cannot go on, and has to be started anew.
    """
    registry = CollectorRegistry()
    access = await Access.load(options.kubeconfig)
    async with Kube(access) as kube, AsyncExitStack() as stack:
        health = Health(registry)
        if options.health is not None:
            stack.push_async_callback(health.close)
            _log.info("listening", url=await health.listen(*options.health))
        await kinds_served(kube)
        loaded = Loaded()
        stack.push_async_callback(loaded.close)
        guard = Guard(await api_server_addresses(kube, access.server))
        selectors = await _selectors(kube, options.namespaces)
        replica = Replica(options, access, kube, selectors, loaded, guard, registry)
        health.watch(replica.faults, replica.waiting)
        await replica.run()


async def _selectors(kube: Kube, namespaces: tuple[str, ...]) -> dict[Resource, str]:
    """What is watched. Where we may not see namespaces, their labels select nothing; where not Deployments, none is made."""
    unseen: set[Resource] = set()
    if namespaces or not await may_watch(kube, NAMESPACES):
        unseen.add(NAMESPACES)
        _log.warning("namespaces_not_seen", effect="spec.allowedNamespaces with a selector admits nobody")
    if not all([await may_watch(kube, resource, namespaces) for resource in WORKLOADS]):
        unseen.update(WORKLOADS)
        _log.warning("workloads_not_seen", effect="gateways with spec.mode Deployment are not deployed")
    return {resource: selector for resource, selector in WATCHED.items() if resource not in unseen}


class Replica:
    """Everything that runs."""

    def __init__(
        self,
        options: Options,
        access: Access,
        kube: Kube,
        selectors: Mapping[Resource, str],
        loaded: Loaded,
        guard: Guard,
        registry: CollectorRegistry,
    ) -> None:
        covered = tuple(streams(selectors, options.namespaces))
        self._store = Store([(each.resource, each.namespace) for each in covered])
        self._graph = Graph(self._store)
        self._queue = WorkQueue[Work](rank=lambda work: work.task)
        self._metrics = Metrics(registry)
        self._lag = LoopLag()
        self._vigilance = Vigilance.over(covered, asyncio.get_running_loop().time())
        self._complete = asyncio.Event()
        self._election = Election(kube, options.lease, options.lease_duration_s, self._gained)
        turns = {resource: asyncio.Lock() for resource in selectors}
        self._intake = Intake(self._store, self._vigilance, self._metrics, self._changed, self._listed)
        self._listers = {
            stream: Lister(
                kube,
                stream,
                selectors[stream.resource],
                partial(self._intake.begin, stream),
                turns[stream.resource],
                period_s=options.list_period_s,
            )
            for stream in covered
        }
        self._intake.listers = self._listers
        self._watching = Watching(
            access, selectors, options.namespaces, self._intake.hand, inactivity_s=options.watch_inactivity_s
        )
        self._service_accounts = ServiceAccounts(kube.read, self._issuer_changed)
        self._configs = Configs(
            kube, self._store, self._election.check, self._answered, self._metrics, self._service_accounts.issuer
        )
        self._deployments = Deployments(
            kube,
            self._store,
            options.installation,
            selectors,
            self._election.check,
            self._answered,
            self._metrics,
        )
        self._replicas = Replicas(kube)
        self._rollout = Rollout(
            kube,
            lambda gateway: chain(self._store.pods_of(gateway), self._replicas.of(gateway)),
            loaded,
            self._election.check,
            lambda gateway: self._queue.add(Work(Task.GATEWAY_STATUS, gateway)),
            Pacer(options.nudges_per_second) if options.nudges_per_second else None,
        )
        self._prober = Prober(
            lambda config, credentials: look(config, credentials, guard.admits),
            self._section,
            self._recalled,
            self._found,
            self._election.leading,
        )
        self._probes = options.probes
        instance = socket.gethostname()
        writer = StatusWriter(kube, instance, self._election.check, self._answered, self._metrics)
        self._definitions = Definitions(
            kube,
            instance,
            self._election.leading,
            self._election.check,
            self._metrics,
            period_s=options.list_period_s,
        )
        self._statuses = Statuses(
            self._store,
            self._configs.outcomes,
            self._rollout.counts,
            self._prober.reaches,
            kube.exists,
            self._queue.__contains__,
            self._queue.add,
            writer,
            options.installation.image or None,
            self._deployments.outcome,
        )
        self._keeper: Keeper | None = None
        if options.webhook is not None:
            self._keeper = Keeper(kube, options.webhook, self._election.leading, self._election.check)
        doing: Mapping[Task, Callable[[Key], Awaitable[None]]] = {
            Task.CONFIG: self._configure,
            Task.DEPLOYMENT: self._deploy,
            Task.GATEWAY_STATUS: self._statuses.gateway,
            Task.BACKEND_STATUS: self._statuses.backend,
            Task.ALIAS_STATUS: self._statuses.alias,
        }
        conditions = self._complete, self._election.leading
        self._workers = Workers(self._queue, doing, conditions, self._election.check, self._metrics)
        self._worker_count = options.workers
        registry.register(Gauges(self._readings(), self._counts))

    async def run(self) -> None:
        """Run until cancelled.

        Raises:
            ExceptionGroup: a part has failed, kopf included.
        """
        parts = {
            "intake": self._intake.run(),
            "watching": self._watching.run(),
            "election": self._election.run(),
            "definitions": self._definitions.run(),
            "session keys": self._look_at_session_keys(),
            "service accounts": self._service_accounts.run(),
            "lag": self._lag.measure(),
            **({"probes": self._prober.run()} if self._probes else {}),
            **({"certificates": self._keeper.run()} if self._keeper else {}),
            **{f"lists of {stream}": lister.run() for stream, lister in self._listers.items()},
            **{f"worker {number}": self._workers.work() for number in range(self._worker_count)},
        }
        try:
            async with asyncio.TaskGroup() as tasks:
                for name, part in parts.items():
                    tasks.create_task(part, name=name)
        finally:
            await self._rollout.close()
            await self._election.resign()

    def faults(self) -> Iterator[str]:
        """Why this process should be started anew."""
        return self._vigilance.faults(asyncio.get_running_loop().time())

    def waiting(self) -> Iterator[str]:
        """What it is not ready for."""
        if not self._complete.is_set():
            yield "not everything has been listed yet"

    def _changed(self, change: Change) -> None:
        touched = self._graph.touched(change)
        if not self._election.leading.is_set():
            return  # whoever begins to lead does everything
        for work in touched:
            self._add(work)
        if change.resource == BACKENDS and change.new is None:
            self._prober.changed(change.key)
        gone = change.old.model if change.old is not None and change.new is None else None
        if change.resource == CONFIG_MAPS and isinstance(gone, Child):
            self._rollout.withdrawn(gone.gateway)
        if change.resource == PODS:
            for item in (change.old, change.new):
                if item is not None and item.model is not None:
                    self._rollout.pods_changed(item.model.gateway)

    def _add(self, work: Work) -> None:
        self._queue.add(work)
        if work.task is Task.BACKEND_STATUS:
            self._prober.changed(work.key)

    def _answered(self, resource: Resource, raw: dict[str, Any]) -> None:
        """Take in what we have written. It causes no work: who has written it goes on until it is as it should be."""
        change = self._store.event(resource, "MODIFIED", raw)
        if change is not None:
            self._graph.touched(change)

    def _listed(self) -> None:
        if self._store.complete and not self._complete.is_set():
            self._complete.set()
            _log.info("complete", objects=self._counts())

    def _gained(self) -> None:
        self._rollout.forget_all()
        self._configs.outcomes.clear()
        self._deployments.forget_all()
        for work in self._graph.everything():
            self._add(work)

    async def _configure(self, key: Key) -> None:
        before = self._configs.outcomes.get(key)
        try:
            outcome = await self._configs.bring_in_line(key)
        finally:
            self._statuses.configured(key)
        if outcome is None:
            self._rollout.forget(key)
        elif outcome.writing is not None and outcome.writing.config_hash:
            self._rollout.configured(key, outcome.writing.config_hash, written=outcome.wrote)
        if outcome is not None:
            known = None if before is None else before.composition
            for alias in self._graph.aliases_touched(key, known, outcome.composition):
                self._queue.add(Work(Task.ALIAS_STATUS, alias))
        if outcome is not None and outcome.writing is not None and outcome.writing.result in _IN_THE_WAY:
            self._queue.add(Work(Task.CONFIG, key), _RECHECK_S)
        if self._deployments.concern(key):
            self._queue.add(Work(Task.DEPLOYMENT, key))

    async def _deploy(self, key: Key) -> None:
        try:
            deployed = await self._deployments.bring_in_line(key)
        finally:
            self._queue.add(Work(Task.GATEWAY_STATUS, key))
        placing = None if deployed is None else deployed.placing
        if placing is None:
            self._replicas.forget(key)
        else:
            await self._replicas.look(key)
            if placing.result in _PLACE_TAKEN:
                self._queue.add(Work(Task.DEPLOYMENT, key), _RECHECK_S)
        self._rollout.pods_changed(key)

    def _issuer_changed(self) -> None:
        """Who signs the tokens of service accounts has changed: configs that let them in have to."""
        if self._election.leading.is_set():
            for key, gateway in self._store.objects.gateways.items():
                if gateway.spec.auth is not None and gateway.spec.auth.kubernetes is not None:
                    self._queue.add(Work(Task.CONFIG, key))

    async def _look_at_session_keys(self) -> None:
        """They are replaced when their time has come, which no event tells."""
        while True:
            await asyncio.sleep(_SESSION_KEYS_S)
            if self._election.leading.is_set():
                for key, gateway in self._store.objects.gateways.items():
                    if gateway.spec.mode == "Deployment":
                        self._queue.add(Work(Task.CONFIG, key))

    def _found(self, backend: Key) -> None:
        """A look at a backend has brought something: it may be another number of tools, or one that aliases wait for."""
        self._queue.add(Work(Task.BACKEND_STATUS, backend))
        for alias in self._graph.aliases_of(backend):
            self._queue.add(Work(Task.ALIAS_STATUS, alias))
        for gateway in self._graph.gateways_of(backend):
            # Later, so that many backends that are looked at in turn are one change of a count.
            self._queue.add(Work(Task.GATEWAY_STATUS, gateway), DISTANCE_S)

    def _section(self, key: Key) -> tuple[str, Section] | None:
        item = self._store.backends.get(key)
        return None if item is None or item.model is None else (item.uid, own_section(key, self._store.objects))

    def _recalled(self, key: Key) -> Reach:
        item = self._store.backends.get(key)
        return Reach() if item is None else Reach.recalled(item.status)

    def _counts(self) -> dict[str, int]:
        return {str(resource): len(self._store.shelf(resource)) for resource in WATCHED}

    @property
    def _not_as_pinned(self) -> int:
        answers = [reach.answer for reach in self._prober.reaches.values()]
        return sum(
            each is not None and each.pinned is not None and each.pinned.status is Truth.FALSE for each in answers
        )

    def _readings(self) -> Iterator[Reading]:
        led = self._election.leading.is_set
        yield "switchyard_operator_leader", "1 while this replica holds the Lease.", led
        yield "switchyard_operator_complete", "1 once everything was listed.", self._complete.is_set
        yield (
            "switchyard_operator_queue_depth",
            "Work that is due, where this replica leads.",
            lambda: self._queue.depth if led() else 0,
        )
        yield (
            "switchyard_operator_queue_age_seconds",
            "How long the oldest of it has been due.",
            lambda: self._queue.age_s if led() else 0,
        )
        yield "switchyard_operator_queue_running", "Work that is being done.", lambda: self._queue.running
        yield (
            "switchyard_operator_queue_failing",
            "Work that has failed and not succeeded since.",
            lambda: self._queue.failing,
        )
        yield (
            "switchyard_operator_backends_not_as_pinned",
            "Backends whose tools are not what was pinned.",
            lambda: self._not_as_pinned if led() else 0,
        )
        if (keeper := self._keeper) is not None:
            yield (
                "switchyard_operator_certificates_not_kept",
                "1 while the webhook's certificates cannot be kept; the log says why.",
                lambda: keeper.is_stuck,
            )
        yield (
            "switchyard_operator_loop_lag_seconds",
            "How late the event loop was at most since the last reading.",
            self._lag.read,
        )
