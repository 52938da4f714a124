"""Gateways in mode `Deployment` on a real API server: what is made of them, who decides what, and what is left when the mode changes.

Nothing runs here: the test says of Deployments and pods what their controllers and kubelets would.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from apiserver.client import GATEWAYS, PODS, Client, Object, Resource
from apiserver.declared import SOON_S, Children, found, gateway
from apiserver.proxy import Proxy
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from apiserver.test_operator_pods import Sidecar
from fakes.waiting import eventually

pytestmark = pytest.mark.newest_kubernetes

DEPLOYMENTS: Final = Resource("apps/v1", "deployments")
SERVICES: Final = Resource("v1", "services")
BUDGETS: Final = Resource("policy/v1", "poddisruptionbudgets")
ALL: Final = (DEPLOYMENTS, SERVICES, BUDGETS)
NAME: Final = "switchyard-main"
IMAGE: Final = "registry.example/switchyard-sidecar:1"
FLAGS: Final = ("--probes=Disabled", f"--sidecar-image={IMAGE}")
SETTLED: Final = {"observedGeneration": 10**6, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}
AVAILABLE: Final = [
    {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": ""},
    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""},
]
UNAVAILABLE: Final = [
    {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": ""},
    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""},
]


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, namespace: str) -> AsyncIterator[Replica]:
    """A replica that serves the test's namespace, leads, and knows of which image sidecars are."""
    async with replica(api_server.kubeconfig(), *FLAGS, namespace=namespace) as running:
        await running.idle()
        yield running


class Deployed:
    """What the gateway `main` consists of."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def get(self, resource: Resource) -> Object | None:
        """One of its objects, if there is one."""
        return await found(self.client.get(resource, self.namespace, NAME))

    async def has(self, resource: Resource, wanted: Callable[[Object], bool]) -> Object:
        """Wait until one of its objects is as wanted; give it."""

        async def is_so() -> bool:
            seen = await self.get(resource)
            return seen is not None and wanted(seen)

        try:
            await eventually(is_so, SOON_S)
        except TimeoutError:
            raise AssertionError(f"after {SOON_S} s it is still {await self.get(resource)}") from None
        seen = await self.get(resource)
        assert seen is not None
        return seen

    async def complete(self) -> list[Object]:
        """Wait until there are all; give them."""
        return [await self.has(resource, lambda _: True) for resource in ALL]

    async def versions(self) -> list[str]:
        """Whoever writes one of them changes these."""
        return [each["metadata"]["resourceVersion"] for each in await self.complete()]

    async def scale(self, replicas: int, manager: str = "horizontal-pod-autoscaler") -> None:
        """As an autoscaler does it, or `kubectl scale`."""
        await self.client.request(
            "PATCH",
            DEPLOYMENTS.path(self.namespace, NAME, "scale"),
            json.dumps({"spec": {"replicas": replicas}}).encode(),
            content_type="application/merge-patch+json",
            query={"fieldManager": manager},
        )

    async def report(self, conditions: list[Object], available: int = 2) -> None:
        """What the Deployment's controller says of it."""
        status = {**SETTLED, "availableReplicas": available, "conditions": conditions}
        await self.client.request(
            "PATCH",
            DEPLOYMENTS.path(self.namespace, NAME, "status"),
            json.dumps({"status": status}).encode(),
            content_type="application/merge-patch+json",
        )

    async def says(self, *wanted: str) -> None:
        """Wait until the gateway's status has these conditions, as ``Ready=True Ready``."""

        async def conditions() -> set[str]:
            status = (await self.client.get(GATEWAYS, self.namespace, "main")).get("status", {})
            return {f"{each['type']}={each['status']} {each['reason']}" for each in status.get("conditions", ())}

        async def are_so() -> bool:
            return set(wanted) <= await conditions()

        try:
            await eventually(are_so, SOON_S)
        except TimeoutError:
            raise AssertionError(f"after {SOON_S} s it is still {await conditions()}") from None


def replicas(deployment: Object) -> int:
    """How many there should be."""
    return int(deployment["spec"]["replicas"])


