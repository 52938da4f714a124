"""From a written config to the pods that run it: their kubelets are nudged, their sidecars are asked, and the status counts them.

There is no kubelet here: the pods are objects whose status the test writes, and their sidecars answer on this machine.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from apiserver.client import BACKENDS, CONFIG_MAPS, GATEWAYS, PODS, Client
from apiserver.declared import SOON_S, Children, backend, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import eventually

pytestmark = pytest.mark.newest_kubernetes

ANNOTATION = "switchyard.dev/config-hash"


@dataclass
class Sidecar:
    """What answers at a pod's admin port."""

    port: int = 0
    loaded: str | None = None
    """The hash it says; ``None``: it does not answer as it should."""
    asked: int = 0
    _runner: web.AppRunner = field(init=False)

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/loaded", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _answer(self, _: web.Request) -> web.Response:
        self.asked += 1
        if self.loaded is None:
            return web.Response(status=500)
        return web.json_response({"configHash": self.loaded, "format": 1, "version": "0"})


@pytest_asyncio.fixture
async def sidecar() -> AsyncIterator[Sidecar]:
    one = Sidecar()
    await one.start()
    yield one
    await one.stop()


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, namespace: str) -> AsyncIterator[Replica]:
    async with replica(api_server.kubeconfig(), namespace=namespace) as running:
        await running.idle()
        yield running


def pod(name: str, of: str, port: int | None) -> dict[str, Any]:
    ports = [] if port is None else [{"name": "admin", "containerPort": port}]
    native = {"name": "switchyard", "image": "any", "restartPolicy": "Always", "ports": ports}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"switchyard.dev/gateway": of},
            "annotations": {"switchyard.dev/config-format": "1"},
        },
        "spec": {"initContainers": [native], "containers": [{"name": "app", "image": "any"}]},
    }


async def running_pod(client: Client, namespace: str, name: str, of: str, port: int | None) -> None:
    """Make a pod, and say what its kubelet would say."""
    await client.create(PODS, namespace, pod(name, of, port))
    status = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    await client.request(
        "PATCH",
        PODS.path(namespace, name, "status"),
        json.dumps({"status": status}).encode(),
        content_type="application/merge-patch+json",
    )


async def annotation(client: Client, namespace: str, name: str) -> str | None:
    annotations = (await client.get(PODS, namespace, name))["metadata"].get("annotations") or {}
    value = annotations.get(ANNOTATION)
    return None if value is None else str(value)


async def counts(client: Client, namespace: str) -> Any:
    return (await client.get(GATEWAYS, namespace, "main")).get("status", {}).get("pods")


async def config_hash(client: Client, namespace: str) -> str:
    """Of the config that is written."""
    files = await Children(client, namespace, "main").files()
    return str(json.loads(files["gateway.json"])["configHash"])


async def test_a_changed_config_nudges_the_pods_and_their_confirmation_is_counted(
    operator: Replica, client: Client, namespace: str, sidecar: Sidecar
) -> None:
    """The pod with a sidecar has the new hash in its annotation; the others are left alone; current once it says so."""
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main"))
    await Children(client, namespace, "main").serve()
    await running_pod(client, namespace, "attached", "main", sidecar.port)
    await running_pod(client, namespace, "without", "main", None)
    await running_pod(client, namespace, "elsewhere", "other", sidecar.port)

    async def counted(**wanted: int) -> None:
        async def are() -> bool:
            return bool(await counts(client, namespace) == wanted)

        await eventually(are, SOON_S)

    await counted(attached=1, current=0, unknown=1)
    await client.apply(GATEWAYS, namespace, gateway("main", "one"), force=True)
    await Children(client, namespace, "main").serve("http://one.example/mcp")

    async def is_nudged() -> bool:
        marked = await annotation(client, namespace, "attached") or ""  # perhaps for the second time
        return marked.removesuffix("+") == await config_hash(client, namespace)

    await eventually(is_nudged, SOON_S)
    sidecar.loaded = await config_hash(client, namespace)
    await counted(attached=1, current=1, unknown=0)
    assert await annotation(client, namespace, "without") is None
    assert await annotation(client, namespace, "elsewhere") is None

    asked = sidecar.asked
    await operator.idle()
    assert sidecar.asked == asked, "a pod that has confirmed is not asked again"


async def test_a_pod_that_stays_behind_is_nudged_once_more(
    operator: Replica, client: Client, namespace: str, sidecar: Sidecar
) -> None:
    """Its annotation changes a second time, to something that is not the hash, and then no more."""
    sidecar.loaded = "an old one"
    await client.create(GATEWAYS, namespace, gateway("main"))
    await Children(client, namespace, "main").serve()
    await running_pod(client, namespace, "attached", "main", sidecar.port)

    async def is_nudged_again() -> bool:
        return await annotation(client, namespace, "attached") == await config_hash(client, namespace) + "+"

    await eventually(is_nudged_again, SOON_S)


async def test_a_withdrawn_config_nudges_the_pods(
    operator: Replica, client: Client, namespace: str, sidecar: Sidecar
) -> None:
    """The gateway is deleted; when garbage collection has taken the ConfigMap, kubelets are made to look."""
    await client.create(GATEWAYS, namespace, gateway("main"))
    await Children(client, namespace, "main").serve()
    await running_pod(client, namespace, "attached", "main", sidecar.port)
    await client.delete(GATEWAYS, namespace, "main")
    await client.delete(CONFIG_MAPS, namespace, "switchyard-main")

    async def is_nudged() -> bool:
        return (await annotation(client, namespace, "attached") or "").startswith("none")

    await eventually(is_nudged, SOON_S)
