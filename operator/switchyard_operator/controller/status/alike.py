"""What the operator's look at a backend says of tools that a person would take for one another.

The names are the backend's words, and in no status: it says how many there are of each kind, and who names them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from switchyard_operator.controller.status.conditions import NAMES_LOOK_ALIKE, Condition, Truth
from switchyard_sidecar.catalog.lookalikes import Kind, Lookalike


class LookReason(StrEnum):
    """What is to be said first: the kind that is least likely to be meant well."""

    INVISIBLE = "InvisibleCharacters"
    MIXED_SCRIPTS = "MixedScripts"
    SHAPE = "SameShape"
    CASE = "SameButCase"


_SAID: Final[Mapping[Kind, tuple[LookReason, str, str]]] = {
    "Invisible": (
        LookReason.INVISIBLE,
        "name has characters that are not shown",
        "names have characters that are not shown",
    ),
    "MixedScripts": (LookReason.MIXED_SCRIPTS, "name mixes scripts within a word", "names mix scripts within a word"),
    "Shape": (LookReason.SHAPE, "group of names looks the same", "groups of names look the same"),
    "Case": (LookReason.CASE, "group of names differs in case alone", "groups of names differ in case alone"),
}
"""By kind, in the order in which they are said: the reason, and the words for one and for more."""
_WHERE: Final = "; `switchyard pin` and the sidecar's log (names_look_alike) say which; leave them out with spec.tools, or give them aliases"


def alike(found: Iterable[Lookalike]) -> Condition | None:
    """``NamesLookAlike``, or ``None`` where all names are told apart at sight."""
    counts = Counter(each.kind for each in found)
    said = [
        (reason, f"{counts[kind]} {one if counts[kind] == 1 else more}")
        for kind, (reason, one, more) in _SAID.items()
        if counts[kind]
    ]
    if not said:
        return None
    return Condition(
        NAMES_LOOK_ALIKE, Truth.TRUE, said[0][0].value, "of its tools, " + "; ".join(text for _, text in said) + _WHERE
    )