def image(deployment: Object) -> str:
    """Of its container."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return str(container["image"])


def owners_of(deployment: Object, *path: str) -> set[str]:
    """The managers that have this field."""

    def has(fields: Any) -> bool:
        for step in path:
            fields = fields.get(f"f:{step}")
            if fields is None:
                return False
        return True

    return {each["manager"] for each in deployment["metadata"]["managedFields"] if has(each["fieldsV1"])}


async def test_a_gateway_becomes_a_deployment_with_a_service(operator: Replica, client: Client, namespace: str) -> None:
    """All that it consists of is its own and goes with it; it is ready when the Deployment says that it is available."""
    deployed = Deployed(client, namespace)
    made = await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment", service={"port": 80}))
    for each in await deployed.complete():
        (owner,) = each["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (made["metadata"]["uid"], True)
    deployment, service, budget = await deployed.complete()
    assert (image(deployment), replicas(deployment)) == (IMAGE, 2)
    assert (service["spec"]["ports"][0]["port"], service["spec"]["ports"][0]["targetPort"]) == (80, "mcp")
    selected = {"switchyard.dev/deployment-of": "main"}
    assert deployment["spec"]["selector"] == budget["spec"]["selector"] == {"matchLabels": selected}
    assert service["spec"]["selector"] == selected
    assert "switchyard.dev/gateway" not in deployment["spec"]["template"]["metadata"]["labels"]

    config = await Children(client, namespace, "main").config()
    assert config is not None
    assert f"{NAME}.{namespace}.svc" in config["listener"]["allowedHosts"]
    assert config["sessionKey"]["file"] in await Children(client, namespace, "main").files()

    await deployed.says("Programmed=True Programmed", "Available=Unknown Progressing", "Ready=Unknown Progressing")
    await deployed.report(AVAILABLE)
    await deployed.says("Available=True Available", "Ready=True Ready")
    await deployed.report(UNAVAILABLE, available=0)
    await deployed.says("Available=False Unavailable", "Ready=False Unavailable", "Reconciling=True Unavailable")


async def test_drift_is_put_right(operator: Replica, client: Client, namespace: str) -> None:
    """What somebody changes of what is ours, or deletes, comes back."""
    deployed = Deployed(client, namespace)
    await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment", replicas=3))
    await deployed.complete()

    theirs = {"spec": {"template": {"spec": {"containers": [{"name": "switchyard", "image": "evil"}]}}}}
    await client.patch(DEPLOYMENTS, namespace, NAME, theirs)
    await deployed.has(DEPLOYMENTS, lambda seen: image(seen) == IMAGE)
    await deployed.scale(7)
    await deployed.has(DEPLOYMENTS, lambda seen: replicas(seen) == 3)
    await client.patch(SERVICES, namespace, NAME, {"spec": {"selector": {"switchyard.dev/deployment-of": "other"}}})
    await deployed.has(SERVICES, lambda seen: seen["spec"]["selector"] == {"switchyard.dev/deployment-of": "main"})
    await client.patch(BUDGETS, namespace, NAME, {"metadata": {"labels": {"switchyard.dev/deployment-of": None}}})
    await deployed.has(BUDGETS, lambda seen: seen["metadata"]["labels"].get("switchyard.dev/deployment-of") == "main")
    for resource in ALL:
        before = await deployed.has(resource, lambda _: True)
        uid = before["metadata"]["uid"]
        await client.delete(resource, namespace, NAME)
        await deployed.has(resource, lambda seen, uid=uid: seen["metadata"]["uid"] != uid)  # type: ignore[misc]


async def test_what_others_add_stays_and_costs_no_write(operator: Replica, client: Client, namespace: str) -> None:
    """`kubectl rollout restart`, a mesh's annotation, a node selector: not the operator's business, now or at a next change."""
    deployed = Deployed(client, namespace)
    await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
    await deployed.complete()
    await operator.idle()
    restarted = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-07-28T12:00:00Z"}}}
    template = {**restarted, "spec": {"nodeSelector": {"disk": "fast"}}}
    await client.patch(DEPLOYMENTS, namespace, NAME, {"spec": {"template": template}})
    await client.patch(SERVICES, namespace, NAME, {"metadata": {"annotations": {"mesh": "yes"}}})
    versions = await deployed.versions()
    before = await operator.metric("switchyard_operator_writes_total")
    await client.create(
        GATEWAYS, namespace, gateway("other")
    )  # whatever came before it has been seen when it is served
    await Children(client, namespace, "other").serve()
    await operator.idle()
    assert await deployed.versions() == versions
    of_the_other = 5  # both of its children are made and filled, and it has a status
    assert await operator.metric("switchyard_operator_writes_total") - before == of_the_other

    await client.patch(GATEWAYS, namespace, "main", {"spec": {"sidecar": {"image": "mine:2"}}})
    changed = await deployed.has(DEPLOYMENTS, lambda seen: image(seen) == "mine:2")
    assert (
        changed["spec"]["template"]["metadata"]["annotations"].items() >= restarted["metadata"]["annotations"].items()
    )
    assert changed["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}
    _, service, _ = await deployed.complete()
    assert service["metadata"]["annotations"] == {"mesh": "yes"}


async def test_what_the_gateway_says_no_more_goes(operator: Replica, client: Client, namespace: str) -> None:
    """Annotations and the Service's former port, since they were ours alone."""
    deployed = Deployed(client, namespace)
    said = {"port": 80, "annotations": {"a.example/b": "c"}}
    await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment", service=said))
    await deployed.has(SERVICES, lambda seen: seen["metadata"]["annotations"] == {"a.example/b": "c"})
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"service": None}})
    service = await deployed.has(SERVICES, lambda seen: not seen["metadata"].get("annotations"))
    assert [each["port"] for each in service["spec"]["ports"]] == [8811]


