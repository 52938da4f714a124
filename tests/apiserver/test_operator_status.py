"""The operator on a real API server: what it says of objects, and what kubectl, Flux and Helm read of it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

import pytest
import pytest_asyncio

from apiserver.client import (
    ALIASES,
    BACKENDS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    EVENTS,
    GATEWAYS,
    SECRETS,
    Client,
    Object,
    Resource,
)
from apiserver.declared import alias, backend, bearer, credential, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import PATIENCE_S, eventually
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.alias import Stand, Standing, assess_alias
from switchyard_operator.controller.status.alike import alike as looking_alike
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.backend import assess_backend
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.gateway import PodCounts, Writing, Written, assess_gateway
from switchyard_operator.controller.status.pinned import pinned
from switchyard_operator.controller.status.probed import Answer, Probe, ProbeReason, Reach
from switchyard_sidecar.catalog import lookalikes
from switchyard_sidecar.catalog.pins import Comparison
from unit.operator import declared, kstatus
from unit.operator.status.situations import NOW, held

pytestmark = pytest.mark.newest_kubernetes

TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
RATED_S: Final = 10.0
"""How long a change may take to be told that flips nothing: five seconds after what was told before, on a busy machine."""


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, namespace: str) -> AsyncIterator[Replica]:
    """A replica that serves the test's namespace, leads, and looks at no backend."""
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as running:
        await running.idle()
        yield running


