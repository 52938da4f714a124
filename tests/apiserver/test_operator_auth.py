"""Who is let in, on a real API server: keys are its own, tokens go when their Secret does, and nothing is ever served open."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import jwt
import pytest
import pytest_asyncio

from apiserver.charted import operators_token
from apiserver.client import BACKENDS, CLUSTER_ROLE_BINDINGS, GATEWAYS, SECRETS, SERVICE_ACCOUNTS, Client, RefusedError
from apiserver.declared import SOON_S, Children, backend, credential, found, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from chart.helm import NAMESPACE
from fakes.waiting import eventually

REVOKED_WITHIN_S: Final = 10.0
CI: Final = {"name": "ci", "secretKeyRef": {"name": "ci", "key": "token"}, "claims": {"groups": ["ci"]}}
OTHER: Final = {"name": "other", "secretKeyRef": {"name": "other", "key": "token"}}
RULES: Final = {"default": "Deny", "rules": [{"when": [{"claim": "groups", "anyOf": ["ci"]}], "tools": {}}]}


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, client: Client, namespace: str) -> AsyncIterator[Replica]:
    """A replica with the permissions of the chart, which serves the test's namespace."""
    token = await operators_token(client, {"operator": {"leaseName": namespace}})
    flags = (f"--lease-namespace={NAMESPACE}", f"--lease-name={namespace}", "--probes=Disabled")
    async with replica(api_server.kubeconfig(token), *flags) as running:
        await running.idle()
        yield running


class Gateway:
    """The gateway ``main`` of the test's namespace, and what became of it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.children = Children(client, namespace, "main")

    async def names(self) -> list[str] | None:
        """Who is let in by tokens of their own; ``None``: there is no config, or no section, which lets everyone in."""
        config = await self.children.config() or {}
        section = config.get("authentication")
        return None if section is None else [each["name"] for each in section["tokens"]]

    async def lets_in(self, *names: str, within_s: float = SOON_S) -> None:
        """Wait until exactly these are let in."""

        async def holds() -> bool:
            return await self.names() == list(names)

        await eventually(holds, within_s)

    async def is_open(self) -> None:
        """Wait until everyone is let in, to some backend."""

        async def holds() -> bool:
            return bool(await self.children.urls()) and await self.names() is None

        await eventually(holds, SOON_S)

    async def says(self, **conditions: str) -> None:
        """Wait until its status has these conditions, each as ``status reason``."""

        async def holds() -> bool:
            status = (await self.client.get(GATEWAYS, self.namespace, "main")).get("status", {})
            said = {each["type"]: f"{each['status']} {each['reason']}" for each in status.get("conditions", ())}
            return said | conditions == said

        await eventually(holds, SOON_S)

    async def issuers(self) -> list[dict[str, Any]]:
        config = await self.children.config() or {}
        return list((config.get("authentication") or {}).get("issuers") or ())


@pytest_asyncio.fixture
async def main(client: Client, namespace: str) -> Gateway:
    await client.create(BACKENDS, namespace, backend("one"))
    return Gateway(client, namespace)


async def test_the_cluster_lets_its_own_service_accounts_in(
    operator: Replica, client: Client, namespace: str, main: Gateway
) -> None:
    """Issuer and keys in the config are the API server's own: a token that it makes for this audience verifies with nothing else."""
    auth = {"kubernetes": {"audiences": ["switchyard"]}}
    await client.create(GATEWAYS, namespace, gateway("main", "one", auth=auth))
    await main.says(Programmed="True Programmed", Ready="True Ready")
    (issuer,) = await main.issuers()
    keys = jwt.PyJWKSet.from_json(issuer["jwks"])
    await client.create(SERVICE_ACCOUNTS, namespace, {"metadata": {"name": "agent"}})

    async def token(audience: str) -> str:
        path = SERVICE_ACCOUNTS.path(namespace, "agent", "token")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [audience]}}
        return str((await client.request("POST", path, json.dumps(body).encode()))["status"]["token"])

    def claims(text: str) -> dict[str, Any]:
        key = keys[jwt.get_unverified_header(text)["kid"]].key
        verified: dict[str, Any] = jwt.decode(
            text, key, algorithms=issuer["algorithms"], audience=issuer["audiences"], issuer=issuer["issuer"]
        )
        return verified

    verified = claims(await token("switchyard"))
    assert verified["sub"] == f"system:serviceaccount:{namespace}:agent"
    assert verified["kubernetes.io"]["namespace"] == namespace
    with pytest.raises(jwt.InvalidAudienceError):
        claims(await token("https://kubernetes.default.svc"))
    await operator.idle()
    versions = await main.children.versions()
    await client.create(GATEWAYS, namespace, gateway("other", "one", auth=auth))
    await Children(client, namespace, "other").serve("http://one.example/mcp")
    assert await main.children.versions() == versions


