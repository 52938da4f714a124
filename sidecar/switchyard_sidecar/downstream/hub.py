"""Who is told when a list changes.

Rules, which hold for listen streams and legacy GET streams alike:

1. A subscriber is told when the digest of its own view differs from what it was last told; at first, from the view at its
   acknowledgement. A view that changed and changed back tells nobody. Which view is its own, its caller decides, anew with each
   config.
2. There is no queue. A subscriber whose peer has not taken what was written before is passed over, and looked at again when
   the peer has: however many changes came meanwhile, one notification follows, and it is never lost.
3. None waits for another. All are looked at in small batches, between which the loop does other work.
4. A change is published only after the new list can be read here.
5. Nobody hears more than it is let in for: a stream ends when its caller's token expires, or when what vouched for it does not any more.
6. Subscribers are kept in the order in which they were last written to. So a change tells those first who have waited
   longest, also when it comes while another is still being told, and keep-alives are due at the front.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from itertools import islice
from math import inf
from typing import Final, Protocol

from switchyard_sidecar.access.caller import ANONYMOUS, Caller
from switchyard_sidecar.config.model import CallerLimits
from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.downstream.quota import Quota
from switchyard_sidecar.protocol.errors import Overloaded
from switchyard_sidecar.protocol.versions import Era

BATCH: Final = 250
"""Subscribers looked at in one turn of the loop, which takes about 3 ms when all are written to."""
LONGEST_ALARM_S: Final = 3600.0
"""No timer is set for longer."""


class Outlook(Protocol):
    """What a caller gets to see, as it changes."""

    @property
    def retired(self) -> bool:
        """Whether its callers see by another one from now on, which differs from one to the next."""

    def digest(self, era: Era) -> bytes | None:
        """Differs when anything differs that a client of this era can see; ``None``: that is not known yet."""

    def follow(self) -> None:
        """Somebody is to be told of changes: :meth:`Hub.publish` is to be called for them."""

    def unfollow(self) -> None:
        """See :meth:`follow`."""


class Subscriber(ABC):
    """One open stream, seen from the hub: its state, and what can be done to it. None of it waits or raises."""

    __slots__ = ("alarm", "caller", "ends_at", "era", "outlook", "spoken_at", "told", "wants")

    def __init__(
        self, era: Era, *, wants: bool, caller: Caller = ANONYMOUS, told: bytes | None = None, ends_at: float = inf
    ) -> None:
        self.era = era
        self.caller = caller
        """Whose stream it is."""
        self.outlook: Outlook | None = None
        """What its caller sees; ``None`` where there is no room for that."""
        self.wants = wants
        """Whether it asked to be told; a stream that asked for nothing stays open and says nothing."""
        self.told = told
        """Digest of the view it was last told of; ``None``: of the one at its acknowledgement."""
        self.ends_at = ends_at
        """When its session or its caller's token is over, by the loop's clock; infinite where there is neither."""
        self.alarm: asyncio.TimerHandle | None = None
        self.spoken_at = 0.0
        """When it was last written to, by the loop's clock."""

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether its peer has taken all that was written to it, and the stream is not ending."""

    @abstractmethod
    def tell(self) -> None:
        """Say that the list changed."""

    @abstractmethod
    def comment(self) -> None:
        """Send a keep-alive."""

    @abstractmethod
    def end(self) -> None:
        """End in order. It leaves the hub when its peer has taken the rest, or is dropped for not taking it."""

    @abstractmethod
    def drop(self) -> None:
        """End at once."""


class Hub:
    """All open streams of one gateway.

    ``outlook_of`` says what a caller sees, or raises :class:`Overloaded`; ``on_last`` is called when the last stream is closed.
    """

    def __init__(self, outlook_of: Callable[[Caller], Outlook], on_last: Callable[[], None], pace: Pace) -> None:
        self._outlook_of = outlook_of
        self._on_last = on_last
        self.pace = pace
        self.quota: Final = Quota("open change streams", CallerLimits().streams)
        """What each caller has of them."""
        self._served: Collection[Era] = tuple(Era)
        self._vouchers: Collection[str] = (ANONYMOUS.voucher,)
        self._subscribers: dict[Subscriber, None] = {}  # rule 6
        self._unseen: list[Subscriber] = []
        self._look_anew = False
        self._turn: asyncio.Handle | None = None
        self._keep_alive: asyncio.Handle | None = None
        self.told_total = 0
        """Notifications handed to streams so far."""

    def __len__(self) -> int:
        return len(self._subscribers)

    def check_room(self, caller: Caller) -> None:
        """See whether one more stream may open.

        Raises:
            Overloaded: when there are too many, of all callers or of this one, or no room for what the caller sees.
        """
        if len(self._subscribers) >= self.pace.streams:
            raise Overloaded("Too many open change streams")
        self.quota.check(caller.principal)
        self._outlook_of(caller)

    def join(self, subscriber: Subscriber) -> None:
        """Tell it from now on, and at once where there is something to tell. It has been acknowledged."""
        self.quota.take(subscriber.caller.principal)
        self._show(subscriber)
        if subscriber.told is None and subscriber.outlook is not None:
            subscriber.told = subscriber.outlook.digest(subscriber.era)
        self._to_the_end(subscriber)
        if len(self._subscribers) == 1:
            self._rest()
        self._set_alarm(subscriber)
        self.look(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        """Forget it: its connection is gone."""
        del self._subscribers[subscriber]
        self.quota.give_back(subscriber.caller.principal)
        if subscriber.alarm is not None:
            subscriber.alarm.cancel()
        if subscriber.outlook is not None:
            subscriber.outlook.unfollow()
        if not self._subscribers:
            self._on_last()
            self._rest()

    def publish(self) -> None:
        """Tell those whose view changed. Call it only when the new list can be read."""
        self._look_around()

    def serve(self, eras: Collection[Era]) -> None:
        """End the streams of eras that are not among these, also any that is asked for from now on; none is served at shutdown."""
        self._served = eras
        self._look_around()

    def admit(self, vouchers: Collection[str]) -> None:
        """End the streams of callers who were let in by what is not among these, also any that is opened from now on."""
        self._vouchers = vouchers
        self._look_around()

    def end_sessions(self) -> None:
        """End the streams that belong to sessions: there are none any more."""
        for subscriber in self._subscribers:
            if subscriber.ends_at != inf:
                subscriber.ends_at = 0.0
        self._look_around()

    def end_all(self) -> None:
        """End all streams in order; others may be opened."""
        for subscriber in self._subscribers:
            subscriber.ends_at = 0.0
        self._look_around()

    def drop_all(self) -> None:
        """End at once what has not ended by itself."""
        for subscriber in tuple(self._subscribers):
            subscriber.drop()

    def look(self, subscriber: Subscriber) -> None:
        """Do what is due for one: show it what its caller sees now, end it, tell it, or nothing."""
        if _is_retired(subscriber):
            self._show(subscriber)
        if self._over(subscriber):
            subscriber.end()
        elif (digest := self._news(subscriber)) is not None and subscriber.ready:
            subscriber.told = digest
            self.told_total += 1
            subscriber.tell()
            self._to_the_end(subscriber)

    def _over(self, subscriber: Subscriber) -> bool:
        return (
            subscriber.outlook is None
            or subscriber.era not in self._served
            or subscriber.ends_at <= asyncio.get_running_loop().time()
            or subscriber.caller.voucher not in self._vouchers
        )

    def _set_alarm(self, subscriber: Subscriber) -> None:
        """Look at it again when it is over, which may be long after any timer can be set."""
        if subscriber.ends_at != inf:
            loop = asyncio.get_running_loop()
            due = min(subscriber.ends_at, loop.time() + LONGEST_ALARM_S)
            subscriber.alarm = loop.call_at(due, self._ring, subscriber)

    def _ring(self, subscriber: Subscriber) -> None:
        if not self._over(subscriber):
            self._set_alarm(subscriber)
        self.look(subscriber)

    def _is_due(self, subscriber: Subscriber) -> bool:
        return _is_retired(subscriber) or self._over(subscriber) or self._news(subscriber) is not None

    def _news(self, subscriber: Subscriber) -> bytes | None:
        """The digest that it is to be told of, if there is one."""
        if not subscriber.wants or subscriber.outlook is None:
            return None
        digest = subscriber.outlook.digest(subscriber.era)
        return None if digest == subscriber.told else digest

    def _show(self, subscriber: Subscriber) -> None:
        """Let it follow what its caller sees as things are now; if there is no room for that, its stream is over."""
        before = subscriber.outlook
        try:
            subscriber.outlook = self._outlook_of(subscriber.caller)
        except Overloaded:
            subscriber.outlook = None
        if subscriber.outlook is not before:
            if subscriber.outlook is not None:
                subscriber.outlook.follow()
            if before is not None:
                before.unfollow()

    def _look_around(self) -> None:
        """Look at all for whom something is due, from the next turn of the loop on; begin anew if that is under way.

        However many views change in one turn, all are looked at once.
        """
        self._look_anew = True
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._look_at_batch)

    def _next_turn(self) -> None:
        again = self._unseen or self._look_anew
        self._turn = asyncio.get_running_loop().call_soon(self._look_at_batch) if again else None

    def _look_at_batch(self) -> None:
        if self._look_anew:
            self._look_anew = False
            self._unseen = [each for each in self._subscribers if self._is_due(each)]
        batch, self._unseen = self._unseen[:BATCH], self._unseen[BATCH:]
        for subscriber in batch:
            if subscriber in self._subscribers:
                self.look(subscriber)
        self._next_turn()

    def _comment(self) -> None:
        """Send keep-alives to those that are due; at most a batch, then the loop has its turn."""
        silent_since = asyncio.get_running_loop().time() - self.pace.keep_alive_s
        for subscriber in list(islice(self._subscribers, BATCH)):
            if subscriber.spoken_at > silent_since:
                break
            self.look(subscriber)  # its session may be over
            if subscriber.ready:
                subscriber.comment()
            self._to_the_end(subscriber)  # also one that is not ready: it needs none, and stands in the way
        self._rest()

    def _rest(self) -> None:
        """Wait until the one that was silent longest is due; for nothing when there is none."""
        if self._keep_alive is not None:
            self._keep_alive.cancel()
            self._keep_alive = None
        if (first := next(iter(self._subscribers), None)) is not None:
            due = first.spoken_at + self.pace.keep_alive_s
            self._keep_alive = asyncio.get_running_loop().call_at(due, self._comment)

    def _to_the_end(self, subscriber: Subscriber) -> None:
        """Make it the last in order."""
        subscriber.spoken_at = asyncio.get_running_loop().time()
        self._subscribers.pop(subscriber, None)
        self._subscribers[subscriber] = None


def _is_retired(subscriber: Subscriber) -> bool:
    return subscriber.outlook is not None and subscriber.outlook.retired
