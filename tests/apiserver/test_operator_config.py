"""The operator on a real API server: what is declared arrives beside the gateway, byte for byte, and nothing else happens."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest_asyncio
import yaml

from apiserver.client import ALIASES, BACKENDS, CONFIG_MAPS, GATEWAYS, NAMESPACES, SECRETS, Client, Resource
from apiserver.declared import SOON_S, Children, alias, backend, bearer, credential, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import eventually
from switchyard_operator.api.resource import Key
from switchyard_operator.compile import compile_gateway
from switchyard_operator.manifests.load import load
from switchyard_operator.manifests.sources import Source

QUICKSTART: Final = Path(__file__).parents[2] / "examples" / "quickstart"
RESOURCES: Final[dict[str, Resource]] = {
    "MCPBackend": BACKENDS,
    "MCPToolAlias": ALIASES,
    "MCPGateway": GATEWAYS,
    "Secret": SECRETS,
    "Namespace": NAMESPACES,
}


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, namespace: str) -> AsyncIterator[Replica]:
    """A replica that serves the test's namespace, leads, and looks at no backend."""
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as running:
        await running.idle()
        yield running


async def test_the_examples_arrive_as_compiled(api_server: ApiServer, client: Client, namespace: str) -> None:
    """The children hold what compiling the same manifests gives, credentials of another namespace included."""
    agents = f"{namespace}-agents"
    texts = {
        file.name: re.sub(r"\b(namespace|name): (tools|agents)\b", rf"\1: {namespace}-\2", file.read_text())
        for file in sorted(QUICKSTART.glob("*.yaml"))
    }
    manifests = load([Source(name, text.encode()) for name, text in texts.items()])
    assert manifests.faults == ()
    async with replica(api_server.kubeconfig(), f"--lease-namespace={namespace}") as operator:
        declared = [each for text in texts.values() for each in yaml.safe_load_all(text) if each["kind"] in RESOURCES]
        for each in declared:  # in the order in which `kubectl apply -f` goes through the folder
            await client.apply(RESOURCES[each["kind"]], each["metadata"].get("namespace"), each)
        children = Children(client, agents, "main")
        await children.serve(
            "https://github-mcp.example/mcp", "https://jira-mcp.example/mcp", "http://runbooks.agents.svc:8080/mcp"
        )
        await operator.idle()
    files = await children.files()
    compiled = compile_gateway(manifests.objects, Key(agents, "main"), revision_key=files["cred_key"], cluster=True)
    assert files == compiled.files()
    assert b"replace-me" in await children.credentials()


async def test_a_gateway_without_backends_gets_its_config(operator: Replica, client: Client, namespace: str) -> None:
    """Nothing declared is still something to serve: pods of the gateway must be able to start."""
    await client.create(GATEWAYS, namespace, gateway("main"))
    await Children(client, namespace, "main").serve()


async def test_any_order_of_creation_converges(operator: Replica, client: Client, namespace: str) -> None:
    """Gateway first, credential last: each that comes is taken in, and only what still lacks is left out."""
    children = Children(client, namespace, "main")
    await client.create(GATEWAYS, namespace, gateway("main", "one", "two"))
    await children.serve(None, None)
    await client.create(BACKENDS, namespace, backend("two"))
    await children.serve(None, "http://two.example/mcp")
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    await operator.idle()
    await children.serve(None, "http://two.example/mcp")
    await client.create(SECRETS, namespace, credential("token", "s3cret"))
    await children.serve("http://one.example/mcp", "http://two.example/mcp")
    assert await children.credentials() == {b"s3cret"}


async def test_changes_and_deletions_arrive(operator: Replica, client: Client, namespace: str) -> None:
    """A changed address, a new alias, a deleted alias and a deleted backend all reach the config."""
    children = Children(client, namespace, "main")
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await children.serve("http://one.example/mcp")

    await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
    await children.serve("http://moved.example/mcp")

    async def aliases() -> list[str]:
        return [each["alias"] for each in (await children.config() or {})["aliases"]]

    async def has_alias() -> bool:
        return await aliases() == ["find"]

    async def has_none() -> bool:
        return await aliases() == []

    await client.create(ALIASES, namespace, alias("find", "one", "search"))
    await eventually(has_alias, SOON_S)
    await client.delete(ALIASES, namespace, "find")
    await eventually(has_none, SOON_S)

    await client.delete(BACKENDS, namespace, "one")
    await children.serve(None)


