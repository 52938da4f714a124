"""Check that a tag and all that carries a version agree, and print ``version=1.2.3``: version.py v1.2.3."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

from switchyard_sidecar import __version__

ROOT = Path(__file__).resolve().parents[1]


def versions() -> Iterator[tuple[str, str]]:
    """Where a version stands, and which."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    yield "pyproject.toml", project["project"]["version"]
    yield "sidecar/switchyard_sidecar/__init__.py", __version__
    chart = yaml.safe_load((ROOT / "charts" / "switchyard" / "Chart.yaml").read_text())
    yield "charts/switchyard/Chart.yaml, version", chart["version"]
    yield "charts/switchyard/Chart.yaml, appVersion", chart["appVersion"]


def main(tag: str) -> int:
    """Check; the exit status."""
    wanted = tag.removeprefix("v")
    differing = [(place, found) for place, found in versions() if found != wanted]
    for place, found in differing:
        print(f"{place}: {found}, and the tag is {tag}", file=sys.stderr)
    if not differing:
        print(f"version={wanted}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
