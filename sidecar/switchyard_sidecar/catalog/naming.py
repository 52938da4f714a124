"""Exposed names: what each tool of each backend is called in this gateway's list.

The rules, all of which depend on the declared config and the tool's own name alone:

1. An alias's name belongs to its tool, whether or not the tool is there. Of two aliases for one name the first (they come
   in order of precedence) has it; the other has no effect. A tool with an alias that has effect loses its ordinary name,
   unless the alias keeps it.
2. An ordinary name is *prefix, separator, tool*; an empty prefix drops the separator; without a prefix (a gateway of one
   named backend) it is the tool's own name, however long.
3. With charset ``Safe`` every character outside ``[A-Za-z0-9_-]`` becomes ``_``. A name over ``max_length`` is cut in the
   tool's part. A name altered by either ends in a hash of backend and tool: no other tool that comes or goes can change it
   or take it over.
4. Two backends share a name space when what one's names begin with begins the other's too. There the backends are
   served in gateway order: the first to claim a name has it, the later one's gets the hash. So that the order of answers
   decides nothing, a later backend's tools wait until every earlier one of its name space is settled and waits for none
   itself.
5. Claims within one backend are made in code point order of its own names. What cannot even have its hashed name is left
   out and reported.

Names are never parsed: the way back is the routing table.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from switchyard_sidecar.config.model import Alias, Backend, GatewayConfig, Naming

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_HASH_DIGITS: Final = 8
_HASHED: Final = 1 + _HASH_DIGITS
"""Characters of ``_`` and the hash."""


@dataclass(frozen=True, slots=True)
class NameSpace:
    """Where one backend's ordinary names are made."""

    backend: str
    """``namespace/name``."""
    lead: str
    """What every ordinary name begins with."""
    lead_cut: bool
    """Whether prefix and separator alone leave no room for a tool, so that every name is hashed."""
    max_length: int | None
    """Characters; ``None``: no limit."""
    safe: bool

    @classmethod
    def of(cls, backend: Backend, naming: Naming) -> NameSpace:
        """The name space of a backend in a gateway with these rules."""
        lead = backend.prefix + naming.separator if backend.prefix else ""
        safe = naming.charset == "Safe"
        if safe:
            lead = _UNSAFE.sub("_", lead)
        room = naming.max_length - _HASHED
        max_length = None if backend.prefix is None else naming.max_length
        return cls(backend.id, lead[:room], len(lead) > room, max_length, safe)

    def ordinary(self, tool: str) -> str:
        """The name of a tool that nobody else claims."""
        part = _UNSAFE.sub("_", tool) if self.safe else tool
        name = self.lead + part
        too_long = self.max_length is not None and len(name) > self.max_length
        return self.hashed(tool) if self.lead_cut or too_long or part != tool else name

    def hashed(self, tool: str) -> str:
        """The name of a tool that cannot have the one it would have."""
        part = _UNSAFE.sub("_", tool) if self.safe else tool
        name = self.lead + part
        if self.max_length is not None:
            name = name[: self.max_length - _HASHED]
        digest = hashlib.sha256(f"{self.backend}\0{tool}".encode()).hexdigest()
        return f"{name}_{digest[:_HASH_DIGITS]}"


@dataclass(frozen=True, slots=True)
class BackendNaming:
    """All that decides one backend's names, apart from its tools and the claims of earlier backends."""

    space: NameSpace
    aliases: tuple[Alias, ...]
    """Those with effect, of this backend's tools."""
    reserved: frozenset[str]
    """The names of the gateway's aliases that lie in its name space."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The names a config gives, before any tool is known."""

    backends: tuple[BackendNaming, ...]
    """In gateway order."""
    shared: dict[str, tuple[str, ...]]
    """For what a backend's names begin with: what the names of the backends that share its name space begin with."""
    reserved: dict[str, Alias]
    """The alias that has each alias's name."""
    conflicted: tuple[Alias, ...]
    """Aliases without effect, because an earlier one has their name."""


class Exposure(msgspec.Struct, frozen=True, gc=False):
    """One line of the list."""

    name: str
    tool: str
    """The backend's own name."""
    alias: Alias | None
    """The alias that gave the name."""


@dataclass(frozen=True, slots=True)
class Clash:
    """A tool that could not have its ordinary name."""

    tool: str
    name: str
    """The name that somebody else has."""
    exposed_as: str | None
    """The name it has instead; ``None``: it is left out."""


def plan(config: GatewayConfig) -> Plan:
    """Decide all that the config alone decides."""
    reserved: dict[str, Alias] = {}
    conflicted = [alias for alias in config.aliases if reserved.setdefault(alias.alias, alias) is not alias]
    aliases: dict[str, list[Alias]] = {}
    for alias in reserved.values():
        aliases.setdefault(alias.backend, []).append(alias)
    spaces = [NameSpace.of(backend, config.naming) for backend in config.backends]
    shared = _shared(space.lead for space in spaces)
    in_order = sorted(reserved)
    reserved_in = {lead: frozenset(_beginning_with(lead, in_order)) for lead in shared}
    backends = (
        BackendNaming(space, tuple(aliases.get(space.backend, ())), reserved_in[space.lead]) for space in spaces
    )
    return Plan(tuple(backends), shared, reserved, tuple(conflicted))


def _shared(leads: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each of these: those that it begins with, itself, and those that begin with it.

    In code point order a text stands right before all that begin with it, so one pass finds every pair.
    """
    shared: dict[str, list[str]] = {}
    beginnings: list[str] = []  # those that the present one begins with, the shortest first
    for lead in sorted(set(leads)):
        while beginnings and not lead.startswith(beginnings[-1]):
            beginnings.pop()
        for beginning in beginnings:
            shared[beginning].append(lead)
        beginnings.append(lead)
        shared[lead] = [*beginnings]
    return {lead: tuple(others) for lead, others in shared.items()}


def _beginning_with(lead: str, in_order: list[str]) -> list[str]:
    start = bisect_left(in_order, lead)
    end = bisect_left(in_order, True, start, key=lambda name: not name.startswith(lead))
    return in_order[start:end]


def expose(naming: BackendNaming, tools: Iterable[str], taken: Container[str]) -> tuple[list[Exposure], list[Clash]]:
    """Name one backend's tools. ``taken``: the names of the backends before it."""
    aliases: dict[str, list[Alias]] = {}
    for alias in naming.aliases:
        aliases.setdefault(alias.tool, []).append(alias)
    exposures: dict[str, Exposure] = {}
    clashes: list[Clash] = []

    def claimed(name: str) -> bool:
        return name in naming.reserved or name in exposures or name in taken

    for tool in sorted(tools):
        own = aliases.get(tool, ())
        for alias in own:
            exposures[alias.alias] = Exposure(alias.alias, tool, alias)
        if own and not any(alias.keep_original for alias in own):
            continue
        name = naming.space.ordinary(tool)
        if any(alias.alias == name for alias in own):
            continue  # an alias may give a tool the name it has anyway, to override its title
        if not claimed(name):
            exposures[name] = Exposure(name, tool, None)
            continue
        hashed = naming.space.hashed(tool)
        if claimed(hashed):
            clashes.append(Clash(tool, name, None))
        else:
            exposures[hashed] = Exposure(hashed, tool, None)
            clashes.append(Clash(tool, name, hashed))
    return list(exposures.values()), clashes
