"""Who is told when a list changes.

Rules, which hold for listen streams and legacy GET streams alike:

1. A subscriber is told when the digest of its own view differs from what it was last told; at first, from the view at its
   acknowledgement. A view that changed and changed back tells nobody.
2. There is one slot a subscriber, not a queue: it holds "look again". However many changes come while a slow peer is
   written to, one notification follows, and it is never lost.
3. Each subscriber writes from its own task under its own time limit. None waits for another.
4. A change is published only after the new list can be read here.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era


class Subscriber:
    """One open stream, seen from the hub."""

    __slots__ = ("_keep_alive_s", "_wake", "ending", "era", "told")

    def __init__(self, era: Era, told: bytes, *, keep_alive_s: float, ending: bool) -> None:
        self.era = era
        self.told = told
        """Digest of the view it was last told of."""
        self.ending = ending
        """Whether the server ends the stream."""
        self._keep_alive_s = keep_alive_s
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Say "look again"."""
        self._wake.set()

    def end(self) -> None:
        """End the stream, gracefully, at the next look."""
        self.ending = True
        self._wake.set()

    async def wait(self) -> bool:
        """Wait for "look again"; ``False`` when the stream was silent for so long that it wants a comment."""
        try:
            async with asyncio.timeout(self._keep_alive_s):
                await self._wake.wait()
        except TimeoutError:
            return False
        self._wake.clear()
        return True


class Hub:
    """All open streams of one gateway. ``on_interest`` is called when the first one opens and when the last one closes."""

    def __init__(self, on_interest: Callable[[bool], None], pace: Pace) -> None:
        self._on_interest = on_interest
        self._pace = pace
        self._ending = False
        self._subscribers: set[Subscriber] = set()
        self._digests: Mapping[Era, bytes] = {Era.MODERN: b"", Era.LEGACY: b""}
        self.told_total = 0
        """Notifications handed to streams so far."""

    def __len__(self) -> int:
        return len(self._subscribers)

    def digest(self, era: Era) -> bytes:
        """Digest of the view that can be read now."""
        return self._digests[era]

    def publish(self, digests: Mapping[Era, bytes]) -> None:
        """Wake those whose view changed. Call it only when the new list can be read."""
        self._digests = digests
        for subscriber in self._subscribers:
            if digests[subscriber.era] != subscriber.told:
                subscriber.wake()

    @contextmanager
    def subscribed(self, era: Era, *, told: bytes | None = None) -> Iterator[Subscriber]:
        """Hold a place for one stream. ``told``: what its session was told of before, if anything.

        Raises:
            McpError: with HTTP status 503 when there are too many.
        """
        if len(self._subscribers) >= self._pace.streams:
            raise McpError(errors.INTERNAL_ERROR, "Too many open change streams; try again later", status=503)
        current = self._digests[era]
        last_told = current if told is None else told
        subscriber = Subscriber(era, last_told, keep_alive_s=self._pace.keep_alive_s, ending=self._ending)
        if subscriber.told != current:
            subscriber.wake()
        self._subscribers.add(subscriber)
        if len(self._subscribers) == 1:
            self._on_interest(True)
        try:
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)
            if not self._subscribers:
                self._on_interest(False)

    def take(self, subscriber: Subscriber) -> bool:
        """Whether it is to be told now; its slot is then empty again."""
        current = self._digests[subscriber.era]
        if subscriber.told == current:
            return False
        subscriber.told = current
        self.told_total += 1
        return True

    def end_all(self) -> None:
        """End every stream gracefully, at shutdown: those that are open, and at once any that is still asked for."""
        self._ending = True
        for subscriber in self._subscribers:
            subscriber.end()
