"""What a sidecar is to be like: said by the installation, then by its gateway, then by the pod."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from switchyard_operator.api import pods
from switchyard_operator.api.explain import nearest
from switchyard_operator.api.gateway import Listener, MCPGateway
from switchyard_operator.api.gateway_sidecar import Amounts, Cores, Resources, Sidecar
from switchyard_operator.api.resource import GROUP
from switchyard_operator.api.scalars import Quantity

DEFAULT_RESOURCES: Final = Resources(
    requests=Amounts(cpu=Cores("100m"), memory=Quantity("64Mi")), limits=Amounts(memory=Quantity("256Mi"))
)
"""Idle it takes 55 MiB; CPU only while lists and calls pass. Starting takes about half a second of one core."""
_GROUP: Final = f"{GROUP}/"
_WRITTEN_BY_US: Final = frozenset({pods.CONFIG_FORMAT, pods.CONFIG_HASH})


@dataclass(frozen=True, slots=True)
class Installation:
    """What holds for every sidecar whose gateway says nothing else."""

    image: str
    pull_policy: str | None = None
    """``None``: Kubernetes decides."""
    pull_secrets: tuple[str, ...] = ()
    """In the namespaces of the pods."""
    resources: Resources = DEFAULT_RESOURCES
    admin_host: str = "0.0.0.0"  # noqa: S104 - kubelets and the operator come from outside the pod
    """Which of a pod's addresses the admin port listens on: ``[::]`` where pods have no IPv4 address."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One gateway's sidecar."""

    gateway: str
    """The gateway's name."""
    image: str
    pull_policy: str | None
    pull_secrets: tuple[str, ...]
    resources: Resources
    resources_asked_for: bool
    """Whether the gateway itself says what resources it wants."""
    port: int
    path: str
    admin_host: str
    admin_port: int

    @property
    def url(self) -> str:
        """The endpoint, as the pod's containers reach it."""
        return f"http://127.0.0.1:{self.port}{self.path}"


@dataclass(frozen=True, slots=True)
class Options:
    """What a pod decides for itself."""

    port: int | None = None
    admin_port: int | None = None
    environment: bool = True
    """Whether its containers are told the URL."""
    first: bool = True
    """Whether the sidecar starts before the other init containers."""

    def applied(self, settings: Settings) -> Settings:
        """The settings for this pod."""
        return replace(settings, port=self.port or settings.port, admin_port=self.admin_port or settings.admin_port)


def settings_for(installation: Installation, name: str, gateway: MCPGateway | None) -> Settings:
    """The settings of the gateway of this name; ``None``: it does not exist yet, or is not valid."""
    said = Sidecar() if gateway is None else gateway.spec.sidecar
    listener = Listener() if gateway is None else gateway.spec.listener
    secrets = (*installation.pull_secrets, *(each.name for each in said.image_pull_secrets))
    return Settings(
        gateway=name,
        image=said.image or installation.image,
        pull_policy=said.image_pull_policy or installation.pull_policy,
        pull_secrets=tuple(dict.fromkeys(secrets)),
        resources=said.resources or installation.resources,
        resources_asked_for=said.resources is not None,
        port=listener.port,
        path=listener.path,
        admin_host=installation.admin_host,
        admin_port=said.admin_port,
    )


def options_of(annotations: Mapping[str, str]) -> tuple[Options, tuple[str, ...]]:
    """What the annotations decide, and what is wrong with them: a wrong value counts as not given."""
    chosen, faults = Options(), list(_unknown(annotations))
    for name in sorted(pods.OPTIONS & annotations.keys()):
        value = annotations[name]
        match name, value:
            case (pods.ENVIRONMENT, "Enabled" | "Disabled"):
                chosen = replace(chosen, environment=value == "Enabled")
            case (pods.POSITION, "First" | "Last"):
                chosen = replace(chosen, first=value == "First")
            case (pods.PORT, _) if (port := _port(value)) is not None:
                chosen = replace(chosen, port=port)
            case (pods.ADMIN_PORT, _) if (port := _port(value)) is not None:
                chosen = replace(chosen, admin_port=port)
            case _:
                faults.append(f'annotation {name} is ignored: must be {_ALLOWED[name]}, not "{value[:40]}"')
    return chosen, tuple(faults)


_ALLOWED: Final[Mapping[str, str]] = {
    pods.ENVIRONMENT: "Enabled or Disabled",
    pods.POSITION: "First or Last",
    pods.PORT: "a port from 1 to 65535",
    pods.ADMIN_PORT: "a port from 1 to 65535",
}


def _port(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= 65535 else None


def _unknown(annotations: Mapping[str, str]) -> Iterator[str]:
    """Complaints about annotations of our group that mean nothing."""
    known = {option.removeprefix(_GROUP): option for option in sorted(pods.OPTIONS)}
    for name in sorted(annotations):
        if name.startswith(_GROUP) and name not in pods.OPTIONS | _WRITTEN_BY_US:
            near = nearest(name.removeprefix(_GROUP), [*known])
            yield f"annotation {name[:80]} means nothing" + (f"; did you mean {known[near]}?" if near else "")
