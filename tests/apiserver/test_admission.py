"""The webhook asked by a real API server, with certificates that the real operator makes and publishes."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from apiserver.client import EVENTS, GATEWAYS, PODS, SECRETS, Client, RefusedError
from apiserver.declared import SOON_S, gateway
from apiserver.proxy import Proxy
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from apiserver.webhook import (
    CONFIGURATIONS,
    IMAGE,
    SECRET,
    Installation,
    agent,
    created,
    mounted,
    sidecars,
    webhook,
)
from fakes.waiting import eventually
from switchyard_operator.controller.certificates.holdings import Lifetimes, advanced, utc_now

URL = {"name": "SWITCHYARD_URL", "value": "http://127.0.0.1:8811/mcp"}
NO_GATEWAY = 'switchyard: there is no valid MCPGateway "main" in namespace "{}" yet: no tools until there is'


@pytest_asyncio.fixture
async def installation(client: Client, namespace: str, tmp_path: Path) -> AsyncIterator[Installation]:
    """A configuration, which every pod of the namespace with the label has to pass."""
    one = Installation(client, namespace, tmp_path)
    await one.configure()
    yield one
    await one.remove()


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, installation: Installation) -> AsyncIterator[Replica]:
    """The operator, which makes the certificates."""
    async with replica(api_server.kubeconfig(), *installation.flags, namespace=installation.namespace) as running:
        yield running


@pytest_asyncio.fixture
async def injector(
    api_server: ApiServer, client: Client, installation: Installation, tmp_path: Path
) -> AsyncIterator[Replica]:
    """The webhook, trusted and ready, with no more permissions than it needs."""
    held = advanced(None, (), frozenset({"127.0.0.1"}), utc_now(), Lifetimes(), settled=False)
    for name, content in held.files().items():
        (tmp_path / name).write_bytes(content)
    installation.trusted = held.bundle
    await installation.configure()
    rules = [{"apiGroups": ["switchyard.dev"], "resources": ["mcpgateways"], "verbs": ["list", "watch"]}]
    token = await client.new_account(installation.namespace, "webhook", rules)
    async with webhook(installation, api_server.kubeconfig(token), tmp_path, "--drain=1") as running:
        await running.ready()
        yield running


async def test_a_pod_with_the_label_gets_a_sidecar(injector: Replica, client: Client, namespace: str) -> None:
    """As the API server stores it, with its own defaults; whoever makes it hears that there is no gateway yet."""
    pod, warnings = await created(client, namespace, agent())
    (sidecar,) = pod["spec"]["initContainers"]
    assert (sidecar["name"], sidecar["image"], sidecar["restartPolicy"]) == ("switchyard", IMAGE, "Always")
    assert pod["metadata"]["annotations"] == {"switchyard.dev/config-format": "1"}
    assert pod["spec"]["containers"][0]["env"] == [URL]
    assert [each["name"] for each in pod["spec"]["volumes"]] == ["switchyard"]
    assert pod["status"]["qosClass"] == "BestEffort"
    assert warnings == [NO_GATEWAY.format(namespace)]
    assert await injector.metric("switchyard_webhook_admissions_total") == 1


async def test_a_pod_is_injected_once_however_often_it_comes(
    injector: Replica, installation: Installation, client: Client, namespace: str
) -> None:
    """Two entries of one configuration, which the API server asks one after the other and then again."""
    await installation.configure(entries=2)

    async def asked_again() -> bool:
        pod, _ = await created(client, namespace, agent(), dry_run=True)
        assert len(sidecars(pod)) == 1
        assert pod["spec"]["containers"][0]["env"] == [URL]
        said = [each["result"] for each in injector.said if each["event"] == "answered"]
        return "Present" in said

    await eventually(asked_again, SOON_S)


async def test_a_changed_gateway_shows_in_pods_that_come_later(
    injector: Replica, client: Client, namespace: str
) -> None:
    """Image, port and resources; and its end."""
    declared = gateway(
        "main", listener={"port": 9000}, sidecar={"image": "other:2", "resources": {"limits": {"cpu": 1}}}
    )
    await client.create(GATEWAYS, namespace, declared)

    async def has(image: str, limits: Any, warnings: list[str]) -> None:
        async def it_has() -> bool:
            pod, said = await created(client, namespace, agent(), dry_run=True)
            (sidecar,) = sidecars(pod)
            return (sidecar["image"], sidecar["resources"].get("limits"), said) == (image, limits, warnings)

        await eventually(it_has, SOON_S)

    await has("other:2", {"cpu": "1"}, [])
    await client.delete(GATEWAYS, namespace, "main")
    await has(IMAGE, None, [NO_GATEWAY.format(namespace)])


async def test_a_pod_that_cannot_have_a_sidecar_is_made_without_and_its_maker_warned(
    injector: Replica, client: Client, namespace: str
) -> None:
    """It starts: nobody is blocked."""
    pod, warnings = await created(client, namespace, agent(hostNetwork=True))
    assert sidecars(pod) == []
    why = "the pod uses the network of its node (hostNetwork), where everybody could reach the sidecar"
    assert warnings == [f"switchyard: no sidecar is added: {why}"]


async def test_a_pod_without_the_label_is_not_asked_about(injector: Replica, client: Client, namespace: str) -> None:
    """The API server sees to that."""
    pod = agent()
    del pod["metadata"]["labels"]
    stored, warnings = await created(client, namespace, pod)
    assert (sidecars(stored), warnings) == ([], [])
    assert await injector.metric("switchyard_webhook_admissions_total") == 0


async def test_a_fault_of_ours_blocks_nobody(injector: Replica, installation: Installation) -> None:
    """A pod that cannot be: it is let through, with a warning, and with a code that says whose fault it is."""
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    request = {"uid": "1", "operation": "CREATE", "kind": kind, "namespace": "a", "object": {"metadata": {}}}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    status, answer = await installation.ask(review)
    warning = "switchyard: no sidecar is added: the webhook has failed; its log says more"
    assert (status, answer["response"]) == (
        200,
        {
            "uid": "1",
            "allowed": True,
            "warnings": [warning],
            "status": {"code": 500, "message": warning},
            "auditAnnotations": {"result": "Failed"},
        },
    )
    assert (await injector.says("failed"))["uid"] == "1"


async def test_what_is_no_question_gets_no_answer(injector: Replica, installation: Installation) -> None:
    """A word for whoever has sent it."""
    nothing, other = "the body is no AdmissionReview with a request\n", "only admission.k8s.io/v1 is spoken here\n"
    assert await installation.ask([]) == (400, nothing)
    assert await installation.ask({"apiVersion": "admission.k8s.io/v1", "request": {}}) == (400, nothing)
    assert await installation.ask({"apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "1"}}) == (400, other)


async def test_other_operations_and_objects_are_let_through(injector: Replica, installation: Installation) -> None:
    """As when somebody has changed the configuration."""
    pod, other = {"group": "", "version": "v1", "kind": "Pod"}, {"group": "apps", "version": "v1", "kind": "Deployment"}
    for operation, kind in (("UPDATE", pod), ("CREATE", other)):
        request = {"uid": "1", "operation": operation, "kind": kind, "namespace": "a", "object": agent()}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        assert (await installation.ask(review))[1]["response"] == {"uid": "1", "allowed": True}


async def test_the_webhook_is_ready_when_it_has_a_certificate(
    api_server: ApiServer, installation: Installation, tmp_path: Path
) -> None:
    """Before that it says what it waits for; it lives all the while."""
    folder = tmp_path / "certificates"
    folder.mkdir()
    async with webhook(installation, api_server.kubeconfig(), folder) as waiting:
        await waiting.says("certificate_not_usable")
        assert await waiting.answers("/readyz") == (503, "it has no certificate yet, or has not seen the gateways\n")
        assert await waiting.answers("/healthz") == (200, "ok\n")
        assert await waiting.metric("switchyard_webhook_certificate_expiry_timestamp_seconds") == 0


async def test_the_webhook_goes_on_answering_for_a_while_when_it_is_told_to_stop(
    injector: Replica, client: Client, namespace: str
) -> None:
    """Not ready any more, so that no new connections come; those that come all the same are answered."""
    injector.process.send_signal(signal.SIGTERM)
    await injector.says("leaving")
    assert (await injector.answers("/readyz"))[0] == 503
    assert len(sidecars((await created(client, namespace, agent()))[0])) == 1
    assert await injector.ended() == 0


async def test_without_a_webhook_pods_start_bare_under_ignore_and_are_counted(
    api_server: ApiServer, operator: Replica, installation: Installation, client: Client, namespace: str
) -> None:
    """In the gateway's status, with a condition that is no part of Ready, and an event; until they are gone.

    So are pods that are labelled when they run.
    """
    await installation.configure("Ignore")
    await client.create(GATEWAYS, namespace, gateway("main"))
    pod, _ = await created(client, namespace, agent())
    assert sidecars(pod) == []

    async def told(reason: str | None, missing: int | None) -> None:
        async def it_is() -> bool:
            status = (await client.get(GATEWAYS, namespace, "main")).get("status", {})
            reasons = {each["type"]: each["reason"] for each in status["conditions"]}
            wanted = (reason, missing, "Ready")
            return (reasons.get("Injected"), status.get("pods", {}).get("missing"), reasons["Ready"]) == wanted

        await eventually(it_is, SOON_S)

    await told("SidecarMissing", 1)
    events = [each for each in await client.list(EVENTS, namespace) if each["reason"] == "SidecarMissing"]
    assert [each["note"] for each in events] == [
        "1 pod has no sidecar (the webhook adds it when a pod is created, where it is enabled and nothing in the pod is in the way): agent"
    ]
    late = agent("late")
    labels = late["metadata"].pop("labels")
    await client.create(PODS, namespace, late)
    await client.patch(PODS, namespace, "late", {"metadata": {"labels": labels}})
    await told("SidecarMissing", 2)
    for name in ("agent", "late"):
        await client.request("DELETE", PODS.path(namespace, name), query={"gracePeriodSeconds": "0"})
    await told(None, None)


async def test_without_a_webhook_no_pod_starts_under_fail(
    operator: Replica, installation: Installation, client: Client, namespace: str
) -> None:
    """Those without the label do."""
    with pytest.raises(RefusedError) as refusal:
        await client.create(PODS, namespace, agent())
    assert "failed calling webhook" in str(refusal.value)
    other = agent("other")
    del other["metadata"]["labels"]
    await client.create(PODS, namespace, other)


async def test_certificates_are_made_once_and_then_left_alone(
    api_server: ApiServer, installation: Installation, tmp_path: Path
) -> None:
    """By a replica that looks each second; another that starts later finds nothing to do."""
    lifetimes = ["--webhook-certificate-lifetime=100", "--webhook-ca-lifetime=100"]
    async with Proxy(api_server) as proxy:

        def asked(method: str) -> int:
            return sum(CONFIGURATIONS.plural in each.path for each in proxy.asked if each.method == method)

        for patches in (1, 0):
            proxy.asked.clear()
            async with replica(
                proxy.kubeconfig(tmp_path), *installation.flags, *lifetimes, namespace=installation.namespace
            ) as running:
                await running.leads()

                async def looked_thrice() -> bool:
                    return asked("GET") >= 3 + patches  # noqa: B023 - waited for right here

                await eventually(looked_thrice, SOON_S)
                assert asked("PATCH") == patches
                assert sum(SECRETS.plural in each.path for each in proxy.asked if each.writes) == patches
                await running.end()


async def test_a_bundle_that_somebody_overwrites_is_put_right(
    api_server: ApiServer, installation: Installation, client: Client
) -> None:
    """As an installer does that owns the whole configuration."""
    lifetimes = ["--webhook-certificate-lifetime=100"]
    async with replica(
        api_server.kubeconfig(), *installation.flags, *lifetimes, namespace=installation.namespace
    ) as running:
        await running.says("ca_bundle_written")
        bundle = await installation.bundle()
        body = await client.get(CONFIGURATIONS, None, installation.name)
        del body["webhooks"][0]["clientConfig"]["caBundle"]
        del body["metadata"]["managedFields"]
        await client.request("PUT", CONFIGURATIONS.path(None, installation.name), json.dumps(body).encode())

        async def is_right() -> bool:
            return await installation.bundle() == bundle

        await eventually(is_right, SOON_S)


async def test_a_strangers_secret_is_not_touched(
    api_server: ApiServer, installation: Installation, client: Client, namespace: str
) -> None:
    """Of another's certificates we know nothing: he keeps them, and has to publish them too."""
    theirs = {"metadata": {"name": SECRET}, "data": {"tls.crt": "", "tls.key": ""}, "type": "kubernetes.io/tls"}
    before = await client.create(SECRETS, namespace, theirs)
    async with replica(api_server.kubeconfig(), *installation.flags, namespace=namespace) as running:
        said = await running.says("certificates_not_kept")
        assert (
            said["error"]
            == f"Secret {namespace}/{SECRET} is somebody else's: remove it, or let its owner keep caBundle too"
        )
        assert await running.metric("switchyard_operator_certificates_not_kept") == 1
    assert await client.get(SECRETS, namespace, SECRET) == before
    assert await installation.bundle() == b""


