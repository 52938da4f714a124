"""Whether a pod gets a sidecar: one pure function from the pod and what is known of its gateway to a patch, or to words why not."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from switchyard_operator.api import pods
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.names import GatewayName
from switchyard_operator.api.pod_options import Options, options_of
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.observed import Sidecar, sidecar_in
from switchyard_operator.injection.patch import Operation, sidecar_added, told
from switchyard_operator.workloads.container import containers_of
from switchyard_operator.workloads.settings import Installation, Settings, settings_for

_MIRROR: Final = "kubernetes.io/config.mirror"
_OS_LABEL: Final = "kubernetes.io/os"
_NAME: Final = TypeAdapter[str](GatewayName)


class Result(StrEnum):
    """What came of a pod, in one word."""

    INJECTED = "Injected"
    PRESENT = "Present"
    """It has our sidecar already; what was missing beside it is added."""
    NOT_ASKED = "NotAsked"
    """It does not carry the label."""
    NAME_INVALID = "NameInvalid"
    """No gateway can have the name in its label."""
    DEPLOYMENT_MODE = "DeploymentMode"
    """Its gateway runs as a Deployment."""
    HOST_NETWORK = "HostNetwork"
    WINDOWS = "Windows"
    STATIC = "Static"
    """It is a kubelet's own, which shows it to the API server and would not have it changed."""
    NAME_TAKEN = "NameTaken"
    """It has a container or volume of its own that is called as ours would be."""
    PORT_TAKEN = "PortTaken"
    FAILED = "Failed"
    """We are at fault."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a pod, and what to say about it."""

    result: Result
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    """For whoever creates the pod."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """For the audit log."""


def decide(
    pod: Mapping[str, Any], namespace: str, gateway_of: Callable[[Key], MCPGateway | None], installation: Installation
) -> Decision:
    """Decide about a pod that is being created in a namespace. ``gateway_of`` gives the valid gateway of a name, if there is one."""
    metadata, spec = pod["metadata"], pod["spec"]
    name: str | None = (metadata.get("labels") or {}).get(pods.GATEWAY_OF_POD)
    if name is None:
        return Decision(Result.NOT_ASKED)
    try:
        _NAME.validate_python(name)
    except ValidationError:
        return _refused(Result.NAME_INVALID, f'no MCPGateway can be called "{name}"')
    key = Key(namespace, name)
    gateway = gateway_of(key)
    options, faults = options_of(metadata.get("annotations") or {})
    settings = settings_for(installation, gateway).within(options)
    facts = {"gateway": str(key)}
    static = _MIRROR in (metadata.get("annotations") or {})
    if (container := sidecar_in(metadata, spec)) is not None:
        patch = () if static else _told_of(container, pod, settings, options)
        return Decision(Result.PRESENT, patch, _prefixed(faults), facts)
    if gateway is not None and gateway.spec.mode == "Deployment":
        return _refused(Result.DEPLOYMENT_MODE, f'MCPGateway "{name}" runs as a Deployment: use its Service', facts)
    if static:
        return _refused(Result.STATIC, "the pod is a static one, which belongs to its node", facts)
    if (obstacle := _obstacle(spec, settings)) is not None:
        return _refused(*obstacle, facts)
    added = [*sidecar_added(pod, key, settings, first=options.first)]
    if options.environment:
        added += told(pod, settings.url)
    if gateway is None:
        missing = f'there is no valid MCPGateway "{name}" in namespace "{namespace}" yet: no tools until there is'
        faults = (missing, *faults)
    return Decision(Result.INJECTED, tuple(added), _prefixed(faults), facts | {"image": settings.image})


def _told_of(
    container: Mapping[str, Any], pod: Mapping[str, Any], settings: Settings, options: Options
) -> tuple[Operation, ...]:
    """Containers that came later are told where the sidecar listens that is there, whatever the gateway says by now."""
    seen = Sidecar.of(container)
    if not options.environment or seen.port is None or seen.path is None:
        return ()
    return tuple(told(pod, replace(settings, port=seen.port, path=seen.path).url))


def _obstacle(spec: Mapping[str, Any], settings: Settings) -> tuple[Result, str] | None:
    """Why a pod cannot have a sidecar."""
    if spec.get("hostNetwork"):
        return (
            Result.HOST_NETWORK,
            "the pod uses the network of its node (hostNetwork), where everybody could reach the sidecar",
        )
    system = (spec.get("os") or {}).get("name") or (spec.get("nodeSelector") or {}).get(_OS_LABEL)
    if system == "windows":
        return Result.WINDOWS, "the pod runs on Windows"
    if any(each.get("name") == pods.SIDECAR for each in containers_of(spec)):
        return Result.NAME_TAKEN, f'the pod has a container "{pods.SIDECAR}" of its own'
    if any(each.get("name") == pods.SIDECAR for each in spec.get("volumes") or ()):
        return Result.NAME_TAKEN, f'the pod has a volume "{pods.SIDECAR}" of its own'
    for port, option in ((settings.port, pods.PORT), (settings.admin_port, pods.ADMIN_PORT)):
        for container in containers_of(spec):
            if port in _ports(container):
                taken = f'container "{container["name"]}" has port {port}'
                return Result.PORT_TAKEN, f"{taken}; annotation {option} chooses another for the sidecar"
    if settings.port == settings.admin_port:
        return Result.PORT_TAKEN, f"port {settings.port} is to be the sidecar's for two purposes"
    return None


def _ports(container: Mapping[str, Any]) -> set[int]:
    return {each["containerPort"] for each in container.get("ports") or () if each.get("protocol", "TCP") == "TCP"}


def _refused(result: Result, why: str, facts: Mapping[str, str] = MappingProxyType({})) -> Decision:
    return Decision(result, (), (f"switchyard: no sidecar is added: {why}",), facts)


def _prefixed(faults: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"switchyard: {each}" for each in faults)
