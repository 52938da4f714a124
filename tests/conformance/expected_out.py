"""The list of what is still out, read from ``expected_out.yaml``."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml


def expected_out(leg: str, run: Mapping[str, str]) -> set[str]:
    """Checks, as ``scenario/check``, that the list declares out for one run."""
    entries = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())[leg]
    return {check for entry in entries if _applies(entry, run) for check in _checks(entry)}


def _applies(entry: Mapping[str, Any], run: Mapping[str, str]) -> bool:
    return all(run[key] == str(value) for key, value in entry.get("when", {}).items())


def _checks(entry: Mapping[str, Any]) -> Iterator[str]:
    for scenario, checks in entry["checks"].items():
        for check in checks:
            yield f"{scenario}/{check}"
