"""What the sidecar knows of itself, as data: the source of ``/status``, ``/loaded``, ``/readyz`` and the gauges."""

import time
from dataclasses import dataclass, field
from typing import Any

from switchyard_sidecar import __version__
from switchyard_sidecar.access.authenticator import Authenticator
from switchyard_sidecar.admin import latencies
from switchyard_sidecar.admin.shown import shown
from switchyard_sidecar.config.model import FORMAT
from switchyard_sidecar.downstream.accepting import Accepting
from switchyard_sidecar.downstream.bodies import Bodies
from switchyard_sidecar.downstream.service import Service
from switchyard_sidecar.gateway import Gateway


@dataclass(slots=True)
class State:
    """State of one sidecar. Reading it has no effect on what is served."""

    gateway: Gateway
    authenticator: Authenticator
    service: Service
    bodies: Bodies
    accepting: Accepting
    listening: bool = False
    """Whether requests are answered: all that startup, liveness and readiness mean."""
    generation: int = 0
    """How many configs were applied since the start."""
    refusal: str | None = None
    """Why the directory's present content is not served; ``None`` when it is."""
    started_at: float = field(default_factory=time.time)
    """Unix seconds."""
    _waiting: tuple[str, ...] = ()
    _present: bool = False

    def applied(self, waiting: list[str]) -> None:
        """A config was applied; the named backends, issuers and static tokens wait for their credentials."""
        self.generation += 1
        self.refusal = None
        self._waiting = tuple(waiting)
        self._present = True

    def refused(self, reason: str) -> None:
        """The directory's new content is invalid; what ran before runs on."""
        self.refusal = reason

    def withdrawn(self) -> None:
        """The directory's content is gone."""
        self._waiting = ()
        self._present = False
        self.refusal = None

    def loaded(self) -> dict[str, Any]:
        """What is loaded, and no more: anyone who reaches the port may know it."""
        return {"configHash": self.service.config.config_hash, "format": FORMAT, "version": __version__}

    def status(self) -> dict[str, Any]:
        """Everything a person asks when a list is not what it should be. No secrets."""
        gateway, service, config = self.gateway, self.service, self.service.config
        catalog = gateway.shared.catalog
        return {
            "version": __version__,
            "uptimeSeconds": round(time.time() - self.started_at, 1),
            "gateway": f"{config.namespace}/{config.name}",
            "config": {
                "present": self._present,
                "absent": service.absence,
                "hash": config.config_hash,
                "generation": self.generation,
                "refused": self.refusal,
                "waitingForCredentials": list(self._waiting),
            },
            "backends": self._backends(),
            "issuers": shown(self.authenticator.health),
            "tools": {"modern": len(catalog.modern.names), "legacy": len(catalog.legacy.names)},
            "leftOut": shown(catalog.left_out),
            "conflicts": shown(catalog.conflicts),
            "lookalikes": shown(catalog.lookalikes),
            "clients": {
                "connections": self.accepting.open,
                "connectionsRefused": self.accepting.refused_total,
                "bodyBytes": self.bodies.held,
            },
            "lanes": gateway.lanes,
            "subscribers": {"open": len(service.hub), "toldTotal": service.hub.told_total},
            "callsRunning": service.calls_running,
            "latencies": {
                "requests": latencies.summary(service.traffic.request_seconds),
                "calls": latencies.summary(service.traffic.call_seconds),
            },
        }

    def _backends(self) -> dict[str, Any]:
        pins, as_pinned = self.gateway.shared.catalog.pins, self.gateway.callers_as_pinned
        resolved = {
            name: shown(session.status) | ({"pins": shown(pins[name])} if name in pins else {})
            for name, session in self.gateway.sessions.items()
        }
        callers = {
            name: {"state": "forwarding", "callers": shown(all_)}
            | ({"callersAsPinned": as_pinned[name]} if name in as_pinned else {})
            for name, all_ in self.gateway.forwarded.items()
        }
        unresolved = {name: {"state": "unresolved", "lastError": why} for name, why in self.gateway.unresolved.items()}
        return resolved | callers | unresolved
