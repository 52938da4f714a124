"""The API server, as dicts over HTTP: nothing of an object is lost that our models do not know.

Nothing is tried twice here. Whoever lists tries a page again; whoever writes must look again whether it still may.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.access import Access
from switchyard_operator.controller.observed import FIELD_MANAGER
from switchyard_operator.controller.resources import Resource
from switchyard_sidecar import __version__

PAGE_OBJECTS: Final = 500
CONNECT_S: Final = 5.0
REQUEST_S: Final = 30.0
"""The most that one request may take, its answer included."""

_JSON: Final = "application/json"
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
_MERGE: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_NAMESPACE_ENDS: Final = "NamespaceTerminating"  # k8s.io/api/core/v1, NamespaceTerminatingCause


class KubeError(Exception):
    """A request that did not do what it was made for."""


class Unreachable(KubeError):  # noqa: N818 - the name says it
    """No answer. Whether a write was done is not known."""


class ApiError(KubeError):
    """The API server's refusal (``Status`` object, Kubernetes API conventions, "Response Status Kind")."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after_s: float | None = None,
        *,
        namespace_ends: bool = False,
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        """One word: ``Conflict``, ``AlreadyExists``, ``Expired`` ..."""
        self.message = message
        self.retry_after_s = retry_after_s
        """What the server asks to wait before the next attempt."""
        self.namespace_ends = namespace_ends
        """Nothing new can be made there, since the namespace is being deleted with everything in it."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list."""

    items: list[dict[str, Any]]
    following: str
    """The token of the next page; empty: this was the last."""
    resource_version: str
    """Of the whole list: the moment that all its pages show."""


class Kube:
    """A client of one API server, for one event loop. Every method raises :class:`KubeError`."""

    def __init__(self, access: Access) -> None:
        self._server = access.server
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=access.tls()),
            timeout=aiohttp.ClientTimeout(total=REQUEST_S, sock_connect=CONNECT_S),
            headers={"User-Agent": f"{FIELD_MANAGER}/{__version__}"},
            middlewares=(access.authorize,),
            proxy=access.proxy,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def read(self, path: str) -> dict[str, Any]:
        """Whatever JSON is at a path, such as discovery, or a key set, which has a media type of its own."""
        return await self._request("GET", path, accept="*/*")

    async def get(self, resource: Resource, namespace: str | None, name: str) -> dict[str, Any] | None:
        """One object; ``None`` when there is none."""
        try:
            return await self._request("GET", resource.path(namespace, name))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def exists(self, resource: Resource, key: Key) -> bool:
        """Whether there is such an object. Its content is not asked for; where we may not ask, the answer is no."""
        try:
            await self._request("GET", resource.path(*key), accept=_METADATA)
        except ApiError as error:
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}:
                return False
            raise
        return True

    async def page(
        self,
        resource: Resource,
        namespace: str | None,
        selector: str = "",
        following: str = "",
        limit: int = PAGE_OBJECTS,
    ) -> Page:
        """A page of a list as of now; ``following`` as the page before gave it. 410: the list must begin anew."""
        query = {"limit": str(limit)}
        if selector:
            query["labelSelector"] = selector
        if following:
            query["continue"] = following
        answer = await self._request("GET", resource.path(namespace), query)
        items = answer.get("items") or []
        for item in items:  # built-in kinds are listed without saying what they are
            item.setdefault("apiVersion", resource.api_version)
            item.setdefault("kind", resource.kind)
        metadata = answer["metadata"]
        return Page(items, metadata.get("continue") or "", metadata.get("resourceVersion") or "")

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make an object that must not exist yet; 409 ``AlreadyExists`` when it does."""
        path = resource.path(body.get("metadata", {}).get("namespace"))
        return await self._request("POST", path, {"fieldManager": FIELD_MANAGER}, body)

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
        """Replace an object as it was when its ``resourceVersion`` was read; 409 ``Conflict`` when it has changed since."""
        metadata = body["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"])
        return await self._request("PUT", path, {"fieldManager": FIELD_MANAGER}, body)

    async def apply(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        subresource: str | None = None,
        manager: str = FIELD_MANAGER,
        force: bool = True,
    ) -> dict[str, Any]:
        """Server-side apply, which creates what is not there. With ``metadata.resourceVersion``: only if that is still the latest.

        ``force``: taking over fields in conflict; otherwise a field that another manager has set otherwise is 409 ``Conflict``.
        """
        metadata = body["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        return await self._request("PATCH", path, query, body, _APPLY)

    async def delete(self, resource: Resource, key: Key, *, uid: str, resource_version: str) -> None:
        """Delete an object as it was seen, and then what belongs to it; 409 ``Conflict`` when it has changed, 404 when it is gone."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        await self._request("DELETE", resource.path(*key), body=body | {"propagationPolicy": "Background"})

    async def merge_patch(
        self, resource: Resource, namespace: str, name: str, patch: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Change what ``patch`` names (RFC 7396). With ``metadata.uid``: 409 ``Conflict`` when it is another object by now."""
        return await self._request(
            "PATCH", resource.path(namespace, name), {"fieldManager": FIELD_MANAGER}, patch, _MERGE
        )

    async def json_patch(
        self, resource: Resource, namespace: str | None, name: str, patch: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Change what the operations say (RFC 6902); 422 ``Invalid`` when one that tests something fails."""
        return await self._request(
            "PATCH", resource.path(namespace, name), {"fieldManager": FIELD_MANAGER}, patch, _JSON_PATCH
        )

    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        content_type: str = _JSON,
        accept: str = _JSON,
    ) -> dict[str, Any]:
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Accept": accept} | ({} if body is None else {"Content-Type": content_type})
        try:
            async with self._session.request(
                method, self._server + path, params=query, data=data, headers=headers
            ) as response:
                content = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"{method} {path}: {str(error) or type(error).__name__}") from error
        tree = _tree(content)
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise _refusal(response, tree)
        if tree is None:
            raise Unreachable(f"{method} {path}: the answer is no JSON object")
        return tree


def _tree(content: bytes) -> dict[str, Any] | None:
    try:
        tree = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return tree if isinstance(tree, dict) else None


def _refusal(response: aiohttp.ClientResponse, tree: dict[str, Any] | None) -> ApiError:
    """Read a ``Status``. What is no ``Status`` comes from something in between, and is not repeated."""
    status = tree if tree is not None and tree.get("kind") == "Status" else {}
    causes = (status.get("details") or {}).get("causes") or ()
    after = response.headers.get("Retry-After", "")
    return ApiError(
        response.status,
        status.get("reason") or response.reason or "",
        status.get("message") or "",
        float(after) if after.isascii() and after.isdigit() else None,
        namespace_ends=any(each.get("reason") == _NAMESPACE_ENDS for each in causes),
    )