class Watched:
    """Objects of one namespace, as their readers see them."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def conditions(self, resource: Resource, name: str) -> list[str]:
        """As ``Ready=True Degraded``."""
        found = await self._client.get(resource, self._namespace, name)
        return [f"{each['type']}={each['status']} {each['reason']}" for each in found["status"]["conditions"]]

    async def becomes(
        self, resource: Resource, name: str, condition: str, read: kstatus.Reading, within_s: float = PATIENCE_S
    ) -> Object:
        """Wait for a condition; then the whole must read so."""

        async def holds() -> bool:
            return condition in await self.conditions(resource, name)

        await eventually(holds, within_s)
        found = await self._client.get(resource, self._namespace, name)
        assert kstatus.read(found) == read
        return found

    async def events(self) -> list[str]:
        """All events, as ``Warning SecretNotFound MCPBackend/github``, in order of time."""
        found = await self._client.list(EVENTS, self._namespace)
        return [
            f"{each['type']} {each['reason']} {each['regarding']['kind']}/{each['regarding']['name']}"
            for each in sorted(found, key=lambda each: each["eventTime"])
        ]

    async def row(self, resource: Resource, name: str) -> dict[str, Any]:
        """What ``kubectl get`` shows, but for the age."""
        path = resource.path(self._namespace, name)
        table = await self._client.request("GET", path, accept=TABLE)
        columns = [each["name"] for each in table["columnDefinitions"] if each.get("priority", 0) == 0]
        return {name: cell for name, cell in zip(columns, table["rows"][0]["cells"], strict=False) if name != "Age"}


@pytest.fixture
def watched(client: Client, namespace: str) -> Watched:
    return Watched(client, namespace)


async def test_an_object_nobody_has_looked_at_reads_as_under_way(client: Client, namespace: str) -> None:
    """Without an operator; Helm would take an object without a status for ready."""
    for resource, each in ((BACKENDS, backend("b")), (ALIASES, alias("a", "b", "t")), (GATEWAYS, gateway("g", "b"))):
        assert kstatus.read(await client.create(resource, namespace, each)) == "InProgress"


async def test_kubectl_get_answers_whether_it_works(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """One line an object, of all three kinds."""
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main", "one", "gone"))
    await client.create(ALIASES, namespace, alias("find", "one", "search"))
    await watched.becomes(GATEWAYS, "main", "Ready=True Degraded", "Current")
    await watched.becomes(BACKENDS, "one", "Ready=True Ready", "Current")
    await watched.becomes(ALIASES, "find", "Ready=True Ready", "Current")
    assert await watched.row(GATEWAYS, "main") == {
        "Name": "main",
        "Ready": "True",
        "Reason": "Degraded",
        "Backends": 1,
        "Tools": None,
        "Pods": 0,
        "Current": 0,
    }
    assert await watched.row(BACKENDS, "one") == {
        "Name": "one",
        "Ready": "True",
        "Reason": "Ready",
        "Reachable": "Unknown",
        "Era": None,
        "Tools": None,
    }
    assert await watched.row(ALIASES, "find") == {
        "Name": "find",
        "Ready": "True",
        "Reason": "Ready",
        "Backend": "one",
        "Tool": "search",
        "Alias": "find",
        "Gateways": 1,
    }


async def test_a_secret_that_comes_late_is_waited_for_and_told_of_once(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """It goes and comes again: nobody is told twice."""
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    for _ in range(2):
        await watched.becomes(BACKENDS, "one", "Reconciling=True SecretNotFound", "InProgress")
        await client.create(SECRETS, namespace, credential("token", "s3cret"))
        found = await watched.becomes(BACKENDS, "one", "Ready=True Ready", "Current")
        await client.delete(SECRETS, namespace, "token")
    await operator.idle()
    assert await watched.events() == ["Warning SecretNotFound MCPBackend/one", "Normal ResolvedRefs MCPBackend/one"]
    assert "s3cret" not in str(found["status"])


async def test_a_secret_without_the_label_is_a_mistake_of_its_own(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """Its owner has to act; as soon as the label is there, all is well."""
    await client.create(SECRETS, namespace, credential("token", "s3cret", labelled=False))
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    await watched.becomes(BACKENDS, "one", "Stalled=True SecretNotLabelled", "Failed")
    await client.patch(SECRETS, namespace, "token", {"metadata": {"labels": {"switchyard.dev/credential": "true"}}})
    await watched.becomes(BACKENDS, "one", "Ready=True Ready", "Current")


async def test_a_mistake_reads_as_failed_until_it_is_corrected(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """With the field and what to do; times move with flips alone."""
    await client.create(SECRETS, namespace, credential("token", "s3cret\n"))
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    found = await watched.becomes(BACKENDS, "one", "Stalled=True InvalidCredential", "Failed")
    (ready,) = (each for each in found["status"]["conditions"] if each["type"] == "Ready")
    assert ready["message"].startswith("spec.auth.secretKeyRef: key token of Secret ")
    assert "s3cret" not in ready["message"]
    await client.patch(SECRETS, namespace, "token", {"data": credential("token", "s3cret")["data"]})
    await watched.becomes(BACKENDS, "one", "Ready=True Ready", "Current")


async def test_a_changed_object_is_observed_again(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """Every condition says of which generation it speaks."""
    await client.create(BACKENDS, namespace, backend("one"))
    before = await watched.becomes(BACKENDS, "one", "Ready=True Ready", "Current")
    patched = await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
    assert kstatus.read(patched) == "InProgress"

    async def observed() -> bool:
        return kstatus.read(await client.get(BACKENDS, namespace, "one")) == "Current"

    await eventually(observed, RATED_S)
    after = await client.get(BACKENDS, namespace, "one")
    assert {each["observedGeneration"] for each in after["status"]["conditions"]} == {2}
    assert [each["lastTransitionTime"] for each in after["status"]["conditions"]] == [
        each["lastTransitionTime"] for each in before["status"]["conditions"]
    ]


async def test_of_two_aliases_the_loser_names_the_winner(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """And takes over when the winner goes."""
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    for name in ("a", "b"):
        body = alias(name, "one", f"tool-{name}")
        body["spec"]["alias"] = "find"
        await client.create(ALIASES, namespace, body)
    found = await watched.becomes(ALIASES, "b", "Stalled=True AliasConflict", "Failed")
    assert found["status"]["conflicts"] == [{"gateway": "main", "winner": "a"}]
    assert found["status"]["gateways"] == {"total": 1, "accepted": 0, "conflicted": 1}

    async def the_gateway_says_so_too() -> bool:
        status = (await client.get(GATEWAYS, namespace, "main"))["status"]
        return [each["reason"] for each in status.get("conflicts", ())] == ["AliasConflict"]

    await eventually(the_gateway_says_so_too, RATED_S)
    await client.delete(ALIASES, namespace, "a")
    found = await watched.becomes(ALIASES, "b", "Ready=True Ready", "Current")
    assert "conflicts" not in found["status"]
    assert found["status"]["gateways"] == {"total": 1, "accepted": 1, "conflicted": 0}


async def test_an_alias_waits_for_a_backend_that_is_left_out(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """Its gateway includes the backend, and there is none yet: the alias does not work, and says so."""
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    await client.create(ALIASES, namespace, alias("find", "one", "search"))
    found = await watched.becomes(ALIASES, "find", "Reconciling=True BackendNotFound", "InProgress")
    assert found["status"]["gateways"] == {"total": 1, "accepted": 0, "conflicted": 0}
    await client.create(BACKENDS, namespace, backend("one"))
    await watched.becomes(ALIASES, "find", "Ready=True Ready", "Current")


async def test_a_strangers_object_in_the_way_is_named(
    operator: Replica, client: Client, namespace: str, watched: Watched
) -> None:
    """The gateway has failed until somebody removes it."""
    await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "switchyard-main"}})
    await client.create(GATEWAYS, namespace, gateway("main"))
    found = await watched.becomes(GATEWAYS, "main", "Programmed=False NameConflict", "Failed")
    assert "switchyard-main" in str(found["status"]["conditions"])
    assert await watched.events() == ["Warning NameConflict MCPGateway/main"]


DRIFTED: Final = Answer(
    "Modern",
    "2026-07-28",
    True,
    "n" * 500,
    "v" * 500,
    2**31 - 1,
    "f" * 64,
    pinned=pinned(Comparison(True, 1, ("t" * 512, "é" * 512), ("new",), ("gone",))),
)
"""What a backend may have said, at its longest."""


def full(resource: Resource) -> Assessment:
    """An assessment with every field that a status of this kind can have."""
    if resource is BACKENDS:
        reach = Reach().after(Probe(ProbeReason.ANSWERED, DRIFTED))
        return assess_backend(held(declared.backend("one", pinning={"mode": "Warn"})), Objects(), reach)
    if resource is ALIASES:
        gateways = [Key("agents", f"{index:02}" + "g" * 38) for index in range(64)]
        lost = [Standing(each, Stand.LOST, Key("agents", "w" * 253)) for each in gateways]
        return assess_alias(held(declared.alias("one", "github", "t", "find")), lost)
    one = declared.gateway("github")
    aliases = [declared.alias(f"a{index:02}", "github", "t", "n" * 128) for index in range(40)]
    composed = Composition.of(declared.compiled(one, declared.backend("github"), *aliases))
    writing = Writing(Written.TOO_LARGE, "é" * 5000, "c" * 64)
    return assess_gateway(held(one), composed, writing, PodCounts(2**31 - 1, 0, 2**31 - 1), 2**31 - 1)


@pytest.mark.parametrize(
    ("resource", "body"),
    [(BACKENDS, backend("one")), (ALIASES, alias("one", "github", "t")), (GATEWAYS, gateway("one"))],
    ids=["backend", "alias", "gateway"],
)
async def test_what_is_sent_is_stored_whole(client: Client, namespace: str, resource: Resource, body: Object) -> None:
    """Nothing is pruned, refused or written otherwise, however full it is: a second apply changes nothing."""
    created = await client.create(resource, namespace, body)
    status = full(resource).status(1, created["status"], NOW)
    sent = {**body, "status": status}
    stored = await client.apply(resource, namespace, sent, status=True, force=True)
    assert stored["status"] == status
    again = await client.apply(resource, namespace, sent, status=True, force=True)
    assert again["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


async def test_a_config_that_may_not_be_written_is_told_of(
    api_server: ApiServer, client: Client, namespace: str, watched: Watched
) -> None:
    """The gateway is under way until somebody grants the right; then it is well without being touched."""
    anything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    ours = {"apiGroups": ["switchyard.dev", "coordination.k8s.io"], "resources": ["*"], "verbs": ["*"]}
    token = await client.new_account(namespace, "restricted", [anything, ours])
    async with replica(api_server.kubeconfig(token), namespace=namespace) as operator:
        await operator.leads()
        await client.create(GATEWAYS, namespace, gateway("main"))
        await watched.becomes(GATEWAYS, "main", "Programmed=False WriteFailed", "InProgress")
        role = f"{namespace}-restricted"
        await client.patch(CLUSTER_ROLES, None, role, {"rules": [{**anything, "verbs": ["*"]}]})
        await watched.becomes(GATEWAYS, "main", "Ready=True Ready", "Current", RATED_S)
    assert await watched.events() == ["Normal Programmed MCPGateway/main"]


async def test_statuses_survive_a_restart_unwritten(
    api_server: ApiServer, client: Client, namespace: str, watched: Watched
) -> None:
    """Of all kinds, well and not: the next replica finds that everything has been said."""
    await client.create(BACKENDS, namespace, backend("one"))
    await client.create(BACKENDS, namespace, backend("two", auth=bearer("token")))
    await client.create(GATEWAYS, namespace, gateway("main", "one", "two", "gone"))
    await client.create(ALIASES, namespace, alias("find", "one", "search"))
    await client.create(ALIASES, namespace, alias("lost", "gone", "search"))
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as first:
        await watched.becomes(GATEWAYS, "main", "Ready=True Degraded", "Current")
        await watched.becomes(ALIASES, "find", "Ready=True Ready", "Current")
        await first.idle()
        assert await first.end() == 0
    before = [await client.list(each, namespace) for each in (BACKENDS, ALIASES, GATEWAYS, EVENTS)]
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as second:
        await second.idle()
        assert await second.metric("switchyard_operator_work_total") >= 5
        assert await second.metric("switchyard_operator_writes_total") == 0
    assert [await client.list(each, namespace) for each in (BACKENDS, ALIASES, GATEWAYS, EVENTS)] == before


async def test_what_differs_from_the_pins_is_still_said_after_a_restart(
    api_server: ApiServer, client: Client, namespace: str, watched: Watched
) -> None:
    """By a replica that has not looked yet; and never is it in the way of `Ready`."""
    created = await client.create(BACKENDS, namespace, backend("one", pinning={"mode": "Warn"}))
    item = replace(
        held(declared.backend("one", namespace, pinning={"mode": "Warn"})), generation=created["metadata"]["generation"]
    )
    said = assess_backend(item, Objects(), Reach().after(Probe(ProbeReason.ANSWERED, DRIFTED)))
    body = {**backend("one"), "status": said.status(item.generation, {}, NOW)}
    await client.apply(BACKENDS, namespace, body, status=True, force=True)
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as operator:
        await operator.idle()
        assert await operator.metric("switchyard_operator_writes_total") == 0
        assert "Pinned=False Drifted" in await watched.conditions(BACKENDS, "one")
        await watched.becomes(BACKENDS, "one", "Ready=True Ready", "Current")


async def test_what_is_said_of_a_backends_tools_is_taken_and_stays(
    api_server: ApiServer, client: Client, namespace: str, watched: Watched
) -> None:
    """Names that look alike, of which a replica knows that has not looked yet; and pins that only callers' lists can be held against."""
    found = looking_alike(lookalikes.among(["paypal", "p\u0430ypal"]))
    created = await client.create(BACKENDS, namespace, backend("one"))
    item = replace(held(declared.backend("one", namespace)), generation=created["metadata"]["generation"])
    said = assess_backend(item, Objects(), Reach().after(Probe(ProbeReason.ANSWERED, replace(DRIFTED, alike=found))))
    body = {**backend("one"), "status": said.status(item.generation, {}, NOW)}
    await client.apply(BACKENDS, namespace, body, status=True, force=True)
    await client.create(BACKENDS, namespace, backend("two", auth={"type": "Forward"}, pinning={"mode": "Enforce"}))
    async with replica(api_server.kubeconfig(), "--probes=Disabled", namespace=namespace) as operator:
        await operator.idle()
        assert "NamesLookAlike=True MixedScripts" in await watched.conditions(BACKENDS, "one")
        await watched.becomes(BACKENDS, "one", "Ready=True Ready", "Current")
        assert "Pinned=Unknown CallerNeeded" in await watched.conditions(BACKENDS, "two")
        await watched.becomes(BACKENDS, "two", "Ready=True Ready", "Current")
