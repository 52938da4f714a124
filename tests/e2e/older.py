"""An older state of this repository, as a release that tests upgrade from and roll back to."""

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Final

import pytest

from e2e.images import ROOT, bring_wheels, build_target
from e2e.kind import Cluster
from e2e.release import Version

COMMIT: Final = (Path(__file__).parent / "older_commit").read_text().strip()
"""Which state: the first with all kinds of gateways, which its own tests installed by its chart. ``make wheels`` collects what its images are made of, too."""
OPERATOR: Final = "localhost/switchyard-operator:older"
SIDECAR: Final = "localhost/switchyard-sidecar:older"


def bring(cluster: Cluster, folder: Path) -> Version:
    """Lay out the older state in a folder, build its images, and load them."""
    archive = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.fail(
            f"the history here does not reach back to {COMMIT}, whose images are built: `git fetch --unshallow`, "
            f"or `fetch-depth: 0` in CI ({archive.stderr.decode().strip()})"
        )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as tree:
        tree.extractall(folder, filter="data")
    bring_wheels(folder / "build" / "wheels")
    for target, tag in (("operator", OPERATOR), ("sidecar", SIDECAR)):
        build_target(target, tag, tree=folder)
    cluster.load([OPERATOR, SIDECAR])
    return Version(folder / "charts" / "switchyard", OPERATOR, SIDECAR)
