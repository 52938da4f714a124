"""What lies in the cluster: teams of ten gateways over five backends, among pods and Secrets.

Every gateway serves the five backends of its own namespace, every other one by a selector, and the five of the next namespace: so
ten backends a gateway, and twenty gateways a backend.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from apiserver.client import ALIASES, BACKENDS, GATEWAYS, NAMESPACES, PODS, SECRETS, Object, Resource

GATEWAYS_OF_TEAM: Final = 10
BACKENDS_OF_TEAM: Final = 5
PODS_OF_GATEWAY: Final = 10
RUNNING_OF_GATEWAY: Final = 2
"""Pods of a gateway that have an address; the others wait for a node."""
STRANGERS_OF_TEAM: Final = 100
"""Secrets that are nobody's business."""
_API: Final = "switchyard.dev/v1alpha1"


@dataclass(frozen=True)
class Cluster:
    """What there is, for so many teams."""

    teams: int
    admin_port: int
    """Where the sidecars of running pods answer, each at an address of its gateway's."""

    @property
    def gateways(self) -> int:
        """How many there are."""
        return self.teams * GATEWAYS_OF_TEAM

    @property
    def backends(self) -> int:
        """How many there are, each with a credential and an alias."""
        return self.teams * BACKENDS_OF_TEAM

    @property
    def pods(self) -> int:
        """How many there are, all labelled."""
        return self.gateways * PODS_OF_GATEWAY

    @property
    def strangers(self) -> int:
        """How many Secrets there are that the operator does not see."""
        return self.teams * STRANGERS_OF_TEAM

    def namespaces(self) -> Iterator[tuple[Resource, None, Object]]:
        """The namespaces of all teams."""
        for team in range(self.teams):
            yield NAMESPACES, None, {"metadata": {"name": namespace(team)}}

    def objects(self) -> Iterator[tuple[Resource, str, Object]]:
        """What is declared in them."""
        for team in range(self.teams):
            for resource, body in self._of(team):
                yield resource, namespace(team), body

    def running(self) -> Iterator[tuple[str, str, Object]]:
        """The pods that have been started: namespace, name of their status, and what it becomes."""
        for team in range(self.teams):
            for number in range(GATEWAYS_OF_TEAM):
                for pod in range(RUNNING_OF_GATEWAY):
                    yield namespace(team), f"{gateway(number)}-{pod}/status", _running(address(team, number))

    def users(self, team: int) -> set[tuple[str, str]]:
        """The gateways, by namespace and name, that serve the backends of a team."""
        return {
            (namespace(each % self.teams), gateway(i)) for each in (team, team - 1) for i in range(GATEWAYS_OF_TEAM)
        }

    def _of(self, team: int) -> Iterator[tuple[Resource, Object]]:
        for number in range(STRANGERS_OF_TEAM):
            yield SECRETS, _secret(f"stranger-{number}", "x" * 1000, {})
        for number in range(BACKENDS_OF_TEAM):
            yield SECRETS, _secret(credential(number), "initial", {"switchyard.dev/credential": "true"})
            yield BACKENDS, _backend(number)
            yield ALIASES, _alias(number)
        for number in range(GATEWAYS_OF_TEAM):
            yield GATEWAYS, self._gateway(team, number)
            for pod in range(PODS_OF_GATEWAY):
                yield PODS, _pod(number, pod, self.admin_port)

    def _gateway(self, team: int, number: int) -> Object:
        others = namespace((team + 1) % self.teams)
        own: list[Object] = [{"selector": {"matchLabels": {"purpose": "tools"}}}]
        if number % 2:
            own = [{"name": backend(each)} for each in range(BACKENDS_OF_TEAM)]
        borrowed = [{"name": backend(each), "namespace": others} for each in range(BACKENDS_OF_TEAM)]
        entries = own if self.teams == 1 else own + borrowed
        return _object("MCPGateway", gateway(number), {"backends": entries, "instructions": "Tools of this team."})


def namespace(team: int) -> str:
    """A team's namespace."""
    return f"team-{team:03}"


def gateway(number: int) -> str:
    """The name of one of a team's gateways."""
    return f"agents-{number}"


def backend(number: int) -> str:
    """The name of one of a team's backends."""
    return f"tools-{number}"


def credential(number: int) -> str:
    """The name of the Secret with that backend's token."""
    return f"token-{number}"


def alias(number: int) -> str:
    """The name of the alias of one of that backend's tools, for all gateways of its namespace."""
    return f"alias-{number}"


def address(team: int, number: int) -> str:
    """Where the pods of a gateway are: loopback, which the operator asks pods at like any other address."""
    return f"127.1.{team}.{number + 1}"


def token(content: str) -> Object:
    """The data of a credential."""
    return {"token": base64.b64encode(content.encode()).decode()}


def _object(kind: str, name: str, spec: Object, labels: dict[str, str] | None = None) -> Object:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def _secret(name: str, content: str, labels: dict[str, str]) -> Object:
    return {"metadata": {"name": name, "labels": labels}, "data": token(content)}


def _backend(number: int) -> Object:
    spec = {
        "url": f"http://127.0.0.1:9/{number}",  # an address that the operator's looks do not connect to
        "auth": {"type": "Bearer", "secretKeyRef": {"name": credential(number), "key": "token"}},
        "headers": [{"name": "X-Team", "value": "platform"}],
        "allowedNamespaces": {"from": "All", "credentials": "Share"},
    }
    return _object("MCPBackend", backend(number), spec, {"purpose": "tools"})


def _alias(number: int) -> Object:
    spec = {"backendRef": {"name": backend(number)}, "tool": "search", "alias": f"search_{number}"}
    return _object("MCPToolAlias", alias(number), spec)


def _pod(of: int, number: int, admin_port: int) -> Object:
    """An agent with its sidecar, as large as pods are: a dozen variables, a probe, volumes."""
    variables = [{"name": f"SETTING_{each}", "value": f"a value of some length, number {each}"} for each in range(12)]
    agent: dict[str, Any] = {
        "name": "agent",
        "image": "registry.example/agents/agent:1.2.3",
        "env": variables,
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    sidecar = {
        "name": "switchyard",
        "image": "registry.example/switchyard/sidecar:0.1.0",
        "restartPolicy": "Always",
        "ports": [{"name": "admin", "containerPort": admin_port}],
        "args": ["--config=/etc/switchyard", "--listen=127.0.0.1:8811", f"--admin=0.0.0.0:{admin_port}"],
    }
    return {
        "metadata": {
            "name": f"{gateway(of)}-{number}",
            "labels": {"switchyard.dev/gateway": gateway(of), "app": gateway(of)},
            "annotations": {"switchyard.dev/config-format": "1"},
        },
        "spec": {
            "initContainers": [sidecar],
            "containers": [agent],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "automountServiceAccountToken": False,
        },
    }


def _running(at: str) -> Object:
    """What a kubelet says of a pod that it has started."""
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "status": {
            "phase": "Running",
            "podIP": at,
            "podIPs": [{"ip": at}],
            "conditions": [{"type": each, "status": "True"} for each in conditions],
        }
    }
