"""cert-manager as the owner of the webhook's certificates: the API server, the chart, the webhook and the operator beside what it writes.

cert-manager itself is not here. What its controllers write, and under which names, was seen of 1.21.1.
"""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest_asyncio

from apiserver.client import SECRETS, Client, Object
from apiserver.declared import SOON_S
from apiserver.issued import Authority
from apiserver.replica import replica
from apiserver.server import ApiServer
from apiserver.webhook import (
    CONFIGURATIONS,
    SECRET,
    Installation,
    agent,
    created,
    mounted,
    sidecars,
    webhook,
)
from chart.helm import render
from fakes.waiting import eventually
from switchyard_operator.controller.certificates.holdings import certificates_in

ISSUING: Final = "cert-manager-certificates-issuing"
CAINJECTOR: Final = "cert-manager-cainjector"


@pytest_asyncio.fixture
async def installation(client: Client, namespace: str, tmp_path: Path) -> AsyncIterator[Installation]:
    """A configuration that trusts nobody yet."""
    one = Installation(client, namespace, tmp_path)
    await one.configure()
    yield one
    await one.remove()


async def issue(installation: Installation, authority: Authority) -> None:
    """Write the Secret, as cert-manager's controller does."""
    secret = authority.secret(SECRET, "127.0.0.1")
    await installation.client.apply(SECRETS, installation.namespace, secret, manager=ISSUING, force=True)


async def inject(client: Client, configuration: str, *authorities: Authority) -> None:
    """Write ``caBundle``, as cainjector does: of each entry it has the name and this."""
    bundle = base64.b64encode(b"".join(each.root for each in authorities)).decode()
    webhooks = (await client.get(CONFIGURATIONS, None, configuration))["webhooks"]
    body = {
        "apiVersion": CONFIGURATIONS.api_version,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": configuration},
        "webhooks": [{"name": each["name"], "clientConfig": {"caBundle": bundle}} for each in webhooks],
    }
    await client.apply(CONFIGURATIONS, None, body, manager=CAINJECTOR, force=True)


async def test_what_cert_manager_issues_is_served_and_renewals_are_followed(
    api_server: ApiServer, installation: Installation, client: Client, namespace: str
) -> None:
    """By an authority below the one that is trusted, and then by a new one, which is trusted beside it; without a restart."""
    old, new = Authority.named("old"), Authority.named("new")
    await issue(installation, Authority.named("between", old))
    await inject(client, installation.name, old)
    async with (
        mounted(installation) as folder,
        webhook(installation, api_server.kubeconfig(), folder) as injecting,
    ):
        await injecting.ready()
        pod, _ = await created(client, namespace, agent())
        assert len(sidecars(pod)) == 1
        await issue(installation, new)
        await inject(client, installation.name, old, new)

        async def is_followed() -> bool:
            return [each["event"] for each in injecting.said].count("certificate_loaded") == 2

        await eventually(is_followed, SOON_S)
        await inject(client, installation.name, new)  # so that only the new one will do
        assert (await installation.ask([]))[0] == 400
        pod, _ = await created(client, namespace, agent("later"))
        assert len(sidecars(pod)) == 1


async def test_the_chart_is_applied_anew_without_a_conflict(client: Client, namespace: str) -> None:
    """The bundle stays, since the chart does not speak of it; nothing is changed at all."""
    configuration = _configuration(namespace)
    name = configuration["metadata"]["name"]
    await client.apply(CONFIGURATIONS, None, configuration, manager="helm")
    try:
        await inject(client, name, Authority.named("platform"))
        before = await client.get(CONFIGURATIONS, None, name)
        assert before["webhooks"][0]["clientConfig"]["caBundle"]
        assert await client.apply(CONFIGURATIONS, None, configuration, manager="helm") == before
    finally:
        await client.delete(CONFIGURATIONS, None, name)


async def test_the_operator_takes_over_when_the_secret_is_gone(
    api_server: ApiServer, installation: Installation, client: Client, namespace: str
) -> None:
    """The way back: until then it touches nothing; from then on its own authority is trusted beside cert-manager's."""
    platform = Authority.named("platform")
    await issue(installation, platform)
    await inject(client, installation.name, platform)
    flags = [*installation.flags, "--webhook-certificate-lifetime=100"]
    async with replica(api_server.kubeconfig(), *flags, namespace=namespace) as running:
        await running.says("certificates_not_kept")
        assert await installation.bundle() == platform.root
        await client.delete(SECRETS, namespace, SECRET)
        await running.says("ca_bundle_written")
        ours, theirs = certificates_in(await installation.bundle())
        assert ours.subject.rfc4514_string().startswith("CN=switchyard webhook authority")
        assert theirs == platform.certificate


def _configuration(namespace: str) -> Object:
    """The chart's, for pods of this namespace alone."""
    certificates = {"owner": "CertManager", "issuerRef": {"name": "platform"}}
    values = {"fullnameOverride": namespace, "namespaces": [namespace], "webhook": {"certificates": certificates}}
    return render(values)[f"MutatingWebhookConfiguration/{namespace}"]
