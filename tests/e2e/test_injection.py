"""Pods that say nothing but a label, on a real cluster: the webhook, the kubelet, Jobs, Pod Security, and days on which something is away."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.agent import RESTRICTED, client, eventually, labelled, names
from e2e.conftest import MANIFESTS
from e2e.images import COUNTERPARTS, SIDECAR
from e2e.kind import NAME, Cluster, CommandError
from e2e.release import RELEASE, SYSTEM

SOON_S: Final = 30.0
MOUNTED_S: Final = 150.0
"""The most that a kubelet may take to bring a changed Secret to a running pod."""
NODE: Final = f"{NAME}-control-plane"


def connecting(name: str) -> dict[str, Any]:
    """A container that ends well only where the gateway listens already."""
    connect = "import socket; socket.create_connection(('127.0.0.1', 8811), 5)"
    command = ["/mcp2/bin/python", "-c", connect]
    return {"name": name, "image": COUNTERPARTS, "command": command, "securityContext": RESTRICTED}


def _restricted(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")


def _served(cluster: Cluster, namespace: str) -> None:
    cluster.apply(MANIFESTS / "servers.yaml", namespace=namespace)
    cluster.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    cluster.kubectl("rollout", "status", "deployment", "-n", namespace, "--timeout=120s")


def _ready(cluster: Cluster, namespace: str, pod: str = "agent") -> dict[str, Any]:
    cluster.kubectl("wait", f"pod/{pod}", "-n", namespace, "--for=condition=Ready", "--timeout=90s")
    return cluster.get("pod", pod, namespace)


def _sidecars(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in pod["spec"].get("initContainers", []) if each["name"] == "switchyard"]


def _gateway(cluster: Cluster, namespace: str) -> tuple[dict[str, int], str | None]:
    """What the gateway's status says of its pods: counts, and the reason of ``Injected``."""
    status = cluster.get("mcpgw", "main", namespace).get("status", {})
    reasons = {each["type"]: each["reason"] for each in status.get("conditions", [])}
    return status.get("pods", {}), reasons.get("Injected")


def test_a_label_is_all_that_a_pod_needs(operator: Cluster, namespace: str, tmp_path: Path) -> None:
    """In a namespace that admits only what is *restricted*: both eras list the tools of both servers, and an alias shows at once."""
    _served(operator, namespace)
    _restricted(operator, namespace)
    operator.apply(json.dumps(labelled()), namespace=namespace)
    pod = _ready(operator, namespace)
    (sidecar,) = _sidecars(pod)
    assert sidecar["image"] == SIDECAR
    assert pod["status"]["qosClass"] == "BestEffort"
    with (
        client(operator, namespace, "modern", tmp_path / "modern.log") as modern,
        client(operator, namespace, "legacy", tmp_path / "legacy.log") as legacy,
    ):
        eventually(lambda: names(modern), lambda seen: {"modern__echo", "legacy__echo"} <= set(seen), within_s=10)
        assert names(legacy) == names(modern)
        alias = """
            {apiVersion: switchyard.dev/v1alpha1, kind: MCPToolAlias, metadata: {name: say},
             spec: {backendRef: {name: legacy}, tool: echo, alias: say}}"""
        operator.apply(alias, namespace=namespace)
        eventually(lambda: names(modern), lambda seen: "say" in seen, within_s=2)
    current = {"attached": 1, "current": 1, "unknown": 0}
    eventually(lambda: _gateway(operator, namespace), lambda seen: seen == (current, "Injected"), within_s=SOON_S)


def test_the_sidecar_holds_nothing_of_the_pod(operator: Cluster, namespace: str) -> None:
    """Least of all the token of its service account, which other containers have."""
    operator.apply(json.dumps(labelled()), namespace=namespace)
    _ready(operator, namespace)
    token = "/var/run/secrets/kubernetes.io/serviceaccount"
    there = operator.kubectl("exec", "agent", "-n", namespace, "-c", "app", "--", "ls", token)
    assert "token" in there
    look = f"import os; print(os.path.exists({token!r}) and os.listdir({token!r}))"
    said = operator.kubectl(
        "exec", "agent", "-n", namespace, "-c", "switchyard", "--", "/opt/switchyard/bin/python", "-c", look
    )
    assert "token" not in said


