"""Whether a backend's tools are those that were agreed to: their definitions' digests beside the pinned ones. Pure.

A digest is that of the backend's own definition (:mod:`switchyard_sidecar.catalog.canonical`): what a gateway makes of it, its
exposed name and an alias's title, is the declared config's and needs no pin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from switchyard_sidecar.catalog.definition import ToolDefinition
    from switchyard_sidecar.catalog.snapshot import Snapshot
    from switchyard_sidecar.config.model import Pinning


@dataclass(frozen=True, slots=True)
class Comparison:
    """One backend's tools beside its pins. Tools by the backend's own names, in code point order."""

    enforced: bool
    """Whether what was not agreed to is withheld; otherwise it is listed and only reported."""
    agreed: int
    """How many tools are as they were pinned."""
    drifted: tuple[str, ...]
    """Tools whose definition is another than the pinned one."""
    unpinned: tuple[str, ...]
    """Tools that nobody has agreed to."""
    missing: tuple[str, ...]
    """Pinned tools that a list read to its end does not have."""

    @property
    def differs(self) -> bool:
        """Whether anything is not as it was agreed to."""
        return bool(self.drifted or self.unpinned or self.missing)


def compare(pinning: Pinning, tools: Iterable[ToolDefinition], snapshot: Snapshot) -> Comparison | None:
    """Compare ``tools``, which are those of the snapshot that the gateway's filters let pass. ``None``: nothing is asked for."""
    if pinning.mode == "None":
        return None
    pins = {pin.tool: pin.sha256 for pin in pinning.digests}
    agreed = 0
    drifted, unpinned = [], []
    for tool in tools:
        pinned = pins.get(tool.name)
        if pinned is None:
            unpinned.append(tool.name)
        elif pinned != tool.digest.hex():
            drifted.append(tool.name)
        else:
            agreed += 1
    missing = pins.keys() - {tool.name for tool in snapshot.tools} if snapshot.complete else ()
    return Comparison(
        pinning.mode == "Enforce", agreed, *(tuple(sorted(names)) for names in (drifted, unpinned, missing))
    )


def withholds(pinning: Pinning, tool: ToolDefinition) -> bool:
    """Whether a tool must not be called as it is now."""
    return pinning.mode == "Enforce" and not any(
        pin.tool == tool.name and pin.sha256 == tool.digest.hex() for pin in pinning.digests
    )
