"""The life of a gateway on a real cluster: what comes in the wrong order, grows large, or loses the operator that leads."""

import base64
import json
import random
import time
from pathlib import Path
from typing import Any, Final

from e2e.agent import client, eventually, names
from e2e.conftest import MANIFESTS, SYSTEM
from e2e.kind import NAME, Cluster, run
from integration.matrix.programs import CallFailedError, Connection

LATE_S: Final = 90.0
"""How long a backend that comes late may count as unreachable: the distance of looks, and the time of one."""
TAKEOVER_S: Final = 20.0
GATEWAYS: Final = 100
SETTLED_S: Final = 6.0
"""The distance of two writes of a status."""
REST_S: Final = 75.0
"""More than the longest distance of two looks at a server."""
NODE: Final = f"{NAME}-control-plane"


def test_what_comes_in_the_wrong_order_is_well_in_the_end(operator: Cluster, namespace: str, tmp_path: Path) -> None:
    """The pod first, then the gateway, the servers last: it works, `kubectl get` says so, and `describe` what was amiss."""
    operator.apply(MANIFESTS / "agent.yaml", namespace=namespace)
    operator.kubectl("wait", "pod/agent", "-n", namespace, "--for=condition=Ready", "--timeout=90s")
    with client(operator, namespace, "modern", tmp_path / "modern.log") as modern:
        assert names(modern) == []
        operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)
        locked = """
            {apiVersion: switchyard.dev/v1alpha1, kind: MCPBackend, metadata: {name: locked},
             spec: {service: {name: locked, port: 80}, auth: {type: Bearer, secretKeyRef: {name: absent, key: token}}}}"""
        operator.apply(locked, namespace=namespace)
        for kind in ("mcpgw/main", "mcpb/modern", "mcpb/legacy"):
            operator.kubectl("wait", kind, "-n", namespace, "--for=condition=Ready", "--timeout=30s")
        eventually(lambda: reachable(operator, namespace), lambda seen: set(seen) == {"False"}, within_s=LATE_S)

        operator.apply(MANIFESTS / "servers.yaml", namespace=namespace)
        operator.kubectl("rollout", "status", "deployment", "-n", namespace, "--timeout=120s")
        eventually(lambda: served(modern), lambda seen: {"modern__echo", "legacy__echo"} <= set(seen), within_s=LATE_S)
        eventually(lambda: reachable(operator, namespace), lambda seen: set(seen) == {"True"}, within_s=LATE_S)

        count = len(names(modern))
        gateway = ["main", "True", "Ready", "2", str(count), "1", "1"]
        eventually(lambda: row(operator, namespace, "mcpgw", "main"), lambda seen: seen == gateway, within_s=LATE_S)
        per_backend = str(count // 2)
        assert row(operator, namespace, "mcpb", "modern") == ["modern", "True", "Ready", "True", "Modern", per_backend]
        assert row(operator, namespace, "mcpb", "legacy") == ["legacy", "True", "Ready", "True", "Legacy", per_backend]
        assert row(operator, namespace, "mcpb", "locked")[:4] == ["locked", "False", "SecretNotFound", "Unknown"]
        described = operator.kubectl("describe", "mcpb", "locked", "-n", namespace)
        (event,) = [line for line in described.splitlines() if line.split()[:2] == ["Warning", "SecretNotFound"]]
        assert f"there is no Secret {namespace}/absent" in event


def test_a_large_config_is_read_in_a_real_pod(operator: Cluster, namespace: str, tmp_path: Path) -> None:
    """Over 900 KiB it is mounted compressed; the sidecar reads it, and the operator hears that it has."""
    operator.apply(MANIFESTS / "servers.yaml", namespace=namespace)
    operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    bulky = [_bulky(f"bulky-{number:02}") for number in range(18)]
    for each in bulky:
        operator.apply(json.dumps(each), namespace=namespace)
    entries = [{"name": name} for name in ("modern", *(each["metadata"]["name"] for each in bulky))]
    patch = json.dumps({"spec": {"backends": entries}})
    operator.kubectl("patch", "mcpgateway", "main", "-n", namespace, "--type=merge", "-p", patch)
    operator.apply(MANIFESTS / "agent.yaml", namespace=namespace)
    operator.kubectl("rollout", "status", "deployment", "-n", namespace, "--timeout=120s")
    operator.kubectl("wait", "pod/agent", "-n", namespace, "--for=condition=Ready", "--timeout=90s")
    held = operator.get("configmap", "switchyard-main", namespace)
    assert (list(held["binaryData"]), "data" in held) == (["gateway.json.gz"], False)
    with client(operator, namespace, "modern", tmp_path / "modern.log") as modern:
        eventually(lambda: names(modern), lambda seen: "modern__echo" in seen, within_s=LATE_S)
    counts = {"attached": 1, "current": 1, "unknown": 0}
    eventually(
        lambda: operator.get("mcpgateway", "main", namespace)["status"]["pods"],
        lambda seen: counts.items() <= seen.items(),
        within_s=LATE_S,
    )


def test_another_replica_takes_over_within_twenty_seconds(operator: Cluster, namespace: str) -> None:
    """The leader's process is killed, as by the kernel; with the lease's ordinary times a change made then is written in time."""
    operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    operator.kubectl("wait", "mcpgw/main", "-n", namespace, "--for=condition=Ready", "--timeout=30s")
    before = holder(operator)
    kill(operator, before.rpartition("_")[0])
    began = time.monotonic()
    patch = '{"spec": {"instructions": "written by another"}}'
    operator.kubectl("patch", "mcpgateway", "main", "-n", namespace, "--type=merge", "-p", patch)
    eventually(
        lambda: operator.get("configmap", "switchyard-main", namespace)["data"]["gateway.json"],
        lambda seen: "written by another" in seen,
        within_s=TAKEOVER_S,
    )
    assert time.monotonic() - began <= TAKEOVER_S
    assert holder(operator) != before


def test_at_rest_nothing_is_written(operator: Cluster, namespace: str) -> None:
    """A hundred gateways of servers that are looked at, which happens in this minute too: not one object has another version after it."""
    operator.apply(MANIFESTS / "servers.yaml", namespace=namespace)
    operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    operator.apply(MANIFESTS / "agent.yaml", namespace=namespace)
    gateways = [_gateway(f"gateway-{number:02}") for number in range(GATEWAYS - 1)]
    operator.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": gateways}), namespace=namespace)
    operator.kubectl("wait", "pod/agent", "-n", namespace, "--for=condition=Ready", "--timeout=90s")

    assert len(_all(operator, namespace, "mcpgateways")) == GATEWAYS

    def settled() -> bool:
        before = written(operator, namespace)
        time.sleep(SETTLED_S)
        counts = [each["status"].get("tools") for each in _all(operator, namespace, "mcpgateways")]
        return None not in counts and written(operator, namespace) == before

    eventually(settled, bool, within_s=LATE_S)
    before = written(operator, namespace)
    time.sleep(REST_S)
    assert written(operator, namespace) == before


def written(cluster: Cluster, namespace: str) -> dict[str, str]:
    """What the operator has written: versions of objects, events of its own, and the annotation of pods, which kubelets write too."""
    kinds = "mcpgateways,mcpbackends,mcptoolaliases,configmaps,secrets"
    found = {
        f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for each in _all(cluster, namespace, kinds)
    }
    for each in _all(cluster, namespace, "events.events.k8s.io"):
        if each["reportingController"] == "switchyard.dev/operator":
            found[f"Event {each['metadata']['name']}"] = each["metadata"]["resourceVersion"]
    for each in _all(cluster, namespace, "pods"):
        found[f"Pod {each['metadata']['name']}"] = (
            each["metadata"].get("annotations", {}).get("switchyard.dev/config-hash", "")
        )
    return found


def served(connection: Connection) -> list[str]:
    """What the list holds; nothing while no backend has answered, which clients are told as an error."""
    try:
        return names(connection)
    except CallFailedError:
        return []


def reachable(cluster: Cluster, namespace: str) -> list[str]:
    """What the two backends that are to answer are said to do."""
    return [
        condition["status"]
        for name in ("modern", "legacy")
        for condition in cluster.get("mcpbackend", name, namespace)["status"]["conditions"]
        if condition["type"] == "Reachable"
    ]


def row(cluster: Cluster, namespace: str, kind: str, name: str) -> list[str]:
    """What `kubectl get` shows of one object, but for its age."""
    return cluster.kubectl("get", kind, name, "-n", namespace, "--no-headers").split()[:-1]


def holder(cluster: Cluster) -> str:
    """The replica that leads: its pod's name and something random."""
    return str(cluster.get("lease", "switchyard-operator", SYSTEM)["spec"]["holderIdentity"])


def kill(cluster: Cluster, pod: str) -> None:
    """End a pod's process from its node; inside, it is the first process, which nobody there can kill."""
    (status,) = cluster.get("pod", pod, SYSTEM)["status"]["containerStatuses"]
    container = status["containerID"].rpartition("/")[2]
    template = ("--output", "go-template", "--template", "{{.info.pid}}")
    process = run("docker", "exec", NODE, "crictl", "inspect", *template, container).strip()
    run("docker", "exec", NODE, "kill", "-KILL", process)


def _all(cluster: Cluster, namespace: str, kinds: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cluster.kubectl("get", kinds, "-n", namespace, "-o", "json"))["items"]
    return found


def _gateway(name: str) -> dict[str, Any]:
    spec = {"backends": [{"name": "modern"}, {"name": "legacy"}]}
    return {"apiVersion": "switchyard.dev/v1alpha1", "kind": "MCPGateway", "metadata": {"name": name}, "spec": spec}


def _bulky(name: str) -> dict[str, Any]:
    """A backend with 64 KiB of patterns that hardly compress, at an address where nobody is."""
    source = random.Random(name)
    patterns = [base64.b64encode(source.randbytes(192)).decode() for _ in range(256)]
    spec = {"service": {"name": name, "port": 80}, "tools": {"include": patterns}}
    return {"apiVersion": "switchyard.dev/v1alpha1", "kind": "MCPBackend", "metadata": {"name": name}, "spec": spec}
