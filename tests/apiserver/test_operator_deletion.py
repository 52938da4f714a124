"""Deletion on a real API server with its controllers: nothing hangs, whoever runs or not, and what is a gateway's goes with it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest
import pytest_asyncio

from apiserver.client import ALIASES, BACKENDS, GATEWAYS, NAMESPACES, SECRETS, Client, Object, Resource
from apiserver.declared import Children, alias, backend, bearer, credential, found, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import eventually

ONE: Final = "http://one.example/mcp"
COLLECTED_S: Final = 90.0
"""Garbage collection begins when its controller has started and read everything, which it tries again after half a minute."""
OWN: Final[dict[str, Resource]] = {"main": GATEWAYS, "one": BACKENDS, "find": ALIASES}

pytestmark = pytest.mark.timeout(150)


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, namespace: str) -> AsyncIterator[Replica]:
    """A replica that serves a namespace with one object of each kind, all looked at."""
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as running:
        yield running


async def declare(client: Client, namespace: str) -> Children:
    """One object of each kind, and a credential."""
    await client.create(SECRETS, namespace, credential("token", "s3cret"))
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    await client.create(ALIASES, namespace, alias("find", "one", "search"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    return Children(client, namespace, "main")


async def gone(client: Client, resource: Resource, namespace: str | None, name: str) -> None:
    """Wait until there is no such object."""

    async def is_gone() -> bool:
        return await found(client.get(resource, namespace, name)) is None

    await eventually(is_gone, COLLECTED_S)


async def without_children(children: Children) -> None:
    """Wait until garbage collection has taken both."""

    async def are_gone() -> bool:
        return await children.config_map() is None and await children.secret() is None

    await eventually(are_gone, COLLECTED_S)


def of_the_user(object_: Object) -> Any:
    """What an operator has no business with: everything but the status and the server's own bookkeeping."""
    bookkeeping = {"resourceVersion", "managedFields"}
    metadata = {name: value for name, value in object_["metadata"].items() if name not in bookkeeping}
    return {name: value for name, value in object_.items() if name != "status"} | {"metadata": metadata}


async def test_users_objects_carry_nothing_of_the_operator(operator: Replica, client: Client, namespace: str) -> None:
    """No finalizer, annotation, label or default: its name stands beside the status alone (Argo CD, Flux and `kubectl diff` agree)."""
    children = await declare(client, namespace)
    before = {name: await client.get(resource, namespace, name) for name, resource in OWN.items()}
    await children.serve(ONE)
    await operator.idle()
    for name, resource in OWN.items():
        after = await client.get(resource, namespace, name)
        assert of_the_user(after) == of_the_user(before[name])
        managed = [each for each in after["metadata"]["managedFields"] if each["manager"] == "switchyard-operator"]
        assert [(each["operation"], each["subresource"]) for each in managed] == [("Apply", "status")]
    assert len(await client.list(SECRETS, namespace)) == 2, "the user's, and the gateway's"


@pytest.mark.parametrize("runs", [True, False], ids=["with an operator", "without an operator"])
@pytest.mark.parametrize("policy", ["Background", "Foreground"])
@pytest.mark.usefixtures("controllers")
async def test_a_gateways_children_go_with_it(
    api_server: ApiServer, client: Client, namespace: str, runs: bool, policy: str
) -> None:
    """By owner references, whether or not anybody runs who made them, and in the way that Argo CD deletes too."""
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(replica(api_server.kubeconfig(), namespace=namespace))
        children = await declare(client, namespace)
        await children.serve(ONE)
        await operator.idle()
        if not runs:
            assert await operator.end() == 0
        await client.request("DELETE", GATEWAYS.path(namespace, "main"), query={"propagationPolicy": policy})
        await gone(client, GATEWAYS, namespace, "main")
        await without_children(children)
        if runs:
            await operator.idle()
            assert (await children.config_map(), await children.secret()) == (None, None)
            assert [line for line in operator.said if line["level"] == "error"] == []
    for name in ("one", "find"):
        await client.delete(OWN[name], namespace, name)
        assert await found(client.get(OWN[name], namespace, name)) is None


@pytest.mark.parametrize("runs", [True, False], ids=["with an operator", "without an operator"])
@pytest.mark.usefixtures("controllers")
async def test_a_namespace_with_everything_in_it_goes(
    operator: Replica, client: Client, namespace: str, runs: bool
) -> None:
    """As when it is removed by mistake together with the operator; one that runs does not complain of what it may not write any more."""
    children = await declare(client, namespace)
    await children.serve(ONE)
    await operator.idle()
    if not runs:
        assert await operator.end() == 0
    await client.delete(NAMESPACES, None, namespace)
    await gone(client, NAMESPACES, None, namespace)
    if runs:
        assert [line for line in operator.said if line["level"] == "error"] == []


async def test_a_gateway_that_somebody_holds_back_is_withdrawn(
    operator: Replica, client: Client, namespace: str
) -> None:
    """Deleted, but for a finalizer of its owner's: nothing is served meanwhile, and no credential stays."""
    children = await declare(client, namespace)
    await children.serve(ONE)
    await client.patch(GATEWAYS, namespace, "main", {"metadata": {"finalizers": ["owner.example/last-words"]}})
    await client.delete(GATEWAYS, namespace, "main")
    await children.serve()
    await operator.idle()
    assert await children.credentials() == set()
    await client.patch(GATEWAYS, namespace, "main", {"metadata": {"finalizers": None}})
    await gone(client, GATEWAYS, namespace, "main")


@pytest.mark.usefixtures("controllers")
async def test_a_gateway_that_is_made_anew_is_served_anew(operator: Replica, client: Client, namespace: str) -> None:
    """The children of its predecessor are in the way until they are collected; then it has its own."""
    children = await declare(client, namespace)
    await children.serve(ONE)
    await client.delete(GATEWAYS, namespace, "main")
    made = await client.create(GATEWAYS, namespace, gateway("main", "one", instructions="anew"))

    async def is_its_own() -> bool:
        held = await children.config_map()
        owners = held["metadata"]["ownerReferences"] if held else []
        config = await children.config()
        return bool(
            [each["uid"] for each in owners] == [made["metadata"]["uid"]]
            and config
            and config.get("instructions") == "anew"
        )

    await eventually(is_its_own, COLLECTED_S)
    assert await children.credentials() == {b"s3cret"}
