"""The life of a release: installed, upgraded, rolled back, taken away and brought back by the real Helm, while pods go on serving."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.agent import client, eventually, names
from e2e.conftest import MANIFESTS
from e2e.images import ROOT
from e2e.kind import Cluster, CommandError
from e2e.release import CHART, RELEASE, SYSTEM, helm, install, values

TAKEN_OVER_S = 30.0
"""The Lease of operators that lost their permissions before they could give it back runs out after 15 s; then the new one begins."""
OWN = "mcpgateways,mcpbackends,mcptoolaliases"
CRDS = ["mcpbackends.switchyard.dev", "mcpgateways.switchyard.dev", "mcptoolaliases.switchyard.dev"]


@pytest.fixture
def again(operator: Cluster) -> Iterator[Cluster]:
    """The cluster with the release in it, which is brought back after the test whatever has become of it."""
    yield operator
    for each in json.loads(helm(operator, "list", "-o", "json")):
        if each["name"] != RELEASE:
            helm(operator, "uninstall", each["name"], "--wait")
    install(operator, "--force-conflicts")  # CRDs of others are ours again


def test_its_own_test_passes(operator: Cluster) -> None:
    """`helm test` finds operator and webhook behind their Services."""
    assert "Phase:          Succeeded" in helm(operator, "test", RELEASE)


def test_it_is_upgraded_and_rolled_back_without_conflict_or_drift(
    again: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Server-side apply, twice, and back: nobody else's field is touched, nothing differs afterwards, and the list is served on."""
    _ready(again, namespace)
    first = _revision(again)
    with client(again, namespace, "modern", tmp_path / "modern.log") as modern:
        eventually(lambda: names(modern), lambda seen: "modern__echo" in seen, within_s=10)
        bundle = _ca_bundle(again)
        helm(again, "upgrade", RELEASE, CHART, *values(), "--set=operator.workers=2", "--server-side=true", "--wait")
        _undrifted(again, "--set=operator.workers=2")
        before = _versions(again)
        helm(again, "upgrade", RELEASE, CHART, *values(), "--set=operator.workers=2", "--server-side=true", "--wait")
        assert _versions(again) == before
        helm(again, "rollback", RELEASE, str(first), "--server-side=true", "--wait")
        _undrifted(again)
        assert _ca_bundle(again) == bundle
        assert "modern__echo" in names(modern)
        again.apply(_alias("say"), namespace=namespace)
        eventually(lambda: names(modern), lambda seen: "say" in seen, within_s=TAKEN_OVER_S)


