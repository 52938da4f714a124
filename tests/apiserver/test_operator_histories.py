"""Histories on a real API server: in whatever order objects come, go and come again, the end is what compiling the last of them gives."""

import random
from typing import Final

import pytest
import yaml

from apiserver.client import ALIASES, BACKENDS, GATEWAYS, SECRETS, Client, Object, Resource
from apiserver.declared import Children, alias, backend, bearer, credential, gateway
from apiserver.replica import replica
from apiserver.server import ApiServer
from fakes.waiting import eventually
from switchyard_operator.api.resource import Key
from switchyard_operator.compile import compile_gateway
from switchyard_operator.manifests.load import load
from switchyard_operator.manifests.sources import Source

STEPS: Final = 60
COLLECTED_S: Final = 90.0
"""A gateway that was made anew waits for its predecessor's children to be collected."""


pytestmark = [pytest.mark.timeout(150), pytest.mark.newest_kubernetes]


def versions() -> dict[tuple[Resource, str], list[Object]]:
    """The objects of a history, each in the versions that it may have."""
    return {
        (SECRETS, "token"): [credential("token", "first"), credential("token", "second")],
        (BACKENDS, "one"): [backend("one"), backend("one", auth=bearer("token"))],
        (BACKENDS, "two"): [backend("two"), backend("two", url="http://moved.example/mcp"), chosen("two")],
        (BACKENDS, "three"): [chosen("three"), backend("three", auth=bearer("token"))],
        (ALIASES, "find"): [alias("find", "one", "search"), alias("find", "two", "look")],
        (ALIASES, "seek"): [named("seek", "find", "two"), named("seek", "seek", "three")],
        (GATEWAYS, "main"): [gateway("main", "one", "two"), gateway("main", "two", "one", instructions="other")],
        (GATEWAYS, "wide"): [gateway("wide", {"selector": {"matchLabels": {"team": "a"}}}, "one"), gateway("wide")],
    }


def chosen(name: str) -> Object:
    """A backend that a selector finds."""
    found = backend(name)
    return found | {"metadata": found["metadata"] | {"labels": {"team": "a"}}}


def named(name: str, exposed: str, of: str) -> Object:
    """An alias whose own name is not the one that it exposes."""
    found = alias(name, of, "search")
    return found | {"spec": found["spec"] | {"alias": exposed}}


class World:
    """The objects as they are now, in the cluster and here."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.objects: dict[tuple[Resource, str], Object] = {}
        self._client = client
        self._namespace = namespace

    async def put(self, resource: Resource, version: Object) -> None:
        """Create the object, or change it to this version."""
        name = version["metadata"]["name"]
        stored = await self._client.apply(resource, self._namespace, version, force=True)
        # Of two aliases for one name, the older wins.
        created = {"creationTimestamp": stored["metadata"]["creationTimestamp"]}
        self.objects[resource, name] = version | {"metadata": version["metadata"] | created}

    async def remove(self, resource: Resource, name: str) -> None:
        """Delete the object, if it is there."""
        if self.objects.pop((resource, name), None) is not None:
            await self._client.delete(resource, self._namespace, name)

    def compiled(self, gateway: str, revision_key: bytes) -> dict[str, bytes]:
        """The files of a gateway, from the manifests of all objects."""
        manifests = [
            each | {"metadata": each["metadata"] | {"namespace": self._namespace}} for each in self.objects.values()
        ]
        loaded = load([Source("all.yaml", yaml.safe_dump_all(manifests).encode())])
        assert loaded.faults == ()
        key = Key(self._namespace, gateway)
        return compile_gateway(loaded.objects, key, revision_key=revision_key, cluster=True).files()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("controllers")
async def test_any_history_ends_in_what_its_last_state_compiles_to(
    api_server: ApiServer, client: Client, namespace: str, seed: int
) -> None:
    """Sixty changes without a pause, the operator killed amid them: every gateway's files are, byte for byte, the compiled ones."""
    source = random.Random(seed)
    world, choices = World(client, namespace), versions()

    async def go(steps: int) -> None:
        for _ in range(steps):
            resource, name = source.choice(list(choices))
            if source.random() < 0.3:
                await world.remove(resource, name)
            else:
                await world.put(resource, source.choice(choices[resource, name]))

    flags = ("--probes=Disabled", "--lease-duration=1")
    await go(STEPS // 6)
    async with replica(api_server.kubeconfig(), *flags, namespace=namespace) as first:
        await first.leads()
        await go(STEPS // 2)
        first.process.kill()
    async with replica(api_server.kubeconfig(), *flags, namespace=namespace) as second:
        await go(STEPS // 3)
        for name in ("main", "wide"):
            await world.put(GATEWAYS, source.choice(choices[GATEWAYS, name]))
        await second.idle()
        for name in ("main", "wide"):
            await as_compiled(world, Children(client, namespace, name), name)


async def as_compiled(world: World, children: Children, gateway: str) -> None:
    """Wait until the files are the compiled ones."""

    async def are() -> bool:
        files = await children.files()
        return "cred_key" in files and files == world.compiled(gateway, files["cred_key"])

    try:
        await eventually(are, COLLECTED_S)
    except TimeoutError:
        files = await children.files()
        wanted = world.compiled(gateway, files.get("cred_key", bytes(32)))
        assert files == wanted, await children.config_map()