async def test_a_second_run_writes_nothing(api_server: ApiServer, client: Client, namespace: str) -> None:
    """A restart finds everything as it should be, quantities and defaults included, which the API server writes in its own way."""
    deployed = Deployed(client, namespace)
    resources = {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2048Mi"}}
    declared = gateway("main", mode="Deployment", sidecar={"resources": resources, "imagePullSecrets": [{"name": "a"}]})
    await client.create(GATEWAYS, namespace, declared)
    async with replica(api_server.kubeconfig(), *FLAGS, namespace=namespace) as first:
        await deployed.complete()
        await deployed.says("Programmed=True Programmed")
        await first.idle()
        assert await first.end() == 0
    before = await deployed.versions(), await Children(client, namespace, "main").versions()
    async with replica(api_server.kubeconfig(), *FLAGS, namespace=namespace) as second:
        await second.idle()
        assert await second.metric("switchyard_operator_work_total") > 0
        assert await second.metric("switchyard_operator_writes_total") == 0
    assert (await deployed.versions(), await Children(client, namespace, "main").versions()) == before


async def test_what_has_been_found_in_order_is_not_asked_about_again(
    api_server: ApiServer, client: Client, namespace: str, tmp_path: Path
) -> None:
    """A Deployment's status changes all the time: its pods are listed then, and nothing is applied, nor read, for it."""
    deployed = Deployed(client, namespace)
    async with (
        Proxy(api_server) as between,
        replica(between.kubeconfig(tmp_path), *FLAGS, namespace=namespace) as operator,
    ):
        await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
        await deployed.complete()
        await deployed.says("Available=Unknown Progressing")
        await operator.idle()
        before = len(between.asked)
        await deployed.report(AVAILABLE)
        await deployed.says("Available=True Available")
        await deployed.report(UNAVAILABLE, available=1)
        await deployed.says("Available=False Unavailable")
        asked = [each for each in between.asked[before:] if not each.watch and namespace in each.path]
        own = {resource.path(namespace, NAME) for resource in ALL}
        assert [each for each in asked if each.path in own] == []
        assert [each.query["labelSelector"] for each in asked if each.path == PODS.path(namespace)] == [
            "switchyard.dev/deployment-of=main"
        ] * 2


async def test_an_autoscaler_may_own_how_many_there_are(operator: Replica, client: Client, namespace: str) -> None:
    """Where the gateway does not say, a number is given once, under a manager that is not used again; whoever scales then decides."""
    deployed = Deployed(client, namespace)
    await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
    handed = {"switchyard-operator-replicas"}
    deployment = await deployed.has(DEPLOYMENTS, lambda seen: owners_of(seen, "spec", "replicas") == handed)
    assert replicas(deployment) == 2
    await deployed.scale(5)
    await operator.idle()
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"sidecar": {"image": "mine:2"}}})
    deployment = await deployed.has(DEPLOYMENTS, lambda seen: image(seen) == "mine:2")
    await operator.idle()
    assert replicas(await deployed.has(DEPLOYMENTS, lambda _: True)) == 5
    assert owners_of(deployment, "spec", "replicas") == {"horizontal-pod-autoscaler"}


