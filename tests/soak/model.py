"""What a client may see at a moment of a soak: facts are noted as they happen, and every answer is held against them.

Pure: no sockets, no clock; times are monotonic seconds, and given. The rules for what a list shows of one backend, in a
window from request to answer:

1. *Nothing from the future.* A version that had not begun when the answer came cannot be in it.
2. *Nothing lost.* Once the sidecar has read a version to its end, it shows that one or a later one, whatever happens to
   the backend: the last good list is kept. What a client has seen is never older in a later answer.
3. *Nothing late.* A backend that was well for long enough shows every change within its bound.
4. *All or nothing.* What is shown of a backend is one version, whole, byte for byte, or nothing; and nothing only before
   the first read, and then the answer says so.

A subscriber is held to the same, with the time it takes to be told. For each thing that is told there is a cause.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from math import inf
from typing import Final

SLACK_S: Final = 2.0
"""What the sidecar may take for its own work between a cause and its effect, on a machine that has others to serve too."""
STARTUP_S: Final = 8.0
"""Within this after it was put into the config, or the sidecar started, a well backend is listed."""
RECOVERY_S: Final = 70.0
"""A backend that failed is asked again within this after it is well: back-off (30 s) after an attempt that hung (30 s)."""
TOLD_S: Final = 3.0
"""A subscriber has been told, and has listed, within this after the list could show it."""
CALL_RECOVERY_S: Final = 6.0
"""Calls get through again this long after the backend is well."""


@dataclass(frozen=True)
class Definition:
    """A definition, cut around the value of its name."""

    head: bytes
    tail: bytes
    exact_for_legacy: bool = True
    """Whether legacy clients must see the same bytes."""

    def named(self, name: str) -> bytes:
        """What is listed under an exposed name."""
        return self.head + json.dumps(name, ensure_ascii=False).encode() + self.tail


@dataclass(frozen=True)
class Version:
    """The list of a backend, for as long as it stayed the same."""

    number: int
    begun_at: float
    tools: Mapping[str, Definition]


@dataclass
class Illness:
    """A time in which a backend does not do what it should."""

    begun_at: float
    what: str
    ended_at: float = inf
    call_recovery_s: float = CALL_RECOVERY_S
    recovery_s: float = RECOVERY_S


@dataclass(frozen=True)
class Alias:
    """An exposed name chosen in the config."""

    name: str
    backend: str
    tool: str
    keep_original: bool = False


@dataclass
class Config:
    """One content of the config directory."""

    written_at: float
    backends: tuple[str, ...]
    """Exposed names begin with the backend's own name, which is its prefix."""
    aliases: tuple[Alias, ...] = ()
    page_size: int = 0
    superseded_at: float = inf
    """When the sidecar is known to serve a later one."""

    def exposed(self, backend: str, tool: str) -> list[str]:
        """The names a tool has in lists."""
        own = [alias for alias in self.aliases if (alias.backend, alias.tool) == (backend, tool)]
        ordinary = [f"{backend}__{tool}"] if not own or any(alias.keep_original for alias in own) else []
        return [alias.name for alias in own] + ordinary

    def owner(self, name: str) -> str | None:
        """The backend that an exposed name belongs to; None: no backend's."""
        alias = next((alias for alias in self.aliases if alias.name == name), None)
        backend = alias.backend if alias else name.partition("__")[0]
        return backend if backend in self.backends else None


@dataclass
class History:
    """All that is known of one backend."""

    name: str
    bound_s: float
    """How long a change may stay unseen that was not announced, while nobody asks."""
    asked_s: float = inf
    """How old what is shown to somebody who asks may be."""
    prompt_s: float | None = SLACK_S
    """The same for one that was, to an open stream; None: no better."""
    versions: list[Version] = field(default_factory=list)
    announced: dict[int, float] = field(default_factory=dict)
    reads: list[tuple[float, int]] = field(default_factory=list)
    """When a version was read to its end."""
    illnesses: list[Illness] = field(default_factory=list)
    introductions: list[float] = field(default_factory=list)
    """When it was put into the config, or has been asked as another one from."""
    static: bool = False
    """Whether its reads are not known, because it is not one of ours."""

    def ill(self, since: float, until: float, *, recovery: bool = False) -> Illness | None:
        """An illness that touches this time, with its aftermath if ``recovery``."""
        for illness in reversed(self.illnesses):
            ended = illness.ended_at + (illness.recovery_s if recovery else 0.0)
            if illness.begun_at <= until and ended >= since:
                return illness
        return None

    def current(self, at: float) -> int:
        """The number of the version at a time; -1 before the first."""
        return bisect_right([version.begun_at for version in self.versions], at) - 1


