"""Statuses and events on their way to the API server: only what differs, at most once in five seconds, a flip at once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, Protocol

import structlog

from switchyard_operator.controller.kube import ApiError, KubeError
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.resources import EVENTS, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.conditions import OURS
from switchyard_operator.controller.status.events import Notice, event, notices

DISTANCE_S: Final = 5.0
"""Between two writes to one object, unless a condition flips."""
LOOK_AGAIN_S: Final = 0.2
"""After the object had changed under our hands: the store is about to hear of it."""

log = structlog.get_logger(__name__)


class Api(Protocol):
    """What is needed of :class:`~switchyard_operator.controller.kube.Kube`."""

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make an object that must not exist yet."""

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str | None = None
    ) -> dict[str, Any]:
        """Server-side apply."""


class StatusWriter:
    """Writes statuses for one replica, which ``instance`` names in events.

    ``may_write`` raises where we may not; ``seen`` is told what the API server answers to writes; ``now`` is the time of day.
    """

    def __init__(
        self,
        api: Api,
        instance: str,
        may_write: Callable[[], None],
        seen: Callable[[Resource, dict[str, Any]], None],
        metrics: Metrics,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._api = api
        self._instance = instance
        self._may_write = may_write
        self._seen = seen
        self._metrics = metrics
        self._now = now
        self._last: dict[str, float] = {}
        """By uid: when a status was written within the last :data:`DISTANCE_S`, oldest first, by the loop's clock."""

    async def write(self, resource: Resource, item: Item[Any], assessment: Assessment) -> float | None:
        """Bring the object's status in line with the assessment of it.

        Gives the seconds after which to assess anew and call again, or ``None`` when all is said. Raises
        :class:`~switchyard_operator.controller.kube.KubeError` when it should be tried again after a back-off.
        """
        now = self._now()
        status = assessment.status(item.generation, item.status, now)
        if item.deleting or not differs(status, item.status):
            return None
        wait_s = 0.0 if flips(status, item.status) else self._wait_s(item.uid)
        if wait_s > 0:
            return wait_s
        for notice in notices(assessment.conditions, item.status.get("conditions") or ()):
            await self._tell(resource, item, notice, now)
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "namespace": item.key.namespace,
                "name": item.key.name,
                "uid": item.uid,
                # What was assessed, and nothing newer: a replica that leads no more does not bring an old state back.
                "resourceVersion": item.resource_version,
            },
            "status": status,
        }
        self._may_write()
        try:
            answer = await self._counted(resource, self._api.apply(resource, body, subresource="status"))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            if error.status == HTTPStatus.CONFLICT:
                return LOOK_AGAIN_S
            raise
        self._last.pop(item.uid, None)
        self._last[item.uid] = asyncio.get_running_loop().time()
        self._seen(resource, answer)
        return None

    def _wait_s(self, uid: str) -> float:
        """How long until the next write is due."""
        begin = asyncio.get_running_loop().time() - DISTANCE_S
        while self._last and next(iter(self._last.values())) <= begin:
            del self._last[next(iter(self._last))]
        return self._last.get(uid, begin) - begin

    async def _tell(self, resource: Resource, item: Item[Any], notice: Notice, now: datetime) -> None:
        """Create the event before the status is written: whoever is interrupted in between says it again, in vain."""
        body = event(resource, item, notice, self._instance, now)
        self._may_write()
        try:
            await self._counted(EVENTS, self._api.create(EVENTS, body))
        except ApiError as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or error.status == HTTPStatus.TOO_MANY_REQUESTS:
                raise
            # A conflict says that it has been said; where the namespace ends, nobody is left to hear it.
            if error.status != HTTPStatus.CONFLICT and not error.namespace_ends:
                log.warning("event_refused", object=str(item.key), reason=notice.reason, error=str(error))

    async def _counted(self, resource: Resource, writing: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        try:
            answer = await writing
        except KubeError as error:
            reason = error.reason if isinstance(error, ApiError) else "Unreachable"
            self._metrics.writes.labels(str(resource), reason).inc()
            raise
        self._metrics.writes.labels(str(resource), "Written").inc()
        return answer


def differs(status: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether anything of ours is stored otherwise. Conditions of others, and the order of all, do not count."""
    return _comparable(status) != _comparable(stored)


def flips(status: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether a condition of ours gets another status, appears or goes."""
    return _truths(status) != _truths(stored)


def _comparable(status: Mapping[str, Any]) -> dict[str, Any]:
    conditions = {each["type"]: each for each in status.get("conditions") or () if each["type"] in OURS}
    return {**status, "conditions": conditions}


def _truths(status: Mapping[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in status.get("conditions") or () if each["type"] in OURS}
