"""What sidecars would see: every gateway's config as the API server tells of it, with the moment it came."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from aiohttp import web

from apiserver.client import CONFIG_MAPS
from apiserver.server import ADMIN_TOKEN, ApiServer
from bench.machine import BenchError
from bench.operator.declared import GATEWAYS_OF_TEAM, Cluster, address, gateway, namespace
from fakes.waiting import Pulse

PATIENCE_S: Final = 60.0
_CHILD: Final = "switchyard.dev/credential=child"
_LONGEST_EVENT_BYTES: Final = 2**20

Gateway = tuple[str, str]
"""Namespace and name."""


@dataclass
class Configs:
    """The configs of all gateways."""

    hashes: dict[Gateway, str] = field(default_factory=dict)
    changed_at: dict[Gateway, float] = field(default_factory=dict)
    """When the present config came, by the monotonic clock."""
    _news: Pulse = field(default_factory=Pulse)

    def take(self, config_map: dict[str, Any]) -> None:
        """A ConfigMap as a watch tells of it."""
        content = (config_map.get("data") or {}).get("gateway.json")
        if content is None:
            return
        key = (config_map["metadata"]["namespace"], config_map["metadata"]["name"].removeprefix("switchyard-"))
        config_hash = json.loads(content)["configHash"]
        if self.hashes.get(key) != config_hash:
            self.hashes[key] = config_hash
            self.changed_at[key] = time.monotonic()
            self._news.beat()

    async def all_since(self, gateways: Collection[Gateway], moment: float) -> list[float]:
        """Wait until each of these gateways has another config than at that moment; give the seconds each took.

        Raises:
            BenchError: one has not, for :data:`PATIENCE_S`.
        """

        def late() -> list[Gateway]:
            return [each for each in gateways if self.changed_at.get(each, 0.0) < moment]

        try:
            await self._news.until(lambda: not late(), PATIENCE_S)
        except TimeoutError:
            raise BenchError(f"the configs of {late()} have not changed within {PATIENCE_S:g} s") from None
        return [self.changed_at[each] - moment for each in gateways]


@asynccontextmanager
async def watched(server: ApiServer, cluster: Cluster) -> AsyncIterator[Configs]:
    """Watch the configs, and answer for the sidecars of all running pods, while the block runs."""
    configs = Configs()
    async with aiohttp.ClientSession(read_bufsize=_LONGEST_EVENT_BYTES) as http:
        sidecars = await _sidecars(configs, cluster)
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(_watch(server, http, configs))
                yield configs
                watching.cancel()
        finally:
            await sidecars.cleanup()


async def _watch(server: ApiServer, http: aiohttp.ClientSession, configs: Configs) -> None:
    query = {"watch": "true", "labelSelector": _CHILD}
    async with http.get(
        server.url + CONFIG_MAPS.path(None),
        params=query,
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
        ssl=server.tls,
        timeout=aiohttp.ClientTimeout(total=None),
    ) as response:
        async for line in response.content:
            configs.take(json.loads(line)["object"])
    raise BenchError("the API server has ended the watch of ConfigMaps")


async def _sidecars(configs: Configs, cluster: Cluster) -> web.AppRunner:
    """Stand in for the sidecars of all pods: each says that it has loaded what was written last."""
    at = {
        address(team, number): (namespace(team), gateway(number))
        for team in range(cluster.teams)
        for number in range(GATEWAYS_OF_TEAM)
    }

    async def loaded(request: web.Request) -> web.Response:
        name = request.transport.get_extra_info("sockname")[0] if request.transport is not None else ""
        return web.json_response({"configHash": configs.hashes.get(at[name], "")})

    app = web.Application()
    app.router.add_get("/loaded", loaded)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", cluster.admin_port).start()  # noqa: S104 - all of 127.0.0.0/8
    return runner
