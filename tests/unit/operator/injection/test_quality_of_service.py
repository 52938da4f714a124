"""The sidecar's resources: a pod keeps the class that it has without the sidecar."""

from typing import Any

import pytest

from switchyard_operator.api.gateway import MCPGateway
from unit.operator.injection.pods import MAIN, container, gateway, injected, pod, sidecar_of

SMALL = {"cpu": "100m", "memory": "64Mi"}
DEFAULT = {"requests": SMALL, "limits": {"memory": "256Mi"}}
GUARANTEED = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "100m", "memory": "256Mi"}}
ASKED = {"requests": {"cpu": "50m"}, "limits": {"cpu": "2", "memory": "1Gi"}}
HALF_ASKED = {"requests": {"cpu": "50m"}}
ASKING = gateway(sidecar={"resources": ASKED})


@pytest.mark.parametrize(
    ("containers", "declared", "expected"),
    [
        # BestEffort, unless the gateway wants it otherwise
        ([{}], MAIN, None),
        ([{"requests": {}}, {"limits": {"example.com/gpu": "1"}}], MAIN, None),
        ([{"limits": {"cpu": "0", "memory": "0"}, "requests": {"cpu": "0", "memory": "0"}}], MAIN, None),
        ([{}], ASKING, ASKED),
        # Burstable
        ([{"requests": {"cpu": "1"}}], MAIN, DEFAULT),
        ([{"requests": SMALL, "limits": {"cpu": "100m", "memory": "65Mi"}}], MAIN, DEFAULT),
        ([{"limits": SMALL}, {}], MAIN, DEFAULT),
        ([{"limits": {"cpu": "1"}}], MAIN, DEFAULT),
        ([{"requests": {"cpu": "1"}}], ASKING, ASKED),
        # Guaranteed
        ([{"limits": SMALL}], MAIN, GUARANTEED),
        ([{"limits": SMALL, "requests": SMALL}, {"limits": SMALL}], MAIN, GUARANTEED),
        (
            [{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}}],
            MAIN,
            GUARANTEED,
        ),
        (
            [{"limits": SMALL}],
            ASKING,
            {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "2", "memory": "1Gi"}},
        ),
        # ... which a gateway that names no memory at all cannot keep
        ([{"limits": SMALL}], gateway(sidecar={"resources": HALF_ASKED}), HALF_ASKED),
        # Written in other ways
        ([{"limits": {"cpu": "1e0", "memory": "1e9"}, "requests": {"cpu": 1, "memory": "1G"}}], MAIN, GUARANTEED),
        ([{"limits": {"memory": "9Ei"}}], MAIN, None),
    ],
)
def test_the_sidecars_resources_fit_those_of_the_pod(
    containers: list[dict[str, Any]], declared: MCPGateway, expected: dict[str, Any] | None
) -> None:
    """By what its containers have."""
    before = pod(*(container(f"c{number}", resources=each) for number, each in enumerate(containers)))
    assert sidecar_of(injected(before, declared)).get("resources") == expected


def test_init_containers_count_too() -> None:
    """As they do for the kubelet."""
    guaranteed = container(resources={"limits": SMALL})
    assert sidecar_of(injected(pod(guaranteed, initContainers=[container("a")])))["resources"] == DEFAULT


def test_the_sidecar_shares_the_resources_of_the_pod_as_a_whole() -> None:
    """Requests of its own could exceed the pod's, which the API server would refuse."""
    before = pod(container(resources={"requests": SMALL}), resources={"limits": SMALL})
    assert "resources" not in sidecar_of(injected(before, ASKING))
