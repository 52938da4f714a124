"""Which calls are sent to one backend: no more at once than its share, and none while it cannot be expected to answer.

So a backend that hangs takes no more than its share from its neighbours, one caller cannot take all of it from the others, and one that
is down is found out by a few callers and not by each. A failed call counts as an outage only while the backend's list cannot be read either: a tool that is slow,
or a connection that is lost once, is no reason to keep calls from the other tools.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from switchyard_sidecar.access.caller import ANONYMOUS
from switchyard_sidecar.access.held import Held
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.breaker import Breaker, State
from switchyard_sidecar.upstream.faults import AtRest, Fault
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.wire import About

ALPHA: Final = 3

log = structlog.get_logger(__name__)


class Share:
    """How many calls one backend may have at once (``most``), whosever sessions carry them.

    A caller gets one more while it has less than :data:`ALPHA` times what is free: one alone comes to three quarters of all, and the more
    there are, the less each keeps from those to come. Source: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
    Packet Switches" (1998). Who is nobody in particular may have all there is.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._held = Held()

    def has_room(self, principal: str) -> bool:
        """Whether this caller may have one more."""
        return self._free > 0 and (principal == ANONYMOUS.principal or self._held.by(principal) < ALPHA * self._free)

    def take(self, principal: str) -> None:
        """One more is this caller's, until :meth:`give_back`."""
        self._free -= 1
        self._held.take(principal)

    def give_back(self, principal: str) -> None:
        """See :meth:`take`."""
        self._free += 1
        self._held.give_back(principal)


class Admission:
    """The calls of one session.

    ``about``: for log lines; ``failing`` says whether its list cannot be read; ``now`` gives monotonic seconds.
    """

    def __init__(
        self,
        about: About,
        pace: Pace,
        jitter: Callable[[], float],
        share: Share,
        *,
        now: Callable[[], float],
        failing: Callable[[], bool],
    ) -> None:
        self._about = about
        self._share = share
        self._breaker = Breaker(pace.outages, pace.backoff, pace.call_probe_s, jitter)
        self._now = now
        self._failing = failing
        self.running = 0
        """Calls under way."""
        self.refused_total = 0
        """Calls that were not sent."""

    @property
    def circuit(self) -> State:
        """Whether calls are sent."""
        return self._breaker.state(self._now())

    @contextmanager
    def admitted(self, principal: str) -> Iterator[None]:
        """Hold a place for one call of this caller, and learn from how it ends.

        Raises:
            AtRest: the backend has failed several calls, and is not to be tried yet.
            Fault: its share of calls is used up, or as much of it as this caller may have.
        """
        ticket = self._ticket(principal)
        self.running += 1
        self._share.take(principal)
        try:
            yield
        except (Fault, McpError) as error:
            if faults.is_answer(error):
                self.answered()
            elif faults.is_outage(error) and self._failing():
                self._failed(ticket)
            raise
        else:
            self.answered()
        finally:
            self.running -= 1
            self._share.give_back(principal)

    def answered(self) -> None:
        """The backend has answered something."""
        if self.circuit != "closed":
            log.info("calls_resumed", **self._about)
        self._breaker.answered()

    def _ticket(self, principal: str) -> int:
        if not self._share.has_room(principal):
            self.refused_total += 1
            raise Fault(faults.BUSY)
        now = self._now()
        if (ticket := self._breaker.admit(now)) is None:
            self.refused_total += 1
            raise AtRest(self._breaker.wait_s(now))
        return ticket

    def _failed(self, ticket: int) -> None:
        now = self._now()
        before = self._breaker.state(now)
        self._breaker.failed(ticket, now)
        if before == "closed" and self._breaker.state(now) != "closed":
            log.warning("calls_held_back", **self._about)
