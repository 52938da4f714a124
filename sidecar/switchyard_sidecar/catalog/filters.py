"""Globs on names: which of a backend's tools a gateway lists (by its own names), and which tools a caller sees (by the exposed)."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from switchyard_sidecar.config.model import ToolFilter


_WILD: Final = re.compile(r"[*?\[].*", re.DOTALL)


def passes(filters: Sequence[ToolFilter], tool: str) -> bool:
    """Whether every filter lets the tool pass: included by any of its globs, excluded by none."""
    return all(
        any(fnmatchcase(tool, glob) for glob in each.include)
        and not any(fnmatchcase(tool, glob) for glob in each.exclude)
        for each in filters
    )


def passes_all(tools: ToolFilter) -> bool:
    """Whether every name passes, as far as can be seen without trying."""
    return "*" in tools.include and not tools.exclude


def may_pass(tools: ToolFilter, lead: str) -> bool:
    """Whether a name that begins with ``lead`` might pass. Where that cannot be told from the beginnings of the globs, it might."""
    return any(_may_match(glob, lead) for glob in tools.include) and not any(
        _matches_all(glob, lead) for glob in tools.exclude
    )


def _may_match(glob: str, lead: str) -> bool:
    head = _WILD.sub("", glob)
    return head.startswith(lead) or (head != glob and lead.startswith(head))


def _matches_all(glob: str, lead: str) -> bool:
    """Whether it is a text with a star behind, and ``lead`` begins with the text."""
    return glob.endswith("*") and _WILD.sub("", glob) == glob[:-1] and lead.startswith(glob[:-1])
