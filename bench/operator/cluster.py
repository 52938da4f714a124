"""A real API server with everything in it, and what of it changes."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from apiserver.client import ALIASES, BACKENDS, CONFIG_MAPS, GATEWAYS, PODS, SECRETS, Client, Resource
from apiserver.server import ApiServer
from bench.machine import ROOT, BenchError
from bench.operator.declared import Cluster

ASSETS: Final = "KUBEBUILDER_ASSETS"
AT_ONCE: Final = 32
"""Requests that are on their way together while objects are made."""
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_EVENTS: Final = Resource("events.k8s.io/v1", "events")
_LOOKED_AT: Final = (BACKENDS, ALIASES, GATEWAYS, SECRETS, CONFIG_MAPS, PODS, _EVENTS)


@asynccontextmanager
async def api_server() -> AsyncIterator[tuple[ApiServer, Client]]:
    """An empty API server with our CRDs, and a client with all rights.

    Raises:
        BenchError: there are no programs to start.
    """
    folder = os.environ.get(ASSETS, "").partition(os.pathsep)[0]
    if not folder:
        raise BenchError(f"{ASSETS} names no folder with etcd and kube-apiserver (see CONTRIBUTING.md)")
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as name:
        server = ApiServer(Path(folder), Path(name))
        try:
            server.start()
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as http:
                client = Client(server, http)
                await client.install_crds(ROOT / "crds")
                yield server, client
        finally:
            server.close()


async def fill(client: Client, cluster: Cluster) -> None:
    """Create everything that is declared, and start pods."""
    for resources in (cluster.namespaces(), cluster.objects()):
        await _all(client.create(*each) for each in resources)
    await _all(client.patch(PODS, *each) for each in cluster.running())


async def versions(client: Client) -> dict[str, str]:
    """The resource version of every object that the operator may write, except for its Lease, by uid."""
    found: dict[str, str] = {}
    for resource in _LOOKED_AT:
        answer = await client.request("GET", resource.path(None), accept=_METADATA)
        found |= {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in answer["items"] or ()}
    return found


async def _all(requests: Iterator[Coroutine[Any, Any, Any]]) -> None:
    """Make all requests, :data:`AT_ONCE` at a time; the iterator makes each when its turn has come."""

    async def work() -> None:
        for request in requests:
            await request

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(work())