async def test_a_number_that_the_gateway_says_no_more_is_handed_over(
    operator: Replica, client: Client, namespace: str
) -> None:
    """It stays as it is until somebody scales; when the gateway says one again it is the operator's again."""
    deployed = Deployed(client, namespace)
    await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment", replicas=4))
    ours = {"switchyard-operator"}
    await deployed.has(DEPLOYMENTS, lambda seen: owners_of(seen, "spec", "replicas") == ours)
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"replicas": None}})
    handed = {"switchyard-operator-replicas"}
    deployment = await deployed.has(DEPLOYMENTS, lambda seen: owners_of(seen, "spec", "replicas") == handed)
    assert replicas(deployment) == 4
    await deployed.scale(6)
    await operator.idle()
    assert replicas(await deployed.has(DEPLOYMENTS, lambda _: True)) == 6
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"replicas": 1}})
    await deployed.has(
        DEPLOYMENTS, lambda seen: replicas(seen) == 1 and "switchyard-operator" in owners_of(seen, "spec", "replicas")
    )


async def test_a_gateway_that_goes_back_to_sidecars_leaves_nothing(
    operator: Replica, client: Client, namespace: str
) -> None:
    """Its three objects go; config and credentials stay, without keys of sessions. And it may come back."""
    deployed, children = Deployed(client, namespace), Children(client, namespace, "main")
    await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
    await deployed.complete()
    await deployed.says("Programmed=True Programmed")
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"mode": "Sidecar"}})

    async def are_gone() -> bool:
        return [await deployed.get(resource) for resource in ALL] == [None, None, None]

    await eventually(are_gone, SOON_S)
    await deployed.says("Ready=True Ready")
    status = (await client.get(GATEWAYS, namespace, "main"))["status"]
    assert "Available" not in {each["type"] for each in status["conditions"]}
    assert set(await children.files()) == {"gateway.json", "cred_key"}
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"mode": "Deployment"}})
    await deployed.complete()


async def test_a_strangers_object_is_left_alone(operator: Replica, client: Client, namespace: str) -> None:
    """Whatever the mode, and label or not: it stays as it is, the status says why, and all else is made."""
    deployed = Deployed(client, namespace)
    labels = {"switchyard.dev/deployment-of": "main"}
    port = [{"port": 80, "protocol": "TCP"}]
    theirs = {"metadata": {"name": NAME, "labels": labels}, "spec": {"ports": port, "selector": {"app": "theirs"}}}
    before = await client.create(SERVICES, namespace, theirs)
    await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
    await deployed.says("Programmed=False NameConflict", "Ready=False NameConflict", "Stalled=True NameConflict")
    await deployed.has(DEPLOYMENTS, lambda _: True)
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"mode": "Sidecar"}})
    await deployed.says("Ready=True Ready")
    await operator.idle()
    assert await deployed.get(DEPLOYMENTS) is None
    assert await deployed.get(SERVICES) == before


async def test_a_gateway_that_lets_nobody_in_is_deployed(operator: Replica, client: Client, namespace: str) -> None:
    """Its replicas are there when the Secret comes; until then they answer 401, for which the config is there first."""
    deployed = Deployed(client, namespace)
    token = {"name": "ci", "secretKeyRef": {"name": "ci", "key": "token"}}
    service = {"type": "LoadBalancer"}
    await client.create(
        GATEWAYS, namespace, gateway("main", mode="Deployment", service=service, auth={"tokens": [token]})
    )
    await deployed.says("Programmed=False NobodyAdmitted")
    await deployed.complete()
    config = await Children(client, namespace, "main").config()
    assert config is not None
    assert (config["authentication"]["tokens"], config["requires"]) == ([], ["authentication"])
    await client.patch(GATEWAYS, namespace, "main", {"spec": {"auth": None}})
    await deployed.says("Accepted=True OpenToEveryone")


