"""What is large, on a real API server: it arrives compressed, and what is too large for an object changes nothing but is said."""

import base64
import gzip
import json
import random
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio

from apiserver.client import BACKENDS, CONFIG_MAPS, GATEWAYS, Client, Object
from apiserver.declared import SOON_S, Children, backend, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import eventually
from unit.operator.pem import CERTIFICATE

pytestmark = pytest.mark.newest_kubernetes

PATTERNS_KIB: Final = 64
"""What the patterns of one backend come to; nothing compresses them but that they are text."""


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, namespace: str) -> AsyncIterator[Replica]:
    """A replica that serves the test's namespace and leads."""
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as running:
        await running.idle()
        yield running


def bulky(name: str) -> Object:
    """A backend with 64 KiB of patterns, which take 48 KiB at the least."""
    source = random.Random(name)
    patterns = [base64.b64encode(source.randbytes(192)).decode() for _ in range(PATTERNS_KIB * 1024 // 256)]
    return backend(name, tools={"include": patterns})


async def programmed(client: Client, namespace: str, reason: str) -> Object:
    """Wait until the gateway says so of its config, with all that it refers to: watches of other kinds may come later."""

    async def is_said() -> bool:
        conditions = (await client.get(GATEWAYS, namespace, "main"))["status"]["conditions"]
        said = {(each["type"], each[what]) for each in conditions for what in ("status", "reason")}
        return said >= {("Programmed", reason), ("ResolvedRefs", "True")}

    await eventually(is_said, SOON_S)
    status: Object = (await client.get(GATEWAYS, namespace, "main"))["status"]
    return status


def config_in(config_map: Object | None) -> Object:
    """The config of a ConfigMap that holds it compressed and no other way."""
    assert config_map is not None
    assert "data" not in config_map
    (compressed,) = config_map["binaryData"].values()
    config: Object = json.loads(gzip.decompress(base64.b64decode(compressed)))
    return config


async def test_what_is_large_is_compressed_and_what_is_too_large_changes_nothing(
    operator: Replica, client: Client, namespace: str
) -> None:
    """At 1.1 MiB the config is written compressed; at 1.5 MiB it does not fit even so, and what was withdrawn goes all the same."""
    names = [f"b{number:02}" for number in range(18)]
    for name in names:
        await client.create(BACKENDS, namespace, bulky(name))
    await client.create(GATEWAYS, namespace, gateway("main", *names))
    status = await programmed(client, namespace, "Programmed")
    children = Children(client, namespace, "main")
    config = config_in(await children.config_map())
    assert [each["url"] for each in config["backends"]] == [f"http://{name}.example/mcp" for name in names]
    assert config["configHash"] == status["configHash"]

    more = [f"b{number:02}" for number in range(24)]
    for name in more[18:]:
        await client.create(BACKENDS, namespace, bulky(name))
    await client.apply(GATEWAYS, namespace, gateway("main", *more), force=True)
    status = await programmed(client, namespace, "TooLarge")
    (ready,) = (each for each in status["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "TooLarge")
    assert "split the gateway" in ready["message"]
    assert config_in(await children.config_map()) == config

    await client.delete(BACKENDS, namespace, "b00")

    async def is_withdrawn() -> bool:
        return bool(config_in(await children.config_map())["backends"][0].get("unresolved") == "BackendNotFound")

    await eventually(is_withdrawn, SOON_S)
    remaining = config_in(await children.config_map())["backends"][1:]
    assert remaining == config["backends"][1:]

    await client.apply(GATEWAYS, namespace, gateway("main", "b01"), force=True)
    await children.serve("http://b01.example/mcp")
    held = await children.config_map()
    assert held is not None
    assert "binaryData" not in held
    await programmed(client, namespace, "Programmed")


@pytest.mark.parametrize(("size", "reason"), [(524_000, "Programmed"), (524_300, "TooLarge")])
async def test_credentials_may_fill_a_secret_and_not_more(
    operator: Replica, client: Client, namespace: str, size: int, reason: str
) -> None:
    """What we call too large is what the API server would refuse: a little less is written."""
    for name in ("one", "two"):
        authorities = {"metadata": {"name": name, "labels": {"switchyard.dev/credential": "true"}}}
        await client.create(CONFIG_MAPS, namespace, authorities | {"data": {"ca.crt": padded(size)}})
        await client.create(BACKENDS, namespace, backend(name, tls={"caRef": {"name": name}}))
    await client.create(GATEWAYS, namespace, gateway("main", "one", "two"))
    await programmed(client, namespace, reason)
    files = await Children(client, namespace, "main").files()
    # One authority alone fits, and is written where it is seen before the other.
    assert (sum(map(len, files.values())) > 2 * size) is (reason == "Programmed")


def padded(size: int) -> str:
    """Certificates of so many bytes, all but one of which are a comment."""
    return CERTIFICATE.decode() + "#" * (size - len(CERTIFICATE))
