"""The real webhook as a process, asked by the real API server; and what a kubelet and an installation do around it."""

import asyncio
import base64
import json
import re
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from apiserver.client import PODS, SECRETS, Client, Object, Resource
from apiserver.declared import found
from apiserver.replica import START_S, Replica
from soak.ports import free_port

WEBHOOK: Final = str(Path(sys.executable).with_name("switchyard-webhook"))
CONFIGURATIONS: Final = Resource("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", namespaced=False)
SECRET: Final = "switchyard-webhook-certificates"
IMAGE: Final = "registry.example/sidecar:1"


@dataclass
class Installation:
    """What a chart would make, for one namespace alone: a configuration that points to a port of this machine."""

    client: Client
    namespace: str
    folder: Path
    port: int = field(default_factory=free_port)
    trusted: bytes = b""
    """``caBundle``, where no operator is to write it."""

    @property
    def name(self) -> str:
        """Of the configuration."""
        return f"switchyard-{self.namespace}"

    @property
    def flags(self) -> list[str]:
        """The operator's."""
        return [f"--webhook-configuration={self.name}", f"--sidecar-image={IMAGE}"]

    async def configure(self, policy: str = "Fail", entries: int = 1) -> None:
        """Make the configuration, or change it."""
        webhooks = [self._entry(f"pods{number or ''}.injection.switchyard.dev", policy) for number in range(entries)]
        metadata = {"name": self.name}
        await self.client.apply(CONFIGURATIONS, None, {"metadata": metadata, "webhooks": webhooks} | _KIND)

    def _entry(self, name: str, policy: str) -> Object:
        here = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [self.namespace]}
        trust = {"caBundle": base64.b64encode(self.trusted).decode()} if self.trusted else {}
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        return {
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}/inject"} | trust,
            "rules": [rule | {"scope": "Namespaced"}],
            "objectSelector": {"matchExpressions": [{"key": "switchyard.dev/gateway", "operator": "Exists"}]},
            "namespaceSelector": {"matchExpressions": [here]},
            "timeoutSeconds": 5,
            "reinvocationPolicy": "IfNeeded",
            "sideEffects": "None",
            "failurePolicy": policy,
        }

    async def remove(self) -> None:
        """Let no webhook be asked any more."""
        await self.client.delete(CONFIGURATIONS, None, self.name)

    async def bundle(self) -> bytes:
        """What the API server trusts now."""
        configuration = await self.client.get(CONFIGURATIONS, None, self.name)
        return base64.b64decode(configuration["webhooks"][0]["clientConfig"].get("caBundle", ""))

    async def secret(self) -> Object | None:
        """The Secret with the certificates, if there is one."""
        return await found(self.client.get(SECRETS, self.namespace, SECRET))

    async def ask(self, review: Any) -> tuple[int, Any]:
        """Ask the webhook over a connection of its own, as an API server that trusts the bundle does."""
        tls = ssl.create_default_context(cadata=(await self.bundle()).decode())
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls, force_close=True)) as http,
            http.post(f"https://127.0.0.1:{self.port}/inject", data=json.dumps(review)) as response,
        ):
            content = await response.read()
            return response.status, json.loads(content) if response.status == 200 else content.decode()


_KIND: Final = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}


@dataclass
class Kubelet:
    """Mounts the Secret into a folder, and keeps it as it is in the cluster: all files at once, by renaming a link."""

    installation: Installation
    folder: Path
    _held: dict[str, str] = field(default_factory=dict)
    _times: int = 0

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.sync()
            await asyncio.sleep(0.2)

    async def sync(self) -> None:
        """Bring the folder in line. Where there is no Secret the files stay."""
        secret = await self.installation.secret()
        if secret is None or secret["data"] == self._held:
            return
        self._held = secret["data"]
        self._times += 1
        fresh = self.folder / f"..{self._times}"
        fresh.mkdir()
        for name in ("tls.crt", "tls.key"):
            (fresh / name).write_bytes(base64.b64decode(secret["data"][name]))
        swap = self.folder / "..data_tmp"
        swap.symlink_to(fresh.name)
        swap.replace(self.folder / "..data")
        for name in ("tls.crt", "tls.key"):
            with suppress(FileExistsError):
                (self.folder / name).symlink_to(f"..data/{name}")


@asynccontextmanager
async def mounted(installation: Installation) -> AsyncIterator[Path]:
    """The folder with the certificates, kept while the block runs."""
    folder = installation.folder / "certificates"
    folder.mkdir()
    kubelet = asyncio.create_task(Kubelet(installation, folder).run())
    try:
        yield folder
    finally:
        kubelet.cancel()
        await asyncio.wait([kubelet])


@asynccontextmanager
async def webhook(installation: Installation, kubeconfig: Path, folder: Path, *flags: str) -> AsyncIterator[Replica]:
    """Run the webhook while the block runs; its health is told when the block is entered, whether or not it is ready."""
    process = await asyncio.create_subprocess_exec(
        WEBHOOK,
        f"--kubeconfig={kubeconfig}",
        f"--namespace={installation.namespace}",
        f"--listen=127.0.0.1:{installation.port}",
        "--health=127.0.0.1:0",
        f"--certificates={folder}",
        f"--sidecar-image={IMAGE}",
        *flags,
        stderr=asyncio.subprocess.PIPE,
    )
    async with aiohttp.ClientSession() as http:
        running = Replica(process, http)
        listening = asyncio.create_task(running.listen())
        try:
            running.admin = (await running.says("listening", START_S))["url"]
            yield running
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await listening


def agent(name: str = "agent", gateway: str = "main", **spec: Any) -> Object:
    """A pod that asks for a gateway."""
    metadata = {"name": name, "labels": {"switchyard.dev/gateway": gateway}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "app", "image": "agent:1"}], **spec},
    }


async def created(client: Client, namespace: str, pod: Object, *, dry_run: bool = False) -> tuple[Object, list[str]]:
    """The pod as it is stored (or would be), and the warnings for whoever has made it."""
    query = {"dryRun": "All"} if dry_run else {}
    headers = {"Authorization": f"Bearer {client._token}", "Content-Type": "application/json"}
    async with client._http.post(
        client._server.url + PODS.path(namespace), json=pod, headers=headers, params=query, ssl=client._tls
    ) as response:
        answer: Object = await response.json()
        assert response.status == 201, answer
        warnings = response.headers.getall("Warning", [])
    return answer, [re.sub(r'^299 \S+ "(.*)"$', r"\1", each).replace('\\"', '"') for each in warnings]


def sidecars(pod: Object) -> list[Object]:
    """The containers in a pod that are called as ours."""
    containers = [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]
    return [each for each in containers if each["name"] == "switchyard"]
