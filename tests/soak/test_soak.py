"""A soak of one minute, with everything in it that the long one has."""

from pathlib import Path

import pytest

from soak.__main__ import described
from soak.stage import soak

SEED = 20_261_595
"""Always the same plan; ``python -m soak`` has others."""


@pytest.mark.timeout(180)
async def test_a_minute_of_abuse_violates_nothing(tmp_path: Path) -> None:
    """Whatever backends, clients and config do, nobody is shown, told or given anything wrong."""
    report = await soak(SEED, 60.0, tmp_path, load=0.5)
    print(described(report))
    assert not report.counts["violations"], described(report)
    for what in ("lists modern", "lists legacy", "calls", "told modern", "told legacy", "reads", "rests"):
        assert report.counts[what], f"the soak saw no {what}"