async def test_a_rotated_secret_arrives(operator: Replica, client: Client, namespace: str) -> None:
    """A Secret's new value replaces the old one, of which nothing is left."""
    children = Children(client, namespace, "main")
    await client.create(SECRETS, namespace, credential("token", "old"))
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await children.serve("http://one.example/mcp")
    await client.patch(SECRETS, namespace, "token", {"data": credential("token", "new")["data"]})

    async def rotated() -> bool:
        return await children.credentials() == {b"new"}

    await eventually(rotated, SOON_S)
    assert await children.urls() == ["http://one.example/mcp"]


async def test_a_secret_without_the_label_is_not_seen(operator: Replica, client: Client, namespace: str) -> None:
    """Its owner has to show a Secret; taking the label away hides it again, and the credential goes."""
    children = Children(client, namespace, "main")
    await client.create(SECRETS, namespace, credential("token", "s3cret", labelled=False))
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await children.serve(None)
    for label, url, credentials in (("true", "http://one.example/mcp", {b"s3cret"}), (None, None, set[bytes]())):
        await client.patch(SECRETS, namespace, "token", {"metadata": {"labels": {"switchyard.dev/credential": label}}})
        await children.serve(url)
        await operator.idle()
        assert await children.credentials() == credentials


async def test_a_strangers_object_is_left_alone(operator: Replica, client: Client, namespace: str) -> None:
    """An object that has a child's name and is not the gateway's is never touched."""
    theirs = {"metadata": {"name": "switchyard-main"}, "data": {"gateway.json": "theirs"}}
    before = await client.create(CONFIG_MAPS, namespace, theirs)
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await client.create(GATEWAYS, namespace, gateway("other", "one"))
    await Children(client, namespace, "other").serve("http://one.example/mcp")
    await operator.idle()
    assert await client.get(CONFIG_MAPS, namespace, "switchyard-main") == before


async def test_drift_is_put_right(operator: Replica, client: Client, namespace: str) -> None:
    """What somebody changes or deletes of the children comes back."""
    children = Children(client, namespace, "main")
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await children.serve("http://one.example/mcp")
    before = await children.files()

    async def as_before() -> bool:
        return await children.files() == before

    await client.patch(CONFIG_MAPS, namespace, "switchyard-main", {"data": {"gateway.json": "{}"}})
    await eventually(as_before, SOON_S)
    await client.delete(CONFIG_MAPS, namespace, "switchyard-main")
    await eventually(as_before, SOON_S)
    await client.patch(
        SECRETS, namespace, "switchyard-main", {"metadata": {"labels": {"switchyard.dev/credential": None}}}
    )

    async def labelled() -> bool:
        secret = await children.secret()
        return secret is not None and secret["metadata"]["labels"].get("switchyard.dev/credential") == "child"

    await eventually(labelled, SOON_S)


async def test_what_others_add_stays_and_costs_no_write(operator: Replica, client: Client, namespace: str) -> None:
    """Labels, annotations and files of backup tools and policies on a child are not the operator's business, now or at a next write."""
    children = Children(client, namespace, "main")
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await children.serve("http://one.example/mcp")
    await operator.idle()
    before = await operator.metric("switchyard_operator_writes_total")
    theirs = {"labels": {"backup": "daily"}, "annotations": {"policy": "seen"}}
    for resource, data in ((CONFIG_MAPS, {"note": "x"}), (SECRETS, {"note": "eA=="})):
        await client.patch(resource, namespace, "switchyard-main", {"metadata": theirs, "data": data})
    await client.patch(BACKENDS, namespace, "one", {"metadata": theirs})
    versions = await children.versions()
    await client.create(
        GATEWAYS, namespace, gateway("other")
    )  # whatever came before it has been seen when it is served
    await Children(client, namespace, "other").serve()
    await operator.idle()
    assert await children.versions() == versions
    of_the_other = 5  # both of its children are made and filled, and it has a status
    assert await operator.metric("switchyard_operator_writes_total") - before == of_the_other

    await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
    await children.serve("http://moved.example/mcp")
    held = await children.config_map()
    assert held is not None
    assert (held["data"]["note"], held["metadata"]["annotations"]) == ("x", {"policy": "seen"})
    assert held["metadata"]["labels"]["backup"] == "daily"


async def test_a_second_run_writes_nothing(api_server: ApiServer, client: Client, namespace: str) -> None:
    """A restart finds everything as it should be: neither child is written again."""
    children = Children(client, namespace, "main")
    await client.create(SECRETS, namespace, credential("token", "s3cret"))
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    async with replica(api_server.kubeconfig(), namespace=namespace) as first:
        await children.serve("http://one.example/mcp")
        await first.idle()
        assert await first.end() == 0
    before = await children.versions()
    async with replica(api_server.kubeconfig(), namespace=namespace) as second:
        await second.idle()
        assert await second.metric("switchyard_operator_work_total") > 0
        assert await second.metric("switchyard_operator_writes_total") == 0
    assert await children.versions() == before
