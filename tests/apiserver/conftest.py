"""Real API servers for the tests below: one for each folder in ``KUBEBUILDER_ASSETS``, started once.

The variable is what ``setup-envtest`` prints; several folders, separated by ``:``, are several versions of Kubernetes, and every
test runs on each. Where it is not set these tests are skipped; what it names must work.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Final
from zlib import crc32

import aiohttp
import pytest
import pytest_asyncio

from apiserver.client import Client
from apiserver.server import ApiServer, has_controllers, version

ASSETS: Final = [Path(each) for each in os.environ.get("KUBEBUILDER_ASSETS", "").split(os.pathsep) if each]
CRDS: Final = Path(__file__).parents[2] / "crds"

_server = pytest.StashKey[ApiServer]()
_log_size = pytest.StashKey[int]()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run with every version, or the newest alone; what needs controllers, with a version that has them."""
    if "api_server" in metafunc.fixturenames:
        wanted: list[Path | None] = [
            each for each in ASSETS if "controllers" not in metafunc.fixturenames or has_controllers(each)
        ]
        if wanted and metafunc.definition.get_closest_marker("newest_kubernetes"):
            wanted = [max(wanted, key=_number)]
        # Workers that run tests side by side (pytest-xdist) take half the files with one version each, and so one server.
        half = crc32(Path(metafunc.module.__file__).name.encode()) % 2
        marked = [
            pytest.param(each, marks=pytest.mark.xdist_group(f"{_version(each)}, {half}")) for each in wanted or [None]
        ]
        metafunc.parametrize("api_server", marked, ids=_version, indirect=True, scope="session")


def _number(assets: Path | None) -> tuple[int, ...]:
    return () if assets is None else tuple(map(int, version(assets).split(".")))


@cache
def _version(assets: Path | None) -> str:
    return "Kubernetes" if assets is None else f"Kubernetes {version(assets)}"


@pytest.fixture(scope="session")
def api_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A ready API server with the CRDs; shared, so tests use namespaces of their own and leave it running."""
    if request.param is None:
        pytest.skip("KUBEBUILDER_ASSETS names no folder with the programs of a control plane")
    server = ApiServer(request.param, tmp_path_factory.mktemp("apiserver"))
    try:
        server.start()
        asyncio.run(_install_crds(server))
        yield server
    finally:
        server.close()


async def _install_crds(server: ApiServer) -> None:
    async with aiohttp.ClientSession() as http:
        await Client(server, http).install_crds(CRDS)


@pytest_asyncio.fixture
async def client(api_server: ApiServer) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with aiohttp.ClientSession() as http:
        yield Client(api_server, http)


@pytest_asyncio.fixture
async def namespace(client: Client) -> str:
    """A namespace for this test alone."""
    return await client.new_namespace()


@pytest.fixture
def controllers(api_server: ApiServer) -> Iterator[None]:
    """Garbage collection and the deletion of namespaces, while the test runs. Elsewhere nobody does that work."""
    api_server.start_controllers()
    yield
    api_server.stop_controllers()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Remember where the API server's log was when the test began."""
    server = getattr(item, "funcargs", {}).get("api_server")
    if isinstance(server, ApiServer):
        item.stash[_server], item.stash[_log_size] = server, server.kube_apiserver.log.stat().st_size
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show, with a test that fails, what the API server said meanwhile."""
    report = yield
    if report.failed and _server in item.stash:
        tail = item.stash[_server].kube_apiserver.tail(item.stash[_log_size])
        report.sections.append(("kube-apiserver", tail))
    return report
