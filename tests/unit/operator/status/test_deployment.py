"""What is said of a gateway in mode `Deployment`, by what its Deployment says of itself."""

import pytest

from switchyard_operator.controller.observed import DeploymentState
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.deployment import Placed, Placing, Standing
from switchyard_operator.controller.status.gateway import PodCounts, Writing, Written, assess_gateway
from unit.operator.declared import backend, compiled, gateway
from unit.operator.status.situations import held, in_short, message, reading

WELL = Writing(Written.PROGRAMMED, "the config is written", "c0ffee")
PLACED = Placing(Placed.DEPLOYED, "as declared")
VALID = ["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"]
PROGRAMMED = "Programmed=True Programmed"
AVAILABLE = ("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
UNAVAILABLE = ("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
STARTS = ("Progressing", "True", "ReplicaSetUpdated", 'ReplicaSet "a" is progressing.')
COMPLETE = ("Progressing", "True", "NewReplicaSetAvailable", 'ReplicaSet "a" has successfully progressed.')
STUCK = ("Progressing", "False", "ProgressDeadlineExceeded", 'ReplicaSet "a" has timed out progressing.')
FAILS = ("ReplicaFailure", "True", "FailedCreate", 'pods "a" is forbidden: exceeded quota: small')


def state(
    *conditions: tuple[str, str, str, str],
    available: int = 2,
    updated: int = 2,
    total: int = 2,
    wanted: int = 2,
    current: bool = True,
) -> DeploymentState:
    """What the API server has of a Deployment."""
    keys = ("type", "status", "reason", "message")
    status = {
        "observedGeneration": 7 if current else 6,
        "replicas": total,
        "updatedReplicas": updated,
        "availableReplicas": available,
        "conditions": [dict(zip(keys, each, strict=True)) for each in conditions],
    }
    return DeploymentState.of({"metadata": {"generation": 7}, "spec": {"replicas": wanted}, "status": status})


def assess(found: DeploymentState | None, placing: Placing = PLACED, writing: Writing = WELL) -> Assessment:
    """The status of a gateway that is well but for its Deployment."""
    declared = gateway("a", mode="Deployment")
    composed = Composition.of(compiled(declared, backend("a"), cluster=True))
    standing = Standing(placing, found)
    return assess_gateway(held(declared), composed, writing, PodCounts(), None, standing=standing)


@pytest.mark.parametrize(
    ("found", "conditions", "read"),
    [
        pytest.param(
            None,
            ["Available=Unknown Progressing", "Reconciling=True Progressing", "Ready=Unknown Progressing"],
            "InProgress",
            id="just made",
        ),
        pytest.param(
            state(UNAVAILABLE, STARTS, available=0),
            ["Available=Unknown Progressing", "Reconciling=True Progressing", "Ready=Unknown Progressing"],
            "InProgress",
            id="starting",
        ),
        pytest.param(
            state(AVAILABLE, COMPLETE), ["Available=True Available", "Ready=True Ready"], "Current", id="well"
        ),
        pytest.param(
            state(AVAILABLE, COMPLETE, available=0, updated=0, total=0, wanted=0),
            ["Available=True Available", "Ready=True Ready"],
            "Current",
            id="none are wanted",
        ),
        pytest.param(
            state(AVAILABLE, STARTS, updated=1, total=3),
            ["Available=True Available", "Reconciling=True Ready", "Ready=True Ready"],
            "InProgress",
            id="replicas are being replaced",
        ),
        pytest.param(
            state(AVAILABLE, COMPLETE, current=False),
            ["Available=True Available", "Reconciling=True Ready", "Ready=True Ready"],
            "InProgress",
            id="changed a moment ago",
        ),
        pytest.param(
            state(AVAILABLE, STUCK, updated=1, total=3),
            ["Available=True Available", "Stalled=True Ready", "Ready=True Ready"],
            "Failed",
            id="the old ones go on, new ones do not start",
        ),
        pytest.param(
            state(UNAVAILABLE, STUCK, available=0),
            [
                "Available=False ProgressDeadlineExceeded",
                "Stalled=True ProgressDeadlineExceeded",
                "Ready=False ProgressDeadlineExceeded",
            ],
            "Failed",
            id="they do not start",
        ),
        pytest.param(
            state(UNAVAILABLE, COMPLETE, available=0),
            ["Available=False Unavailable", "Reconciling=True Unavailable", "Ready=False Unavailable"],
            "InProgress",
            id="they answered, and do not any more",
        ),
        pytest.param(
            state(UNAVAILABLE, STARTS, FAILS, available=0),
            ["Available=False ReplicaFailure", "Reconciling=True ReplicaFailure", "Ready=False ReplicaFailure"],
            "InProgress",
            id="they may not be made",
        ),
    ],
)
def test_situations(found: DeploymentState | None, conditions: list[str], read: str) -> None:
    """What is said in each, and what Flux and Helm make of it."""
    assessment = assess(found)
    assert in_short(assessment) == [*VALID, PROGRAMMED, *conditions]
    assert reading(assessment) == read


@pytest.mark.parametrize(
    ("found", "kind", "text"),
    [
        (state(AVAILABLE, COMPLETE), "Available", "2 of 2 replicas are available"),
        (state(AVAILABLE, STARTS, updated=1), "Ready", "serves 1 of 1 backends; 1 of 2 replicas are up to date"),
        (
            state(UNAVAILABLE, FAILS, available=0),
            "Ready",
            '0 of 2 replicas are available: pods "a" is forbidden: exceeded quota: small',
        ),
    ],
)
def test_words(found: DeploymentState, kind: str, text: str) -> None:
    """Numbers, and what Kubernetes gives as the cause."""
    assert message(assess(found), kind) == text


@pytest.mark.parametrize(
    ("result", "progress"),
    [
        (Placed.NAME_CONFLICT, "Stalled"),
        (Placed.IMAGE_UNKNOWN, "Stalled"),
        (Placed.NOT_PERMITTED, "Stalled"),
        (Placed.BEING_DELETED, "Reconciling"),
        (Placed.WRITE_FAILED, "Reconciling"),
    ],
)
def test_what_is_not_in_place_is_not_programmed(result: Placed, progress: str) -> None:
    """Whatever a Deployment of that name says of itself."""
    assessment = assess(state(AVAILABLE, COMPLETE), Placing(result, "so it is"))
    assert in_short(assessment) == [
        *VALID,
        f"Programmed=False {result}",
        f"{progress}=True {result}",
        f"Ready=False {result}",
    ]
    assert message(assessment, "Programmed") == "so it is"


def test_a_config_that_is_not_written_counts_first() -> None:
    """Replicas that serve the config before it are available all the same."""
    failed = Writing(Written.TOO_LARGE, "the config comes to 9999999 bytes", "01d")
    assert in_short(assess(state(AVAILABLE, COMPLETE), writing=failed)) == [
        *VALID,
        "Programmed=False TooLarge",
        "Available=True Available",
        "Stalled=True TooLarge",
        "Ready=False TooLarge",
    ]
