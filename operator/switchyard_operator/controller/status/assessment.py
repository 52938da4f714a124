"""From findings to conditions: what the statuses of all three kinds have in common."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from switchyard_operator.api.explain import Explained
from switchyard_operator.api.fields import FieldPath, dotted
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_operator.controller.status.conditions import (
    ACCEPTED,
    READY,
    RESOLVED_REFS,
    Condition,
    Progress,
    Truth,
    dated,
    joined,
)

_REFUSALS: Final = frozenset({Reason.ALIAS_CONFLICT})
"""Errors of the object itself. All others are of what it refers to."""
_WAITED_FOR: Final = frozenset(
    {
        Reason.BACKEND_NOT_FOUND,
        Reason.BACKEND_NOT_RESOLVED,
        Reason.CONFIG_MAP_KEY_NOT_FOUND,
        Reason.CONFIG_MAP_NOT_FOUND,
        Reason.GATEWAY_NOT_FOUND,
        Reason.NO_GATEWAY,
        Reason.SECRET_KEY_NOT_FOUND,
        Reason.SECRET_NOT_FOUND,
    }
)
"""What may appear by itself: objects are created in any order, and some Secrets are made by other controllers."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is the case with one object: its status, but for times and generation."""

    conditions: tuple[Condition, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The other fields of its status, as stored."""

    @property
    def refusal(self) -> str | None:
        """Why the object is not ready; ``None``: it is, or nobody knows."""
        return next(
            (each.reason for each in self.conditions if each.type == READY and each.status is Truth.FALSE), None
        )

    def status(self, generation: int, stored: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        """The status to store, given what is stored."""
        conditions = dated(self.conditions, generation, stored.get("conditions") or (), now)
        return {"observedGeneration": generation, **self.facts, "conditions": conditions}


def accepted(faults: Sequence[Explained], reports: Sequence[Report]) -> Condition:
    """Whether the object is valid and asks for nothing that is refused. Warnings stand in the message."""
    if faults:
        # Without the values: the object has bypassed its schema, and anything may be anywhere.
        return Condition(ACCEPTED, Truth.FALSE, "Invalid", joined(said(each.field, each.message) for each in faults))
    refusals = [each for each in reports if each.severity is Severity.ERROR and each.reason in _REFUSALS]
    warnings = [each for each in reports if each.severity is Severity.WARNING]
    if refusals:
        return _condition(ACCEPTED, Truth.FALSE, refusals)
    if warnings:
        return _condition(ACCEPTED, Truth.TRUE, warnings)
    return Condition(ACCEPTED, Truth.TRUE, "Accepted", "is valid")


def resolved(faults: Sequence[Explained], reports: Sequence[Report]) -> Condition:
    """Whether everything referred to is there and may be used. Not asked of an object that is not valid."""
    if faults:
        message = "is not looked at while the object is not valid"
        return Condition(RESOLVED_REFS, Truth.UNKNOWN, "Invalid", message)
    errors = reference_errors(reports)
    if errors:
        return _condition(RESOLVED_REFS, Truth.FALSE, errors)
    return Condition(RESOLVED_REFS, Truth.TRUE, "ResolvedRefs", "all references resolve")


def reference_errors(reports: Iterable[Report]) -> list[Report]:
    """The errors of references. Those that somebody must correct come first: they decide what is said."""
    errors = [each for each in reports if each.severity is Severity.ERROR and each.reason not in _REFUSALS]
    return sorted(errors, key=lambda each: each.reason in _WAITED_FOR)


def outlook(faults: Sequence[Explained], reports: Iterable[Report]) -> Progress:
    """What may come of an object that is to have no error at all."""
    errors = [each for each in reports if each.severity is Severity.ERROR]
    if faults or not all(each.reason in _WAITED_FOR for each in errors):
        return Progress.STUCK
    return Progress.WAITING if errors else Progress.DONE


def ready_if(parts: Sequence[Condition], message: str) -> Condition:
    """``Ready`` as the sum of its parts: what is said of the first that does not hold, else the message."""
    for each in parts:
        if each.status is not Truth.TRUE:
            return Condition(READY, each.status, each.reason, each.message)
    return Condition(READY, Truth.TRUE, READY, message)


def said(path: FieldPath, message: str) -> str:
    """A message with the field that it is about."""
    return f"{dotted(path)}: {message}" if path else message


def _condition(kind: str, status: Truth, reports: Sequence[Report]) -> Condition:
    return Condition(kind, status, reports[0].reason.value, joined(said(each.field, each.message) for each in reports))