async def test_the_operator_waits_for_a_configuration(
    api_server: ApiServer, client: Client, namespace: str, tmp_path: Path
) -> None:
    """Objects are made in any order."""
    late = Installation(client, namespace, tmp_path)
    lifetimes = ["--webhook-certificate-lifetime=100"]
    async with replica(api_server.kubeconfig(), *late.flags, *lifetimes, namespace=namespace) as running:
        await running.says("certificates_not_kept")
        await late.configure()
        try:
            await running.says("ca_bundle_written")

            async def is_kept() -> bool:
                return await running.metric("switchyard_operator_certificates_not_kept") == 0

            await eventually(is_kept, SOON_S)
        finally:
            await late.remove()


async def test_no_admission_fails_while_certificates_are_replaced(
    api_server: ApiServer, installation: Installation, client: Client, namespace: str
) -> None:
    """Short-lived ones, under load and under Fail: by the same authority, by a new one, and by another replica after their Secret was lost.

    Beside the API server, which keeps its connections, somebody connects anew each time with what it trusts at that moment.
    """
    flags = [*installation.flags, "--webhook-ca-lifetime=24", "--webhook-certificate-lifetime=12"]
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "request": {"uid": "1", "operation": "DELETE", "kind": {}, "namespace": namespace},
    }
    async with (
        replica(api_server.kubeconfig(), *flags, namespace=namespace) as leader,
        mounted(installation) as folder,
        webhook(installation, api_server.kubeconfig(), folder) as injecting,
    ):
        await leader.says("ca_bundle_written")
        await injecting.ready()
        stopped = asyncio.Event()
        admitted = [0, 0]

        async def create() -> None:
            while not stopped.is_set():
                pod, _ = await created(client, namespace, agent(), dry_run=True)
                assert len(sidecars(pod)) == 1
                admitted[0] += 1

        async def connect() -> None:
            while not stopped.is_set():
                assert (await installation.ask(review))[0] == 200
                admitted[1] += 1

        def written(by: Replica) -> list[Any]:
            return [each["authorities"] for each in by.said if each["event"] == "certificates_written"]

        def loaded() -> int:
            return sum(each["event"] == "certificate_loaded" for each in injecting.said)

        async def rotated() -> bool:
            """The first; a renewal; a second authority; what it signs."""
            authorities = written(leader)
            return 2 in authorities and len(authorities) > authorities.index(2) + 1 and loaded() >= 3

        async def made_anew() -> bool:
            return bool(written(second)) and loaded() >= 4

        async def replace_all() -> None:
            await eventually(rotated, 45)
            assert written(second) == []
            await leader.end()
            await second.leads()
            await client.delete(SECRETS, namespace, SECRET)
            await eventually(made_anew, SOON_S)
            stopped.set()

        async with (
            replica(api_server.kubeconfig(), *flags, namespace=namespace) as second,
            asyncio.TaskGroup() as tasks,
        ):
            for part in (create(), create(), connect(), replace_all()):
                tasks.create_task(part)
    assert min(admitted) > 20