async def test_a_rotated_token_arrives(operator: Replica, client: Client, namespace: str, main: Gateway) -> None:
    """A Secret's new value is a new revision and a new file; nothing is left of the old one."""
    await client.create(SECRETS, namespace, credential("ci", "old"))
    await client.create(GATEWAYS, namespace, gateway("main", "one", auth={"tokens": [CI]}, visibility=RULES))
    await main.lets_in("ci")
    before = (await main.children.config() or {})["authentication"]["tokens"][0]
    await client.patch(SECRETS, namespace, "ci", {"data": credential("ci", "new")["data"]})

    async def rotated() -> bool:
        return await main.children.credentials() == {b"new"}

    await eventually(rotated, SOON_S)
    after = (await main.children.config() or {})["authentication"]["tokens"][0]
    assert after["credential"]["revision"] != before["credential"]["revision"]
    assert after["claims"] == before["claims"] == {"groups": ["ci"]}


@pytest.mark.parametrize("revoke", ["unlabelled", "deleted"])
async def test_a_revoked_token_goes_within_ten_seconds(
    operator: Replica, client: Client, namespace: str, main: Gateway, revoke: str
) -> None:
    """Others stay; with the last one nobody is let in, the section and the rules stay, and the status says why."""
    for name in ("ci", "other"):
        await client.create(SECRETS, namespace, credential(name, f"token-of-{name}"))
    await client.create(GATEWAYS, namespace, gateway("main", "one", auth={"tokens": [CI, OTHER]}, visibility=RULES))
    await main.lets_in("ci", "other")
    await main.says(Programmed="True Programmed", Ready="True Ready")

    async def take(name: str) -> None:
        if revoke == "deleted":
            await client.delete(SECRETS, namespace, name)
        else:
            label = {"metadata": {"labels": {"switchyard.dev/credential": None}}}
            await client.patch(SECRETS, namespace, name, label)

    reason = "SecretNotFound" if revoke == "deleted" else "SecretNotLabelled"
    await take("ci")
    await main.lets_in("other", within_s=REVOKED_WITHIN_S)
    await main.says(ResolvedRefs=f"False {reason}", Programmed="True Programmed", Ready="True Degraded")
    await take("other")
    await main.lets_in(within_s=REVOKED_WITHIN_S)
    await main.says(ResolvedRefs=f"False {reason}", Programmed="False NobodyAdmitted", Ready="False NobodyAdmitted")
    await operator.idle()
    config = await main.children.config() or {}
    assert (await main.children.credentials(), config["visibility"]["default"]) == (set(), "Deny")
    assert config["requires"] == ["authentication", "visibility"]
    await client.apply(SECRETS, namespace, {"apiVersion": "v1"} | credential("ci", "again"), force=True)
    await main.lets_in("ci")
    assert await main.children.credentials() == {b"again"}


