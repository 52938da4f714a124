"""Which calls are sent to one backend: no more at once than its share, and none while it cannot be expected to answer.

So a backend that hangs takes no more than its share from its neighbours, and one that is down is found out by a few callers
and not by each. A failed call counts as an outage only while the backend's list cannot be read either: a tool that is slow,
or a connection that is lost once, is no reason to keep calls from the other tools.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.breaker import Breaker, State
from switchyard_sidecar.upstream.faults import AtRest, Fault
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.wire import About

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Share:
    """How many calls one backend may have at once, whosever sessions carry them."""

    most: int
    taken: int = 0


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
    def admitted(self) -> Iterator[None]:
        """Hold a place for one call, and learn from how it ends.

        Raises:
            AtRest: the backend has failed several calls, and is not to be tried yet.
            Fault: its share of calls is used up.
        """
        ticket = self._ticket()
        self.running += 1
        self._share.taken += 1
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
            self._share.taken -= 1

    def answered(self) -> None:
        """The backend has answered something."""
        if self.circuit != "closed":
            log.info("calls_resumed", **self._about)
        self._breaker.answered()

    def _ticket(self) -> int:
        if self._share.taken >= self._share.most:
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
