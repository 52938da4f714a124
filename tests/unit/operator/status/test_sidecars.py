"""Pods that ask for a gateway's sidecar, and what is said of them."""

from typing import Any

import pytest

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.controller.observed import Pod
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.gateway import PodCounts, Writing, Written, assess_gateway
from switchyard_operator.controller.status.sidecars import Sidecars
from unit.operator.declared import compiled, gateway
from unit.operator.status.situations import GENERATION, NOW, held, in_short, message

IMAGE = "registry.example/sidecar:1"
ARGS = ["--config", "/etc/switchyard", "--listen", "127.0.0.1:8811", "--path", "/mcp", "--admin", "0.0.0.0:8812"]


def pod(
    name: str = "agent-1", *, sidecar: dict[str, Any] | None = None, phase: str = "Running", **annotations: str
) -> Pod:
    """A pod as the API server has it; ``sidecar``: what differs in the container, ``None``: there is none."""
    own = {"name": "switchyard", "image": IMAGE, "args": ARGS, "ports": [{"name": "admin", "containerPort": 8812}]}
    marks = {"config-format": "1"} | {name.replace("_", "-"): value for name, value in annotations.items()}
    return Pod.of(
        {
            "metadata": {
                "namespace": "agents",
                "name": name,
                "labels": {"switchyard.dev/gateway": "main"},
                "annotations": {f"switchyard.dev/{name}": value for name, value in marks.items()},
            },
            "spec": {"initContainers": [] if sidecar is None else [own | sidecar], "containers": [{"name": "app"}]},
            "status": {"phase": phase},
        }
    )


def without(args: list[str], option: str) -> list[str]:
    """The arguments without one of them."""
    at = args.index(option)
    return args[:at] + args[at + 2 :]


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        (gateway(), pod(sidecar={})),
        (gateway(), pod(sidecar={"args": ["--listen=127.0.0.1:8811", "--path=/mcp"]})),
        (gateway(listener={"port": 9000}), pod(sidecar={"args": ["--listen=127.0.0.1:9000"]})),
        (gateway(sidecar={"image": "other"}), pod(sidecar={"image": "other"})),
        (gateway(listener={"port": 9000}), pod(sidecar={}, port="8811")),
        # A container that somebody has written by hand does not say everything
        (gateway(listener={"port": 9000, "path": "/a"}), pod(sidecar={"args": []})),
        (gateway(listener={"path": "/a"}), pod(sidecar={"args": without(ARGS, "--path")})),
    ],
)
def test_a_sidecar_that_is_as_it_would_be_now_is_current(declared: MCPGateway, found: Pod) -> None:
    """Wherever that is said."""
    assert Sidecars.of(declared, [found], IMAGE) == Sidecars(1, (), ())


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        (gateway(), pod(sidecar={"image": "registry.example/sidecar:0"})),
        (gateway(sidecar={"image": "other"}), pod(sidecar={})),
        (gateway(listener={"port": 9000}), pod(sidecar={})),
        (gateway(), pod(sidecar={}, port="9000")),
        (gateway(listener={"path": "/a"}), pod(sidecar={})),
        (gateway(), pod(sidecar={}, config_format="0")),
    ],
)
def test_a_sidecar_that_would_be_another_one_now_is_outdated(declared: MCPGateway, found: Pod) -> None:
    """By image, port, path, or what it can read."""
    assert Sidecars.of(declared, [found], IMAGE) == Sidecars(1, (), ("agent-1",))


def test_an_image_that_is_not_known_is_not_compared() -> None:
    """Where the operator was not told which one the webhook gives."""
    assert Sidecars.of(gateway(), [pod(sidecar={"image": "any"})], None) == Sidecars(1, (), ())


def test_pods_without_a_sidecar_are_missing_one_until_they_are_over() -> None:
    """From before they run."""
    pods = [
        pod("b", phase="Pending"),
        pod("a"),
        pod("c", phase="Succeeded"),
        pod("d", phase="Failed"),
        pod("e", sidecar={}),
    ]
    assert Sidecars.of(gateway(), pods, IMAGE) == Sidecars(3, ("a", "b"), ())


