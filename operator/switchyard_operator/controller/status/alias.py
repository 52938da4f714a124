"""What is said of an MCPToolAlias: how it stands on each gateway that it acts on."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.resource import Key
from switchyard_operator.api.status import MAX_CONFLICTS
from switchyard_operator.compile.aliases import (
    gateway_not_found,
    lost,
    no_backend,
    no_gateway,
    not_included,
    not_served,
)
from switchyard_operator.compile.reports import Reason, Report
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment, accepted, outlook, ready_if, resolved
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.conditions import concluded


class Stand(Enum):
    """How an alias stands on one gateway."""

    ACTS = "acts"
    LOST = "lost"
    """Another alias has the name."""
    NOT_INCLUDED = "not included"
    """The gateway does not include the backend."""
    NO_BACKEND = "no backend"
    """The gateway includes the backend, which does not exist or does not admit the namespace."""
    NOT_SERVED = "not served"
    """The gateway includes the backend, and leaves it out for another reason."""
    NOT_FOUND = "not found"
    """There is no such gateway."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How an alias stands on one gateway that it names, or that includes its backend."""

    gateway: Key
    stand: Stand
    winner: Key | None = None
    """With :attr:`Stand.LOST`: the alias that has the name."""


def standings(
    alias: MCPToolAlias, gateways: Collection[Key], composition: Callable[[Key], Composition | None]
) -> tuple[Standing, ...] | None:
    """How the alias stands, in the order of ``spec.gatewayRefs``, or else of the gateways' names.

    ``gateways`` are the valid ones of its namespace; ``composition`` says of them what they were compiled to, ``None`` if that is
    still to come. ``None``: nothing can be said yet.
    """
    refs = alias.spec.gateway_refs
    named = None if refs is None else [Key(alias.key.namespace, each.name) for each in refs]
    found: list[Standing] = []
    for key in dict.fromkeys(sorted(gateways) if named is None else named):
        if key not in gateways:
            found.append(Standing(key, Stand.NOT_FOUND))
            continue
        composed = composition(key)
        if composed is None:
            return None
        if alias.key in composed.aliases:
            winner = composed.aliases[alias.key]
            alone = _alone(composed.idle.get(alias.key))
            found.append(Standing(key, alone if winner is None else Stand.LOST, winner))
        elif named is not None:
            found.append(Standing(key, Stand.NOT_INCLUDED))
    return tuple(found)


def _alone(left_out: str | None) -> Stand:
    """How an alias stands that has its name for itself; ``left_out``: why its backend is."""
    if left_out is None:
        return Stand.ACTS
    return Stand.NO_BACKEND if left_out == Reason.BACKEND_NOT_FOUND else Stand.NOT_SERVED


def assess_alias(item: Item[MCPToolAlias], found: Sequence[Standing]) -> Assessment:
    """The alias's status. What it lacks on one gateway makes the whole "not as declared"; the counts say how far that goes."""
    reports = [] if item.model is None else list(_reports(item.model, found))
    parts = (accepted(item.faults, reports), resolved(item.faults, reports))
    ready = ready_if(parts, "has its name wherever it acts")
    return Assessment(concluded(parts, ready, outlook(item.faults, reports)), _facts(found))


def _reports(alias: MCPToolAlias, found: Sequence[Standing]) -> Iterator[Report]:
    if not found:
        yield no_gateway(alias)
    for each in found:
        match each:
            case Standing(gateway, Stand.LOST, Key() as winner):
                yield lost(alias, gateway, winner)
            case Standing(gateway, Stand.NOT_INCLUDED):
                yield not_included(alias, gateway)
            case Standing(gateway, Stand.NO_BACKEND):
                yield no_backend(alias, gateway)
            case Standing(gateway, Stand.NOT_SERVED):
                yield not_served(alias, gateway)
            case Standing(gateway, Stand.NOT_FOUND):
                names = [each.name for each in alias.spec.gateway_refs or ()]
                yield gateway_not_found(alias, names.index(gateway.name), gateway)


def _facts(found: Sequence[Standing]) -> dict[str, Any]:
    conflicts = [
        {"gateway": each.gateway.name, "winner": each.winner.name}
        for each in sorted(found, key=lambda each: each.gateway)
        if each.stand is Stand.LOST and each.winner is not None
    ]
    gateways = {
        "total": len(found),
        "accepted": sum(each.stand is Stand.ACTS for each in found),
        "conflicted": len(conflicts),
    }
    return {"gateways": gateways} | ({"conflicts": conflicts[:MAX_CONFLICTS]} if conflicts else {})
