"""What a sidecar is to be like: said by the installation, then by its gateway, then by the agent's pod."""

from dataclasses import dataclass, replace
from typing import Final

from switchyard_operator.api.gateway import Listener, MCPGateway
from switchyard_operator.api.gateway_sidecar import Amounts, Cores, Resources, Sidecar
from switchyard_operator.api.pod_options import Options
from switchyard_operator.api.scalars import Quantity

DEFAULT_RESOURCES: Final = Resources(
    requests=Amounts(cpu=Cores("100m"), memory=Quantity("64Mi")), limits=Amounts(memory=Quantity("256Mi"))
)
"""Idle it takes 55 MiB; CPU only while lists and calls pass. Starting takes about half a second of one core."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What holds for every sidecar whose gateway says nothing else."""

    image: str
    """Empty: not known."""
    pull_policy: str | None = None
    """``None``: Kubernetes decides."""
    pull_secrets: tuple[str, ...] = ()
    """In the namespaces of the pods."""
    resources: Resources = DEFAULT_RESOURCES
    host: str = "0.0.0.0"  # noqa: S104 - kubelets and the operator come from outside the pod
    """Which of a pod's addresses is listened on for those outside: ``[::]`` where pods have no IPv4 address."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One gateway's sidecar."""

    image: str
    """Empty: neither the gateway nor the installation says."""
    pull_policy: str | None
    pull_secrets: tuple[str, ...]
    resources: Resources
    resources_asked_for: bool
    """Whether the gateway itself says what resources it wants."""
    port: int
    path: str
    host: str
    """What is listened on for those outside the pod."""
    admin_port: int

    def within(self, options: Options) -> "Settings":
        """The settings for a pod that decides this for itself."""
        return replace(self, port=options.port or self.port, admin_port=options.admin_port or self.admin_port)

    @property
    def url(self) -> str:
        """The endpoint, as the pod's containers reach it."""
        return f"http://127.0.0.1:{self.port}{self.path}"


def settings_for(installation: Installation, gateway: MCPGateway | None) -> Settings:
    """The settings of a gateway; ``None``: it does not exist yet, or is not valid."""
    said = Sidecar() if gateway is None else gateway.spec.sidecar
    listener = Listener() if gateway is None else gateway.spec.listener
    secrets = (*installation.pull_secrets, *(each.name for each in said.image_pull_secrets))
    return Settings(
        image=said.image or installation.image,
        pull_policy=said.image_pull_policy or installation.pull_policy,
        pull_secrets=tuple(dict.fromkeys(secrets)),
        resources=said.resources or installation.resources,
        resources_asked_for=said.resources is not None,
        port=listener.port,
        path=listener.path,
        host=installation.host,
        admin_port=said.admin_port,
    )
