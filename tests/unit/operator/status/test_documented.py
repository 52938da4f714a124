"""What users read about statuses is true."""

from pathlib import Path

from switchyard_operator.controller.status.alike import LookReason
from switchyard_operator.controller.status.deployment import AvailableReason, Placed
from switchyard_operator.controller.status.gateway import NOBODY_ADMITTED, Written
from switchyard_operator.controller.status.pinned import PinReason
from switchyard_operator.controller.status.probed import ProbeReason
from switchyard_operator.controller.status.sidecars import SidecarReason

PAGE = (Path(__file__).parents[4] / "docs" / "status.md").read_text()


def rows(heading: str) -> list[str]:
    """The first words of the rows of a section's table."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]


def test_every_reason_is_explained() -> None:
    """Users search for the word they were shown."""
    of_ready = ["Pending", "Invalid", "Degraded", "NotWritten"]
    placed = [each for each in Placed if each not in {Placed.DEPLOYED, *Written}]
    assert rows("Reasons") == [
        *of_ready,
        *Written,
        NOBODY_ADMITTED,
        *placed,
        *AvailableReason,
        *SidecarReason,
        *ProbeReason,
        *PinReason,
        *LookReason,
    ]


def test_every_condition_is_explained() -> None:
    """In the order in which they are given."""
    assert rows("Conditions") == [
        "Accepted",
        "ResolvedRefs",
        "Programmed",
        "Available",
        "Injected",
        "Reachable",
        "Pinned",
        "NamesLookAlike",
        "Reconciling",
        "Stalled",
        "Ready",
    ]
