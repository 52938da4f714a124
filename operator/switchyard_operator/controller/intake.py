"""From what watches and lists bring to the store, and to the work that it causes: the only way in."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from switchyard_operator.controller.listing import Lister
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.resources import Stream
from switchyard_operator.controller.shelf import Change, Listing
from switchyard_operator.controller.store import Store
from switchyard_operator.controller.vigilance import Vigilance
from switchyard_operator.controller.watching import Asked, Beat, Connected, Forbidden, Listed, Seen, Sight

_BREATH: Final = 50
"""After so many events others have a turn: ten thousand come at once when the operator starts."""


class Intake:
    """Takes everything in. ``changed`` is told what became different, ``listed`` that a list was complete."""

    def __init__(
        self,
        store: Store,
        vigilance: Vigilance,
        metrics: Metrics,
        changed: Callable[[Change], None],
        listed: Callable[[], None],
    ) -> None:
        self._store = store
        self._vigilance = vigilance
        self.listers: Mapping[Stream, Lister] = {}
        """Those that are asked for a list when a watch has lost its history."""
        self._metrics = metrics
        self._changed = changed
        self._listed = listed
        self._sights = asyncio.Queue[Sight]()

    def hand(self, sight: Sight) -> None:
        """Something that the watches tell."""
        self._sights.put_nowait(sight)

    async def run(self) -> None:
        """Take in what is handed over, in order, until cancelled."""
        now = asyncio.get_running_loop().time
        taken = 0
        while True:
            match await self._sights.get():
                case Seen(stream, type_, raw):
                    self._vigilance.brought(stream, raw)
                    self._note(self._store.event(stream.resource, type_, raw))
                case Asked(stream):
                    self._vigilance.asked(stream, now())
                case Forbidden(stream):
                    self._vigilance.forbidden(stream, now())
                case Listed(stream):
                    self._metrics.watch_lists.labels(str(stream.resource)).inc()
                    self._vigilance.listing(stream)
                    self.listers[stream].want()
                case Connected(stream, resource_version):
                    self._vigilance.stands(stream, resource_version)
                    self._metrics.watches.labels(str(stream.resource)).inc()
                case Beat():
                    self._vigilance.beat(now())
            taken += 1
            if taken % _BREATH == 0:
                await asyncio.sleep(0)

    def begin(self, stream: Stream) -> "ListIntake":
        """A list of our own begins."""
        resource = str(stream.resource)
        again = self._store.shelf(stream.resource).was_listed(stream.namespace)
        missed = self._metrics.missed.labels(resource)

        def take(changes: Iterable[Change | None]) -> None:
            for change in changes:
                self._note(change)
                if again and change is not None:
                    missed.inc()

        def found(raws: list[dict[str, Any]]) -> None:
            self._vigilance.found(stream, raws, asyncio.get_running_loop().time())

        def ended(resource_version: str) -> None:
            self._vigilance.ended(stream, resource_version)
            self._metrics.lists.labels(resource).inc()
            self._listed()

        return ListIntake(self._store.listing(stream.resource, stream.namespace), found, take, ended)

    def _note(self, change: Change | None) -> None:
        if change is not None:
            self._changed(change)


@dataclass(frozen=True, slots=True)
class ListIntake:
    """One list of our own on its way in."""

    _listing: Listing[Any]
    _found: Callable[[list[dict[str, Any]]], None]
    _take: Callable[[Iterable[Change | None]], None]
    _ended: Callable[[str], None]

    def add(self, raws: list[dict[str, Any]]) -> None:
        """A page."""
        self._found(raws)
        self._take(self._listing.add(raw) for raw in raws)

    def done(self, resource_version: str) -> None:
        """The end of the list."""
        self._take(self._listing.done(resource_version))
        self._ended(resource_version)
