"""Which of a backend's tools a gateway lists: globs on the backend's own names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from switchyard_sidecar.config.model import ToolFilter


def passes(filters: Sequence[ToolFilter], tool: str) -> bool:
    """Whether every filter lets the tool pass: included by any of its globs, excluded by none."""
    return all(
        any(fnmatchcase(tool, glob) for glob in each.include)
        and not any(fnmatchcase(tool, glob) for glob in each.exclude)
        for each in filters
    )
