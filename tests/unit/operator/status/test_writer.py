"""Statuses and events on their way: what is written, when, and what the API server may say to it."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from switchyard_operator.controller.kube import ApiError
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.resources import BACKENDS, EVENTS, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.conditions import Condition, Progress, Truth, concluded
from switchyard_operator.controller.status.writer import DISTANCE_S, LOOK_AGAIN_S, StatusWriter
from unit.operator.declared import backend
from unit.operator.status.situations import NOW, held


def said(truth: Truth = Truth.TRUE, reason: str = "Accepted", tools: int = 0) -> Assessment:
    """One condition and one count."""
    parts = [Condition("Accepted", truth, reason, "a message")]
    progress = Progress.DONE if truth is Truth.TRUE else Progress.STUCK
    return Assessment(concluded(parts, Condition("Ready", truth, reason), progress), {"tools": {"count": tools}})


BROKEN = said(Truth.FALSE, "Invalid")


class Cluster:
    """An API server with one backend in it, and a store that has just seen it."""

    def __init__(self) -> None:
        self.uid, self.version, self.status = "uid-1", 100, dict[str, Any]()
        self.events: list[dict[str, Any]] = []
        self.writes = 0
        self.refuse: dict[Resource, ApiError] = {}
        self.writer = StatusWriter(
            self, "replica", self.may_write, self.seen, Metrics(CollectorRegistry()), now=lambda: NOW
        )
        self.leads = True
        self.item: Item[Any] = held(backend("github"))

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
        if EVENTS in self.refuse:
            raise self.refuse[EVENTS]
        assert (resource, body["metadata"]["namespace"]) == (EVENTS, "agents")
        if any(each["metadata"]["name"] == body["metadata"]["name"] for each in self.events):
            raise ApiError(409, "AlreadyExists", "")
        self.events.append(dict(body))
        return dict(body)

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str | None = None
    ) -> dict[str, Any]:
        assert (resource, subresource) == (BACKENDS, "status")
        if BACKENDS in self.refuse:
            raise self.refuse[BACKENDS]
        metadata = body["metadata"]
        if (metadata["uid"], metadata["resourceVersion"]) != (self.uid, str(self.version)):
            raise ApiError(409, "Conflict", "")
        self.version += 1
        self.writes += 1
        self.status = dict(body["status"])
        return {"metadata": {**metadata, "resourceVersion": str(self.version)}, "status": self.status}

    def may_write(self) -> None:
        if not self.leads:
            raise PermissionError

    def seen(self, resource: Resource, answer: Mapping[str, Any]) -> None:
        assert resource is BACKENDS
        version, status = answer["metadata"]["resourceVersion"], answer["status"]
        self.item = Item(self.item.key, self.uid, version, 3, deleting=False, model=self.item.model, status=status)

    async def write(self, assessment: Assessment) -> float | None:
        return await self.writer.write(BACKENDS, self.item, assessment)

    @property
    def reasons(self) -> list[str]:
        return [each["reason"] for each in self.events]


async def test_a_second_pass_writes_nothing() -> None:
    """The same assessment of an object whose status says so already."""
    cluster = Cluster()
    assert await cluster.write(said()) is None
    assert await cluster.write(said()) is None
    assert cluster.writes == 1
    assert cluster.events == []


async def test_a_count_waits_for_its_turn() -> None:
    """Whoever asks is told when; what is assessed then is written, and nothing in between."""
    cluster = Cluster()
    await cluster.write(said(tools=1))
    wait_s = await cluster.write(said(tools=2))
    assert wait_s == pytest.approx(DISTANCE_S, abs=0.5)
    assert cluster.status["tools"] == {"count": 1}


async def test_a_count_is_written_when_its_time_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five seconds after the last write."""
    cluster, loop = Cluster(), asyncio.get_running_loop()
    await cluster.write(said(tools=1))
    later = loop.time() + DISTANCE_S
    monkeypatch.setattr(loop, "time", lambda: later)
    assert await cluster.write(said(tools=2)) is None
    assert cluster.status["tools"] == {"count": 2}


async def test_a_flip_is_written_at_once_with_its_event() -> None:
    """And so is the flip back."""
    cluster = Cluster()
    await cluster.write(said())
    assert await cluster.write(BROKEN) is None
    assert await cluster.write(said()) is None
    assert cluster.writes == 3
    assert cluster.reasons == ["Invalid", "Accepted"]


async def test_what_flaps_is_said_once() -> None:
    """For one generation of the object."""
    cluster = Cluster()
    for _ in range(5):
        await cluster.write(BROKEN)
        await cluster.write(said())
    assert cluster.writes == 10
    assert cluster.reasons == ["Invalid", "Accepted"]


async def test_an_object_that_is_on_its_way_out_is_left_alone() -> None:
    """Nobody reads its status."""
    cluster = Cluster()
    item = Item(cluster.item.key, "uid-1", "100", 3, deleting=True, model=cluster.item.model)
    assert await cluster.writer.write(BACKENDS, item, said()) is None
    assert cluster.writes == 0


async def test_an_object_that_changed_meanwhile_is_assessed_anew() -> None:
    """What was assessed is old; the store is about to hear of it."""
    cluster = Cluster()
    cluster.version += 1
    assert await cluster.write(said()) == LOOK_AGAIN_S
    assert cluster.writes == 0


async def test_an_object_that_is_gone_needs_no_status() -> None:
    """Its deletion is an event of its own."""
    cluster = Cluster()
    cluster.refuse[BACKENDS] = ApiError(404, "NotFound", "")
    assert await cluster.write(said()) is None


async def test_an_event_that_is_not_allowed_does_not_hold_up_the_status() -> None:
    """Permissions for events may be missing."""
    cluster = Cluster()
    cluster.refuse[EVENTS] = ApiError(403, "Forbidden", "")
    assert await cluster.write(BROKEN) is None
    assert cluster.writes == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_event_that_may_succeed_later_comes_before_the_status(status: int) -> None:
    """The flip, which is what tells that there is something to say, must not be lost."""
    cluster = Cluster()
    cluster.refuse[EVENTS] = ApiError(status, "", "")
    with pytest.raises(ApiError):
        await cluster.write(BROKEN)
    cluster.refuse.clear()
    await cluster.write(BROKEN)
    assert cluster.reasons == ["Invalid"]


async def test_a_refused_status_is_tried_again_and_its_event_not_said_twice() -> None:
    """Whoever calls backs off."""
    cluster = Cluster()
    cluster.refuse[BACKENDS] = ApiError(403, "Forbidden", "")
    with pytest.raises(ApiError):
        await cluster.write(BROKEN)
    cluster.refuse.clear()
    await cluster.write(BROKEN)
    assert cluster.writes == 1
    assert cluster.reasons == ["Invalid"]


async def test_nothing_is_written_by_a_replica_that_may_not() -> None:
    """Neither status nor event."""
    cluster = Cluster()
    cluster.leads = False
    with pytest.raises(PermissionError):
        await cluster.write(BROKEN)
    assert (cluster.writes, cluster.events) == (0, [])
