"""A gateway that runs by itself: replicas behind a Service, which clients do not have to tell apart, and which come and go unnoticed."""

import json
from pathlib import Path
from typing import Any, Final

from e2e.agent import client, eventually, names
from e2e.conftest import MANIFESTS
from e2e.kind import Cluster
from integration.matrix.programs import Process

READY_S: Final = 120
PROMISE_S: Final = 2.0
"""What users are promised between `kubectl apply` and the list of a running sidecar."""
URL: Final = "http://switchyard-main:8811/mcp"
TOOLS: Final = {"modern__echo", "legacy__echo"}

CLIENT: Final = """
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  containers:
  - {name: app, image: localhost/switchyard-counterparts:e2e, command: [sleep, infinity]}
"""
GATEWAY: Final = """
apiVersion: switchyard.dev/v1alpha1
kind: MCPGateway
metadata: {name: main}
spec:
  mode: Deployment
  backends:
  - {name: modern}
  - {name: legacy}
"""

SESSION: Final = """
import json, sys
import httpx

def post(url, session, **message):
    headers = {"Accept": "application/json, text/event-stream"} | ({"Mcp-Session-Id": session} if session else {})
    return httpx.post(url, json={"jsonrpc": "2.0", **message}, headers=headers, timeout=20)

first, second = sys.argv[1:]
asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "e2e", "version": "0"}}
session = post(first, None, id=1, method="initialize", params=asked).headers["mcp-session-id"]
post(first, session, method="notifications/initialized")
listed = post(second, session, id=2, method="tools/list")
foreign = post(second, session[:-4] + "AAAA", id=3, method="tools/list")
print(json.dumps([listed.status_code, [each["name"] for each in listed.json().get("result", {}).get("tools", ())], foreign.status_code]))
"""
"""Begins a legacy session at one address and goes on at another."""

LISTS: Final = """
import json, sys, threading, time
import httpx

url, over = sys.argv[1], threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "e2e", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {}}
headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
print(json.dumps("begins"), flush=True)
done, failures = 0, []
with httpx.Client(timeout=20) as kept:
    while not over.is_set():
        for post in (kept.post, httpx.post):
            try:
                answer = post(url, json=body, headers=headers)
                found = {each["name"] for each in answer.json()["result"]["tools"]}
                if not {"modern__echo", "legacy__echo"} <= found:
                    failures.append(sorted(found))
            except Exception as error:
                failures.append(repr(error))
            done += 1
        time.sleep(0.02)
print(json.dumps([done, failures]), flush=True)
"""
"""Lists again and again, on a connection that is kept and on new ones, until it is told that it is over."""

LEADS: Final = """
import socket, time
for attempt in range(100):
    try:
        socket.create_connection(("switchyard-main", 8811), 1).close()
        break
    except OSError:
        time.sleep(0.1)
else:
    raise SystemExit("the Service leads nowhere")
"""
"""Waits until the Service leads somewhere: its first endpoint is ready before kube-proxy has heard of it."""


def _deployed(cluster: Cluster, namespace: str) -> None:
    cluster.apply(MANIFESTS / "servers.yaml", namespace=namespace)
    cluster.apply(CLIENT, namespace=namespace)
    # The servers first: a replica that meets none of them tries again only after a while.
    cluster.kubectl("rollout", "status", "deployment", "-n", namespace, f"--timeout={READY_S}s")
    cluster.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    cluster.apply(GATEWAY, namespace=namespace)
    for waited in ("pod/client", "mcpgateway/main"):
        cluster.kubectl("wait", waited, "-n", namespace, "--for=condition=Ready", f"--timeout={READY_S}s")
    cluster.kubectl("exec", "client", "-n", namespace, "--", "/mcp1/bin/python", "-c", LEADS)


