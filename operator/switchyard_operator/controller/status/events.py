"""Events: what a person should notice, said once (events.k8s.io/v1).

An event's name is made of the object's uid, the reason and the generation. The API server refuses a second one of that name, so
whoever says it again (another replica, a restarted one, a condition that flaps) says nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from switchyard_operator.api.resource import DEFAULT_NAMESPACE
from switchyard_operator.controller.resources import EVENTS, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.conditions import (
    ACCEPTED,
    AVAILABLE,
    INJECTED,
    NAMES_LOOK_ALIKE,
    PINNED,
    PROGRAMMED,
    REACHABLE,
    RESOLVED_REFS,
    Condition,
    Truth,
    bounded,
)

REPORTING_CONTROLLER: Final = "switchyard.dev/operator"
_INSTANCE_CHARACTERS: Final = 128

_ACTIONS: Final[Mapping[str, str]] = {
    ACCEPTED: "Validate",
    RESOLVED_REFS: "ResolveRefs",
    PROGRAMMED: "WriteConfig",
    AVAILABLE: "Deploy",
    INJECTED: "Inject",
    REACHABLE: "Probe",
    PINNED: "ComparePins",
    NAMES_LOOK_ALIKE: "CompareNames",
}
"""What was done when it was found, by the condition that says it. The other conditions only sum these up."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be said of an object, once."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


def notices(conditions: Iterable[Condition], stored: Iterable[Mapping[str, Any]]) -> Iterator[Notice]:
    """What to say when these conditions take the place of those that are stored.

    What does not hold (any more, or for another reason than before) is a warning, and so are a caveat on what is accepted and
    names that look alike. What holds again is said too; what holds from the start goes without saying.
    """
    before = {each.get("type"): (each.get("status"), each.get("reason")) for each in stored}
    for each in conditions:
        status, reason = before.get(each.type, (None, None))
        if each.type not in _ACTIONS or (status, reason) == (each.status.value, each.reason):
            continue
        action = _ACTIONS[each.type]
        caveat = each.type == NAMES_LOOK_ALIKE or (each.type == ACCEPTED and each.reason != ACCEPTED)
        if each.status is Truth.FALSE or (each.status is Truth.TRUE and caveat):
            yield Notice("Warning", each.reason, action, each.message)
        elif each.status is Truth.TRUE and status == Truth.FALSE.value:
            yield Notice("Normal", each.reason, action, each.message)


def event(resource: Resource, item: Item[Any], notice: Notice, instance: str, now: datetime) -> dict[str, Any]:
    """The event to create; of what is in no namespace, where Kubernetes wants it. ``instance`` names this replica."""
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": f"{item.uid}.{notice.reason.lower()}.{item.generation}",
            "namespace": item.key.namespace or DEFAULT_NAMESPACE,
        },
        "eventTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": notice.type,
        "reason": notice.reason,
        "action": notice.action,
        "note": bounded(notice.note),
        "regarding": {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": item.key.namespace,
            "name": item.key.name,
            "uid": item.uid,
        },
        "reportingController": REPORTING_CONTROLLER,
        "reportingInstance": instance[:_INSTANCE_CHARACTERS],
    }