async def test_a_changed_config_rolls_nothing(operator: Replica, client: Client, namespace: str) -> None:
    """It comes by the volume: the Deployment is not touched. Its pods are nudged and counted like all others."""
    deployed, children = Deployed(client, namespace), Children(client, namespace, "main")
    sidecar = Sidecar()
    await sidecar.start()
    try:
        await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
        await deployed.complete()
        await _running(client, namespace, "one", sidecar.port)
        await deployed.report(AVAILABLE)

        async def pods() -> Any:
            return (await client.get(GATEWAYS, namespace, "main"))["status"].get("pods")

        async def counted(current: int) -> None:
            async def are() -> bool:
                return bool(await pods() == {"attached": 1, "current": current, "unknown": 1 - current})

            await eventually(are, SOON_S)

        await counted(current=0)
        generation = (await deployed.has(DEPLOYMENTS, lambda _: True))["metadata"]["generation"]
        await client.patch(GATEWAYS, namespace, "main", {"spec": {"instructions": "changed"}})

        async def hash_of_the_config() -> str:
            return str((await children.config() or {})["configHash"])

        async def is_nudged() -> bool:
            annotations = (await client.get(PODS, namespace, "one"))["metadata"].get("annotations") or {}
            marked = str(annotations.get("switchyard.dev/config-hash", ""))
            return marked.removesuffix("+") == await hash_of_the_config()

        async def is_changed() -> bool:
            return (await children.config() or {}).get("instructions") == "changed"

        await eventually(is_changed, SOON_S)
        await eventually(is_nudged, SOON_S)
        sidecar.loaded = await hash_of_the_config()
        await counted(current=1)
        assert (await deployed.has(DEPLOYMENTS, lambda _: True))["metadata"]["generation"] == generation
    finally:
        await sidecar.stop()


async def test_without_an_image_nothing_is_deployed(api_server: ApiServer, client: Client, namespace: str) -> None:
    """The status says what is missing; the gateway itself may say it."""
    deployed = Deployed(client, namespace)
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace):
        await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
        await deployed.says("Programmed=False ImageUnknown", "Stalled=True ImageUnknown")
        assert await deployed.get(DEPLOYMENTS) is None
        await client.patch(GATEWAYS, namespace, "main", {"spec": {"sidecar": {"image": "mine:2"}}})
        await deployed.has(DEPLOYMENTS, lambda seen: image(seen) == "mine:2")


async def test_an_operator_that_may_not_deploy_does_all_else(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    """Permissions of an older release, or of somebody who wants no Deployments: sidecars are served, and the status says why not more."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    allowed = [
        {**everything, "apiGroups": ["switchyard.dev", "coordination.k8s.io", "events.k8s.io", "discovery.k8s.io"]},
        {**everything, "apiGroups": [""], "resources": ["configmaps", "secrets", "pods"]},
    ]
    token = await client.new_account(namespace, "operator", allowed)
    async with replica(api_server.kubeconfig(token), *FLAGS, namespace=namespace) as operator:
        await operator.idle()
        await client.create(GATEWAYS, namespace, gateway("other"))
        await Children(client, namespace, "other").serve()
        await client.create(GATEWAYS, namespace, gateway("main", mode="Deployment"))
        await Deployed(client, namespace).says("Programmed=False NotPermitted", "Stalled=True NotPermitted")
        await Children(client, namespace, "main").serve()


async def _running(client: Client, namespace: str, name: str, admin_port: int) -> None:
    """A replica's pod, as its kubelet would report it."""
    container = {"name": "switchyard", "image": IMAGE, "ports": [{"name": "admin", "containerPort": admin_port}]}
    marks = {"switchyard.dev/config-format": "1"}
    metadata = {"name": name, "labels": {"switchyard.dev/deployment-of": "main"}, "annotations": marks}
    await client.create(PODS, namespace, {"metadata": metadata, "spec": {"containers": [container]}})
    status = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    writing: Awaitable[Object] = client.request(
        "PATCH",
        PODS.path(namespace, name, "status"),
        json.dumps({"status": status}).encode(),
        content_type="application/merge-patch+json",
    )
    await writing
