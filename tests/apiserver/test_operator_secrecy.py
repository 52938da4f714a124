"""Credentials on a real API server are in Secrets, and in nothing else that anybody can read."""

import base64
import hashlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from secrets import token_bytes
from typing import Final

import pytest

from apiserver.client import ALIASES, BACKENDS, GATEWAYS, SECRETS, Client, Object
from apiserver.declared import SOON_S, Children, alias, backend, bearer, credential, gateway
from apiserver.replica import replica
from apiserver.server import ApiServer
from fakes.waiting import eventually
from integration.secrecy.scanner import Scanner
from unit.operator.pem import CERTIFICATE

pytestmark = pytest.mark.newest_kubernetes

TOKENS: Final = ("t0ken-of-a-bearer", "t0ken-of-a-header", "t0ken-of-a-caller", "t0ken-that-is-\nno-header")
"""The last cannot be a header, which somebody has to be told."""


def traces(token: str) -> Iterator[str]:
    """What would give a token away: itself, and whatever a guess can be checked against."""
    content = token.encode()
    yield json.dumps(token)[1:-1]
    yield from token.split("\n")
    yield base64.b64encode(content).decode()
    yield from (hashlib.new(name, content).hexdigest() for name in ("md5", "sha1", "sha256"))


async def everything(client: Client, namespace: str) -> AsyncIterator[tuple[str, Object]]:
    """All objects of a namespace, of whatever kind, with the path of their list."""
    groups = (await client.request("GET", "/apis"))["groups"]
    roots = ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups)]
    for root in roots:
        for resource in (await client.request("GET", root))["resources"]:
            if resource["namespaced"] and "list" in resource["verbs"]:
                path = f"{root}/namespaces/{namespace}/{resource['name']}"
                for item in (await client.request("GET", path))["items"]:
                    yield path, item


async def test_a_credential_is_in_secrets_alone(api_server: ApiServer, client: Client, namespace: str) -> None:
    """Not in a ConfigMap, a status, an event, a log at its most talkative or a metric; nor a digest that a guess could be checked with."""
    good, header, caller, bad = TOKENS
    secrets = {"bearer": good, "header": header, "caller": caller, "bad": bad}
    for name, token in secrets.items():
        await client.create(SECRETS, namespace, credential(name, token))
    in_header = [{"name": "X-Key", "valueFrom": {"secretKeyRef": {"name": "header", "key": "token"}}}]
    await client.create(BACKENDS, namespace, backend("bearer", auth=bearer("bearer")))
    await client.create(BACKENDS, namespace, backend("header", headers=in_header))
    await client.create(BACKENDS, namespace, backend("bad", auth=bearer("bad")))
    await client.create(ALIASES, namespace, alias("find", "bearer", "search"))
    tokens = [{"name": name, "secretKeyRef": {"name": name, "key": "token"}} for name in ("caller", "bad")]
    await client.create(GATEWAYS, namespace, gateway("main", "bearer", "header", "bad", auth={"tokens": tokens}))
    flags = ("--log-level=debug", "--probes=Local")
    async with replica(api_server.kubeconfig(), *flags, namespace=namespace) as operator:
        children = Children(client, namespace, "main")
        await children.serve("http://bearer.example/mcp", "http://header.example/mcp", None)
        assert await children.credentials() == {good.encode(), header.encode(), caller.encode()}

        async def is_told() -> bool:
            said = [await client.get(BACKENDS, namespace, "bad"), await client.get(GATEWAYS, namespace, "main")]
            return all("InvalidCredential" in json.dumps(each) for each in said)

        await eventually(is_told, SOON_S)
        # The key of one more gateway's revisions is another: equal tokens are not seen to be equal.
        await client.create(GATEWAYS, namespace, gateway("other", "bearer"))
        await Children(client, namespace, "other").serve("http://bearer.example/mcp")
        await operator.idle()
        revisions = [await revision(Children(client, namespace, name)) for name in ("main", "other")]
        assert revisions[0] != revisions[1]
        _, metrics = await operator.answers("/metrics")
        said = json.dumps(operator.said)
    places = [("log", said), ("metrics", metrics)]
    places += [(path, json.dumps(item)) async for path, item in everything(client, namespace) if "/secrets" not in path]
    assert {path.rpartition("/")[2] for path, _ in places} >= {
        "configmaps", "events", "leases", "mcpbackends", "mcpgateways", "mcptoolaliases",
    }  # fmt: skip
    found = [(place, trace) for token in TOKENS for trace in traces(token) for place, text in places if trace in text]
    assert found == []


async def revision(children: Children) -> str:
    """What the config says of the first backend's token."""
    config = await children.config()
    assert config is not None
    return str(config["backends"][0]["auth"]["credential"]["revision"])


async def test_a_key_is_in_secrets_alone(api_server: ApiServer, client: Client, namespace: str) -> None:
    """Of a client certificate, good or not, and the keys that the operator makes: not even its beginning is anywhere else."""
    line = b64encode(token_bytes(48)).decode()
    key = f"-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----\n".encode()
    unusable = b64encode(token_bytes(48))
    for name, content in (("good", key), ("bad", unusable)):
        data = {"tls.crt": b64encode(CERTIFICATE).decode(), "tls.key": b64encode(content).decode()}
        secret = credential(name, "") | {"type": "kubernetes.io/tls", "data": data}
        await client.create(SECRETS, namespace, secret)
        await client.create(BACKENDS, namespace, backend(name, tls={"clientCertificateRef": {"name": name}}))
    await client.create(GATEWAYS, namespace, gateway("main", "good", "bad", mode="Deployment"))
    flags = ("--log-level=debug", "--probes=Local", "--sidecar-image=registry.example/sidecar:1")
    async with replica(api_server.kubeconfig(), *flags, namespace=namespace) as operator:
        children = Children(client, namespace, "main")
        await children.serve("http://good.example/mcp", None)
        files = await children.files()
        made = {
            name: content
            for name, content in files.items()
            if name.startswith("cred_") and content != CERTIFICATE + key
        }
        assert {name.partition("-")[0] for name in made} == {"cred_key", "cred_session"}
        await operator.idle()
        _, metrics = await operator.answers("/metrics")
        said = json.dumps(operator.said)
    places = {"log": said.encode(), "metrics": metrics.encode()}
    async for path, item in everything(client, namespace):
        if "/secrets" not in path:
            name = f"{path.rpartition('/')[2]} {item['metadata']['name']}"
            places[name] = json.dumps(item).encode()
    assert "InvalidCertificate" in "".join(map(bytes.decode, places.values()))
    keys = {"good": key, "bad": unusable, **{name: b64encode(content) for name, content in made.items()}}
    assert Scanner(keys).find(places) == []
    raw = {name: content.hex().encode() for name, content in made.items()}
    assert Scanner(raw).find(places) == []
    assert Scanner({"planted": b"registry.example/sidecar"}).find(places)  # it would have been found
