"""The images that the tests bring to the cluster: operator and sidecar as users get them, and MCP servers and clients on official SDKs."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

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
        _build(ROOT, tag, "--target", target)
    with tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch)
        shutil.copy(ROOT / "tests" / "e2e" / "counterparts" / "Dockerfile", context)
        sources = ROOT / "tests" / "counterparts"
        shutil.copytree(sources / "python", context / "python", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(sources / "tools.json", context)
        (context / "wheels").mkdir()
        if WHEELS.is_dir():
            shutil.copytree(WHEELS, context / "wheels", dirs_exist_ok=True)
        _build(context, COUNTERPARTS)


def _build(context: Path, tag: str, *options: str) -> None:
    image = os.environ.get("PYTHON_IMAGE")
    base = ("--build-arg", f"PYTHON_IMAGE={image}") if image else ()
    run("docker", "build", "--tag", tag, *base, *options, context, timeout_s=900)
