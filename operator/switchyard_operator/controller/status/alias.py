"""What is said of an MCPToolAlias: how it stands on each gateway that it acts on."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    not_listed,
    not_served,
)
from switchyard_operator.compile.reports import Reason, Report
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment, accepted, outlook, ready_if, resolved
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.conditions import ACCEPTED, READY, Condition, Truth, concluded
from switchyard_operator.controller.status.probed import ProbeReason, Reach


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


class Listed(Enum):
    """Whether the backend lists the alias's tool."""

    YES = "yes"
    NO = "no"
    WITHHELD = "withheld"
    """The backend lists it, and its pins have it withheld."""
    UNKNOWN = "unknown"
    """Nobody can tell now."""
    AS_BEFORE = "as before"
    """An earlier process knew: what it said of it stays."""


def listed(tool: str, reach: Reach | None) -> Listed:
    """Whether a backend lists a tool, as far as it answers the operator. Of a list that was not read to its end nobody can tell."""
    answer = None if reach is None or reach.reason is not ProbeReason.ANSWERED else reach.answer
    if answer is None:
        return Listed.UNKNOWN
    if not answer.is_named:
        return Listed.AS_BEFORE
    if tool in answer.names:
        return Listed.WITHHELD if tool in (answer.withheld or ()) else Listed.YES
    return Listed.NO if answer.complete else Listed.UNKNOWN


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


def assess_alias(item: Item[MCPToolAlias], found: Sequence[Standing], tool: Listed = Listed.UNKNOWN) -> Assessment:
    """The alias's status. What it lacks on one gateway makes the whole "not as declared"; the counts say how far that goes.

    A ``tool`` that its backend does not list is a caveat, and no more: it may come. It is said where a gateway has the list, and so not
    to namespaces that the backend does not admit.
    """
    reports = [] if item.model is None else list(_reports(item.model, found))
    caveat = None
    if item.model is not None and any(each.stand is Stand.ACTS for each in found):
        caveat = _caveat(item.model, tool, item.status)
    reports += [] if caveat is None else [caveat]
    parts = (accepted(item.faults, reports), resolved(item.faults, reports))
    ready = ready_if(parts, "has its name wherever it acts")
    if caveat is not None and ready.status is Truth.TRUE:
        ready = Condition(READY, Truth.TRUE, caveat.reason.value, f"{ready.message}; {caveat.message}")
    return Assessment(concluded(parts, ready, outlook(item.faults, reports)), _facts(found))


def _caveat(alias: MCPToolAlias, tool: Listed, stored: Mapping[str, Any]) -> Report | None:
    absent, withheld = not_listed(alias, withheld=False), not_listed(alias, withheld=True)
    match tool:
        case Listed.NO:
            return absent
        case Listed.WITHHELD:
            return withheld
        case Listed.AS_BEFORE:
            told = [each.get("message", "") for each in stored.get("conditions") or () if each.get("type") == ACCEPTED]
            return next((each for each in (absent, withheld) if any(each.message in text for text in told)), None)
        case Listed.YES | Listed.UNKNOWN:
            return None


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
