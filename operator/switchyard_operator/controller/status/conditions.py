"""Conditions: what is the case with an object, and since when.

What is the case is said without a clock and without a look at what was said before (:class:`Condition`), so that equal inputs
give equal conditions. Times come last, by comparison with what is stored (:func:`dated`).

Readers are ``kubectl wait``, Flux, Argo CD and ``helm --wait``. The last three go by kstatus (kubernetes-sigs/cli-utils,
``pkg/kstatus``): another generation than ``observedGeneration``, or ``Reconciling``, means in progress; ``Stalled`` means failed;
otherwise ``Ready`` decides. ``Reconciling`` and ``Stalled`` are therefore there only while they are true, and never both.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum
from typing import Any, Final

MESSAGE_BYTES: Final = 1024
"""The longest message of a condition, and the longest note of an event (events.k8s.io/v1)."""
_ELLIPSIS: Final = "..."

ACCEPTED: Final = "Accepted"
"""The object is valid, and nothing that it asks for is refused."""
RESOLVED_REFS: Final = "ResolvedRefs"
"""Everything that the object refers to is there and may be used."""
PROGRAMMED: Final = "Programmed"
"""Of a gateway: its config is written as declared."""
AVAILABLE: Final = "Available"
"""Of a gateway in mode ``Deployment``: enough of its replicas answer."""
INJECTED: Final = "Injected"
"""Of a gateway: every pod that asks for it has a sidecar as it would be given now. There while a pod asks; never part of ``Ready``: the
pods are others' to make anew."""
REACHABLE: Final = "Reachable"
"""Of a backend: it answers the operator. Never part of ``Ready``: an outage elsewhere must not block a rollout."""
PINNED: Final = "Pinned"
"""Of a backend that pins tools: what it lists is what was agreed to. Unknown until it has answered; never part of ``Ready``: what differs is
somebody's to look at, and is withheld already where that is asked for."""
NAMES_LOOK_ALIKE: Final = "NamesLookAlike"
"""Of a backend: a person would take tools that it lists for one another. There only while it is true; never part of ``Ready``."""
READY: Final = "Ready"
"""The sum of the others."""
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
OURS: Final = frozenset(
    {
        ACCEPTED,
        RESOLVED_REFS,
        PROGRAMMED,
        AVAILABLE,
        INJECTED,
        REACHABLE,
        PINNED,
        NAMES_LOOK_ALIKE,
        READY,
        RECONCILING,
        STALLED,
    }
)
"""Every type of condition that is said here."""


class Truth(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, without its times."""

    type: str
    status: Truth
    reason: str
    """One word in CamelCase that programs can rely on."""
    message: str = ""
    """A sentence for people: what is the case, and what to do. Never a secret."""


class Progress(Enum):
    """What may still come of an object that is not as it should be."""

    DONE = "done"
    """Nothing is missing, or what is missing is not waited for."""
    WAITING = "waiting"
    """Something else must appear, or be tried again; whoever changed this object need not act."""
    STUCK = "stuck"
    """Stays as it is until somebody changes something."""


def concluded(parts: Sequence[Condition], ready: Condition, progress: Progress) -> tuple[Condition, ...]:
    """All conditions of an object in their order: its parts, whether it is under way, and ``Ready`` as the sum."""
    kind = {Progress.WAITING: RECONCILING, Progress.STUCK: STALLED}.get(progress)
    under_way = [] if kind is None else [Condition(kind, Truth.TRUE, ready.reason, ready.message)]
    return (*parts, *under_way, ready)


def dated(
    conditions: Iterable[Condition], generation: int, stored: Iterable[Mapping[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    """The conditions as they are stored. ``lastTransitionTime`` moves only when the status of a condition does."""
    since = {(each.get("type"), each.get("status")): each.get("lastTransitionTime") for each in stored}
    moment = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [
        {
            "type": each.type,
            "status": each.status.value,
            "observedGeneration": generation,
            "lastTransitionTime": since.get((each.type, each.status.value)) or moment,
            "reason": each.reason,
            "message": bounded(each.message),
        }
        for each in conditions
    ]


def bounded(text: str, limit_bytes: int = MESSAGE_BYTES) -> str:
    """The text on one line and within the limit in UTF-8, what is cut off being marked."""
    line = "".join(each if each.isprintable() else " " for each in text)
    encoded = line.encode()
    if len(encoded) <= limit_bytes:
        return line
    return encoded[: limit_bytes - len(_ELLIPSIS)].decode(errors="ignore") + _ELLIPSIS


def joined(messages: Iterable[str], limit_bytes: int = MESSAGE_BYTES) -> str:
    """Messages one after the other, each once; those that find no room are counted."""
    lines = list(dict.fromkeys(bounded(each, limit_bytes) for each in messages))
    text = ""
    for index, line in enumerate(lines):
        left = len(lines) - index
        more = f"; and {left - 1} more" if left > 1 else ""
        longer = f"{text}; {line}" if text else bounded(line, limit_bytes - len(more))
        if len(longer.encode()) + len(more) > limit_bytes:
            return f"{text}; and {left} more"
        text = longer
    return text
