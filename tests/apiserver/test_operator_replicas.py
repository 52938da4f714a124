"""Several replicas: one writes, another takes over, and nothing old ever comes back."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
import pytest

from apiserver.client import BACKENDS, CONFIG_MAPS, GATEWAYS, LEASES, Client, drop
from apiserver.declared import SOON_S, Children, backend, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ADMIN_TOKEN, ApiServer
from fakes.waiting import Pulse

pytestmark = pytest.mark.newest_kubernetes

QUICK: Final = "--lease-duration=3"
TAKEOVER_S: Final = 20.0
"""The promise, with the lease's ordinary duration of 15 s."""


@asynccontextmanager
async def two_replicas(api_server: ApiServer, namespace: str, *flags: str) -> AsyncIterator[tuple[Replica, Replica]]:
    """The one that leads, and one that could."""
    async with (
        replica(api_server.kubeconfig(), *flags, namespace=namespace) as one,
        replica(api_server.kubeconfig(), *flags, namespace=namespace) as two,
    ):
        await asyncio.gather(one.ready(), two.ready())
        leader, other = (two, one) if await two.metric("switchyard_operator_leader") else (one, two)
        await leader.leads()
        assert await other.metric("switchyard_operator_leader") == 0
        yield leader, other


async def declare(client: Client, namespace: str) -> Children:
    """A gateway with one backend."""
    await client.create(BACKENDS, namespace, backend("one", url="http://one.example/0"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    return Children(client, namespace, "main")


async def move(client: Client, namespace: str, number: int) -> None:
    """Change the backend's address."""
    await client.patch(BACKENDS, namespace, "one", {"spec": {"url": f"http://one.example/{number}"}})


async def test_only_the_leader_writes_and_readiness_is_of_both(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    """A replica that does not lead sees everything, is ready, and writes nothing."""
    children = await declare(client, namespace)
    async with two_replicas(api_server, namespace) as (leader, other):
        await children.serve("http://one.example/0")
        await leader.idle()
        assert (await other.answers("/readyz"))[0] == 200
        assert await leader.metric("switchyard_operator_writes_total") > 0
        assert await other.metric("switchyard_operator_writes_total") == 0


async def test_a_killed_leader_is_replaced(api_server: ApiServer, client: Client, namespace: str) -> None:
    """After a crash nobody gives the lease back: another leads, and has written what came meanwhile, within 20 s."""
    children = await declare(client, namespace)
    async with two_replicas(api_server, namespace) as (leader, other):
        await children.serve("http://one.example/0")
        leader.process.send_signal(signal.SIGKILL)
        began = time.monotonic()
        await move(client, namespace, 1)
        await other.leads(TAKEOVER_S)
        await children.serve("http://one.example/1")
        assert time.monotonic() - began <= TAKEOVER_S


async def test_a_leader_that_ends_gives_the_lease_back(api_server: ApiServer, client: Client, namespace: str) -> None:
    """SIGTERM ends with status 0 within seconds, and the other need not wait for the lease to run out."""
    children = await declare(client, namespace)
    async with two_replicas(api_server, namespace, "--lease-duration=30") as (leader, other):
        await children.serve("http://one.example/0")
        assert await leader.end() == 0
        lease = await client.get(LEASES, namespace, "switchyard-operator")
        assert lease["spec"]["holderIdentity"] != (await leader.says("leads"))["identity"]
        await move(client, namespace, 1)
        await other.leads()
        await children.serve("http://one.example/1")


async def test_a_leader_that_was_stopped_brings_nothing_old_back(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    """Stopped amid its work and continued after another took over, it writes nothing that the other has overtaken."""
    children = await declare(client, namespace)
    async with (
        two_replicas(api_server, namespace, QUICK) as (one, two),
        history(api_server, namespace) as numbers,
    ):
        await numbers.reach(0)
        for round_, (leader, other) in enumerate([(one, two), (two, one), (one, two)]):
            first = 10 * round_ + 1
            for number in range(first, first + 5):  # enough to be amid one of them
                await move(client, namespace, number)
            leader.process.send_signal(signal.SIGSTOP)
            await move(client, namespace, first + 5)
            await other.leads()
            await numbers.reach(first + 5)
            leader.process.send_signal(signal.SIGCONT)
            await move(client, namespace, first + 6)
            await numbers.reach(first + 6)
            await other.idle()
            await leader.follows()
    assert numbers.seen == sorted(numbers.seen)
    assert await children.urls() == ["http://one.example/27"]


class Numbers:
    """The numbers of the addresses that the config has had, in order."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._news = Pulse()

    def add(self, number: int) -> None:
        self.seen.append(number)
        self._news.beat()

    async def reach(self, number: int) -> None:
        """Wait until the config has had this one."""
        await self._news.until(lambda: number in self.seen, SOON_S)


@asynccontextmanager
async def history(api_server: ApiServer, namespace: str) -> AsyncIterator[Numbers]:
    """Follow what is written to the gateway's ConfigMap, every single version."""
    numbers = Numbers()
    async with aiohttp.ClientSession() as http:
        following = asyncio.create_task(_follow(api_server, http, namespace, numbers))
        try:
            yield numbers
        finally:
            following.cancel()
            await asyncio.wait([following])


async def _follow(api_server: ApiServer, http: aiohttp.ClientSession, namespace: str, numbers: Numbers) -> None:
    url = api_server.url + CONFIG_MAPS.path(namespace)
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    async with http.get(url, params={"watch": "true"}, headers=headers, ssl=api_server.tls) as response:
        try:
            async for line in response.content:
                held = json.loads(line)["object"]
                content = (held.get("data") or {}).get("gateway.json")
                if held["metadata"]["name"] == "switchyard-main" and content is not None:
                    numbers.add(int(json.loads(content)["backends"][0]["url"].rpartition("/")[2]))
        finally:
            drop(response)