def test_pods_serve_on_without_it_and_another_release_takes_over(
    again: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Uninstalled it leaves CRDs, resources, configs and its authority; what comes under another name goes on with all of it."""
    _ready(again, namespace)
    with client(again, namespace, "modern", tmp_path / "modern.log") as modern:
        eventually(lambda: names(modern), lambda seen: "modern__echo" in seen, within_s=10)
        resources = again.kubectl("get", OWN, "-n", namespace, "-o", "name")
        authority = _authority(again)
        helm(again, "uninstall", RELEASE, "--wait")
        assert again.kubectl("get", "deployments", "-n", SYSTEM, "-o", "name") == ""
        again.kubectl("get", "crd", *CRDS)
        assert again.kubectl("get", OWN, "-n", namespace, "-o", "name") == resources
        assert "modern__echo" in names(modern)
        assert modern.client.call("modern__echo", text="still here")["content"] == [
            {"type": "text", "text": "still here"}
        ]

        helm(again, "install", "second", CHART, *values(), "--take-ownership", "--wait", "--timeout=180s")
        assert _authority(again) == authority
        again.apply(_alias("say"), namespace=namespace)
        eventually(lambda: names(modern), lambda seen: "say" in seen, within_s=TAKEN_OVER_S)


def test_the_crds_may_be_somebody_elses(again: Cluster, namespace: str) -> None:
    """A release that gives up its CRDs leaves them. Who brings newer ones takes them over once, and then owns them."""
    _ready(again, namespace)
    kept = again.kubectl("get", OWN, "-n", namespace, "-o", "name")
    install(again, "--set=crds.install=false")
    newer = "".join(f"---\n{file.read_text()}" for file in (ROOT / "crds").iterdir()).replace(
        "description: Why, in one word.", "description: Why, in a word."
    )
    with pytest.raises(CommandError, match='conflict with "helm"'):
        again.kubectl("apply", "--server-side", "-f", "-", stdin=newer)
    again.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=newer)
    helm(again, "uninstall", RELEASE, "--wait")
    again.kubectl("apply", "--server-side", "-f", ROOT / "crds")
    assert again.kubectl("get", OWN, "-n", namespace, "-o", "name") == kept
    install(again, "--set=crds.install=false")
    again.kubectl("wait", "mcpgw/main", "-n", namespace, "--for=condition=Ready", "--timeout=30s")


def test_kubernetes_own_roles_are_enough(operator: Cluster, namespace: str) -> None:
    """Who may view a namespace may look at its gateways, who may edit it may change them, and nobody else may."""

    def may(verb: str, user: str) -> str:
        command = operator.command("auth", "can-i", verb, "mcpgateways", "-n", namespace, f"--as={user}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    for role in ("view", "edit", "admin"):
        operator.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}er", "-n", namespace)
    verbs = {
        user: [verb for verb in ("get", "list", "watch", "create", "patch", "delete") if may(verb, user) == "yes"]
        for user in ("viewer", "editer", "adminer", "nobody")
    }
    everything = ["get", "list", "watch", "create", "patch", "delete"]
    assert verbs == {"viewer": ["get", "list", "watch"], "editer": everything, "adminer": everything, "nobody": []}


def test_kustomize_applies_what_the_chart_renders(operator: Cluster) -> None:
    """The API server takes all that `kubectl apply -k` brings, in one go."""
    applied = operator.kubectl("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-k", ROOT / "deploy")
    kinds = [line.partition("/")[0] for line in applied.splitlines()]
    assert kinds.count("customresourcedefinition.apiextensions.k8s.io") == 3
    assert kinds.count("deployment.apps") == 2


def _ready(cluster: Cluster, namespace: str) -> None:
    for each in ("servers", "resources", "agent"):
        cluster.apply(MANIFESTS / f"{each}.yaml", namespace=namespace)
    cluster.kubectl("rollout", "status", "deployment", "-n", namespace, "--timeout=120s")
    cluster.kubectl("wait", "pod/agent", "-n", namespace, "--for=condition=Ready", "--timeout=90s")


def _alias(name: str) -> str:
    return f"""
        {{apiVersion: switchyard.dev/v1alpha1, kind: MCPToolAlias, metadata: {{name: {name}}},
         spec: {{backendRef: {{name: legacy}}, tool: echo, alias: {name}}}}}"""


def _revision(cluster: Cluster) -> int:
    return int(json.loads(helm(cluster, "status", RELEASE, "-o", "json"))["version"])


def _ca_bundle(cluster: Cluster) -> str:
    configuration = json.loads(cluster.kubectl("get", "mutatingwebhookconfiguration", RELEASE, "-o", "json"))
    return str(configuration["webhooks"][0]["clientConfig"]["caBundle"])


def _authority(cluster: Cluster) -> str:
    return str(cluster.get("secret", "switchyard-webhook-certificates", SYSTEM)["data"]["ca.crt"])


def _undrifted(cluster: Cluster, *options: str) -> None:
    """The cluster holds what is rendered, as Argo CD would compare it: by what applying it would change."""
    rendered = helm(cluster, "template", RELEASE, CHART, *values(), *options, "--skip-tests")
    compare = ("diff", "--server-side", "--force-conflicts", "--field-manager=argocd-controller", "-f", "-")
    cluster.kubectl(*compare, stdin=rendered)


def _versions(cluster: Cluster) -> dict[str, str]:
    """How often the specifications of what runs and of what is called by the API server were changed."""
    kinds = "deployments,services,poddisruptionbudgets"
    listed = json.loads(cluster.kubectl("get", kinds, "-n", SYSTEM, "-o", "json"))["items"]
    shared = "mutatingwebhookconfigurations,validatingadmissionpolicies,customresourcedefinitions,clusterroles"
    listed += json.loads(cluster.kubectl("get", shared, f"-l=app.kubernetes.io/instance={RELEASE}", "-o", "json"))[
        "items"
    ]
    return {
        f"{each['kind']}/{each['metadata']['name']}": str(
            each["metadata"].get("generation") or each["metadata"]["resourceVersion"]
        )
        for each in listed
    }
