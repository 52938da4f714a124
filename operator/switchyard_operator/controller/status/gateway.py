"""What is said of an MCPGateway: whether it is as declared, whether its config is written, and how many pods run it."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment, accepted, outlook, ready_if, resolved
from switchyard_operator.controller.status.composition import Composition, left_out
from switchyard_operator.controller.status.conditions import (
    PROGRAMMED,
    READY,
    Condition,
    Progress,
    Truth,
    bounded,
    concluded,
)
from switchyard_operator.controller.status.deployment import Standing
from switchyard_operator.controller.status.sidecars import Sidecars


class Written(StrEnum):
    """How far writing a gateway's config came. The values are reasons of ``Programmed``."""

    PROGRAMMED = "Programmed"
    WITHDRAWN = "Withdrawn"
    """The gateway ends: what was served before is not any more."""
    NAME_CONFLICT = "NameConflict"
    """An object of a child's name is not this gateway's, and not touched."""
    TOO_LARGE = "TooLarge"
    """The config does not fit into its object: the one before it stays, but for what was revoked."""
    BEING_DELETED = "BeingDeleted"
    """A child is on its way out, and will be made anew."""
    WRITE_FAILED = "WriteFailed"
    """The API server did not take it. It is tried again."""


NOBODY_ADMITTED: Final = "NobodyAdmitted"
"""Reason of ``Programmed``: the config is written, and lets nobody in."""
_NO_SIDECARS: Final = Sidecars()
_TRIED_AGAIN: Final = frozenset({Written.BEING_DELETED, Written.WRITE_FAILED})


@dataclass(frozen=True, slots=True)
class Writing:
    """The end of an attempt to write a gateway's config."""

    result: Written
    message: str
    config_hash: str = ""
    """Of the config that is there now; empty: not known, so that what was said of it before stays."""


@dataclass(frozen=True, slots=True)
class PodCounts:
    """Running pods with a gateway's sidecar."""

    attached: int = 0
    current: int = 0
    """Of these, pods that have confirmed the config that is there now."""
    unknown: int = 0
    """Of these, pods that could not be asked."""


def assess_gateway(
    item: Item[MCPGateway],
    composed: Composition,
    writing: Writing | None,
    pods: PodCounts | None,
    tools: int | None,
    sidecars: Sidecars = _NO_SIDECARS,
    standing: Standing | None = None,
    silent: int = 0,
) -> Assessment:
    """The gateway's status.

    ``writing`` is ``None`` when nothing was to be written; ``pods`` and ``tools`` when they cannot be counted now: then what was said of
    them before stays, so that an operator that starts anew has nothing to write; ``standing`` where there is no Deployment. ``silent``
    are backends that are served and do not answer the operator, which a message tells and nothing else depends on.

    Under ``Partial`` the gateway is ready as long as one of its backends resolves; under ``Strict`` all must, since its clients
    are told of an error otherwise, as they are when there is none.
    """
    reports = (*composed.reports, *left_out(item.key, composed.at_fault))
    valid = accepted(item.faults, reports)
    references = resolved(item.faults, reports)
    programmed = _programmed(writing, standing, composed)
    available = standing.available() if standing is not None and standing.is_placed else None
    degraded = (
        references.status is Truth.FALSE
        and item.model is not None
        and item.model.spec.failure_policy == "Partial"
        and composed.resolved > 0
    )
    counted = f"serves {composed.resolved} of {composed.backends} backends"
    if silent:
        counted += f", {silent} of which {'does' if silent == 1 else 'do'} not answer the operator"
    needed = (valid, programmed) if degraded else (valid, programmed, references)
    ready = ready_if(_present(*needed, available), counted)
    if degraded and ready.status is Truth.TRUE:
        ready = Condition(READY, Truth.TRUE, "Degraded", f"{counted}; {references.message}")
    if valid.status is not Truth.TRUE:
        progress = Progress.STUCK
    elif programmed.reason == NOBODY_ADMITTED:
        progress = outlook(item.faults, reports)
    elif programmed.status is not Truth.TRUE:
        progress = Progress.WAITING if _is_tried_again(writing, standing) else Progress.STUCK
    else:
        progress = Progress.DONE if degraded else outlook(item.faults, reports)
    if progress is Progress.DONE and standing is not None:
        progress = standing.progress()
        if progress is not Progress.DONE and ready.status is Truth.TRUE:
            ready = replace(ready, message=f"{ready.message}; {standing.under_way()}")
    parts = _present(valid, references, programmed, available, sidecars.condition())
    return Assessment(concluded(parts, ready, progress), _facts(item, composed, writing, pods, tools, sidecars))


def _present(*conditions: Condition | None) -> tuple[Condition, ...]:
    return tuple(each for each in conditions if each is not None)


def _programmed(writing: Writing | None, standing: Standing | None, composed: Composition) -> Condition:
    if writing is None:
        return Condition(PROGRAMMED, Truth.UNKNOWN, "NotWritten", "nothing was written")
    if writing.result is not Written.PROGRAMMED:
        return Condition(PROGRAMMED, Truth.FALSE, writing.result.value, writing.message)
    if standing is not None and not standing.is_placed:
        return Condition(PROGRAMMED, Truth.FALSE, standing.placing.result.value, standing.placing.message)
    if composed.closed:
        message = "the config is written, and lets nobody in: nothing of spec.auth resolves"
        return Condition(PROGRAMMED, Truth.FALSE, NOBODY_ADMITTED, message)
    return Condition(PROGRAMMED, Truth.TRUE, writing.result.value, writing.message)


def _is_tried_again(writing: Writing | None, standing: Standing | None) -> bool:
    if writing is None:
        return True
    if writing.result is not Written.PROGRAMMED:
        return writing.result in _TRIED_AGAIN
    return standing is not None and standing.is_tried_again


def _facts(
    item: Item[MCPGateway],
    composed: Composition,
    writing: Writing | None,
    pods: PodCounts | None,
    tools: int | None,
    sidecars: Sidecars,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "backends": {"total": composed.backends, "resolved": composed.resolved},
    }
    if pods is not None:
        facts["pods"] = {"attached": pods.attached, "current": pods.current, "unknown": pods.unknown}
    elif "pods" in item.status:
        facts["pods"] = {name: item.status["pods"].get(name, 0) for name in ("attached", "current", "unknown")}
    if "pods" in facts:
        lacking = {"missing": len(sidecars.missing), "outdated": len(sidecars.outdated)}
        facts["pods"] |= {name: count for name, count in lacking.items() if count}
    if tools is not None:
        facts["tools"] = {"count": tools}
    elif "tools" in item.status:
        facts["tools"] = item.status["tools"]
    if writing is not None and writing.config_hash:
        facts["configHash"] = writing.config_hash
    elif "configHash" in item.status:
        facts["configHash"] = item.status["configHash"]
    if composed.conflicts:
        facts["conflicts"] = [
            {"reason": each.reason.value, "message": bounded(f"{each.object}: {each.message}")}
            for each in composed.conflicts
        ]
    return facts
