"""Whether the watches bring what there is to see. Pure; times are seconds of one monotonic clock.

A watch that hangs looks like a quiet cluster. But a list tells: an object's ``resourceVersion`` that is newer than where the watch
began, and that the watch has not reached, is owed by it. Versions of one resource are integers that grow (KEP-5504), and whatever
happened to the object of the highest one since, or to the watch, brings that version or a later one. What is owed for long shows
a watch that will not wake up.

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


@dataclass(slots=True)
class _State:
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
        return cls(now, now, {stream: _State() for stream in streams})

    def beat(self, now: float) -> None:
        """The thread that watches is alive."""
        self.beat_at = now

    def listing(self, stream: Stream) -> None:
        """The watch lists anew."""
        self._states[stream].listed = True

    def stands(self, stream: Stream, resource_version: str) -> None:
        """The API server has begun to answer a watch, which is to bring what is newer than this version."""
        state = self._states[stream]
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
            if state.reached < state.owed and now - state.since > DEBT_LIMIT_S:
                yield f"the watch of {stream} has brought nothing for {now - state.since:.0f} s of what there is"
            if state.restored:
                yield f"the API server's data of {stream} are older than they were"


def _version(raw: Mapping[str, Any]) -> int:
    """An object's version; 0 for one that is not comparable, which then proves nothing."""
    return comparable(raw["metadata"].get("resourceVersion")) or 0
