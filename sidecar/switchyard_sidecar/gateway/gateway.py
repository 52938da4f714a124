"""One config's backends and lanes, and the one way in which they change.

Backends that know nothing of who calls are asked once for all callers, and make the lane that callers share. Where backends
get their callers' own tokens (``auth: Forward``), such callers have lanes of their own.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial

from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.config.apply import Applied
from switchyard_sidecar.config.model import GatewayConfig
from switchyard_sidecar.findings import Findings
from switchyard_sidecar.gateway.backends import Backends, Tasks
from switchyard_sidecar.gateway.lane import Lane
from switchyard_sidecar.gateway.lanes import Lanes, is_forwarding
from switchyard_sidecar.upstream.admission import Share
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.session import BackendSession
from switchyard_sidecar.upstream.status import CallersStatus


class Gateway:
    """Runs the backends of one config. Sessions live in ``tasks``, whose owner outlives this object."""

    def __init__(self, tasks: asyncio.TaskGroup, http: HttpPool, config: GatewayConfig, pace: Pace) -> None:
        self.on_catalog: Callable[[Lane], None] = lambda _: None
        """Called with each lane that has a new catalog, after that can be read."""
        findings = Findings()
        self.shared = Lane(config, self._told, findings.say, ready=True)
        """The lane of all who have none of their own."""
        self._tasks = Tasks(tasks)
        shares: defaultdict[str, Share] = defaultdict(partial(Share, pace.calls))
        self._backends = Backends(self._tasks, http, pace, shares, self._changed)
        self._lanes = Lanes(self._tasks, http, pace, shares, self.shared, self._told, findings.say)

    @property
    def sessions(self) -> Mapping[str, BackendSession]:
        """Sessions that all callers share, by backend id, in the gateway's order."""
        return {name: running.session for name, running in self._backends.running.items()}

    @property
    def forwarded(self) -> Mapping[str, CallersStatus]:
        """By backend that gets its callers' own tokens: how their sessions with it are."""
        return {
            name: CallersStatus.of([session.status for session in sessions])
            for name, sessions in self._lanes.sessions.items()
        }

    @property
    def callers_as_pinned(self) -> Mapping[str, Mapping[str, int]]:
        """By backend that gets its callers' own tokens and has pins: how many of their lists agree with these, and how many differ."""
        return {
            name: {"agreed": sum(not each.differs for each in found), "differing": sum(each.differs for each in found)}
            for name, found in self._lanes.pins.items()
            if found
        }

    @property
    def lanes(self) -> int:
        """How many callers have lanes of their own."""
        return len(self._lanes)

    @property
    def unresolved(self) -> Mapping[str, str]:
        """Backends that cannot be asked, and why."""
        return {each.id: each.unresolved for each in self.shared.config.backends if each.unresolved is not None}

    def lane(self, caller: Caller) -> Lane:
        """What this caller gets to see and to call, for this request.

        Raises:
            Overloaded: the caller needs a lane of its own, and there are too many in use.
        """
        return self._lanes.of(caller) or self.shared

    def apply(self, applied: Applied) -> None:
        """Take over a config: start, restart and end what it says, leave the rest alone."""
        self._backends.apply({name: each for name, each in applied.backends.items() if not is_forwarding(each)})
        self._lanes.apply(applied, self._backends.running)
        self.shared.configure(applied.config, self._backends.running)

    def retire_all(self) -> list["asyncio.Task[None]"]:
        """End every session, whatever it carries; give the tasks to wait for."""
        self._lanes.forget_all()
        return self._tasks.end()

    def forget(self, principal: str) -> None:
        """End the sessions with backends that belong to one ended session of a client."""
        self._backends.forget(principal)
        self._lanes.forget(principal)

    def _changed(self) -> None:
        self.shared.changed()
        self._lanes.changed()

    def _told(self, lane: Lane) -> None:
        self.on_catalog(lane)
