"""Whether calls are sent to a backend that has failed them: a circuit breaker, without a clock or a socket.

1. Closed, every call is sent. After some outages in a row it opens.
2. Open, calls are refused at once, until the wait is over. Then it is half-open: one call is sent as a probe and the others
   are refused; if the probe has no outcome for some time, as with a slow tool, the next one is sent too.
3. A probe that fails opens it anew, for longer. Anything that the backend answers, to whomever, closes it.
4. An outage counts only for the state in which its call was sent: the calls that were under way when it opened, and fail one
   after the other, say nothing new.

What is an outage, and what an answer, is the caller's business. Times are monotonic seconds. Source: M. Nygard, "Release It!".
"""

from collections.abc import Callable
from typing import Final, Literal

from switchyard_sidecar.upstream.backoff import Backoff

State = Literal["closed", "open", "half-open"]


class Breaker:
    """The breaker of one backend.

    ``threshold``: outages in a row that open it. ``backoff``: how long it stays open. ``probe_s``: how long one probe keeps
    the next one back. ``random`` gives numbers from 0 to 1.
    """

    def __init__(self, threshold: int, backoff: Backoff, probe_s: float, random: Callable[[], float]) -> None:
        self._threshold: Final = threshold
        self._backoff: Final = backoff
        self._probe_s: Final = probe_s
        self._random = random
        self._failures = 0
        self._opened = 0  # how often, so far
        self._until = 0.0  # no call is sent before, once it has opened
        self._is_open = False
        self._is_probed = False

    def admit(self, now: float) -> int | None:
        """A ticket for a call that is to be sent now, with which its outage would be told; ``None``: it is refused."""
        if self._is_open:
            if now < self._until:
                return None
            self._is_probed, self._until = True, now + self._probe_s
        return self._opened

    def wait_s(self, now: float) -> float:
        """Seconds until a call may be sent; 0 when it may at once."""
        return max(0.0, self._until - now) if self._is_open else 0.0

    def state(self, now: float) -> State:
        """What people are shown."""
        if not self._is_open:
            return "closed"
        return "half-open" if self._is_probed or now >= self._until else "open"

    def answered(self) -> None:
        """The backend has answered, whatever."""
        self._failures = 0
        self._is_open = self._is_probed = False

    def failed(self, ticket: int, now: float) -> None:
        """The call with this ticket met an outage."""
        if ticket != self._opened:
            return
        self._failures += 1
        if self._failures >= self._threshold:
            self._is_open, self._is_probed = True, False
            self._opened += 1
            self._until = now + self._backoff.delay_s(self._failures - self._threshold + 1, self._random)
