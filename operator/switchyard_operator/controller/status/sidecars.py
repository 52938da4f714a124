"""Which pods that ask for a gateway have its sidecar, and which have one as they would be given now.

Pods are changed only when they are created. So a pod that was created while the webhook was away has no sidecar, and one that was
created before an upgrade, or before the gateway got another port, has an old one, until somebody makes it anew. Where the webhook is
disabled, no pod is given one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.pod_options import options_of
from switchyard_operator.api.pods import CONFIG_FORMAT
from switchyard_operator.controller.observed import Pod
from switchyard_operator.controller.status.conditions import INJECTED, Condition, Truth
from switchyard_sidecar.config.model import FORMAT

_NAMED: Final = 5
"""How many pods a message names."""
_HOW: Final = "the webhook adds it when a pod is created, where it is enabled and nothing in the pod is in the way"
"""The operator does not know whether there is a webhook: who runs it need not be who runs the operator."""


class SidecarReason(StrEnum):
    """Reasons of ``Injected``."""

    INJECTED = "Injected"
    MISSING = "SidecarMissing"
    OUTDATED = "SidecarOutdated"


@dataclass(frozen=True, slots=True)
class Sidecars:
    """The pods that ask for a gateway and are not over."""

    asking: int = 0
    missing: tuple[str, ...] = ()
    """Names of those without a sidecar."""
    outdated: tuple[str, ...] = ()
    """Names of those with one that is not as it would be now."""

    @classmethod
    def of(cls, gateway: MCPGateway, pods: Iterable[Pod], image: str | None) -> "Sidecars":
        """The sidecars of a gateway's pods. ``image``: of sidecars whose gateway names none; ``None``: not known."""
        asking = [pod for pod in pods if not pod.finished]
        if gateway.spec.mode == "Deployment":
            return cls()
        return cls(
            len(asking),
            tuple(sorted(pod.key.name for pod in asking if pod.sidecar is None)),
            tuple(sorted(pod.key.name for pod in asking if _is_outdated(pod, gateway, image))),
        )

    def condition(self) -> Condition | None:
        """What is to be said of them; ``None`` while no pod asks."""
        if not self.asking:
            return None
        if self.missing:
            said = f"{_have(self.missing)} no sidecar ({_HOW}): {_some(self.missing)}"
            return Condition(INJECTED, Truth.FALSE, SidecarReason.MISSING, said)
        if self.outdated:
            why = "image, port, path or format of the config; it is renewed when a pod is created anew"
            said = f"{_have(self.outdated)} an outdated sidecar ({why}): {_some(self.outdated)}"
            return Condition(INJECTED, Truth.FALSE, SidecarReason.OUTDATED, said)
        return Condition(
            INJECTED, Truth.TRUE, SidecarReason.INJECTED, "every pod that asks for it has a current sidecar"
        )


def _is_outdated(pod: Pod, gateway: MCPGateway, image: str | None) -> bool:
    sidecar, spec = pod.sidecar, gateway.spec
    if sidecar is None:
        return False
    options, _ = options_of(pod.annotations)
    pairs = (
        (sidecar.image, spec.sidecar.image or image),
        (sidecar.port, options.port or spec.listener.port),
        (sidecar.path, spec.listener.path),
        (pod.annotations.get(CONFIG_FORMAT), str(FORMAT)),
    )
    # What is not said of a sidecar that somebody has written by hand is not held against it.
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _have(names: tuple[str, ...]) -> str:
    return f"{len(names)} {'pod has' if len(names) == 1 else 'pods have'}"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