@dataclass(frozen=True)
class Listing:
    """What a client was listed."""

    era: str
    sent_at: float
    answered_at: float
    entries: tuple[tuple[str, bytes], ...]
    degraded: frozenset[str] = frozenset()
    """Backends that the answer says are missing or may be out of date."""
    pages: int = 1

    @cached_property
    def by_name(self) -> Mapping[str, bytes]:
        """Entries by name."""
        return dict(self.entries)


@dataclass
class Model:
    """The facts of one soak."""

    backends: dict[str, History] = field(default_factory=dict)
    configs: list[Config] = field(default_factory=list)
    outages: list[Illness] = field(default_factory=list)
    """Times in which there was no sidecar, or it was going."""
    changes: list[float] = field(default_factory=list)
    """When the sidecar was sent something that it had not read before."""
    seen: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    """By backend: when which version was first seen by any client."""
    lag_s: float = 0.0
    """For how long, lately, one of the two processes had to wait for a CPU: nothing is to be expected any sooner."""

    # Facts.

    def version(self, backend: str, at: float, tools: Mapping[str, Definition]) -> Version:
        """A backend's list is another one from now on."""
        history = self.backends[backend]
        made = Version(len(history.versions), at, dict(tools))
        history.versions.append(made)
        return made

    def read(self, backend: str, at: float, number: int) -> None:
        """The sidecar has been sent a version of a backend's list to its end."""
        reads = self.backends[backend].reads
        if not reads or reads[-1][1] != number:
            self.changes.append(at)
        reads.append((at, number))

    def configured(self, config: Config) -> None:
        """The config directory holds something else from now on."""
        former = self.configs[-1].backends if self.configs else ()
        for name in set(config.backends) - set(former):
            self.backends[name].introductions.append(config.written_at)
        self.configs.append(config)

    def loaded(self, at: float) -> None:
        """The sidecar serves the newest config, and no earlier one."""
        for config in self.configs[:-1]:
            config.superseded_at = min(config.superseded_at, at)

    def down(self, since: float, until: float) -> bool:
        """Whether there was no sidecar, or it was going, at any time in between."""
        return any(outage.begun_at <= until and outage.ended_at >= since for outage in self.outages)

    # What follows from them.

    def possible(self, since: float, until: float) -> list[Config]:
        """The configs that may have been served in this time, the newest first."""
        slack = SLACK_S + self.lag_s
        served = takewhile(lambda config: config.superseded_at + slack >= since, reversed(self.configs))
        return [config for config in served if config.written_at <= until]

    def started_at(self, at: float) -> float:
        """When the sidecar of this time was ready; later than ``at`` while it is not known to be."""
        return max((outage.ended_at for outage in self.outages if outage.begun_at <= at), default=-inf)

    def known_since(self, backend: str, at: float) -> float:
        """Since when the sidecar of this time has known a backend by this name and credential."""
        introduced = (each for each in self.backends[backend].introductions if each <= at)
        return max(self.started_at(at), max(introduced, default=-inf))

    def ready_at(self, backend: str, at: float) -> float:
        """From when on nothing excuses a backend that is not listed as it is; later than ``at`` if something does now."""
        history = self.backends[backend]
        ready = self.known_since(backend, at) + STARTUP_S
        for illness in history.illnesses:
            if illness.begun_at <= at:
                ready = max(ready, illness.ended_at + illness.recovery_s)
        return ready + self.lag_s

    def oldest(self, backend: str, at: float, *, asked: bool = True) -> int | None:
        """The oldest version that may be shown now; None: nothing need be shown. ``asked``: in an answer to a request."""
        history = self.backends[backend]
        known = self.known_since(backend, at)
        at -= self.lag_s
        read = _last_read(history, known, at - SLACK_S)
        due = -1
        if at >= self.ready_at(backend, at):
            newest_first = reversed(history.versions)
            due = next((each.number for each in newest_first if self._due_at(history, each, asked=asked) <= at), -1)
        oldest = max(read, due)
        return None if oldest < 0 else oldest

    def _due_at(self, history: History, version: Version, *, asked: bool) -> float:
        lazily = version.begun_at + (min(history.asked_s, history.bound_s) if asked else history.bound_s)
        if history.prompt_s is None or version.number not in history.announced:
            return lazily
        well = version.begun_at >= self.ready_at(history.name, version.begun_at)
        return history.announced[version.number] + history.prompt_s if well else lazily

    def faults(self, listing: Listing, *, held: bool = False) -> list[str]:
        """What is wrong with an answer; nothing, if some config that may have been served explains it.

        ``held``: it is no answer of now, but what somebody who listens holds to be true.
        """
        names = [name for name, _ in listing.entries]
        if names != sorted(set(names)):
            return [f"names out of order or doubled: {names}"]
        configs = self.possible(listing.sent_at, listing.answered_at)
        if listing.pages > 1 and len(configs) > 1:
            return self._faults_of_entries(listing, configs)
        best: list[str] | None = None
        for config in configs:
            found = self._faults(listing, config, held=held, only=len(configs) == 1)
            if not found:
                return []
            best = found if best is None or len(found) < len(best) else best
        return best or ["no config was there that could have been served"]

    def _faults(self, listing: Listing, config: Config, *, held: bool, only: bool) -> list[str]:
        shown: dict[str, dict[str, bytes]] = {name: {} for name in config.backends}
        found: list[str] = []
        for name, entry in listing.entries:
            owner = config.owner(name)
            if owner is None:
                found.append(f"{name} belongs to no backend")
            else:
                shown[owner][name] = entry
        for backend, entries in shown.items():
            if listing.pages > 1:
                found += self._faults_of_pages(listing, config, backend, entries, only=only)
                continue
            fault, number = self._match(listing, config, backend, entries, held=held)
            if fault is not None:
                found.append(fault)
            elif held:
                continue
            elif number is None and backend not in listing.degraded:
                found.append(f"{backend} is missing and the answer does not say so")
            elif number is not None and only:
                self._see(backend, listing.answered_at, number)
        if not held:
            found += self._unfounded(listing)
        return found

    def _match(
        self, listing: Listing, config: Config, backend: str, entries: Mapping[str, bytes], *, held: bool
    ) -> tuple[str | None, int | None]:
        """Find the version that is shown; None, None: rightly nothing."""
        history = self.backends[backend]
        oldest = self.oldest(backend, listing.sent_at, asked=not held)
        if not entries and oldest is None:
            return None, None
        floor = max(-1 if oldest is None else oldest, -1 if held else self._floor(backend, listing.sent_at), 0)
        newest = history.current(listing.answered_at)
        for number in range(floor, newest + 1):
            if _shows(config, history.versions[number], backend, entries, listing.era):
                return None, number
        return _difference(config, history, backend, entries, listing.era, floor, newest), None

    def _faults_of_pages(
        self, listing: Listing, config: Config, backend: str, entries: Mapping[str, bytes], *, only: bool
    ) -> list[str]:
        """A walk over several pages may meet several versions: each entry is of one, and what is in all is there."""
        history = self.backends[backend]
        oldest = self.oldest(backend, listing.sent_at)
        newest = history.current(listing.answered_at)
        expected = [
            _rendered(config, history.versions[number], backend) for number in range(max(oldest or 0, 0), newest + 1)
        ]
        found = [
            f"{name} is as in no version of {backend} from {oldest} to {newest}: {entry!r}"
            for name, entry in entries.items()
            if not any(name in each and _same(each[name], entry, name, listing.era) for each in expected)
        ]
        if only and oldest is not None and expected:
            everywhere = set.intersection(*(set(each) for each in expected))
            found += [f"{name} of {backend} was lost on the way" for name in sorted(everywhere - entries.keys())]
        return found

    def _faults_of_entries(self, listing: Listing, configs: Sequence[Config]) -> list[str]:
        """A walk over several pages may meet several configs: each entry is as one of them has it."""
        found = []
        for each in listing.entries:
            alone = replace(listing, entries=(each,))
            faults = [self._faults(alone, config, held=True, only=False) for config in configs]
            if all(faults):
                found += faults[0]
        return found

    def _unfounded(self, listing: Listing) -> list[str]:
        found = []
        for backend in sorted(listing.degraded):
            history = self.backends.get(backend)
            if history is None:
                found.append(f"{backend} is said to be missing, and there is none")
            elif (
                not history.ill(listing.sent_at, listing.answered_at, recovery=True)
                and listing.sent_at >= self.ready_at(backend, listing.sent_at) + SLACK_S
            ):
                found.append(f"{backend} is said to be unwell, and is well")
        return found

    def _floor(self, backend: str, sent_at: float) -> int:
        return next((number for at, number in reversed(self.seen.get(backend, [])) if at <= sent_at), -1)

    def _see(self, backend: str, at: float, number: int) -> None:
        seen = self.seen.setdefault(backend, [])
        if not seen or seen[-1][1] < number:
            seen.append((at, number))

    def causes(self, since: float, until: float) -> int:
        """How many notifications of a change there may at most be in this time."""
        count = bisect_right(self.changes, until) - bisect_left(self.changes, since)
        for place, config in reversed(list(enumerate(self.configs))):
            applied_at = self.configs[place - 1].superseded_at if place else config.written_at
            if min(applied_at, config.written_at + STARTUP_S) + SLACK_S < since:
                break
            count += config.written_at <= until
        starts = [outage.ended_at for outage in self.outages if outage.ended_at + RECOVERY_S + STARTUP_S >= since]
        for history in self.backends.values():
            for at in (*reversed(history.introductions), *starts):
                if at > until or at + RECOVERY_S + STARTUP_S < since:
                    continue
                # Seen first when it is first read; gone when what it was as another one has expired.
                unwell = history.ill(at, at + STARTUP_S, recovery=True) is not None
                count += 2 * (at + (RECOVERY_S + STARTUP_S if unwell else STARTUP_S) >= since)
        return count


