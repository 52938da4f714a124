"""What the operator's look at a backend says of its pins.

The names that are said are those that the resource itself pins. Of tools that nobody has agreed to, only the number is said: their
names are the backend's words.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from switchyard_operator.controller.status.conditions import PINNED, Condition, Truth
from switchyard_operator.controller.status.probed import ProbeReason
from switchyard_sidecar.catalog.pins import Comparison

MAX_NAMED: Final = 5


class PinReason(StrEnum):
    """What is to be said first."""

    AGREED = "Agreed"
    DRIFTED = "Drifted"
    NOT_PINNED = "NotPinned"
    MISSING = "Missing"


def pinned(found: Comparison) -> Condition:
    """``Pinned``: whether every tool is what was agreed to, and every agreed tool is there."""
    unpinned = len(found.unpinned)
    differing = [
        (PinReason.DRIFTED, f"not as pinned: {_named(found.drifted)}" if found.drifted else ""),
        (PinReason.NOT_PINNED, f"without a digest: {_tools(unpinned)}" if unpinned else ""),
        (PinReason.MISSING, f"pinned and not there: {_named(found.missing)}" if found.missing else ""),
    ]
    said = [(reason, text) for reason, text in differing if text]
    if not said:
        return Condition(PINNED, Truth.TRUE, PinReason.AGREED.value, f"{_tools(found.agreed)} as pinned, and no other")
    withheld = "; tools that are not as pinned, or not pinned, are withheld" if found.enforced else ""
    remedy = "; see what changed, then `switchyard pin --write`"
    return Condition(PINNED, Truth.FALSE, said[0][0].value, "; ".join(text for _, text in said) + withheld + remedy)


_NOBODY_LOOKS: Final[Mapping[ProbeReason, str]] = {
    ProbeReason.CALLER_NEEDED: "it lists its tools to callers with tokens of their own, each of whose lists the sidecar compares: "
    "see switchyard_backend_callers_as_pinned among its metrics, and pins_differ in its log",
    ProbeReason.ADDRESS_NOT_PROBED: "the operator does not connect to its address; the sidecar compares its list: "
    "see switchyard_backend_pins among its metrics, and backends in its /status",
}
"""Where the operator will never know."""


def not_compared(reason: ProbeReason) -> Condition:
    """``Pinned`` of a backend that has listed nothing to the operator; ``reason`` says why it has not."""
    message = _NOBODY_LOOKS.get(reason, "the backend has listed no tools to the operator yet")
    return Condition(PINNED, Truth.UNKNOWN, reason.value, message)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"
