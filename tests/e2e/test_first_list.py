"""From `kubectl apply` to a running sidecar's list: the operator, the kubelet, the sidecar and SDK clients, all real."""

import base64
from pathlib import Path

from e2e.agent import client, eventually, names
from e2e.conftest import MANIFESTS
from e2e.kind import Cluster

PROMISE_S = 2.0
"""What users are promised between `kubectl apply` and the list of a running sidecar."""
WITHDRAWN_S = 30.0
"""Garbage collection takes the ConfigMap, the kubelet the file; then a sidecar waits 10 s, lest a mistake empties it at once."""


def _ready(cluster: Cluster, namespace: str) -> None:
    cluster.apply(MANIFESTS / "servers.yaml", namespace=namespace)
    cluster.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    cluster.apply(MANIFESTS / "agent.yaml", namespace=namespace)
    cluster.kubectl("rollout", "status", "deployment", "-n", namespace, "--timeout=120s")
    cluster.kubectl("wait", "pod/agent", "-n", namespace, "--for=condition=Ready", "--timeout=90s")


def test_a_pods_sidecar_lists_servers_of_both_eras_to_clients_of_both(
    operator: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Two real servers, two real clients; every change shows within the promise, and subscribers are told of it."""
    _ready(operator, namespace)
    with (
        client(operator, namespace, "modern", tmp_path / "modern.log") as modern,
        client(operator, namespace, "legacy", tmp_path / "legacy.log") as legacy,
    ):
        assert (modern.info["version"], legacy.info["version"]) == ("2026-07-28", "2025-11-25")
        eventually(lambda: names(modern), lambda seen: {"modern__echo", "legacy__echo"} <= set(seen), within_s=10)
        assert names(legacy) == names(modern)
        told = modern.client.start("listen"), legacy.client.start("listen")
        for subscription in told:
            subscription.result()

        alias = """
            {apiVersion: switchyard.dev/v1alpha1, kind: MCPToolAlias, metadata: {name: say},
             spec: {backendRef: {name: legacy}, tool: echo, alias: say}}"""
        operator.apply(alias, namespace=namespace)
        eventually(lambda: names(modern), lambda seen: "say" in seen and "legacy__echo" not in seen, within_s=PROMISE_S)
        assert [each.event().name for each in told] == ["list_changed", "list_changed"]
        assert modern.client.call("say", text="hello")["content"] == [{"type": "text", "text": "hello"}]

        operator.kubectl(
            "patch",
            "mcpbackend",
            "modern",
            "-n",
            namespace,
            "--type=merge",
            "-p",
            '{"spec": {"tools": {"exclude": ["add"]}}}',
        )
        eventually(lambda: names(legacy), lambda seen: "modern__add" not in seen, within_s=PROMISE_S)
        assert [each.event().name for each in told] == ["list_changed", "list_changed"]

        operator.kubectl("delete", "mcpgateway", "main", "-n", namespace)
        eventually(lambda: names(modern), lambda seen: seen == [], within_s=WITHDRAWN_S)


def test_a_rotated_secret_reaches_the_sidecar(operator: Cluster, namespace: str, tmp_path: Path) -> None:
    """The server wants the second token; the tools are there within the promise once the Secret holds it."""
    _ready(operator, namespace)
    first, second = (base64.b64encode(token).decode() for token in (b"first", b"second"))
    operator.apply(
        f"""
apiVersion: v1
kind: Secret
metadata: {{name: locked, labels: {{switchyard.dev/credential: "true"}}}}
data: {{token: {first}}}
---
apiVersion: switchyard.dev/v1alpha1
kind: MCPBackend
metadata: {{name: locked}}
spec:
  service: {{name: locked, port: 80}}
  hostHeader: localhost:8000
  auth: {{type: Bearer, secretKeyRef: {{name: locked, key: token}}}}
""",
        namespace=namespace,
    )
    operator.kubectl(
        "patch", "mcpgateway", "main", "-n", namespace, "--type=json",
        "-p", '[{"op": "add", "path": "/spec/backends/-", "value": {"name": "locked"}}]',
    )  # fmt: skip
    with client(operator, namespace, "modern", tmp_path / "modern.log") as modern:
        eventually(lambda: names(modern), lambda seen: "modern__echo" in seen, within_s=10)
        assert "locked__echo" not in names(modern)
        operator.kubectl(
            "patch", "secret", "locked", "-n", namespace, "--type=merge", "-p", f'{{"data": {{"token": "{second}"}}}}'
        )
        eventually(lambda: names(modern), lambda seen: "locked__echo" in seen, within_s=PROMISE_S)
