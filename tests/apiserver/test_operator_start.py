"""How the operator starts and what it needs: before its kinds are there, with no more permissions than it is given."""

import asyncio
import subprocess
from pathlib import Path

import aiohttp
import pytest

from apiserver.charted import operators_rules, operators_token
from apiserver.client import BACKENDS, GATEWAYS, SECRETS, SERVICE_ACCOUNTS, Client
from apiserver.conftest import CRDS
from apiserver.declared import Children, backend, bearer, credential, gateway
from apiserver.replica import OPERATOR, START_S, replica
from apiserver.server import ApiServer
from chart.helm import NAMESPACE


async def test_it_may_start_before_its_kinds(api_server: ApiServer, tmp_path: Path) -> None:
    """Without the CRDs it waits, alive and not ready; once they are there it does its work."""
    server = ApiServer(api_server.assets, tmp_path)
    try:
        await asyncio.to_thread(server.start)
        async with aiohttp.ClientSession() as http, replica(server.kubeconfig()) as operator:
            await operator.says("waiting_for_kinds")
            assert (await operator.answers("/healthz")) == (200, "ok\n")
            assert (await operator.answers("/readyz"))[0] == 503
            client = Client(server, http)
            await client.install_crds(CRDS)
            await client.create(BACKENDS, "default", backend("one"))
            await client.create(GATEWAYS, "default", gateway("main", "one"))
            await Children(client, "default", "main").serve("http://one.example/mcp")
            assert (await operator.answers("/readyz"))[0] == 200
    finally:
        server.close()


async def test_its_permissions_are_enough(api_server: ApiServer, client: Client, namespace: str) -> None:
    """With the permissions that the chart gives it, and no others, everything is done and nothing is refused."""
    token = await operators_token(client)
    children = Children(client, namespace, "main")
    async with replica(api_server.kubeconfig(token), f"--lease-namespace={NAMESPACE}") as operator:
        await client.create(SECRETS, namespace, credential("token", "s3cret"))
        await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
        await client.create(GATEWAYS, namespace, gateway("main", "one"))
        await children.serve("http://one.example/mcp")
        await operator.idle()
        assert [line for line in operator.said if "orbidden" in str(line)] == []


async def test_namespaces_that_may_not_be_seen_admit_nobody(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    """Without permission to see namespaces their labels select nothing, whatever they are; all else works."""
    lacking = [rule for rule in operators_rules() if rule.get("resources") != ["namespaces"]]
    token = await client.new_account(namespace, "operator", lacking)
    agents = await client.new_namespace(labels={"team": "a"})
    selected = {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}
    await client.create(BACKENDS, namespace, backend("chosen", allowedNamespaces=selected))
    await client.create(BACKENDS, namespace, backend("open", allowedNamespaces={"from": "All"}))
    entries = [{"name": name, "namespace": namespace} for name in ("chosen", "open")]
    await client.create(GATEWAYS, agents, gateway("main", *entries))
    async with replica(api_server.kubeconfig(token), f"--lease-namespace={namespace}") as operator:
        await Children(client, agents, "main").serve(None, "http://open.example/mcp")
        await operator.says("namespaces_not_seen")


async def test_a_token_that_is_refused_is_read_anew(api_server: ApiServer, client: Client, namespace: str) -> None:
    """Tokens are replaced while the operator runs; it goes on with the one that its configuration holds now."""
    old, new = [await client.new_account(namespace, name, operators_rules()) for name in ("old", "new")]
    kubeconfig, renewed = api_server.kubeconfig(old), api_server.kubeconfig(new)
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    children = Children(client, namespace, "main")
    async with replica(kubeconfig, namespace=namespace) as operator:
        await children.serve("http://one.example/mcp")
        renewed.replace(kubeconfig)
        await client.delete(SERVICE_ACCOUNTS, namespace, "old")
        await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
        await children.serve("http://moved.example/mcp")
        await operator.idle()


async def test_no_way_to_an_api_server_is_said(tmp_path: Path) -> None:
    """A configuration that cannot be used ends with status 2 and one line that names it."""
    missing = tmp_path / "kubeconfig"
    done = await _finished(f"--kubeconfig={missing}")
    assert done.returncode == 2
    assert done.stderr == f"switchyard-operator: no access to an API server: there is no {missing}\n"


@pytest.mark.parametrize("flag", ["--health=8080", "--lease-duration=0", "--lease-duration=nan", "--workers=0"])
async def test_arguments_that_cannot_be_meant_are_refused(flag: str) -> None:
    """Each ends with status 2, and the flag is named."""
    done = await _finished(flag)
    assert done.returncode == 2
    assert f"argument {flag.partition('=')[0]}" in done.stderr


async def _finished(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the operator to its end."""
    return await asyncio.to_thread(
        subprocess.run, [OPERATOR, *arguments], capture_output=True, text=True, timeout=START_S, check=False
    )
