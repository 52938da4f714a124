"""What is noted as it happens: lists that changed, configs that were written, backends that were unwell. Data, no rules."""

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Final, NamedTuple

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


class Shown(NamedTuple):
    """A definition under an exposed name."""

    text: bytes
    exact_for_legacy: bool

    def is_(self, entry: bytes, era: str) -> bool:
        """Whether an entry of an answer is it."""
        return entry == self.text or (era == "legacy" and not self.exact_for_legacy)


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

    _shown: dict[tuple[str, int], Mapping[str, Shown]] = field(default_factory=dict, repr=False)

    def shown(self, backend: str, version: Version) -> Mapping[str, Shown]:
        """What is listed of a version of a backend's list, by exposed name."""
        key = backend, version.number
        if key not in self._shown:
            self._shown[key] = {
                name: Shown(definition.named(name), definition.exact_for_legacy)
                for tool, definition in version.tools.items()
                for name in self.exposed(backend, tool)
            }
        return self._shown[key]

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
