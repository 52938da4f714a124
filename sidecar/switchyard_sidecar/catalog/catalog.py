"""All backends' tools as one list: immutable, and the same whatever order the backends answered in.

A catalog is built from the config and what each backend's session shows at one moment. Lists and calls use the same
catalog, so that whatever is listed can be called. Building one anew after one backend changed reuses what the others gave.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from switchyard_sidecar.catalog import lookalikes, naming, part
from switchyard_sidecar.catalog.freshness import Scope, scope_of
from switchyard_sidecar.catalog.projection import Projection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from switchyard_sidecar.catalog.lookalikes import Lookalike
    from switchyard_sidecar.catalog.naming import Plan
    from switchyard_sidecar.catalog.part import LeftOut, Line, Part, Route
    from switchyard_sidecar.catalog.pins import Comparison
    from switchyard_sidecar.catalog.snapshot import Snapshot
    from switchyard_sidecar.config.model import Alias, Backend, GatewayConfig


@dataclass(frozen=True, slots=True)
class BackendView:
    """One backend as its session shows it."""

    snapshot: Snapshot | None = None
    settled: bool = False
    """It has answered once, or its first list timeout has passed: later backends wait for it no more."""
    failing: bool = False
    """Its last attempt failed; ``snapshot`` is its last good list."""
    error: str | None = None
    """Why it is failing, fit to be shown."""
    next_attempt_ms: int | None = None
    """The time until it is asked again."""


class Degraded(NamedTuple):
    """A backend whose tools are missing, or may be out of date."""

    backend: str
    reason: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Who claims an exposed name."""

    kind: Literal["alias", "tool"]
    owner: str
    """``namespace/name`` of the alias, or of the tool's backend."""
    tool: str
    """The backend's own tool name."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two claims to one exposed name."""

    name: str
    winner: Claim
    loser: Claim
    exposed_as: str | None
    """The name that the loser has instead. ``None``: a tool that is not listed, an alias that has no effect."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """One list for each era, and where its names lead."""

    config: GatewayConfig = field(repr=False)
    modern: Projection
    legacy: Projection
    routes: Mapping[str, Route] = field(repr=False)
    """By exposed name. A tool that clients of one era do not get to see is in it all the same."""
    left_out: tuple[LeftOut, ...] = field(repr=False)
    conflicts: tuple[Conflict, ...] = field(repr=False)
    pins: Mapping[str, Comparison] = field(repr=False)
    """By backend: its tools beside the pinned ones, where they are compared."""
    drifted: tuple[str, ...] = field(repr=False)
    """Exposed names of tools that are listed although their definition is not the pinned one, in code point order."""
    lookalikes: tuple[Lookalike, ...] = field(repr=False)
    """Exposed names that a person would take for one another."""
    degraded: tuple[Degraded, ...]
    """In gateway order."""
    unanswered: tuple[str, ...]
    """Backends that have never answered; under failure policy ``Strict`` each is an error."""
    scope: Scope
    plan: Plan = field(repr=False)
    parts: Mapping[str, Part] = field(repr=False)
    """By backend, in gateway order: kept for the next catalog."""


_UNSEEN: Final = BackendView()


def build(config: GatewayConfig, views: Mapping[str, BackendView], previous: Catalog | None = None) -> Catalog:
    """The catalog of these backends. ``views``: by ``namespace/name``; one that is missing has not answered yet.

    ``previous`` only saves work: the result is the same without it.
    """
    plan = previous.plan if previous is not None and previous.config is config else naming.plan(config)
    seen = [views.get(backend.id, _UNSEEN) for backend in config.backends]
    awaited = _awaited(config.backends, seen, plan)
    parts: dict[str, Part] = {}
    routes: dict[str, Route] = {}
    degraded: list[Degraded] = []
    for backend, view, its_naming, first in zip(config.backends, seen, plan.backends, awaited, strict=True):
        if view.snapshot is not None and first is None:
            old = None if previous is None else previous.parts.get(backend.id)
            made = part.make(its_naming, backend.filters, backend.pinning, view.snapshot, routes.keys(), old)
            parts[backend.id] = made
            routes |= made.routes
            routes |= made.withheld
        reason = _why_degraded(backend, view, first)
        if reason is not None:
            degraded.append(Degraded(backend.id, reason))
    scope = _scope(config, seen)
    modern, legacy = _projections(config, parts, scope, previous)
    conflicts = _conflicts(plan, parts, routes)
    for name in chain.from_iterable(made.withheld for made in parts.values()):
        # It had to be there until here, so that no later backend got it.
        del routes[name]
    return Catalog(
        config=config,
        modern=modern,
        legacy=legacy,
        routes=routes,
        left_out=tuple(chain.from_iterable(made.left_out for made in parts.values())),
        conflicts=conflicts,
        pins={backend: made.pins for backend, made in parts.items() if made.pins is not None},
        drifted=tuple(sorted(chain.from_iterable(made.drifted for made in parts.values()))),
        lookalikes=_lookalikes(parts, routes, previous),
        degraded=tuple(degraded),
        unanswered=tuple(
            backend.id for backend, view in zip(config.backends, seen, strict=True) if view.snapshot is None
        ),
        scope=scope,
        plan=plan,
        parts=parts,
    )


def effort(config: GatewayConfig, views: Mapping[str, BackendView], previous: Catalog) -> tuple[int, int]:
    """What building the next catalog costs: the tools that have to be named and rendered, at most, and all that are merged."""
    to_make = to_merge = 0
    for backend in config.backends:
        snapshot, old = views.get(backend.id, _UNSEEN).snapshot, previous.parts.get(backend.id)
        if snapshot is not None:
            to_merge += len(snapshot.tools)
            if previous.config is not config or old is None or old.tools is not snapshot.tools:
                to_make += len(snapshot.tools)
    return to_make, to_merge


def _awaited(backends: tuple[Backend, ...], seen: list[BackendView], plan: Plan) -> list[str | None]:
    """For each backend, one that it waits for: unsettled, and before it in its name space or in that of one it waits for."""
    awaited: list[str | None] = []
    # By what names begin with: the place of the first backend that keeps later ones waiting, and what these wait for.
    blocking: dict[str, tuple[int, str]] = {}
    for place, (backend, view, its_naming) in enumerate(zip(backends, seen, plan.backends, strict=True)):
        lead = its_naming.space.lead
        _, first = min((blocking[other] for other in plan.shared[lead] if other in blocking), default=(0, None))
        awaited.append(first)
        waiting_for = first if _is_settled(backend, view) else backend.id
        if waiting_for is not None:
            blocking.setdefault(lead, (place, waiting_for))
    return awaited


def _is_settled(backend: Backend, view: BackendView) -> bool:
    return view.settled or view.snapshot is not None or backend.unresolved is not None


def _why_degraded(backend: Backend, view: BackendView, awaited: str | None) -> str | None:
    if backend.unresolved is not None:
        return backend.unresolved
    if view.failing:
        return view.error or "its last attempt failed"
    if view.snapshot is None:
        return "it has not answered yet"
    if awaited is not None:
        return "its names depend on those of a backend before it, which has not answered yet"  # not to be named to everyone
    return None if view.snapshot.complete else "its list was not read to the end"


def _scope(config: GatewayConfig, seen: list[BackendView]) -> Scope:
    if config.authentication is not None or config.visibility is not None:
        return "private"  # not for everyone, or not the same for everyone
    if any(backend.auth.type == "Forward" for backend in config.backends):
        return "private"  # the list varies by caller
    return scope_of(view.snapshot.scope for view in seen if view.snapshot is not None)


def _projections(
    config: GatewayConfig, parts: Mapping[str, Part], scope: Scope, previous: Catalog | None
) -> tuple[Projection, Projection]:
    """Both lists; those of ``previous`` if they are the same."""
    if previous is not None and _shows_the_same(config, parts, scope, previous):
        return previous.modern, previous.legacy
    return project(
        config, {each.id: parts[each.id].lines if each.id in parts else () for each in config.backends}, scope
    )


def project(config: GatewayConfig, lines: Mapping[str, Sequence[Line]], scope: Scope) -> tuple[Projection, Projection]:
    """The modern list and the legacy one of these lines: one object where they are the same.

    ``lines``: by backend, in gateway order. In a list ordered by backend one without lines keeps its place, so that a cursor
    into it still has one.
    """
    if config.order == "Backend":
        groups = list(lines.items())
    else:
        groups = [("", sorted(chain.from_iterable(lines.values()), key=_exposed))]
    legacy_groups = [(group, [line.legacy for line in members]) for group, members in groups]
    legacy = Projection.of(legacy_groups, scope, config.page_size)
    if all(line.modern is line.legacy for _, members in groups for line in members):
        return legacy, legacy
    modern_groups = [(group, [line.modern for line in members if line.modern is not None]) for group, members in groups]
    return Projection.of(modern_groups, scope, config.page_size), legacy


def _shows_the_same(config: GatewayConfig, parts: Mapping[str, Part], scope: Scope, previous: Catalog) -> bool:
    return (
        scope == previous.scope
        and config.order == previous.config.order
        and config.page_size == previous.config.page_size
        and _has_the_same(parts, previous)
    )


def _has_the_same(parts: Mapping[str, Part], previous: Catalog) -> bool:
    return len(parts) == len(previous.parts) and all(
        mine is theirs for mine, theirs in zip(parts.values(), previous.parts.values(), strict=True)
    )


def _lookalikes(
    parts: Mapping[str, Part], routes: Mapping[str, Route], previous: Catalog | None
) -> tuple[Lookalike, ...]:
    if (
        previous is not None
        and len(parts) == len(previous.parts)
        and all(map(_has_the_same_names, parts.values(), previous.parts.values()))
    ):
        return previous.lookalikes
    return lookalikes.find((made.looks for made in parts.values()), routes.keys())


def _has_the_same_names(mine: Part, theirs: Part) -> bool:
    return mine is theirs or (mine.routes.keys() == theirs.routes.keys() and mine.looks == theirs.looks)


def _exposed(line: Line) -> str:
    return line.route.exposed


def _conflicts(plan: Plan, parts: Mapping[str, Part], routes: Mapping[str, Route]) -> tuple[Conflict, ...]:
    aliases = (
        Conflict(alias.alias, _alias_claim(plan.reserved[alias.alias]), _alias_claim(alias), None)
        for alias in plan.conflicted
    )
    tools = (
        Conflict(clash.name, _holder(clash.name, plan, routes), Claim("tool", backend, clash.tool), clash.exposed_as)
        for backend, made in parts.items()
        for clash in made.clashes
    )
    return (*aliases, *tools)


def _holder(name: str, plan: Plan, routes: Mapping[str, Route]) -> Claim:
    if name in plan.reserved:
        return _alias_claim(plan.reserved[name])
    return Claim("tool", routes[name].backend, routes[name].tool.name)


def _alias_claim(alias: Alias) -> Claim:
    return Claim("alias", f"{alias.namespace}/{alias.name}", alias.tool)
