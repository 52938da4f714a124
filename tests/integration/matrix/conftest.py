"""The servers, clients and gateways of the matrix, started once for all of its tests."""

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from integration.matrix.asking import Asker
from integration.matrix.gateways import Gateways
from integration.matrix.programs import Counterparts
from integration.matrix.table import CLIENTS, SERVERS


@pytest.fixture(scope="session")
def counterparts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counterparts]:
    """The programs; their error output is kept with the test run's temporary files."""
    programs = Counterparts(tmp_path_factory.mktemp("counterparts"))
    yield programs
    programs.close()


@pytest.fixture(scope="session")
def gateways(counterparts: Counterparts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateways]:
    """Gateways in front of the servers."""
    running = Gateways(counterparts, tmp_path_factory.mktemp("gateways"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def asker(counterparts: Counterparts) -> Asker:
    """Connects the clients."""
    return Asker(counterparts)


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """What plain clients send with."""
    async with aiohttp.ClientSession() as session:
        yield session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a ``server`` or a ``client`` runs with each."""
    if "server" in metafunc.fixturenames:
        metafunc.parametrize("server", SERVERS, ids=str)
    if "client" in metafunc.fixturenames:
        metafunc.parametrize("client", CLIENTS, ids=str)
