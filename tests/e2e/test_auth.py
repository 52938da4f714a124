"""Who may use a gateway on a real cluster: pods, by the tokens that the kubelet makes for their service accounts.

The gateway's pods learn issuer and keys from nobody but the operator, which reads them from the API server.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.agent import client, eventually, names
from e2e.conftest import MANIFESTS
from e2e.kind import Cluster
from integration.matrix.programs import CallFailedError

READY_S: Final = 120
URL: Final = "http://switchyard-main:8811/mcp"
TOKEN: Final = "/var/run/secrets/switchyard/token"
AGENTS: Final = {"reader": "switchyard", "writer": "switchyard", "stranger": "switchyard", "other": "somebody-else"}
"""Pods by name, each with a service account of that name, and for whom its token is made."""
VIEWS: Final[dict[str, set[str]]] = {"writer": {"echo", "add"}, "reader": {"echo"}, "stranger": set()}
POSTS: Final = """
import json, sys
import httpx

meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "e2e", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {}}
headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
said = []
for token in json.load(sys.stdin):
    presented = {"Authorization": f"Bearer {token}"} if token else {}
    answer = httpx.post(sys.argv[1], json=body, headers=headers | presented, timeout=20)
    said.append([answer.status_code, answer.headers.get("WWW-Authenticate")])
print(json.dumps(said))
"""
"""Asks for the list with each token in turn, and tells status and challenge."""


@pytest.fixture
def guarded(operator: Cluster, namespace: str) -> Cluster:
    """A gateway that asks for tokens, before a real MCP server, and pods that have some."""
    operator.apply(MANIFESTS / "guarded.yaml", namespace=namespace)
    agents = [each for name, audience in AGENTS.items() for each in _agent(name, audience)]
    operator.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": agents}), namespace=namespace)
    for waited in ("mcpgateway/main", *(f"pod/{name}" for name in AGENTS)):
        operator.kubectl("wait", waited, "-n", namespace, "--for=condition=Ready", f"--timeout={READY_S}s")
    return operator


def _agent(name: str, audience: str) -> list[dict[str, Any]]:
    """A service account, and a pod of it that can do nothing with the API server."""
    token = {"path": "token", "audience": audience, "expirationSeconds": 3600}
    container = {
        "name": "app",
        "image": "localhost/switchyard-counterparts:e2e",
        "command": ["sleep", "infinity"],
        "volumeMounts": [{"name": "token", "mountPath": str(Path(TOKEN).parent), "readOnly": True}],
    }
    spec = {
        "serviceAccountName": name,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": token}]}}],
    }
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec},
    ]


def test_pods_are_let_in_by_their_service_accounts(guarded: Cluster, namespace: str, tmp_path: Path) -> None:
    """SDK clients of both eras list, through the Service, what is shown to the account of their pod, and call nothing else."""
    tokens = _tokens(guarded, namespace)
    for era in ("modern", "legacy"):
        for name, view in VIEWS.items():
            log = tmp_path / f"{era}-{name}.log"
            with client(guarded, namespace, era, log, pod=name, url=URL, token=tokens[name]) as connection:
                eventually(lambda: set(names(connection)), lambda seen: seen == view, within_s=30)  # noqa: B023
                if "echo" in view:
                    assert connection.client.call("echo", text=name)["content"] == [{"type": "text", "text": name}]
                with pytest.raises(CallFailedError) as unknown:
                    connection.client.call("fail", reason="it is not shown")
                assert unknown.value.error["code"] == -32602
        for token in (None, tokens["other"]):
            log = tmp_path / f"{era}-refused.log"
            with (
                pytest.raises(CallFailedError),
                client(guarded, namespace, era, log, pod="other", url=URL, token=token),
            ):
                pytest.fail("it was let in")


def test_a_pod_without_a_good_token_is_told_why(guarded: Cluster, namespace: str) -> None:
    """By 401, and by a gateway that knows the keys of this cluster's API server and no others: the operator brought them."""
    tokens = _tokens(guarded, namespace)
    forged = tokens["writer"].rpartition(".")[0] + "." + tokens["reader"].rpartition(".")[2]
    asked = [None, tokens["other"], forged, tokens["reader"]]
    command = ("exec", "-i", "reader", "-n", namespace, "--", "/mcp1/bin/python", "-c", POSTS, URL)
    without, other, strange, good = json.loads(guarded.kubectl(*command, stdin=json.dumps(asked)))
    assert without[0] == 401
    assert "resource_metadata=" in without[1]
    assert "error" not in without[1]
    assert (other[0], "The token is meant for others, not for this gateway" in other[1]) == (401, True)
    assert (strange[0], "The token's signature is wrong" in strange[1]) == (401, True)
    assert good == [200, None]

    config = json.loads(guarded.get("configmap", "switchyard-main", namespace)["data"]["gateway.json"])
    (issuer,) = config["authentication"]["issuers"]
    said = json.loads(guarded.kubectl("get", "--raw", "/.well-known/openid-configuration"))
    published = json.loads(guarded.kubectl("get", "--raw", "/openid/v1/jwks"))
    assert (issuer["issuer"], issuer["audiences"]) == (said["issuer"], ["switchyard"])
    assert {key["kid"] for key in json.loads(issuer["jwks"])["keys"]} == {key["kid"] for key in published["keys"]}


def _tokens(cluster: Cluster, namespace: str) -> dict[str, str]:
    """What the kubelet has put into each pod."""
    return {name: cluster.kubectl("exec", name, "-n", namespace, "--", "cat", TOKEN) for name in AGENTS}
