"""Whether the watches bring what there is to see. Pure; times are seconds of one monotonic clock.

A watch that hangs looks like a quiet cluster. But a list tells: an object's ``resourceVersion`` that is newer than where the watch
began, and that the watch has not reached, is owed by it. Versions of one resource are integers that grow (KEP-5504), and whatever
happened to the object of the highest one since, or to the watch, brings that version or a later one. What is owed for long shows
a watch that will not wake up.

A watch that is alive ends and asks anew every few minutes (:data:`.watching.SERVER_TIMEOUT_S`), answered or not. One that asks no more
has ended, whoever ended it. One that is refused for long may never stand again, while a new process looks what it may see.

Where versions go back, the API server's data have been restored from a copy: everything that is newer here than there will never be
heard of again, and only a new process believes what is older.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from switchyard_operator.controller.resources import Stream
from switchyard_operator.controller.shelf import comparable

BEAT_LIMIT_S: Final = 60.0
"""After so long without a sign of life kopf's thread counts as dead."""
START_LIMIT_S: Final = 120.0
"""After so long every watch has to have listed once. One never does when kopf does not find its resource."""
DEBT_LIMIT_S: Final = 150.0
"""How long a watch may owe what a list has found: time to notice a silent connection, connect and list anew."""

ASK_LIMIT_S: Final = 480.0
"""How long a watch may not ask: the most that one lasts (330 s), and time to connect and to wait before that, amply."""
FORBIDDEN_LIMIT_S: Final = 300.0
"""How long a watch may be refused for lack of permission: longer than roles are away that are being replaced."""


@dataclass(slots=True)
class _State:
    asked_at: float
    """When the watch last asked for anything."""
    forbidden_since: float | None = None
    """``None``: it was let in the last time."""
    listed: bool = False
    reached: int = 0
    """The highest version that the watch has brought, or begun after."""
    owed: int = 0
    """The highest version that a list has found."""
    since: float = 0.0
    """When the oldest debt that still stands was found."""
    complete: int = 0
    """The version of the last complete list."""
    restored: bool = False
    """A list was of an older version than the one before it."""


@dataclass(slots=True)
class Vigilance:
    """What is known of the watches."""

    started_at: float
    beat_at: float
    _states: dict[Stream, _State] = field(default_factory=dict)

    @classmethod
    def over(cls, streams: Iterable[Stream], now: float) -> "Vigilance":
        """Vigilance over watches that begin now."""
        return cls(now, now, {stream: _State(now) for stream in streams})

    def beat(self, now: float) -> None:
        """The thread that watches is alive."""
        self.beat_at = now

    def asked(self, stream: Stream, now: float) -> None:
        """The watch asks, whatever is answered."""
        self._states[stream].asked_at = now

    def forbidden(self, stream: Stream, now: float) -> None:
        """The API server does not let us list or watch."""
        state = self._states[stream]
        state.forbidden_since = now if state.forbidden_since is None else state.forbidden_since

    def listing(self, stream: Stream) -> None:
        """The watch lists anew."""
        state = self._states[stream]
        state.listed, state.forbidden_since = True, None

    def stands(self, stream: Stream, resource_version: str) -> None:
        """The API server has begun to answer a watch, which is to bring what is newer than this version."""
        state = self._states[stream]
        state.forbidden_since = None
        state.reached = max(state.reached, comparable(resource_version) or 0)

    def brought(self, stream: Stream, raw: Mapping[str, Any]) -> None:
        """The watch has brought an object, or word of its deletion."""
        state = self._states[stream]
        state.reached = max(state.reached, _version(raw))

    def found(self, stream: Stream, raws: Iterable[Mapping[str, Any]], now: float) -> None:
        """A list of our own has found these objects."""
        state = self._states[stream]
        highest = max(map(_version, raws), default=0)
        if highest > max(state.reached, state.owed):
            if state.reached >= state.owed:
                state.since = now
            state.owed = highest

    def ended(self, stream: Stream, resource_version: str) -> None:
        """A list of our own was complete; ``resource_version``: the list's own. Lists show what is there when they are asked for."""
        state, version = self._states[stream], comparable(resource_version)
        if version is not None:
            state.restored |= version < state.complete
            state.complete = version

    def faults(self, now: float) -> Iterator[str]:
        """Why this process should be started anew; nothing when all is well."""
        if now - self.beat_at > BEAT_LIMIT_S:
            yield f"the thread of watches has given no sign of life for {now - self.beat_at:.0f} s"
        for stream, state in self._states.items():
            if not state.listed and now - self.started_at > START_LIMIT_S:
                yield f"the watch of {stream} has not begun"
            if now - state.asked_at > ASK_LIMIT_S:
                yield f"the watch of {stream} has asked for nothing for {now - state.asked_at:.0f} s"
            if state.forbidden_since is not None and now - state.forbidden_since > FORBIDDEN_LIMIT_S:
                yield f"the watch of {stream} has been forbidden for {now - state.forbidden_since:.0f} s"
            if state.reached < state.owed and now - state.since > DEBT_LIMIT_S:
                yield f"the watch of {stream} has brought nothing for {now - state.since:.0f} s of what there is"
            if state.restored:
                yield f"the API server's data of {stream} are older than they were"


def _version(raw: Mapping[str, Any]) -> int:
    """An object's version; 0 for one that is not comparable, which then proves nothing."""
    return comparable(raw["metadata"].get("resourceVersion")) or 0