@pytest.mark.parametrize(
    "volume",
    [
        {"name": "config", "configMap": {"name": "switchyard-main"}},
        {
            "name": "config",
            "projected": {"sources": [{"secret": {"name": "x"}}, {"configMap": {"name": "switchyard-main"}}]},
        },
    ],
    ids=["configMap", "projected"],
)
def test_a_sidecar_that_was_written_by_hand_is_known_by_the_config_it_reads(volume: dict[str, Any]) -> None:
    """It needs nothing of ours to count, and to be told of changes."""
    own = {"name": "switchyard", "image": IMAGE, "ports": [{"name": "admin", "containerPort": 8812}]}
    spec = {"containers": [own], "volumes": [{"name": "empty", "emptyDir": {}}, volume]}
    metadata = {"namespace": "agents", "name": "agent-1", "labels": {"switchyard.dev/gateway": "main"}}
    assert Pod.of({"metadata": metadata, "spec": spec}).admin_port == 8812
    of_another = {**metadata, "labels": {"switchyard.dev/gateway": "other"}}
    assert Pod.of({"metadata": of_another, "spec": spec}).sidecar is None


@pytest.mark.parametrize("place", ["initContainers", "containers"])
def test_an_agents_own_container_of_the_sidecars_name_is_no_sidecar(place: str) -> None:
    """The webhook adds none beside it (``NameTaken``), and it is not one that is outdated: it will never be another."""
    own = {"name": "switchyard", "image": "registry.example/railway:3", "args": ["--listen", ":9000"]}
    labels = {"switchyard.dev/gateway": "main"}
    raw = {"metadata": {"namespace": "agents", "name": "agent-1", "labels": labels}, "spec": {place: [own]}}
    assert Sidecars.of(gateway(), [Pod.of(raw)], IMAGE) == Sidecars(1, ("agent-1",), ())


def test_pods_of_a_gateway_with_a_deployment_need_no_sidecar() -> None:
    """Whatever they are labelled."""
    assert Sidecars.of(gateway(mode="Deployment"), [pod()], IMAGE) == Sidecars(0, (), ())


@pytest.mark.parametrize(
    ("sidecars", "conditions", "says"),
    [
        (Sidecars(), [], None),
        (Sidecars(2), ["Injected=True Injected"], "every pod that asks for it has a current sidecar"),
        (
            Sidecars(2, ("a",), ("b",)),
            ["Injected=False SidecarMissing"],
            "1 pod has no sidecar (the webhook adds it when a pod is created, where it is enabled and nothing in the pod is in the way): a",
        ),
        (
            Sidecars(9, tuple("abcdefg")),
            ["Injected=False SidecarMissing"],
            "7 pods have no sidecar (the webhook adds it when a pod is created, where it is enabled and nothing in the pod is in the way): a, b, c, d, e and 2 more",
        ),
        (
            Sidecars(2, (), ("a", "b")),
            ["Injected=False SidecarOutdated"],
            (
                "2 pods have an outdated sidecar "
                "(image, port, path or format of the config; it is renewed when a pod is created anew): a, b"
            ),
        ),
    ],
)
def test_a_gateway_tells_of_its_pods_and_is_ready_all_the_same(
    sidecars: Sidecars, conditions: list[str], says: str | None
) -> None:
    """Pods are others' to make anew: nothing waits for that."""
    declared = gateway()
    written = Writing(Written.PROGRAMMED, "the config is written", "c0ffee")
    composed = Composition.of(compiled(declared, cluster=True))
    assessment = assess_gateway(held(declared), composed, written, PodCounts(1, 1, 0), None, sidecars)
    assert in_short(assessment)[3:] == [*conditions, "Ready=True Ready"]
    assert says is None or message(assessment, "Injected") == says
    pods = assessment.status(GENERATION, {}, NOW)["pods"]
    lacking = {"missing": len(sidecars.missing), "outdated": len(sidecars.outdated)}
    assert pods == {"attached": 1, "current": 1, "unknown": 0} | {name: n for name, n in lacking.items() if n}


def test_counts_of_pods_that_have_a_sidecar_by_now_go() -> None:
    """Also while the others cannot be counted."""
    declared = gateway()
    stored = {"pods": {"attached": 2, "current": 2, "unknown": 0, "missing": 1}}
    composed = Composition.of(compiled(declared, cluster=True))
    assessment = assess_gateway(held(declared, stored), composed, None, None, None, Sidecars(2))
    assert assessment.facts["pods"] == {"attached": 2, "current": 2, "unknown": 0}
