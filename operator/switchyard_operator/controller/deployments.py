"""DEPLOYMENT work: what a gateway in mode ``Deployment`` consists of, brought in line; what one of another mode has left, removed.

What to do is decided in :mod:`.deploy`; here it is done. Before each write stands the question whether we still may.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.children import child_key
from switchyard_operator.controller.deploy import (
    REPLICAS_MANAGER,
    HandOver,
    ImageUnknown,
    Make,
    Remove,
    Step,
    Update,
    agreed,
    concerned,
    next_step,
    wanted,
)
from switchyard_operator.controller.kube import ApiError, Kube, KubeError
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.observed import decided
from switchyard_operator.controller.plan import Blocked, Raw
from switchyard_operator.controller.reconcile import Outdated
from switchyard_operator.controller.resources import WORKLOADS, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.deployment import Placed, Placing
from switchyard_operator.controller.store import Store
from switchyard_operator.workloads.settings import Installation

_CHANGED: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})


@dataclass(frozen=True, slots=True)
class Deployed:
    """What came of one gateway."""

    uid: str
    generation: int
    """Of the gateway that was looked at."""
    placing: Placing | None
    """``None``: it is not in mode ``Deployment``, or not valid."""


class Deployments:
    """Does DEPLOYMENT work.

    ``may_write`` raises where we may not write; ``seen`` is told what the API server answers to writes; ``watched`` are the resources
    that are watched: without all of :data:`WORKLOADS` nothing is deployed.
    """

    def __init__(
        self,
        kube: Kube,
        store: Store,
        installation: Installation,
        watched: Collection[Resource],
        may_write: Callable[[], None],
        seen: Callable[[Resource, dict[str, Any]], None],
        metrics: Metrics,
    ) -> None:
        self._kube = kube
        self._store = store
        self._installation = installation
        self._permitted = set(WORKLOADS) <= set(watched)
        self._may_write = may_write
        self._seen = seen
        self._metrics = metrics
        self._outcomes: dict[Key, Deployed] = {}
        self._agreed: dict[tuple[Key, Resource], bytes] = {}
        """What the API server has last said to be as we want it."""

    def outcome(self, gateway: Key) -> Deployed | None:
        """What came of a gateway, as far as it was looked at."""
        return self._outcomes.get(gateway)

    def concern(self, gateway: Key) -> bool:
        """Whether there may be something to do for a gateway: it runs by itself, or something is left of when it did."""
        item = self._store.gateways.get(gateway)
        runs = item is not None and item.model is not None and item.model.spec.mode == "Deployment"
        return (
            runs
            or gateway in self._outcomes
            or any(self._store.workload(resource, gateway) is not None for resource in WORKLOADS)
        )

    def forget_all(self) -> None:
        """Begin anew: what was known is from an earlier time of leading."""
        self._outcomes.clear()
        self._agreed.clear()

    async def bring_in_line(self, key: Key) -> Deployed | None:
        """Write what differs, remove what is too much; ``None`` when there is no such gateway, or its namespace ends.

        Raises:
            Outdated: others write at the same time.
            KubeError: the API server was not reached, or refuses.
        """
        item = self._store.gateways.get(key)
        if item is None:
            self._forget(key)
            return None
        try:
            placing = await self._place(item)
        except ApiError as error:
            if error.namespace_ends:
                self._forget(key)
                return None
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR and error.status != HTTPStatus.TOO_MANY_REQUESTS:
                refusal = Placing(Placed.WRITE_FAILED, f"the API server refuses, and is asked again: {error.message}")
                self._outcomes[key] = Deployed(item.uid, item.generation, refusal)
            raise
        outcome = self._outcomes[key] = Deployed(item.uid, item.generation, placing)
        if item.model is not None and item.model.spec.mode != "Deployment":
            self._forget(key)
        return outcome

    async def _place(self, item: Item[MCPGateway]) -> Placing | None:
        runs = item.model is not None and item.model.spec.mode == "Deployment"
        if not self._permitted:
            message = "the operator may not list and watch deployments, services and poddisruptionbudgets"
            return Placing(Placed.NOT_PERMITTED, message) if runs else None
        try:
            objects = wanted(item, self._installation)
        except ImageUnknown:
            return Placing(Placed.IMAGE_UNKNOWN, "spec.sidecar.image is not set, and the operator knows no other image")
        if objects is None:
            return None
        blocked = None
        for resource, desired in objects.items():
            blocked = await self._bring(item, resource, desired) or blocked
        if not runs:
            return None
        if blocked is not None:
            return Placing(Placed(blocked.obstacle.value), blocked.message)
        return Placing(Placed.DEPLOYED, "the config is written, the Deployment and its Service are as declared")

    async def _bring(self, item: Item[MCPGateway], resource: Resource, desired: Raw | None) -> Blocked | None:
        known, place = self._store.workload(resource, item.key), (item.key, resource)
        if not concerned(known, desired, item.uid):
            return None
        state = known.model.digest if known is not None and known.model is not None else b""
        if desired is not None and self._agreed.get(place) == agreed(desired, state):
            return None
        live: Raw | None = await self._kube.get(resource, *child_key(item.key))
        while (step := next_step(resource, desired, live, item.key, item.uid)) is not None:
            if isinstance(step, Blocked):
                return step
            live = await self._do(step, live)
            if isinstance(step, Remove):
                break
            if live is not None and desired is not None and _is_last(step):
                self._agreed[place] = agreed(desired, decided(live))
                break
        return None

    async def _do(self, step: Step, live: Raw | None) -> Raw | None:
        self._may_write()
        before = None if live is None else live["metadata"]["resourceVersion"]
        try:
            match step:
                case Make(resource, body):
                    return await self._write(resource, before, self._kube.apply(resource, body, force=False))
                case Update(resource, body):
                    return await self._write(resource, before, self._kube.apply(resource, body))
                case HandOver(resource, body):
                    handing = self._kube.apply(resource, body, manager=REPLICAS_MANAGER, force=False)
                    return await self._write(resource, before, handing)
                case Remove(resource, key, uid, version):
                    await self._kube.delete(resource, key, uid=uid, resource_version=version)
                    self._metrics.writes.labels(str(resource), "Deleted").inc()
                    return None
        except ApiError as error:
            if error.status in _CHANGED:
                raise Outdated(str(error)) from error
            raise

    async def _write(
        self, resource: Resource, before: str | None, writing: Awaitable[dict[str, Any]]
    ) -> dict[str, Any]:
        try:
            answer = await writing
        except KubeError as error:
            reason = error.reason if isinstance(error, ApiError) else "Unreachable"
            self._metrics.writes.labels(str(resource), reason).inc()
            raise
        if answer["metadata"]["resourceVersion"] != before:
            self._metrics.writes.labels(str(resource), "Written").inc()
            self._seen(resource, answer)
        return answer

    def _forget(self, key: Key) -> None:
        self._outcomes.pop(key, None)
        for resource in WORKLOADS:
            self._agreed.pop((key, resource), None)


def _is_last(step: Step) -> bool:
    return isinstance(step, Update) or (isinstance(step, Make) and step.complete)
