"""What the page on troubleshooting names can be found: metrics, words in logs, reasons, places."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "troubleshooting.md").read_text()
SOURCES = "\n".join(
    path.read_text() for part in ("operator", "sidecar") for path in sorted((ROOT / part).rglob("*.py"))
)


def test_every_metric_is_exported() -> None:
    """By its name, or with the suffix that Prometheus adds to counters."""
    named = set(re.findall(r"\bswitchyard_(?:operator|webhook|[a-z]+)_[a-z_]+", PAGE)) | {"switchyard_subscribers"}
    patterns = re.findall(r"\^switchyard_\(([a-z_|]+)\)", PAGE)
    named |= {f"switchyard_{each}" for pattern in patterns for each in pattern.split("|")}
    assert len(named) > 10
    for each in named:
        assert f'"{each.removesuffix("_total")}"' in SOURCES, each


def test_every_word_in_a_log_is_logged() -> None:
    """One event name for each thing, in words joined by underscores."""
    words = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", PAGE)) | {
        each for pattern in re.findall(r"grep -E '([a-z_|]+)'", PAGE) for each in pattern.split("|")
    }
    logged = {each for each in words if not each.startswith("switchyard_")}
    assert len(logged) > 8
    for each in logged:
        assert f'"{each}"' in SOURCES, each


def test_every_reason_is_one_that_is_given() -> None:
    """The words that users were shown."""
    reasons = set(re.findall(r"\*\*`([A-Z]+[a-z][A-Za-z]+)`", PAGE)) - {"ErrImagePull", "OOMKilled"}
    assert len(reasons) > 8
    known = re.findall(r"""["']([A-Z][A-Za-z]+)["']""", SOURCES)
    assert {each.partition("=")[0] for each in reasons} <= {*known, "Degraded"}


@pytest.mark.parametrize("page", ["troubleshooting.md", "gitops.md", "lint.md"])
def test_links_lead_somewhere(page: str) -> None:
    """To files, and to headings on their pages."""
    for link in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", (DOCS / page).read_text()):
        assert link.startswith("https://") or (DOCS / link).exists(), link
    for link, heading in re.findall(r"\]\(([\w./-]*)#([^)]+)\)", (DOCS / page).read_text()):
        text = (DOCS / (link or page)).read_text()
        headings = [
            re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-")
            for each in re.findall(r"^#+ (.+)", text, re.MULTILINE)
        ]
        assert heading in headings, (link, heading)
