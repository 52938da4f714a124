"""What the operator asks of an API server when there is little to do: one list at its start, and no write where nothing differs."""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from apiserver.client import (
    ALIASES,
    BACKENDS,
    CONFIG_MAPS,
    GATEWAYS,
    PODS,
    SECRETS,
    Client,
    Resource,
)
from apiserver.declared import alias, backend, bearer, credential, gateway
from apiserver.proxy import Proxy
from apiserver.replica import replica
from apiserver.server import ApiServer
from fakes.waiting import eventually

pytestmark = pytest.mark.newest_kubernetes

EVENTS: Final = Resource("events.k8s.io/v1", "events")
LOOKED_AT: Final = (BACKENDS, ALIASES, GATEWAYS, SECRETS, CONFIG_MAPS, PODS, EVENTS)
TEAMS: Final = 10
GATEWAYS_OF_TEAM: Final = 10
REST_S: Final = 15.0
"""Long enough for more looks at backends (10 s after the third that failed) and for several lists."""
CALM_S: Final = 40.0


async def versions(client: Client, namespaces: list[str]) -> dict[str, str]:
    """The resource version of every object, by what it is."""
    return {
        f"{resource.plural} {namespace}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for resource in LOOKED_AT
        for namespace in namespaces
        for each in await client.list(resource, namespace)
    }


async def declare(client: Client, namespace: str) -> None:
    """Ten gateways over two backends, one that cannot be reached and one whose address is not looked at, and an alias."""
    await client.create(SECRETS, namespace, credential("token", "s3cret"))
    await client.create(BACKENDS, namespace, backend("gone", auth=bearer("token")))
    await client.create(BACKENDS, namespace, backend("here", url="http://127.0.0.1:9/mcp"))
    await client.create(ALIASES, namespace, alias("find", "here", "search"))
    for number in range(GATEWAYS_OF_TEAM):
        await client.create(GATEWAYS, namespace, gateway(f"main-{number}", "gone", "here"))


async def told(client: Client, namespace: str) -> bool:
    """Whether the statuses say all that there is to say, down to what cannot be reached after three attempts."""
    reachable = {
        each["metadata"]["name"]: f"{condition['status']} {condition['reason']}"
        for each in await client.list(BACKENDS, namespace)
        for condition in each.get("status", {}).get("conditions") or ()
        if condition["type"] == "Reachable"
    }
    ready = [
        condition["message"]
        for each in await client.list(GATEWAYS, namespace)
        for condition in each.get("status", {}).get("conditions") or ()
        if condition["type"] == "Ready"
    ]
    served = ["serves 2 of 2 backends, 1 of which does not answer the operator"] * GATEWAYS_OF_TEAM
    # A busy machine finds out later than after the third attempt that there is no such name.
    return reachable == {"gone": "False NameNotResolved", "here": "Unknown AddressNotProbed"} and ready == served


@pytest.mark.timeout(150)
async def test_nothing_is_written_at_rest(api_server: ApiServer, client: Client) -> None:
    """A hundred gateways, while backends are looked at and lists are read: no object of anybody changes its version."""
    namespaces = [await client.new_namespace("rest") for _ in range(TEAMS)]
    scope = [f"--namespace={each}" for each in namespaces]
    await asyncio.gather(*(declare(client, each) for each in namespaces))
    async with replica(api_server.kubeconfig(), *scope, "--list-period=3") as operator:
        await operator.idle()

        async def is_told() -> bool:
            return all([await told(client, each) for each in namespaces])

        await eventually(is_told, CALM_S)
        await operator.idle()
        before, lists = await versions(client, namespaces), await operator.metric("switchyard_operator_lists_total")
        writes = await operator.metric("switchyard_operator_writes_total")
        await asyncio.sleep(REST_S)
        assert await versions(client, namespaces) == before
        assert await operator.metric("switchyard_operator_writes_total") == writes
        assert await operator.metric("switchyard_operator_lists_total") > lists
    async with replica(api_server.kubeconfig(), *scope) as again:
        await again.idle()
        assert await again.metric("switchyard_operator_writes_total") == 0
    assert await versions(client, namespaces) == before


async def test_every_object_is_listed_once_at_the_start(
    api_server: ApiServer, client: Client, namespace: str, tmp_path: Path
) -> None:
    """To know where its watch begins kopf lists, and asks for no object; what there is comes in one list of ours."""
    await declare(client, namespace)
    async with Proxy(api_server) as proxy, replica(proxy.kubeconfig(tmp_path), namespace=namespace) as operator:
        await operator.idle()
        path = BACKENDS.path(namespace)
        lists = [each for each in proxy.asked if each.path == path and each.list]
        found = [len(await client.list(BACKENDS, namespace, **each.query)) for each in lists]
    assert sorted(found) == [0, 2]