def test_a_pod_keeps_its_class(operator: Cluster, namespace: str) -> None:
    """As the API server finds it, for each of the three, and with resources for the pod as a whole."""
    small = {"cpu": "50m", "memory": "64Mi"}
    for name, resources, expected in (
        ("best-effort", {}, "BestEffort"),
        ("burstable", {"requests": small}, "Burstable"),
        ("guaranteed", {"limits": small}, "Guaranteed"),
    ):
        pod = labelled(name)
        pod["spec"]["containers"][0]["resources"] = resources
        operator.apply(json.dumps(pod), namespace=namespace)
        found = _ready(operator, namespace, name)
        assert len(_sidecars(found)) == 1
        assert found["status"]["qosClass"] == expected


def test_init_containers_can_use_the_gateway_and_a_job_ends(operator: Cluster, namespace: str) -> None:
    """The sidecar starts before them, and ends when the Job's own container has."""
    _restricted(operator, namespace)
    template = labelled()
    template["spec"] |= {"initContainers": [connecting("before")], "containers": [connecting("app")]}
    template["spec"]["restartPolicy"] = "Never"
    template["metadata"] = {"labels": template["metadata"]["labels"]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job"},
        "spec": {"backoffLimit": 0, "template": {"metadata": template["metadata"], "spec": template["spec"]}},
    }
    operator.apply(json.dumps(job), namespace=namespace)
    operator.kubectl("wait", "job/job", "-n", namespace, "--for=condition=Complete", "--timeout=90s")


def test_a_pod_may_come_before_its_gateway(operator: Cluster, namespace: str, tmp_path: Path) -> None:
    """It is ready with an empty list, and is not restarted for what comes."""
    operator.apply(json.dumps(labelled()), namespace=namespace)
    _ready(operator, namespace)
    with client(operator, namespace, "modern", tmp_path / "modern.log") as modern:
        assert names(modern) == []
        _served(operator, namespace)
        eventually(lambda: names(modern), lambda seen: "modern__echo" in seen, within_s=MOUNTED_S)
    (status,) = operator.get("pod", "agent", namespace)["status"]["initContainerStatuses"]
    assert status["restartCount"] == 0


@contextmanager
def _without_webhook(cluster: Cluster) -> Iterator[None]:
    """No replica of the webhook runs meanwhile."""
    webhook, where = f"deployment/{RELEASE}-webhook", ("-n", SYSTEM)
    cluster.kubectl("scale", webhook, *where, "--replicas=0")
    cluster.kubectl("wait", "pod", *where, "-l", "app.kubernetes.io/component=webhook", "--for=delete", "--timeout=60s")
    try:
        yield
    finally:
        cluster.kubectl("scale", webhook, *where, "--replicas=2")
        cluster.kubectl("rollout", "status", webhook, *where, "--timeout=120s")


@contextmanager
def _policy(cluster: Cluster, policy: str) -> Iterator[None]:
    """The webhook's configuration says so meanwhile."""

    def say(policy: str) -> None:
        patch = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy}]
        cluster.kubectl("patch", "mutatingwebhookconfiguration", RELEASE, "--type=json", f"--patch={json.dumps(patch)}")

    say(policy)
    try:
        yield
    finally:
        say("Ignore")


