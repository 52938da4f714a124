"""Names that a person would take for one another, in words that tell them apart."""

from typing import Final

from switchyard_sidecar.catalog.lookalikes import Lookalike

MAX_NAMED: Final = 5
"""Names that one is said to look like."""


def described(found: Lookalike) -> str:
    """What is to be said of the last of the names. Characters beyond ASCII are written as escapes, which look like nothing else."""
    *others, name = map(ascii, found.names)
    more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    rest = ", ".join(others[:MAX_NAMED]) + more
    match found.kind:
        case "Case":
            return f"{name} differs from {rest} in case alone"
        case "Shape":
            return f"{name} looks like {rest}"
        case "MixedScripts":
            return f"{name} mixes scripts within a word"
        case "Invisible":
            return f"{name} has characters that are not shown"
