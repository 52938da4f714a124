"""How catalogs are made: seldom, large ones in a thread, and whoever asks gets the one of now."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager

from fakes.modern import ModernBackend
from fakes.ordinary import tools
from switchyard_sidecar.catalog.catalog import Catalog
from switchyard_sidecar.config.apply import Applied, plan
from switchyard_sidecar.config.load import Loaded
from switchyard_sidecar.config.model import Backend, GatewayConfig, Naming
from switchyard_sidecar.gateway import Gateway
from switchyard_sidecar.gateway.lane import MUCH
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace

LARGE = [f"t{number:04}" for number in range(MUCH + 1)]


def config(backend: ModernBackend, separator: str) -> GatewayConfig:
    """A gateway of this one backend. The separator names its tools, and is nothing to the session with it."""
    section = Backend(namespace="ns", name="b", url=backend.url, prefix="b")
    return GatewayConfig(namespace="ns", name="main", naming=Naming(separator=separator), backends=(section,))


class Scene:
    """A gateway without an endpoint, and the catalogs that it has published."""

    def __init__(self, gateway: Gateway, backend: ModernBackend) -> None:
        self.gateway = gateway
        self.published: list[Catalog] = []
        self._backend = backend
        self._applied: Applied | None = None
        gateway.on_catalog = lambda lane: self.published.append(lane.catalog)

    def apply(self, separator: str) -> None:
        """Take over a config that differs in this."""
        self._applied = plan(self._applied, Loaded(config(self._backend, separator), {}))
        self.gateway.apply(self._applied)


@asynccontextmanager
async def scene(*names: str, ttl_ms: int = 600_000) -> AsyncIterator[Scene]:
    """Run a gateway of one backend with these tools, which has been listed with separator ``-``."""
    backend = ModernBackend(*tools(*names), ttl_ms=ttl_ms, list_changed=False)
    async with backend, asyncio.TaskGroup() as tasks, HttpPool() as http:
        gateway = Gateway(tasks, http, GatewayConfig(namespace="", name=""), Pace())
        played = Scene(gateway, backend)
        try:
            played.apply("-")
            await gateway.shared.fresh()
            played.published.clear()
            yield played
        finally:
            await asyncio.gather(*gateway.retire_all(), return_exceptions=True)


@contextmanager
def busy_thread() -> Iterator[threading.Event]:
    """Leave one thread for all that is done aside, and keep that one busy until this is set."""
    gate = threading.Event()
    executor = ThreadPoolExecutor(1)
    asyncio.get_running_loop().set_default_executor(executor)
    executor.submit(gate.wait)
    try:
        yield gate
    finally:
        gate.set()


async def test_small_catalog_is_there_at_once() -> None:
    """A thread would only cost time."""
    async with scene("t", "u") as played:
        played.apply("_")
        assert played.gateway.shared.warm() is played.gateway.shared.catalog
        assert played.gateway.shared.catalog.modern.names == ("b_t", "b_u")


async def test_large_catalog_is_made_in_a_thread() -> None:
    """The loop goes on; calls find the tools of the catalog before, while whoever asks for a list waits for the new one."""
    async with scene(*LARGE) as played:
        with busy_thread() as gate:
            played.apply("_")
            asking = [asyncio.create_task(played.gateway.shared.fresh()) for _ in range(3)]
            await asyncio.sleep(0)
            assert played.gateway.shared.warm() is None
            assert "b-t0000" in played.gateway.shared.catalog.routes
            gate.set()
            lists = await asyncio.gather(*asking)
        assert [catalog.modern.names[0] for catalog in lists] == ["b_t0000"] * 3
        assert played.published == [played.gateway.shared.warm()]


async def test_catalog_of_a_former_config_is_never_published() -> None:
    """A config that comes while a catalog is being made costs one more, and nobody sees the one between."""
    async with scene(*LARGE) as played:
        with busy_thread() as gate:
            played.apply("_")
            played.apply(".")
            asking = asyncio.create_task(played.gateway.shared.fresh())
            gate.set()
            assert (await asking).modern.names[0] == "b.t0000"
        assert [catalog.modern.names[0] for catalog in played.published] == ["b.t0000"]


async def test_new_config_is_published_even_if_nobody_asks() -> None:
    """Who subscribes must hear of it."""
    async with scene(*LARGE) as played:
        heard = asyncio.get_running_loop().create_future()
        played.gateway.on_catalog = lambda lane: heard.set_result(lane.catalog)
        with busy_thread() as gate:
            played.apply("_")
            played.apply(".")
            gate.set()
            assert (await heard).modern.names[0] == "b.t0000"


async def test_all_who_wait_for_one_read_share_one_catalog() -> None:
    """However many ask at once, a list that has gone stale is read once, and merged once."""
    async with scene("t", ttl_ms=0) as played:
        lists = await asyncio.gather(*(played.gateway.shared.fresh() for _ in range(5)))
        assert len(set(map(id, lists))) == 1
        assert played.published == lists[:1]
