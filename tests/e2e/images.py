"""The images that the tests bring to the cluster: operator and sidecar as users get them, and MCP servers and clients on official SDKs."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from e2e.kind import run

ROOT: Final = Path(__file__).resolve().parents[2]
WHEELS: Final = ROOT / "build" / "wheels"
"""Made by ``make wheels``; where it is missing, images are built with what pip finds in the network."""
OPERATOR: Final = "localhost/switchyard-operator:e2e"
SIDECAR: Final = "localhost/switchyard-sidecar:e2e"
COUNTERPARTS: Final = "localhost/switchyard-counterparts:e2e"
ALL: Final = (OPERATOR, SIDECAR, COUNTERPARTS)


def build() -> None:
    """Build all images with the Docker engine at hand; ``PYTHON_IMAGE`` names another base than the Dockerfiles' own."""
    for target, tag in (("operator", OPERATOR), ("sidecar", SIDECAR)):
        build_target(target, tag)
    with tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch)
        shutil.copy(ROOT / "tests" / "e2e" / "counterparts" / "Dockerfile", context)
        sources = ROOT / "tests" / "counterparts"
        shutil.copytree(sources / "python", context / "python", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(sources / "tools.json", context)
        (context / "wheels").mkdir()
        bring_wheels(context / "wheels")
        _build(context, COUNTERPARTS)


def build_target(target: str, tag: str, *options: str, tree: Path = ROOT) -> None:
    """Build one image of a tree of this repository."""
    _build(tree, tag, "--target", target, *options)


def bring_wheels(folder: Path) -> None:
    """Copy the collected wheels, where there are any."""
    if WHEELS.is_dir():
        shutil.copytree(WHEELS, folder, dirs_exist_ok=True)


def inspected(tag: str) -> dict[str, Any]:
    """What the engine knows of an image."""
    (found,) = json.loads(run("docker", "image", "inspect", tag))
    return dict(found)


def _build(context: Path, tag: str, *options: str) -> None:
    image = os.environ.get("PYTHON_IMAGE")
    base = ("--build-arg", f"PYTHON_IMAGE={image}") if image else ()
    run("docker", "build", "--tag", tag, *base, *options, context, timeout_s=900)