def _replicas(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    selector = "switchyard.dev/deployment-of=main"
    listed = json.loads(cluster.kubectl("get", "pods", "-n", namespace, "-l", selector, "-o", "json"))
    return [each for each in listed["items"] if "deletionTimestamp" not in each["metadata"]]


def _restarts(pods: list[dict[str, Any]]) -> dict[str, int]:
    """How often each has been started anew, by uid."""
    return {each["metadata"]["uid"]: each["status"]["containerStatuses"][0]["restartCount"] for each in pods}


def _counted(cluster: Cluster, namespace: str) -> Any:
    return cluster.get("mcpgateway", "main", namespace)["status"].get("pods")


def test_two_replicas_serve_clients_through_the_service(operator: Cluster, namespace: str, tmp_path: Path) -> None:
    """SDK clients of both eras list and call; a change of config arrives everywhere in time, and no replica is restarted for it."""
    _deployed(operator, namespace)
    before = _replicas(operator, namespace)
    assert len(before) == 2
    assert not any("switchyard.dev/gateway" in each["metadata"]["labels"] for each in before)
    for era in ("modern", "legacy"):
        with client(operator, namespace, era, tmp_path / f"{era}.log", pod="client", url=URL) as connection:
            eventually(lambda: names(connection), lambda seen: set(seen) >= TOOLS, within_s=10)
            said = connection.client.call("modern__echo", text=era)
            assert said["content"] == [{"type": "text", "text": era}]
    current = {"attached": 2, "current": 2, "unknown": 0}
    eventually(lambda: _counted(operator, namespace), lambda seen: seen == current, within_s=30)

    addresses = [f"http://{each['status']['podIP']}:8811/mcp" for each in before]
    alias = """
        {apiVersion: switchyard.dev/v1alpha1, kind: MCPToolAlias, metadata: {name: say},
         spec: {backendRef: {name: legacy}, tool: echo, alias: say}}"""
    logs = tmp_path / "one.log", tmp_path / "other.log"
    with (
        client(operator, namespace, "modern", logs[0], pod="client", url=addresses[0]) as one,
        client(operator, namespace, "modern", logs[1], pod="client", url=addresses[1]) as other,
    ):
        operator.apply(alias, namespace=namespace)
        for connection in (one, other):
            eventually(lambda: names(connection), lambda seen: "say" in seen, within_s=PROMISE_S)  # noqa: B023
    assert _restarts(_replicas(operator, namespace)) == _restarts(before)


def test_a_legacy_session_goes_on_at_another_replica(operator: Cluster, namespace: str) -> None:
    """They sign sessions with one key; a session that none of them has signed is unknown to both."""
    _deployed(operator, namespace)
    addresses = [f"http://{each['status']['podIP']}:8811/mcp" for each in _replicas(operator, namespace)]
    for first, second in (addresses, list(reversed(addresses))):

        def said(first: str = first, second: str = second) -> Any:
            command = ("exec", "client", "-n", namespace, "--", "/mcp1/bin/python", "-c", SESSION, first, second)
            status, listed, foreign = json.loads(operator.kubectl(*command))
            assert (status, foreign) == (200, 404)
            return listed

        # Replicas may have started before the servers' addresses led anywhere, and try those again after a while.
        eventually(said, lambda listed: set(listed) >= TOOLS, within_s=30)


def test_replicas_are_replaced_without_a_failed_list(operator: Cluster, namespace: str, tmp_path: Path) -> None:
    """`kubectl rollout restart`, which nobody undoes, and another number by `kubectl scale`, while clients list all the time."""
    _deployed(operator, namespace)
    before = _replicas(operator, namespace)
    command = operator.command(
        "exec", "-i", "client", "-n", namespace, "--", "/mcp1/bin/python", "-u", "-c", LISTS, URL
    )
    listing = Process(command, tmp_path / "lists.log")
    try:
        said = listing.lines()
        assert next(said) == "begins"
        deployment = ("deployment/switchyard-main", "-n", namespace)
        operator.kubectl("scale", *deployment, "--replicas=3")
        operator.kubectl("rollout", "restart", *deployment)
        operator.kubectl("rollout", "status", *deployment, f"--timeout={READY_S}s")
        uids = {each["metadata"]["uid"] for each in before}
        eventually(
            lambda: {each["metadata"]["uid"] for each in _replicas(operator, namespace)},
            lambda seen: len(seen) == 3 and not seen & uids,
            within_s=READY_S,
        )
        operator.kubectl("scale", *deployment, "--replicas=1")
        eventually(lambda: len(_listed(operator, namespace)), lambda seen: seen == 1, within_s=READY_S)
        listing.write("over")
        done, failures = next(said)
    finally:
        listing.close()
    assert failures == []
    assert done > 100


def test_a_gateway_goes_back_to_sidecars(operator: Cluster, namespace: str) -> None:
    """Nothing of its Deployment is left, and the gateway is ready as it is then."""
    _deployed(operator, namespace)
    patch = '{"spec": {"mode": "Sidecar"}}'
    operator.kubectl("patch", "mcpgateway", "main", "-n", namespace, "--type=merge", "-p", patch)
    kinds = "deployments,services,poddisruptionbudgets,replicasets,pods"
    selector = "switchyard.dev/deployment-of=main"
    eventually(
        lambda: operator.kubectl("get", kinds, "-n", namespace, "-l", selector, "-o", "name").split(),
        lambda seen: seen == [],
        within_s=READY_S,
    )
    operator.kubectl("wait", "mcpgateway/main", "-n", namespace, "--for=condition=Ready", f"--timeout={READY_S}s")


def _listed(cluster: Cluster, namespace: str) -> list[str]:
    """All pods of the Deployment, those that are going among them."""
    selector = "switchyard.dev/deployment-of=main"
    return cluster.kubectl("get", "pods", "-n", namespace, "-l", selector, "-o", "name").split()
