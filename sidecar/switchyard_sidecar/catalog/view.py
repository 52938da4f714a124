"""What callers who may see some of the tools see of a catalog.

A view has the lists, the routes and the news of the tools that pass, and of nothing else, so that whatever is answered from
it cannot give away more. It is a pure function of a catalog and of globs on exposed names. Making one anew after one backend
changed reuses what of the one before is still good; where nothing in it changed, its lists and routes are those of the one before.

**Which backends are of a view.** One that has been listed is, if one of its tools passes. Of one that has never been, nobody knows
what it will have; it is of the view if the config leaves room for a tool of it: an alias that passes, or globs that may let
names pass which begin like its own. So the backend that a caller's tools would come from is named when it is
down, and one that is hidden by its prefix is not. A backend that is not of the view is missing from the reports of what is
unavailable and from the places that a cursor can name.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from switchyard_sidecar.catalog.catalog import project
from switchyard_sidecar.catalog.filters import may_pass, passes, passes_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from switchyard_sidecar.catalog.catalog import Catalog, Degraded
    from switchyard_sidecar.catalog.freshness import Scope
    from switchyard_sidecar.catalog.naming import BackendNaming
    from switchyard_sidecar.catalog.part import Line, Part, Route
    from switchyard_sidecar.catalog.projection import Projection
    from switchyard_sidecar.config.model import ToolFilter


class View(Protocol):
    """What a caller's answers are made from: a catalog itself, where the caller may see everything."""

    @property
    def modern(self) -> Projection:
        """The list as modern clients see it."""

    @property
    def legacy(self) -> Projection:
        """The list as legacy clients see it."""

    @property
    def routes(self) -> Mapping[str, Route]:
        """By exposed name; also tools that clients of one era do not get to see."""

    @property
    def degraded(self) -> tuple[Degraded, ...]:
        """Backends whose tools are missing, or may be out of date, in gateway order."""

    @property
    def drifted(self) -> tuple[str, ...]:
        """Exposed names of tools that are listed although their definition is not the pinned one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Share:
    """What passes of one backend's part."""

    part: Part
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """The view of callers who may not see everything."""

    modern: Projection
    legacy: Projection
    routes: Mapping[str, Route] = field(repr=False)
    degraded: tuple[Degraded, ...]
    drifted: tuple[str, ...]
    made_by: tuple[Scope, str, int] = field(repr=False)
    """What but lines decides how the lists are: scope, order, size of pages."""
    lines: Mapping[str, tuple[Line, ...]] = field(repr=False)
    """By backend of the view, in gateway order."""
    shares: Mapping[str, _Share] = field(repr=False)
    """By backend that has been listed: kept for the next view."""


def see(catalog: Catalog, tools: ToolFilter, previous: View | None = None) -> View:
    """What callers see for whom ``tools`` pass.

    ``previous``: what they saw of another catalog. It only saves work: the result is the same without it.
    """
    if passes_all(tools):
        return catalog
    known = previous if isinstance(previous, Narrowed) else None
    shares = _shares(catalog, tools, {} if known is None else known.shares)
    lines = _lines(catalog, tools, shares)
    made_by = (catalog.scope, catalog.config.order, catalog.config.page_size)
    degraded = tuple(each for each in catalog.degraded if each.backend in lines)
    drifted = tuple(name for name in catalog.drifted if passes((tools,), name))
    if known is not None and known.made_by == made_by and _are_the_same(lines, known.lines):
        if known.degraded == degraded and known.drifted == drifted and known.shares == shares:
            return known
        return replace(known, degraded=degraded, drifted=drifted, shares=shares)
    modern, legacy = project(catalog.config, lines, catalog.scope)
    routes = {line.route.exposed: line.route for line in chain.from_iterable(lines.values())}
    return Narrowed(modern, legacy, routes, degraded, drifted, made_by, lines, shares)


def effort(catalog: Catalog, tools: ToolFilter, previous: View | None) -> tuple[int, int]:
    """What making a view costs: the tools that have to be tried, and all that are looked at."""
    if passes_all(tools):
        return 0, 0
    known = previous.shares if isinstance(previous, Narrowed) else {}
    sizes = [(len(part.lines), _is_known(part, known.get(name))) for name, part in catalog.parts.items()]
    return sum(size for size, is_known in sizes if not is_known), sum(size for size, _ in sizes)


def _shares(catalog: Catalog, tools: ToolFilter, known: Mapping[str, _Share]) -> dict[str, _Share]:
    return {name: _share(part, tools, known.get(name)) for name, part in catalog.parts.items()}


def _share(part: Part, tools: ToolFilter, known: _Share | None) -> _Share:
    if known is not None and known.part is part:
        return known
    lines = tuple(line for line in part.lines if passes((tools,), line.route.exposed))
    # Lines that are as they were are the same objects; so is the tuple of them, whatever else of the part is new.
    same = known is not None and len(lines) == len(known.lines) and all(map(operator.is_, lines, known.lines))
    return _Share(part, known.lines if known is not None and same else lines)


def _is_known(part: Part, known: _Share | None) -> bool:
    return known is not None and known.part is part


def _lines(catalog: Catalog, tools: ToolFilter, shares: Mapping[str, _Share]) -> dict[str, tuple[Line, ...]]:
    """What is seen, by backend of the view."""
    lines: dict[str, tuple[Line, ...]] = {}
    for backend, its_naming in zip(catalog.config.backends, catalog.plan.backends, strict=True):
        share = shares.get(backend.id)
        if share is not None and share.lines:
            lines[backend.id] = share.lines
        elif share is None and _has_room(its_naming, tools):
            lines[backend.id] = ()
    return lines


def _has_room(its_naming: BackendNaming, tools: ToolFilter) -> bool:
    """Whether the config lets a tool of a backend that has not been listed pass, as far as that can be told."""
    return may_pass(tools, its_naming.space.lead) or any(passes((tools,), alias.alias) for alias in its_naming.aliases)


def _are_the_same(lines: Mapping[str, tuple[Line, ...]], known: Mapping[str, tuple[Line, ...]]) -> bool:
    return list(lines) == list(known) and all(map(operator.is_, lines.values(), known.values()))
