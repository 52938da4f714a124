"""The chart and a real API server: everything that it renders is valid there, and what it permits is what it says."""

import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pytest
import yaml

from apiserver.charted import bring, make_namespaces, operators_token
from apiserver.client import BACKENDS, GATEWAYS, PODS, SECRETS, SERVICE_ACCOUNTS, Client, RefusedError, Resource
from apiserver.declared import Children, backend, bearer, credential, gateway
from apiserver.replica import replica
from apiserver.server import ApiServer
from chart.dashboards import exposed, metrics
from chart.helm import CHART, NAMESPACE, helm, objects, text
from fakes.waiting import eventually

VALUES: Final = sorted((CHART / "ci").glob("*-values.yaml"))
UNKNOWN: Final = {"ServiceMonitor", "PodMonitor", "Certificate"}
"""Kinds of operators that are not here."""
ROLE_BINDINGS: Final = Resource("rbac.authorization.k8s.io/v1", "rolebindings")
NUDGE: Final = "switchyard.dev/config-hash"


@pytest.mark.parametrize("values", VALUES, ids=lambda file: file.name.removesuffix("-values.yaml"))
async def test_everything_rendered_is_valid(client: Client, values: Path) -> None:
    """No unknown field, no wrong type, no rule broken: the API server would take each object as it is."""
    await make_namespaces(client, NAMESPACE, "agents", "tools")
    rendered = [each for each in objects(text(None, "-f", values)) if each["kind"] not in UNKNOWN]
    await bring(client, rendered, dry_run=True)


async def test_pods_satisfy_the_restricted_standard(client: Client) -> None:
    """Operator, webhook and test run in a namespace that admits nothing less."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = await client.new_namespace(labels=labels)
    rendered = [each for each in objects(text()) if each["kind"] in {"Deployment", "Pod"}]
    assert len(rendered) == 3
    for each in rendered:
        spec = each["spec"].get("template", each)["spec"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": each["metadata"]["name"]}, "spec": spec}
        await client.create(PODS, namespace, pod, dryRun="All")


async def test_what_the_notes_propose_is_valid(client: Client, namespace: str) -> None:
    """The backend and the gateway that one is told to apply after the installation can be applied."""
    notes = helm("install", "switchyard", CHART, "-n", NAMESPACE, "--dry-run=client").partition("\nNOTES:\n")[2]
    proposed = re.search(r"<<EOF\n(.*?)\n *EOF", notes, re.DOTALL)
    assert proposed is not None
    kinds = {"MCPBackend": BACKENDS, "MCPGateway": GATEWAYS}
    applied = list(yaml.safe_load_all(dedent(proposed[1])))
    assert [each["kind"] for each in applied] == list(kinds)
    for each in applied:
        await client.apply(kinds[each["kind"]], namespace, each)


async def test_of_a_pod_the_operator_may_change_one_annotation(client: Client, namespace: str) -> None:
    """Added, changed or taken away. Whatever else a patch holds, all of it is refused."""
    operator = client.using(await operators_token(client))
    pod = {
        "metadata": {
            "name": "agent",
            "labels": {"a": "b"},
            "annotations": {"theirs": "a"},
            "finalizers": ["x.example/y"],
        },
        "spec": {"containers": [{"name": "app", "image": "app:1"}], "activeDeadlineSeconds": 60},
    }
    await client.create(PODS, namespace, pod)
    refused: list[Mapping[str, Any]] = [
        {"metadata": {"annotations": {NUDGE: "2", "theirs": "b"}}},
        {"metadata": {"annotations": {NUDGE: "2", "another": "b"}}},
        {"metadata": {"annotations": {"theirs": None}}},
        {"metadata": {"annotations": None}},
        {"metadata": {"labels": {"a": "c"}}},
        {"metadata": {"labels": None}},
        {"metadata": {"finalizers": None}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}},
        {"spec": {"activeDeadlineSeconds": 30}},
        {"spec": {"containers": [{"name": "app", "image": "other:1"}]}},
        {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}},
    ]

    attempts = count()

    async def is_enforced() -> bool:
        try:
            await operator.patch(PODS, namespace, "agent", {"metadata": {"labels": {"attempt": str(next(attempts))}}})
        except RefusedError:
            return True
        return False

    await eventually(is_enforced)
    for each in refused:
        with pytest.raises(RefusedError, match="of a pod") as error:
            await operator.patch(PODS, namespace, "agent", dict(each))
        assert error.value.code == 422
    for value in ("1", "2", None):
        await operator.patch(PODS, namespace, "agent", {"metadata": {"annotations": {NUDGE: value}}})
    await client.patch(PODS, namespace, "agent", {"metadata": {"annotations": {NUDGE: "1", "theirs": "b"}}})


async def test_in_some_namespaces_its_permissions_are_enough(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    """Where it serves some namespaces alone it has no permission outside of them, but for what the values name, and needs none."""
    values = {"fullnameOverride": "tenant", "namespaces": [namespace]}
    token = await operators_token(client, values, "tenant-operator")
    flags = (f"--lease-namespace={NAMESPACE}", "--lease-name=switchyard-operator")
    async with replica(api_server.kubeconfig(token), *flags, namespace=namespace) as operator:
        await client.create(SECRETS, namespace, credential("token", "s3cret"))
        await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
        await client.create(GATEWAYS, namespace, gateway("main", "one"))
        await Children(client, namespace, "main").serve("http://one.example/mcp")
        await operator.idle()
        assert [line for line in operator.said if "orbidden" in str(line)] == []
    with pytest.raises(RefusedError, match="forbidden"):
        await client.using(token).list(GATEWAYS, "default")


async def test_who_may_view_sees_and_who_may_edit_changes(client: Client, namespace: str) -> None:
    """The roles that Kubernetes adds to its own: reading and no more, and writing."""
    await bring(client, [each for each in objects(text()) if each["kind"] == "ClusterRole"])
    tokens = {}
    for name in ("view", "edit"):
        account = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"switchyard-{name}"}
        await client.create(SERVICE_ACCOUNTS, namespace, {"metadata": {"name": name}})
        binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [account]}
        await client.create(ROLE_BINDINGS, namespace, binding)
        tokens[name] = await client.token(namespace, name)
    viewer, editor = client.using(tokens["view"]), client.using(tokens["edit"])
    with pytest.raises(RefusedError, match="cannot create"):
        await viewer.create(GATEWAYS, namespace, gateway("main"))
    await editor.create(GATEWAYS, namespace, gateway("main"))
    assert [each["metadata"]["name"] for each in await viewer.list(GATEWAYS, namespace)] == ["main"]
    await editor.delete(GATEWAYS, namespace, "main")


async def test_the_operators_dashboard_reads_metrics_that_it_has(api_server: ApiServer, namespace: str) -> None:
    """A metric that is renamed takes its panel along."""
    async with replica(api_server.kubeconfig(), namespace=namespace) as operator:
        await operator.ready()
        assert metrics("operator") <= exposed((await operator.answers("/metrics"))[1])