def _last_read(history: History, since: float, until: float) -> int:
    """The newest version that was read in this time for sure; -1: none."""
    for at, number in reversed(history.reads):  # a later read never brings an earlier version
        if at < since:
            break
        if at <= until and not history.ill(at - 1.0, at + 0.5):  # else the answer may never have got there
            return number
    return -1


def _rendered(config: Config, version: Version, backend: str) -> dict[str, Definition]:
    return {name: definition for tool, definition in version.tools.items() for name in config.exposed(backend, tool)}


def _same(definition: Definition, entry: bytes, name: str, era: str) -> bool:
    return (era == "legacy" and not definition.exact_for_legacy) or definition.named(name) == entry


def _shows(config: Config, version: Version, backend: str, entries: Mapping[str, bytes], era: str) -> bool:
    expected = _rendered(config, version, backend)
    return expected.keys() == entries.keys() and all(
        _same(expected[name], entry, name, era) for name, entry in entries.items()
    )


def _difference(
    config: Config, history: History, backend: str, entries: Mapping[str, bytes], era: str, floor: int, newest: int
) -> str:
    """Say what is shown instead of the versions allowed."""
    elsewhere = [each.number for each in history.versions if _shows(config, each, backend, entries, era)]
    allowed = f"{backend} must show version {floor}" + (f" to {newest}" if newest > floor else "")
    if elsewhere:
        return f"{allowed}, and shows {elsewhere}"
    if newest < 0:
        return f"{backend} shows {sorted(entries)} and has never had any"
    expected = _rendered(config, history.versions[newest], backend)
    missing, extra = sorted(expected.keys() - entries.keys()), sorted(entries.keys() - expected.keys())
    other = sorted(
        name for name in expected.keys() & entries.keys() if not _same(expected[name], entries[name], name, era)
    )
    sample = f"; {other[0]} is {entries[other[0]]!r}" if other else ""
    return f"{allowed}; of {newest} it lacks {missing}, it has {extra} besides, and {other} differ{sample}"
