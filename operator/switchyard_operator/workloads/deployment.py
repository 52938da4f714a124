"""A gateway that runs by itself (``mode: Deployment``): its Deployment, its Service, and how many replicas may be away at once.

Each object holds what is ours and nothing else, so that all other fields are free for others: node selectors, annotations of a
mesh, ``kubectl rollout restart``. Selectors, which can never change, are one label.
"""

from typing import Any, Final

from switchyard_operator.api import pods
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.gateway_service import GatewayService
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.children import MANAGED_BY, child_key, owner
from switchyard_operator.workloads.container import Tree, amounts_of, serving, volume
from switchyard_operator.workloads.settings import Settings
from switchyard_sidecar.config.model import FORMAT

FIRST_REPLICAS: Final = 2
"""How many there are at first where the gateway does not say: one may be lost."""
LINGER_S: Final = 10
"""A replica that is told to stop goes on answering for so long: on a busy node it takes seconds until kube-proxy has heard that
no client is to be sent to it any more."""
DRAIN_S: Final = 30
"""Then calls under way are waited for so long, on connections that are there."""
GRACE_S: Final = LINGER_S + DRAIN_S + 10
"""From SIGTERM to SIGKILL: time for both, and to end in order."""
MCP_PORT_NAME: Final = "mcp"
"""The name of the endpoint's port, in pods and in the Service."""

_NAME: Final = "app.kubernetes.io/name"
_INSTANCE: Final = "app.kubernetes.io/instance"


def deployment(gateway: MCPGateway, uid: str, settings: Settings, replicas: int | None) -> Tree:
    """The Deployment of a gateway with this uid; ``replicas`` is ``None`` where others decide how many there are.

    A change of config rolls nothing, since that comes by the volume. While pods are replaced there are never fewer than before.
    """
    spec: Tree = {
        "selector": {"matchLabels": _selected(gateway.key)},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}},
        "template": _pod(gateway.key, settings),
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return _object("apps/v1", "Deployment", gateway.key, uid) | {"spec": spec}


def service(gateway: MCPGateway, uid: str, settings: Settings) -> Tree:
    """The Service of a gateway. Any replica answers any request, so that none has to find its way back to the same one."""
    said = gateway.spec.service or GatewayService()
    made = _object("v1", "Service", gateway.key, uid)
    if said.annotations:
        made["metadata"]["annotations"] = dict(said.annotations)
    port = {"name": MCP_PORT_NAME, "port": said.port or settings.port, "targetPort": MCP_PORT_NAME, "protocol": "TCP"}
    spec = {"type": said.type, "selector": _selected(gateway.key), "ports": [port | {"appProtocol": "http"}]}
    return made | {"spec": spec}


def disruption_budget(gateway: MCPGateway, uid: str) -> Tree:
    """One replica after the other may be taken away on purpose. A single one may be, so that it never holds up a drain."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": _selected(gateway.key)}}
    return _object("policy/v1", "PodDisruptionBudget", gateway.key, uid) | {"spec": spec}


def _pod(gateway: Key, settings: Settings) -> Tree:
    container = serving(settings, settings.host, "--linger", str(LINGER_S), "--drain", str(DRAIN_S))
    endpoint = {"name": MCP_PORT_NAME, "containerPort": settings.port, "protocol": "TCP"}
    container["ports"] = [endpoint, *container["ports"]]
    container["resources"] = {kind: amounts for kind, amounts in amounts_of(settings.resources).items() if amounts}
    spread = {
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "maxSkew": 1,
        "labelSelector": {"matchLabels": _selected(gateway)},
    }
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_S,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "topologySpreadConstraints": [spread],
        "containers": [container],
        # There before it starts: a replica without a config would answer with an empty list.
        "volumes": [volume(gateway, optional=False)],
    }
    if settings.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.pull_secrets]
    annotations = {pods.CONFIG_FORMAT: str(FORMAT)}
    return {"metadata": {"labels": _labels(gateway), "annotations": annotations}, "spec": spec}


def _object(api_version: str, kind: str, gateway: Key, uid: str) -> Tree:
    key = child_key(gateway)
    metadata = {"name": key.name, "namespace": key.namespace, "labels": _labels(gateway)}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {**metadata, "ownerReferences": [owner(gateway, uid)]},
    }


def _labels(gateway: Key) -> dict[str, str]:
    recommended = {_NAME: "switchyard-gateway", _INSTANCE: gateway.name, MANAGED_BY: "switchyard"}
    return recommended | _selected(gateway)


def _selected(gateway: Key) -> dict[str, str]:
    return {pods.DEPLOYMENT_OF: gateway.name}
