"""One object of a gateway in mode `Deployment`: what is done about it, given how the API server has it."""

from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.deploy import (
    HandOver,
    ImageUnknown,
    Make,
    Remove,
    Update,
    agreed,
    next_step,
    wanted,
)
from switchyard_operator.controller.observed import decided
from switchyard_operator.controller.plan import Blocked, Obstacle
from switchyard_operator.controller.resources import DEPLOYMENTS, DISRUPTION_BUDGETS, SERVICES
from switchyard_operator.controller.shelf import Item
from switchyard_operator.workloads.settings import Installation
from unit.operator.declared import gateway
from unit.operator.status.situations import held, invalid

MAIN = Key("agents", "main")
HERE = Installation("registry.example/sidecar:1")
OURS = {"manager": "switchyard-operator", "operation": "Apply"}


def desired(**spec: Any) -> Any:
    """The Deployment of a gateway, with what is ours in it."""
    objects = wanted(held(gateway(mode="Deployment", **spec)), HERE)
    assert objects is not None
    return objects[DEPLOYMENTS]


def live(
    owner: str = "uid-1", kind: str = "MCPGateway", managed: tuple[dict[str, Any], ...] = (), **metadata: Any
) -> dict[str, Any]:
    """A Deployment as the API server has it."""
    reference = {
        "apiVersion": "switchyard.dev/v1alpha1",
        "kind": kind,
        "name": "main",
        "uid": owner,
        "controller": True,
    }
    return {
        "metadata": {
            "name": "switchyard-main",
            "namespace": "agents",
            "uid": "uid-9",
            "resourceVersion": "77",
            "ownerReferences": [reference] if owner else [],
            "managedFields": [
                {**each, "fieldsV1": {"f:spec": {"f:replicas": {}, "f:template": {}}}} for each in managed
            ],
            **metadata,
        },
        "spec": {"replicas": 3},
    }


def step(want: Any, seen: Any) -> Any:
    """What is done about it."""
    return next_step(DEPLOYMENTS, want, seen, MAIN, "uid-1")


def test_an_object_is_made_with_a_number_of_replicas() -> None:
    """One that the gateway says is the operator's; another is given once, which is not all there is to do."""
    made = step(desired(replicas=5), None)
    assert isinstance(made, Make)
    assert (made.body["spec"]["replicas"], made.complete) == (5, True)
    made = step(desired(), None)
    assert isinstance(made, Make)
    assert (made.body["spec"]["replicas"], made.complete) == (2, False)


@pytest.mark.parametrize(
    ("said", "managed", "handed"),
    [
        pytest.param({}, (OURS,), True, id="ours alone"),
        pytest.param({}, (OURS, {"manager": "switchyard-operator-replicas", "operation": "Apply"}), False, id="shared"),
        pytest.param({}, ({"manager": "hpa", "operation": "Update"},), False, id="an autoscaler's"),
        pytest.param({}, (), False, id="nobody's"),
        pytest.param({"replicas": 1}, (OURS,), False, id="said by the gateway"),
    ],
)
def test_a_number_is_handed_over_before_it_is_let_go(
    said: dict[str, Any], managed: tuple[dict[str, Any], ...], handed: bool
) -> None:
    """So that there is no moment in which it would fall back to one. What is handed over is the number that there is, and only that."""
    done = step(desired(**said), live(managed=managed))
    assert isinstance(done, HandOver if handed else Update)
    if handed:
        assert done.body == {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "switchyard-main", "namespace": "agents", "uid": "uid-9", "resourceVersion": "77"},
            "spec": {"replicas": 3},
        }
    else:
        assert done.body["metadata"].items() >= {"uid": "uid-9", "resourceVersion": "77"}.items()
        assert done.body["spec"].get("replicas") == said.get("replicas")


@pytest.mark.parametrize(
    ("seen", "obstacle"),
    [
        (live(owner=""), Obstacle.NAME_CONFLICT),
        (live(owner="uid-2", kind="Other"), Obstacle.NAME_CONFLICT),
        (live(owner="uid-2"), Obstacle.BEING_DELETED),
        (live(deletionTimestamp="2026-07-28T12:00:00Z"), Obstacle.BEING_DELETED),
    ],
    ids=["nobody's", "another's", "an earlier gateway's", "on its way out"],
)
def test_what_is_not_this_gateways_is_not_written(seen: dict[str, Any], obstacle: Obstacle) -> None:
    """Nor deleted, when the gateway wants none."""
    blocked = step(desired(), seen)
    assert isinstance(blocked, Blocked)
    assert blocked.obstacle is obstacle
    assert step(None, seen) is None


def test_what_is_not_wanted_any_more_is_removed_as_it_was_seen() -> None:
    """Another object of its name would not be."""
    assert step(None, live()) == Remove(DEPLOYMENTS, Key("agents", "switchyard-main"), "uid-9", "77")
    assert step(None, None) is None


@pytest.mark.parametrize(
    ("item", "objects"),
    [
        pytest.param(held(gateway(mode="Deployment")), True, id="in mode Deployment"),
        pytest.param(held(gateway()), False, id="in mode Sidecar"),
        pytest.param(invalid(), None, id="invalid"),
    ],
)
def test_what_a_gateway_consists_of(item: Item[Any], objects: bool | None) -> None:
    """Three objects, none, or what there is."""
    found = wanted(item, HERE)
    assert (found is None) == (objects is None)
    if found is not None:
        assert {resource: each is not None for resource, each in found.items()} == dict.fromkeys(
            (SERVICES, DISRUPTION_BUDGETS, DEPLOYMENTS), objects
        )


def test_somebody_has_to_say_the_image() -> None:
    """The installation or the gateway."""
    with pytest.raises(ImageUnknown):
        wanted(held(gateway(mode="Deployment")), Installation(""))
    assert wanted(held(gateway(mode="Deployment", sidecar={"image": "x"})), Installation(""))


def test_only_what_somebody_decides_is_looked_at_again() -> None:
    """Status and bookkeeping change all the time; another spec, label or owner, or another wish, has to be put to the API server."""
    before = live()
    want = desired()
    settled = agreed(want, decided(before))
    moved = {**live(resourceVersion="78", generation=9), "status": {"replicas": 3}}
    assert agreed(want, decided(moved)) == settled
    for changed in (live(labels={"a": "b"}), live(owner="uid-3"), {**live(), "spec": {"replicas": 4}}):
        assert agreed(want, decided(changed)) != settled
    assert agreed(desired(replicas=2), decided(before)) != settled