async def test_a_gateway_whose_secret_is_not_shown_is_never_open(
    operator: Replica, client: Client, namespace: str, main: Gateway
) -> None:
    """From the first config on there is a section: at no moment is there one without."""
    await client.create(SECRETS, namespace, credential("ci", "s3cret", labelled=False))
    await client.create(GATEWAYS, namespace, gateway("main", "one", auth={"tokens": [CI]}))
    await main.says(
        Programmed="False NobodyAdmitted", ResolvedRefs="False SecretNotLabelled", Stalled="True NobodyAdmitted"
    )
    assert (await main.names(), await main.issuers(), await main.children.credentials()) == ([], [], set())


async def test_an_open_gateway_that_is_to_be_guarded_is_not_open_any_more(
    operator: Replica, client: Client, namespace: str, main: Gateway
) -> None:
    """Whatever is wrong with the way in: one that does not resolve, and one that the API server lets by and no model reads."""
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await main.is_open()
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"auth": {"tokens": [CI]}}})
    await main.lets_in()
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"auth": None}})
    await main.is_open()
    keys = {"issuer": "https://login.example", "audiences": ["a"], "jwks": "no JSON"}
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"auth": {"jwt": [keys]}}})
    await main.lets_in()
    await main.children.serve()
    await main.says(Accepted="False Invalid")


async def test_without_permission_service_accounts_are_not_let_in(
    api_server: ApiServer, client: Client, namespace: str, main: Gateway
) -> None:
    """Where even Kubernetes' own role for it is taken away the gateway is closed and says so, and opens when the permission comes."""
    default = await client.get(CLUSTER_ROLE_BINDINGS, None, "system:service-account-issuer-discovery")
    values = {
        "fullnameOverride": "unpermitted",
        "namespaces": [namespace],
        "rbac": {"clusterInformation": False},
        "operator": {"leaseName": namespace},
    }
    token = await operators_token(client, values, "unpermitted-operator")

    async def permit(subjects: list[Any]) -> None:
        name = "system:service-account-issuer-discovery"
        await client.patch(CLUSTER_ROLE_BINDINGS, None, name, {"subjects": subjects})

    async def is_refused() -> bool:
        try:
            await client.using(token).request("GET", "/.well-known/openid-configuration")
        except RefusedError:
            return True
        return False

    await permit([])
    try:
        await eventually(is_refused, SOON_S)
        flags = (f"--lease-namespace={NAMESPACE}", f"--lease-name={namespace}", "--probes=Disabled")
        async with replica(api_server.kubeconfig(token), *flags, namespace=namespace) as operator:
            auth = {"kubernetes": {"audiences": ["switchyard"]}}
            await client.create(GATEWAYS, namespace, gateway("main", "one", auth=auth))
            await main.says(ResolvedRefs="False IssuerUnknown", Programmed="False NobodyAdmitted")
            assert (await main.names(), await main.issuers()) == ([], [])
            await operator.says("service_account_issuer_not_read")
            await permit(default["subjects"])
            await main.says(Programmed="True Programmed", Ready="True Ready")
            assert [each["issuer"] for each in await main.issuers()] == ["https://kubernetes.default.svc"]
    finally:
        await permit(default["subjects"])


async def test_a_forwarding_backend_says_for_whom_tokens_are_made(
    operator: Replica, client: Client, namespace: str, main: Gateway
) -> None:
    """Without an audience a gateway that knows its callers leaves it out; the operator itself never asks it."""
    await client.create(BACKENDS, namespace, backend("theirs", auth={"type": "Forward"}))
    await client.create(SECRETS, namespace, credential("ci", "s3cret"))
    await client.create(GATEWAYS, namespace, gateway("main", "one", "theirs", auth={"tokens": [CI]}))
    await main.children.serve("http://one.example/mcp", None)
    await main.says(ResolvedRefs="False ForwardWithoutAudience", Ready="True Degraded")
    audiences = {"spec": {"auth": {"audiences": ["https://theirs.example"]}}}
    await client.patch(BACKENDS, namespace, "theirs", audiences)
    await main.children.serve("http://one.example/mcp", "http://theirs.example/mcp")
    await main.says(Ready="True Ready")
    assert await found(client.get(BACKENDS, namespace, "theirs")) is not None
