"""Versions that meet during an upgrade and after a rollback: sidecars stay what they are until their pods are replaced."""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from e2e import older
from e2e.agent import client, eventually, labelled, names
from e2e.conftest import MANIFESTS, SYSTEM
from e2e.kind import Cluster
from e2e.release import CURRENT, RELEASE, Version, helm, install
from integration.matrix.programs import Connection

TAKEN_OVER_S: Final = 30.0
"""The first change after the operator was replaced may wait for the Lease of the one before."""
SOON_S: Final = 10.0
CRDS: Final = ("mcpbackends.switchyard.dev", "mcpgateways.switchyard.dev", "mcptoolaliases.switchyard.dev")

LOCKED: Final = """
apiVersion: switchyard.dev/v1alpha1
kind: MCPBackend
metadata: {name: locked}
spec:
  service: {name: locked, port: 80}
  hostHeader: localhost:8000
  auth: {type: Bearer, secretKeyRef: {name: locked, key: token}}
---
apiVersion: switchyard.dev/v1alpha1
kind: MCPGateway
metadata: {name: main}
spec:
  backends:
  - {name: modern}
  - {name: legacy}
  - {name: locked}
"""


@pytest.fixture
def older_version(operator: Cluster, tmp_path: Path) -> Iterator[Version]:
    """An older version, installed as if there had never been another. The current one is brought back after the test."""
    version = older.bring(operator, tmp_path / "older")
    helm(operator, "uninstall", RELEASE, "--wait")
    operator.kubectl("delete", "namespace", SYSTEM)
    operator.kubectl("delete", "crd", *CRDS)
    try:
        install(operator, version=version)
        yield version
    finally:
        install(operator)


def test_sidecars_heed_operators_of_other_versions(
    older_version: Version, operator: Cluster, namespace: str, tmp_path: Path
) -> None:
    """An older sidecar under the current operator; after a rollback a current one under the older. Changes, rotations and revocations arrive."""
    for manifests in (MANIFESTS / "servers.yaml", MANIFESTS / "resources.yaml", LOCKED, secret("first")):
        operator.apply(manifests, namespace=namespace)
    operator.kubectl("rollout", "status", "deployment", "-n", namespace, "--timeout=120s")
    before = started(operator, namespace, "older")
    assert sidecar(before)["image"] == older_version.sidecar
    with client(operator, namespace, "modern", tmp_path / "older.log", pod="older") as old:
        eventually(lambda: names(old), lambda seen: {"modern__echo", "legacy__echo"} <= set(seen), within_s=SOON_S)

        install(operator)
        heeded(operator, namespace, [old], tool="echo")
        outdated = {"attached": 1, "current": 1, "outdated": 1}
        eventually(
            lambda: operator.get("mcpgateway", "main", namespace)["status"]["pods"],
            lambda seen: outdated.items() <= seen.items(),
            within_s=TAKEN_OVER_S,
        )
        after = started(operator, namespace, "current")
        assert sidecar(after)["image"] == CURRENT.sidecar

        with client(operator, namespace, "modern", tmp_path / "current.log", pod="current") as new:
            eventually(lambda: names(new), lambda seen: set(seen) == set(names(old)), within_s=SOON_S)
            helm(operator, "rollback", RELEASE, "--server-side=true", "--wait")
            (container,) = operator.get("deployment", "switchyard-operator", SYSTEM)["spec"]["template"]["spec"][
                "containers"
            ]
            assert container["image"] == older_version.operator
            heeded(operator, namespace, [old, new], tool="add")
    for each in (before, after):
        now = operator.get("pod", each["metadata"]["name"], namespace)
        assert now["metadata"]["uid"] == each["metadata"]["uid"]
        assert [status["restartCount"] for status in now["status"]["initContainerStatuses"]] == [0]


def heeded(cluster: Cluster, namespace: str, connections: Sequence[Connection], *, tool: str) -> None:
    """See an alias of the legacy server's tool, a rotated credential, and one that is taken back, in every list."""

    def become(fits: Callable[[list[str]], bool], *, within_s: float = SOON_S) -> None:
        for each in connections:
            eventually(partial(names, each), fits, within_s=within_s)

    for each in connections:
        assert "locked__echo" not in names(each)
    cluster.apply(alias(tool), namespace=namespace)
    become(lambda seen: f"my-{tool}" in seen and f"legacy__{tool}" not in seen, within_s=TAKEN_OVER_S)

    cluster.apply(secret("second"), namespace=namespace)
    become(lambda seen: "locked__echo" in seen)
    for each in connections:
        assert each.client.call("locked__echo", text="open")["content"] == [{"type": "text", "text": "open"}]

    cluster.kubectl("label", "secret", "locked", "-n", namespace, "switchyard.dev/credential-")
    become(lambda seen: "locked__echo" not in seen and f"my-{tool}" in seen)
    cluster.apply(secret("first"), namespace=namespace)


def started(cluster: Cluster, namespace: str, name: str) -> dict[str, Any]:
    """A pod with the label and nothing else, as it is when it is ready."""
    cluster.apply(json.dumps(labelled(name)), namespace=namespace)
    cluster.kubectl("wait", f"pod/{name}", "-n", namespace, "--for=condition=Ready", "--timeout=90s")
    return cluster.get("pod", name, namespace)


def sidecar(pod: dict[str, Any]) -> dict[str, Any]:
    """The container that was injected."""
    (found,) = (each for each in pod["spec"]["initContainers"] if each["name"] == "switchyard")
    return dict(found)


def alias(tool: str) -> str:
    """An alias ``my-TOOL`` for a tool of the legacy server."""
    return f"""
        {{apiVersion: switchyard.dev/v1alpha1, kind: MCPToolAlias, metadata: {{name: my-{tool}}},
         spec: {{backendRef: {{name: legacy}}, tool: {tool}, alias: my-{tool}}}}}"""


def secret(token: str) -> str:
    """The credential for the server that answers to the token ``second`` alone."""
    encoded = base64.b64encode(token.encode()).decode()
    return f"""
        {{apiVersion: v1, kind: Secret, metadata: {{name: locked, labels: {{switchyard.dev/credential: "true"}}}},
         data: {{token: {encoded}}}}}"""