def test_pods_without_a_sidecar_are_told_of_until_they_are_made_anew(operator: Cluster, namespace: str) -> None:
    """While the webhook is away: bare ones under Ignore, none under Fail. When it is back a new pod has its sidecar."""
    operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    with _without_webhook(operator):
        operator.apply(json.dumps(labelled()), namespace=namespace)
        assert _sidecars(_ready(operator, namespace)) == []
        eventually(
            lambda: _gateway(operator, namespace),
            lambda seen: (seen[0].get("missing"), seen[1]) == (1, "SidecarMissing"),
            within_s=SOON_S,
        )
        described = operator.kubectl("describe", "mcpgw", "main", "-n", namespace)
        assert (
            "1 pod has no sidecar (the webhook adds it when a pod is created, where it is enabled and nothing in the pod is in the way): agent"
            in described
        )
        with _policy(operator, "Fail"), pytest.raises(CommandError, match="failed calling webhook"):
            operator.apply(json.dumps(labelled("second")), namespace=namespace)
    operator.kubectl("delete", "pod", "agent", "-n", namespace)
    operator.apply(json.dumps(labelled()), namespace=namespace)
    assert len(_sidecars(_ready(operator, namespace))) == 1
    eventually(lambda: _gateway(operator, namespace)[1], lambda seen: seen == "Injected", within_s=SOON_S)


def test_a_sidecar_of_another_image_is_outdated(operator: Cluster, namespace: str) -> None:
    """As after an upgrade."""
    operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    operator.apply(json.dumps(labelled()), namespace=namespace)
    _ready(operator, namespace)
    image = json.dumps({"spec": {"sidecar": {"image": "localhost/another:1"}}})
    operator.kubectl("patch", "mcpgw", "main", "-n", namespace, "--type=merge", f"--patch={image}")
    eventually(
        lambda: _gateway(operator, namespace),
        lambda seen: (seen[0].get("outdated"), seen[1]) == (1, "SidecarOutdated"),
        within_s=SOON_S,
    )


def test_pods_of_a_drained_node_come_back_injected(operator: Cluster, namespace: str) -> None:
    """They are others, created while their node is being emptied."""
    operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)
    template = labelled()
    template["metadata"]["labels"]["app"] = namespace  # drains know no namespaces
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "agent"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": namespace}},
            "template": {"metadata": {"labels": template["metadata"]["labels"]}, "spec": template["spec"]},
        },
    }
    operator.apply(json.dumps(deployment), namespace=namespace)
    operator.kubectl("rollout", "status", "deployment/agent", "-n", namespace, "--timeout=90s")
    try:
        operator.kubectl("drain", NODE, f"--pod-selector=app={namespace}", "--ignore-daemonsets", "--timeout=60s")
    finally:
        operator.kubectl("uncordon", NODE)
    operator.kubectl("rollout", "status", "deployment/agent", "-n", namespace, "--timeout=90s")
    found = json.loads(operator.kubectl("get", "pods", "-n", namespace, "-l", f"app={namespace}", "-o", "json"))[
        "items"
    ]
    assert [len(_sidecars(each)) for each in found if "deletionTimestamp" not in each["metadata"]] == [1, 1]


def test_no_pod_goes_by_while_all_certificates_are_replaced(operator: Cluster, namespace: str) -> None:
    """Their Secret is lost: a new authority, a new certificate, brought to both replicas by the kubelet; under Fail all the while."""
    operator.apply(MANIFESTS / "resources.yaml", namespace=namespace)

    def loaded() -> int:
        said = operator.kubectl(
            "logs", "-n", SYSTEM, "-l", "app.kubernetes.io/component=webhook", "--tail=-1", "--prefix"
        )
        return said.count("certificate_loaded")

    def injects() -> int:
        pod = json.loads(
            operator.kubectl(
                "create", "--dry-run=server", "-o", "json", "-n", namespace, "-f", "-", stdin=json.dumps(labelled())
            )
        )
        assert len(_sidecars(pod)) == 1
        return loaded()

    before = loaded()
    with _policy(operator, "Fail"):
        operator.kubectl("delete", "secret", "switchyard-webhook-certificates", "-n", SYSTEM)
        eventually(injects, lambda seen: seen >= before + 2, within_s=MOUNTED_S)
        for _ in range(10):
            injects()
