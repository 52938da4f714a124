"""When to read a backend's list again: the clockwork of one session, without a clock.

Reads happen one at a time, because one task makes them; this machine says when the next is due. The rules:

1. Asked for (a client waits): now. Whoever asks during a read waits for that one.
2. A notification makes the list stale at once and a read due at once. Notifications before the read begins are one; those
   during it cause exactly one more read after it, so the last is never lost.
3. A read caused by a notification that brought nothing new is followed by one later look. A mere doubt (a change stream was
   opened, or lost) causes a read too, but neither staleness nor a later look.
4. Reads caused by notifications keep a distance, which doubles while they bring nothing new. A server that notifies whenever
   it is listed is thus read ever more seldom, and never in a loop.
5. While anyone subscribes, the list is read again each ``max(ttl, floor)`` with jitter, whether or not it was announced.
6. After a failed read the list is stale; when to try again is the back-off's business, not this machine's.

Times are monotonic seconds and always given by the caller.
"""

from collections.abc import Callable
from typing import Final

from switchyard_sidecar.upstream.pace import Pace

NOW: Final = float("-inf")
"""Due already."""

_MAX_DOUBLINGS: Final = 16

JITTER: Final = 0.1
"""Polls come up to this part of their period later, never earlier: nothing is read while it is fresh."""


class Refresh:
    """What is due for one backend. ``random`` gives numbers from 0 to 1."""

    def __init__(self, pace: Pace, random: Callable[[], float]) -> None:
        self.interested = False
        """Whether anyone subscribes downstream."""
        self._pace = pace
        self._random = random
        self._reading = False
        self._asked = False  # somebody waits for a read
        self._wanted = False  # a read is needed, at the distance that rule 4 keeps
        self._notified = False  # ... because the backend said so
        self._because = False  # the read under way was caused by a notification
        self._look_at: float | None = None
        self._poll_at = NOW
        self._not_before = NOW
        self._fruitless = 0  # reads in a row, caused by notifications, that brought nothing new
        self.stale = True
        """Whether the list is known to be out of date, whatever its age."""

    def asked(self) -> None:
        """Somebody waits for a read; one that is under way will do."""
        self._asked = not self._reading

    def notified(self) -> None:
        """The backend says that its list has changed."""
        self._wanted = self._notified = self.stale = True

    def doubted(self) -> None:
        """The list may have changed unseen (a change stream was opened or lost): read it, with no later look."""
        self._wanted = True

    def began(self, now: float) -> None:
        """A read begins."""
        self._reading, self._because = True, self._notified
        self._asked = self._wanted = self._notified = False
        if self._look_at is not None and self._look_at <= now:
            self._look_at = None

    def brought(self, now: float, *, ttl_s: float, changed: bool) -> None:
        """The read succeeded. ``changed``: it brought something new."""
        self._reading = False
        self.stale = self._notified
        self._poll_at = now + max(ttl_s, self._pace.poll_floor_s) * (1 + JITTER * self._random())
        if changed:
            self._fruitless, self._look_at = 0, None
        elif self._because:
            self._fruitless += 1
            if not self._notified:
                self._look_at = now + self._pace.later_look_s
        gap_s = min(self._pace.gap_s * 2 ** min(self._fruitless, _MAX_DOUBLINGS), self._pace.gap_max_s)
        self._not_before = now + gap_s

    def failed(self) -> None:
        """The read failed, or was given up."""
        self._reading = self._asked = False
        self._wanted = self.stale = True
        self._notified = self._notified or self._because

    def due(self) -> float | None:
        """When the next read is due: :data:`NOW`, a time, or None while nothing calls for one."""
        if self._asked:
            return NOW
        times = [
            self._not_before if self._wanted else None,
            self._look_at,
            self._poll_at if self.interested else None,
        ]
        return min((time for time in times if time is not None), default=None)
