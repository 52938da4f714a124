"""What a gateway in mode `Deployment` consists of, to the last field, and what its fields change."""

from typing import Any

import pytest

from switchyard_operator.api.gateway_sidecar import Amounts, Cores, Resources
from switchyard_operator.workloads.deployment import (
    DRAIN_S,
    GRACE_S,
    LINGER_S,
    deployment,
    disruption_budget,
    service,
)
from switchyard_operator.workloads.settings import Installation, settings_for
from switchyard_sidecar.downstream.pace import Pace
from unit.operator.declared import gateway

SIDECAR = Installation(image="registry.example/switchyard-sidecar:1")
SELECTED = {"switchyard.dev/deployment-of": "main"}
LABELS = {
    "app.kubernetes.io/name": "switchyard-gateway",
    "app.kubernetes.io/instance": "main",
    "app.kubernetes.io/managed-by": "switchyard",
    "switchyard.dev/deployment-of": "main",
}
METADATA = {
    "name": "switchyard-main",
    "namespace": "agents",
    "labels": LABELS,
    "ownerReferences": [
        {
            "apiVersion": "switchyard.dev/v1alpha1",
            "kind": "MCPGateway",
            "name": "main",
            "uid": "uid-1",
            "controller": True,
            "blockOwnerDeletion": False,
        }
    ],
}
SOURCES = [{kind: {"name": "switchyard-main", "optional": False}} for kind in ("configMap", "secret")]


def made(replicas: int | None = None, installation: Installation = SIDECAR, **spec: Any) -> dict[str, Any]:
    """The Deployment of a gateway."""
    declared = gateway(mode="Deployment", **spec)
    return deployment(declared, "uid-1", settings_for(installation, declared), replicas)


def served(**spec: Any) -> dict[str, Any]:
    """The Service of a gateway."""
    declared = gateway(mode="Deployment", **spec)
    return service(declared, "uid-1", settings_for(SIDECAR, declared))


def test_the_deployment_of_a_gateway_that_says_nothing() -> None:
    """Pods that fit the restricted standard, that no webhook looks at, and that read the config from a volume."""
    assert made(3) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": METADATA,
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": SELECTED},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": LABELS, "annotations": {"switchyard.dev/config-format": "1"}},
                "spec": {
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "terminationGracePeriodSeconds": 50,
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "topologySpreadConstraints": [
                        {
                            "topologyKey": "kubernetes.io/hostname",
                            "whenUnsatisfiable": "ScheduleAnyway",
                            "maxSkew": 1,
                            "labelSelector": {"matchLabels": SELECTED},
                        }
                    ],
                    "volumes": [{"name": "switchyard", "projected": {"sources": SOURCES}}],
                    "containers": [
                        {
                            "name": "switchyard",
                            "image": "registry.example/switchyard-sidecar:1",
                            "args": [
                                *("--config", "/etc/switchyard"),
                                *("--listen", "0.0.0.0:8811"),
                                *("--path", "/mcp"),
                                *("--admin", "0.0.0.0:8812"),
                                *("--linger", "10"),
                                *("--drain", "30"),
                            ],
                            "ports": [
                                {"name": "mcp", "containerPort": 8811, "protocol": "TCP"},
                                {"name": "admin", "containerPort": 8812, "protocol": "TCP"},
                            ],
                            "startupProbe": {
                                "httpGet": {"path": "/readyz", "port": "admin"},
                                "periodSeconds": 1,
                                "failureThreshold": 120,
                            },
                            "readinessProbe": {
                                "httpGet": {"path": "/readyz", "port": "admin"},
                                "periodSeconds": 10,
                                "timeoutSeconds": 3,
                            },
                            "livenessProbe": {
                                "httpGet": {"path": "/healthz", "port": "admin"},
                                "periodSeconds": 10,
                                "timeoutSeconds": 5,
                                "failureThreshold": 6,
                            },
                            "resources": {
                                "requests": {"cpu": "100m", "memory": "64Mi"},
                                "limits": {"memory": "256Mi"},
                            },
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                                "runAsNonRoot": True,
                                "capabilities": {"drop": ["ALL"]},
                                "seccompProfile": {"type": "RuntimeDefault"},
                            },
                            "terminationMessagePolicy": "FallbackToLogsOnError",
                            "volumeMounts": [{"name": "switchyard", "mountPath": "/etc/switchyard", "readOnly": True}],
                        }
                    ],
                },
            },
        },
    }


def test_what_others_decide_is_left_out() -> None:
    """Without a number of ours an autoscaler may have it; a pull policy is Kubernetes' business unless somebody says."""
    assert "replicas" not in made()["spec"]
    assert "imagePullPolicy" not in made()["spec"]["template"]["spec"]["containers"][0]
    assert "imagePullSecrets" not in made()["spec"]["template"]["spec"]


def test_what_gateway_and_installation_say_of_the_container_arrives() -> None:
    """As for injected sidecars: the gateway's word comes before the installation's."""
    installation = Installation("elsewhere", "Always", ("one",), Resources(limits=Amounts(cpu=Cores("1"))), "[::]")
    said = {"image": "mine:2", "imagePullSecrets": [{"name": "two"}], "adminPort": 9999}
    pod = made(installation=installation, sidecar=said, listener={"port": 80, "path": "/x"})["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("mine:2", "Always")
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert container["args"][2:8] == ["--listen", "[::]:80", "--path", "/x", "--admin", "[::]:9999"]
    assert pod["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]


def test_the_service_of_a_gateway_that_says_nothing() -> None:
    """Its port is the gateway's."""
    assert served() == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": METADATA,
        "spec": {
            "type": "ClusterIP",
            "selector": SELECTED,
            "ports": [
                {"name": "mcp", "port": 8811, "targetPort": "mcp", "protocol": "TCP", "appProtocol": "http"},
            ],
        },
    }


@pytest.mark.parametrize(("port", "shown"), [(None, 9000), (80, 80)])
def test_what_a_gateway_says_of_its_service_arrives(port: int | None, shown: int) -> None:
    """Type, port and annotations."""
    said = {"type": "LoadBalancer", "annotations": {"a.example/b": "c"}} | ({} if port is None else {"port": port})
    found = served(service=said, listener={"port": 9000})
    assert found["metadata"]["annotations"] == {"a.example/b": "c"}
    assert (found["spec"]["type"], found["spec"]["ports"][0]["port"]) == ("LoadBalancer", shown)


def test_a_drain_takes_one_replica_after_the_other() -> None:
    """Never none, so that a single replica does not hold up a node for ever."""
    assert disruption_budget(gateway(), "uid-1") == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": METADATA,
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": SELECTED}},
    }


def test_a_replica_has_time_to_leave_in_order() -> None:
    """Kubernetes waits longer than a replica takes at most."""
    assert LINGER_S + DRAIN_S + Pace().close_s + 5 <= GRACE_S
