"""The threat model names tests that are there, and so do the pages around it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "threat-model.md", ROOT / "SECURITY.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    """A defence whose test is gone is none that anybody could rely on."""
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    assert targets
    assert [each for each in targets if not (page.parent / each).resolve().exists()] == []


def test_every_defence_has_a_test() -> None:
    """In the last column of its row."""
    section = PAGES[0].read_text().split("## What is defended\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 12
    assert [row[0] for row in rows if "../tests/" not in row[-1]] == []
