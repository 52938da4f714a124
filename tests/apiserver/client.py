"""A thin client of an API server, over plain dicts: nothing between a test and what the server says."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from apiserver.server import ADMIN_TOKEN, ApiServer
from fakes.waiting import eventually

Object = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    """One kind of objects, by its place in the API."""

    api_version: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str | None, *below: str) -> str:
        """The path of all objects of a namespace (``None``: of all namespaces), or of what lies below."""
        root = "/api" if "/" not in self.api_version else "/apis"
        scope = ["namespaces", namespace] if self.namespaced and namespace is not None else []
        return "/".join([root, self.api_version, *scope, self.plural, *below])


NAMESPACES: Final = Resource("v1", "namespaces", namespaced=False)
CONFIG_MAPS: Final = Resource("v1", "configmaps")
SECRETS: Final = Resource("v1", "secrets")
PODS: Final = Resource("v1", "pods")
SERVICE_ACCOUNTS: Final = Resource("v1", "serviceaccounts")
CLUSTER_ROLES: Final = Resource("rbac.authorization.k8s.io/v1", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = Resource("rbac.authorization.k8s.io/v1", "clusterrolebindings", namespaced=False)
CRDS: Final = Resource("apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)
LEASES: Final = Resource("coordination.k8s.io/v1", "leases")
EVENTS: Final = Resource("events.k8s.io/v1", "events")
BACKENDS: Final = Resource("switchyard.dev/v1alpha1", "mcpbackends")
ALIASES: Final = Resource("switchyard.dev/v1alpha1", "mcptoolaliases")
GATEWAYS: Final = Resource("switchyard.dev/v1alpha1", "mcpgateways")


class RefusedError(Exception):
    """The server said no; ``status`` is its ``Status`` object."""

    def __init__(self, status: Object) -> None:
        super().__init__(status.get("message"))
        self.status = status

    @property
    def code(self) -> int:
        """The HTTP status."""
        return int(self.status["code"])

    @property
    def causes(self) -> list[tuple[str, str]]:
        """``(field, message)`` of everything that is wrong."""
        details = self.status.get("details") or {}
        return [(cause.get("field", ""), cause.get("message", "")) for cause in details.get("causes") or ()]


def drop(response: aiohttp.ClientResponse) -> None:
    """End a connection at once: closed the ordinary way, with TLS's goodbye, it would end after the test."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


class Client:
    """Speaks to a server as whoever its token stands for."""

    def __init__(self, server: ApiServer, http: aiohttp.ClientSession, token: str = ADMIN_TOKEN) -> None:
        self._server = server
        self._http = http
        self._token = token
        self._tls = server.tls

    def using(self, token: str) -> "Client":
        """The same as somebody else."""
        return Client(self._server, self._http, token)

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """One request; raises :class:`RefusedError` for an answer of 400 or more."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type, "Accept": accept}
        async with self._http.request(
            method, self._server.url + path, data=body, headers=headers, params=query, ssl=self._tls
        ) as response:
            answer: Object = await response.json()
        if response.status >= 400:
            raise RefusedError(answer)
        return answer

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        """One object."""
        return await self.request("GET", resource.path(namespace, name))

    async def list(self, resource: Resource, namespace: str | None = None, **query: str) -> list[Object]:
        """All objects of a namespace, or of all."""
        items: list[Object] = (await self.request("GET", resource.path(namespace), query=query))["items"]
        return items

    async def create(self, resource: Resource, namespace: str | None, body: Object, **query: str) -> Object:
        """A new object, as the server has stored it. Unknown fields are refused unless ``fieldValidation`` says otherwise."""
        query = {"fieldValidation": "Strict"} | query
        return await self.request("POST", resource.path(namespace), json.dumps(body).encode(), query=query)

    async def apply(
        self,
        resource: Resource,
        namespace: str | None,
        body: Object,
        *,
        manager: str = "tests",
        status: bool = False,
        force: bool = False,
    ) -> Object:
        """Server-side apply of an object, or of its status, by one field manager."""
        below = [body["metadata"]["name"], *(["status"] if status else [])]
        return await self.request(
            "PATCH",
            resource.path(namespace, *below),
            json.dumps(body).encode(),
            content_type="application/apply-patch+yaml",
            query={"fieldManager": manager, "force": str(force).lower(), "fieldValidation": "Strict"},
        )

    async def patch(self, resource: Resource, namespace: str | None, name: str, body: Object) -> Object:
        """JSON merge patch (RFC 7396)."""
        return await self.request(
            "PATCH",
            resource.path(namespace, name),
            json.dumps(body).encode(),
            content_type="application/merge-patch+json",
        )

    async def delete(self, resource: Resource, namespace: str | None, name: str) -> Object:
        """Delete one object; what it owns goes in the background, where controllers run."""
        return await self.request("DELETE", resource.path(namespace, name))

    async def install_crds(self, folder: Path) -> None:
        """Apply the CRDs of a folder, byte for byte, as ``kubectl apply --server-side`` does; return when they are served."""
        for file in sorted(folder.glob("*.yaml")):
            content = file.read_bytes()
            name = yaml.safe_load(content)["metadata"]["name"]
            await self.request(
                "PATCH",
                CRDS.path(None, name),
                content,
                content_type="application/apply-patch+yaml",
                query={"fieldManager": "tests", "fieldValidation": "Strict"},
            )
            await eventually(partial(self._established, name))

    async def _established(self, name: str) -> bool:
        conditions = (await self.get(CRDS, None, name)).get("status", {}).get("conditions") or ()
        return {"Established", "NamesAccepted"} <= {each["type"] for each in conditions if each["status"] == "True"}

    async def new_namespace(self, prefix: str = "test", labels: Mapping[str, str] | None = None) -> str:
        """Make a namespace; return its name, which begins with the prefix."""
        metadata = {"generateName": f"{prefix}-", "labels": dict(labels or {})}
        created = await self.create(NAMESPACES, None, {"metadata": metadata})
        return str(created["metadata"]["name"])

    async def new_account(self, namespace: str, name: str, rules: Sequence[Object]) -> str:
        """Make a service account that may do what the rules of a ClusterRole say and nothing else; return a token."""
        unique = f"{namespace}-{name}"
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": unique}
        subject = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
        await self.create(SERVICE_ACCOUNTS, namespace, {"metadata": {"name": name}})
        await self.create(CLUSTER_ROLES, None, {"metadata": {"name": unique}, "rules": rules})
        binding = {"metadata": {"name": unique}, "roleRef": role, "subjects": [subject]}
        await self.create(CLUSTER_ROLE_BINDINGS, None, binding)
        return await self.token(namespace, name)

    async def token(self, namespace: str, account: str) -> str:
        """A token that stands for a service account as long as there is that very account."""
        path = SERVICE_ACCOUNTS.path(namespace, account, "token")
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str((await self.request("POST", path, json.dumps(request).encode()))["status"]["token"])
