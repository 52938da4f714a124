"""Work that is due now or later, each kind of it once, each by one worker at a time.

1. Work that is already waiting is not added twice; of two times the earlier stands.
2. Work that is added while a worker has it is done once more when that worker has finished: what it had looked up may be old.
3. Work that failed comes back after a back-off that doubles from 0.2 s to 60 s, with jitter. What happens meanwhile may make
   it due earlier; what succeeds is forgiven.
4. Of what is due, the lowest rank comes first, and within a rank what has been due for longest.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

W = TypeVar("W", bound=Hashable)

FIRST_BACKOFF_S: Final = 0.2
LONGEST_BACKOFF_S: Final = 60.0


class WorkQueue(Generic[W]):
    """A queue for the workers of one event loop; what it waits by is that loop's clock.

    ``rank`` says which of two that are due comes first. ``jitter`` gives numbers from 0 to 1.
    """

    def __init__(self, *, rank: Callable[[W], int] = lambda _: 0, jitter: Callable[[], float] = random.random) -> None:
        self._rank = rank
        self._jitter = jitter
        self._due: dict[W, float] = {}
        """When waiting work is due, by the loop's clock."""
        self._later: list[tuple[float, int, W]] = []
        """A heap by time. An entry counts only while ``_due`` says the same time."""
        self._now: list[tuple[int, float, int, W]] = []
        """A heap of what is due, by rank and time. As above."""
        self._running: dict[W, float | None] = {}
        """What workers have, and when it is due once more."""
        self._failures: dict[W, int] = {}
        self._order = itertools.count()
        self._news = asyncio.Event()

    def add(self, work: W, after_s: float = 0.0) -> None:
        """Have the work done, not before ``after_s`` seconds have passed."""
        due = asyncio.get_running_loop().time() + max(after_s, 0.0)
        if work in self._running:
            again = self._running[work]
            self._running[work] = due if again is None else min(due, again)
        elif work not in self._due or due < self._due[work]:
            self._due[work] = due
            heapq.heappush(self._later, (due, next(self._order), work))
            self._news.set()

    async def take(self) -> W:
        """Wait for work that is due. The worker says :meth:`done` or :meth:`failed` when it has finished."""
        while True:
            work = self._next()
            if work is not None:
                del self._due[work]
                self._running[work] = None
                return work
            await self._wait()

    def done(self, work: W) -> None:
        """The work succeeded, or there was nothing to do."""
        self._failures.pop(work, None)
        self._release(work)

    def failed(self, work: W) -> float:
        """The work failed and will be done again. Returns after how many seconds."""
        failures = self._failures[work] = self._failures.get(work, 0) + 1
        # Bounded before it is computed: 2 ** failures is not, for an object that cannot be helped.
        longest = min(FIRST_BACKOFF_S * 2.0 ** min(failures - 1, 32), LONGEST_BACKOFF_S)
        after_s = longest * (0.5 + 0.5 * self._jitter())
        self.add(work, after_s)
        self._release(work)
        return after_s

    def __contains__(self, work: W) -> bool:
        """Whether it waits, or a worker has it."""
        return work in self._due or work in self._running

    def __len__(self) -> int:
        """How much waits, due or not."""
        return len(self._due)

    @property
    def depth(self) -> int:
        """How much is due and has no worker yet."""
        now = asyncio.get_running_loop().time()
        return sum(due <= now for due in self._due.values())

    @property
    def running(self) -> int:
        """How much is being done."""
        return len(self._running)

    @property
    def failing(self) -> int:
        """How much has failed and not succeeded since."""
        return len(self._failures)

    @property
    def age_s(self) -> float:
        """How long the work that has been due for longest has waited for a worker; 0 when nothing is due."""
        now = asyncio.get_running_loop().time()
        return max(0.0, now - min(self._due.values(), default=now))

    def _release(self, work: W) -> None:
        again = self._running.pop(work)
        if again is not None:
            now = asyncio.get_running_loop().time()
            self.add(work, again - now)

    def _next(self) -> W | None:
        now = asyncio.get_running_loop().time()
        while self._later and self._later[0][0] <= now:
            due, order, work = heapq.heappop(self._later)
            if self._due.get(work) == due:
                heapq.heappush(self._now, (self._rank(work), due, order, work))
        while self._now:
            _, due, _, work = heapq.heappop(self._now)
            if self._due.get(work) == due:
                return work
        return None

    async def _wait(self) -> None:
        """Until something is added, or due."""
        self._news.clear()
        timeout = max(0.0, self._later[0][0] - asyncio.get_running_loop().time()) if self._later else None
        try:
            async with asyncio.timeout(timeout):
                await self._news.wait()
        except TimeoutError:
            return
