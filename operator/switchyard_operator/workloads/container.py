"""The sidecar as a container, and the volume with its config. Pure: equal settings and pods give equal dicts."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, Final

from switchyard_operator.api import pods
from switchyard_operator.api.gateway_sidecar import Cores, Resources
from switchyard_operator.api.resource import Key
from switchyard_operator.api.scalars import Measure, Quantity
from switchyard_operator.compile.children import child_key
from switchyard_operator.workloads.settings import Settings

CONFIG_FOLDER: Final = "/etc/switchyard"
_TOKEN_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a place
_LOOPBACK: Final = "127.0.0.1"
_NOBODY: Final = 65532
"""The user of the image (``nonroot`` of distroless images)."""

Tree = dict[str, Any]


def sidecar(settings: Settings, spec: Mapping[str, Any]) -> Tree:
    """The container for an agent's pod of this ``spec``: an init container that goes on (KEP-753), so that Jobs end."""
    container = serving(settings, _LOOPBACK) | {"restartPolicy": "Always"}
    # Where something is mounted the ServiceAccount plugin puts no token, which it else does after webhooks. The sidecar asks no
    # API server, and backends' text passes through it. Not an emptyDir: nodes that have some are not as easily drained.
    container["volumeMounts"].append({"name": pods.SIDECAR, "mountPath": _TOKEN_FOLDER, "readOnly": True})
    # Some clusters assign users to pods, and any will do; only a pod that is root's needs another one here.
    if (spec.get("securityContext") or {}).get("runAsUser") == 0:
        container["securityContext"]["runAsUser"] = _NOBODY
    if resources := resources_in(spec, settings):
        container["resources"] = resources
    return container


def serving(settings: Settings, host: str, *more: str) -> Tree:
    """The container that serves a gateway at this address of its pod, but for its resources; ``more`` are further arguments.

    All its probes mean "listening": no backend's fault takes a pod down. It satisfies the *restricted* Pod Security Standard.
    """
    probe = {"path": "/readyz", "port": pods.ADMIN_PORT_NAME}
    container: Tree = {
        "name": pods.SIDECAR,
        "image": settings.image,
        "args": [
            *("--config", CONFIG_FOLDER),
            *("--listen", f"{host}:{settings.port}"),
            *("--path", literal(settings.path)),
            *("--admin", f"{settings.host}:{settings.admin_port}"),
            *more,
        ],
        "ports": [{"name": pods.ADMIN_PORT_NAME, "containerPort": settings.admin_port, "protocol": "TCP"}],
        "startupProbe": {"httpGet": probe, "periodSeconds": 1, "failureThreshold": 120},
        "readinessProbe": {"httpGet": probe, "periodSeconds": 10, "timeoutSeconds": 3},
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": pods.ADMIN_PORT_NAME},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 6,
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": pods.SIDECAR, "mountPath": CONFIG_FOLDER, "readOnly": True}],
    }
    if settings.pull_policy is not None:
        container["imagePullPolicy"] = settings.pull_policy
    return container


def volume(gateway: Key, *, optional: bool) -> Tree:
    """The gateway's config and credentials in one volume, so that they change together; ``optional``: they may come later than the pod."""
    name = child_key(gateway).name
    sources = [{kind: {"name": name, "optional": optional}} for kind in ("configMap", "secret")]
    return {"name": pods.SIDECAR, "projected": {"sources": sources}}


def resources_in(spec: Mapping[str, Any], settings: Settings) -> Tree:
    """The sidecar's resources in a pod of this ``spec``, such that the pod keeps its quality of service class.

    *Guaranteed* needs requests that equal limits, of CPU and memory, in every container. *BestEffort* has none anywhere, and loses its class only
    where the gateway itself asks for resources. Where the pod as a whole has resources (KEP-2837) the sidecar shares them: requests
    of its own could exceed the pod's.
    """
    if any((spec.get("resources") or {}).get(kind) for kind in ("requests", "limits")):
        return {}
    wanted = amounts_of(settings.resources)
    declared = [container.get("resources") or {} for container in containers_of(spec)]
    if all(map(_is_guaranteed, declared)):
        both = {name: wanted["limits"].get(name) or wanted["requests"].get(name) for name in _AMOUNTS}
        if all(both.values()):
            return {"requests": both, "limits": dict(both)}
    if not settings.resources_asked_for and not any(
        amount((each.get(kind) or {}).get(name, 0)) > 0
        for each in declared
        for kind in ("requests", "limits")
        for name, amount in _AMOUNTS.items()
    ):
        return {}
    return {kind: amounts for kind, amounts in wanted.items() if amounts}


def amounts_of(resources: Resources) -> dict[str, dict[str, str]]:
    """Requests and limits as a container has them; each may be empty."""
    return {
        kind: {name: str(amount) for name in _AMOUNTS if (amount := getattr(amounts, name)) is not None}
        for kind, amounts in (("requests", resources.requests), ("limits", resources.limits))
    }


def literal(text: str) -> str:
    """The text as an argument or the value of a variable, in which a kubelet would replace ``$(NAME)``."""
    return text.replace("$", "$$")


def containers_of(spec: Mapping[str, Any]) -> Iterable[Tree]:
    """All containers of a pod, init containers first."""
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def _is_guaranteed(resources: Mapping[str, Any]) -> bool:
    """Whether a container asks for no less than it may use, of both resources. What it does not request is its limit."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    return all(
        name in limits and amount(limits[name]) == amount(requests.get(name, limits[name])) > 0
        for name, amount in _AMOUNTS.items()
    )


def _amount_of(kind: type[Measure], value: object) -> int | Fraction:
    """An amount that the API server has accepted, also as ``1e9``; 0 for what is too large to be meant."""
    with suppress(ValueError):
        return kind(value).amount
    with suppress(ValueError):
        return Fraction(str(value))
    return 0


_AMOUNTS: Final[Mapping[str, Callable[[object], int | Fraction]]] = {
    "cpu": partial(_amount_of, Cores),
    "memory": partial(_amount_of, Quantity),
}
