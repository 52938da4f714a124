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

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import inf

from soak.facts import (
    RECOVERY_S,
    SLACK_S,
    STARTUP_S,
    Config,
    Definition,
    History,
    Illness,
    Listing,
    Shown,
    Version,
)


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
        if listing.pages > 1:
            return self._faults_of_pages(listing, configs, held=held)
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
            fault, number = self._match(listing, config, backend, entries, held=held)
            if fault is not None:
                found.append(fault)
            elif held:
                continue
            elif number is None and backend not in listing.degraded:
                found.append(f"{backend} is missing and the answer does not say so")
            elif number is not None and only:
                self._see(backend, listing.answered_at, number)
        return found if held else found + self._unfounded(listing)

    def _match(
        self, listing: Listing, config: Config, backend: str, entries: Mapping[str, bytes], *, held: bool
    ) -> tuple[str | None, int | None]:
        """Find the version that is shown; None, None: rightly nothing."""
        allowed, must = self._allowed(listing, backend, held=held)
        if not entries and not must:
            return None, None
        for version in allowed:
            if _is_shown(config.shown(backend, version), entries, listing.era):
                return None, version.number
        return _difference(config, self.backends[backend], allowed, entries, listing.era), None

    def _allowed(self, listing: Listing, backend: str, *, held: bool) -> tuple[Sequence[Version], bool]:
        """The versions that an answer may show of a backend, and whether it must show one."""
        history = self.backends[backend]
        oldest = self.oldest(backend, listing.sent_at, asked=not held)
        seen = -1 if held else self._floor(backend, listing.sent_at)
        first = max(-1 if oldest is None else oldest, seen, 0)
        return history.versions[first : history.current(listing.answered_at) + 1], oldest is not None

    def _faults_of_pages(self, listing: Listing, configs: Sequence[Config], *, held: bool) -> list[str]:
        """A walk over several pages may meet several versions and configs.

        Each entry is as one of them has it; and what all of them have is there.
        """
        found: list[str] = []
        everywhere: set[str] | None = None
        unexplained = dict(listing.entries)
        for config in configs:
            for backend in config.backends:
                allowed, must = self._allowed(listing, backend, held=held)
                lists = [config.shown(backend, version) for version in allowed]
                for name in unexplained.keys() & set().union(*lists):
                    if any(name in each and each[name].is_(unexplained[name], listing.era) for each in lists):
                        del unexplained[name]
                if len(configs) == 1 and must and lists:
                    everywhere = (everywhere or set()) | set.intersection(*(set(each) for each in lists))
        found += [f"{name} is as in no version that may be shown: {entry!r}" for name, entry in unexplained.items()]
        lost = (everywhere or set()) - listing.by_name.keys()
        return found + [f"{name} was lost on the way" for name in sorted(lost)]

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


def _is_shown(expected: Mapping[str, Shown], entries: Mapping[str, bytes], era: str) -> bool:
    return expected.keys() == entries.keys() and all(expected[name].is_(entry, era) for name, entry in entries.items())


def _difference(
    config: Config, history: History, allowed: Sequence[Version], entries: Mapping[str, bytes], era: str
) -> str:
    """Say what is shown instead of the versions allowed."""
    backend = history.name
    if not allowed:
        return f"{backend} shows {sorted(entries)} and may show nothing"
    said = f"{backend} must show version {allowed[0].number}"
    if len(allowed) > 1:
        said += f" to {allowed[-1].number}"
    elsewhere = [each.number for each in history.versions if _is_shown(config.shown(backend, each), entries, era)]
    if elsewhere:
        return f"{said}, and shows {elsewhere}"
    expected = config.shown(backend, allowed[-1])
    missing, extra = sorted(expected.keys() - entries.keys()), sorted(entries.keys() - expected.keys())
    common = sorted(expected.keys() & entries.keys())
    other = [name for name in common if not expected[name].is_(entries[name], era)]
    sample = f"; {other[0]} is {entries[other[0]]!r}" if other else ""
    return f"{said}; of {allowed[-1].number} it lacks {missing}, it has {extra} besides, and {other} differ{sample}"
