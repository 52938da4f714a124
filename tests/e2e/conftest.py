"""A cluster with the operator in it, once for all tests; a namespace for each; and, of a failed one, what there was to see."""

import os
import secrets
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e import images, release
from e2e.kind import NAME, Cluster
from e2e.release import SYSTEM

__all__ = ["MANIFESTS", "SYSTEM"]

MANIFESTS = Path(__file__).parent / "manifests"
FOLDER = images.ROOT / "build" / NAME
"""Where a run leaves its kubeconfig, and what it found about failed tests."""

_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed, in whichever phase."""
    report = yield
    item.stash[_failed] = item.stash.get(_failed, False) or report.failed
    return report


@pytest.fixture(scope="session")
def built() -> None:
    """All images, in the Docker engine."""
    images.build()


@pytest.fixture(scope="session")
def cluster(built: None) -> Iterator[Cluster]:
    """A kind cluster with all images loaded."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    cluster = Cluster.create(FOLDER)
    try:
        cluster.load(images.ALL)
        yield cluster
    finally:
        if os.environ.get("KEEP") == "1":
            print(f"\nThe cluster stays: export KUBECONFIG={cluster.kubeconfig}")
        else:
            cluster.delete()


@pytest.fixture(scope="session")
def operator(cluster: Cluster) -> Cluster:
    """The cluster, with Switchyard installed by its chart."""
    release.install(cluster)
    return cluster


@pytest.fixture
def namespace(operator: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"e2e-{secrets.token_hex(4)}"
    operator.kubectl("create", "namespace", name)
    yield name
    node: Any = request.node
    if node.stash.get(_failed, False):
        operator.collect(FOLDER / node.name, [name, SYSTEM])
    operator.kubectl("delete", "namespace", name, "--wait=false")
