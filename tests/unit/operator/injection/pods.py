"""Pods, gateways and what comes of them, for the tests of injection."""

from collections.abc import Mapping
from typing import Any, Final

import jsonpatch

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import API_VERSION, Key
from switchyard_operator.injection.decision import Decision, decide
from switchyard_operator.workloads.settings import Installation

NAMESPACE: Final = "team"
INSTALLATION: Final = Installation(image="registry.example/sidecar:1")

Tree = dict[str, Any]


def gateway(**spec: Any) -> MCPGateway:
    """The gateway ``main``."""
    tree = {"apiVersion": API_VERSION, "kind": "MCPGateway", "metadata": {"name": "main", "namespace": NAMESPACE}}
    return MCPGateway.model_validate({**tree, "spec": spec})


MAIN: Final = gateway()


def pod(*containers: Tree, annotations: Mapping[str, str] | None = None, label: str = "main", **spec: Any) -> Tree:
    """A pod that asks for a gateway; without containers: one that says nothing."""
    metadata: Tree = {"generateName": "agent-", "labels": {"switchyard.dev/gateway": label}}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": {"containers": list(containers) or [container()], **spec}}


def container(name: str = "app", **more: Any) -> Tree:
    """A container of a user's."""
    return {"name": name, "image": "agent:1", **more}


def decided(
    pod: Tree, declared: MCPGateway | None = MAIN, installation: Installation = INSTALLATION, namespace: str = NAMESPACE
) -> Decision:
    """The decision about a pod, where this gateway is all there is."""

    def gateway_of(key: Key) -> MCPGateway | None:
        return declared if declared is not None and key == declared.key else None

    return decide(pod, namespace, gateway_of, installation)


def patched(pod: Tree, decision: Decision) -> Tree:
    """The pod with the patch applied, by somebody else's library."""
    result: Tree = jsonpatch.apply_patch(pod, list(decision.patch))
    return result


def injected(pod: Tree, declared: MCPGateway | None = MAIN, installation: Installation = INSTALLATION) -> Tree:
    """The pod as it becomes."""
    return patched(pod, decided(pod, declared, installation))


def sidecar_of(pod: Tree) -> Tree:
    """The sidecar among its init containers."""
    (found,) = (each for each in pod["spec"]["initContainers"] if each["name"] == "switchyard")
    assert isinstance(found, dict)
    return found
