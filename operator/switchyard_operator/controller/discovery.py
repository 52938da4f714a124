"""What there is to watch: our kinds, once they are installed, and namespaces, where we may see them."""

import asyncio
import os
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import product
from typing import Final

import structlog
from yarl import URL

from switchyard_operator.controller.kube import ApiError, Kube, KubeError
from switchyard_operator.controller.resources import ALIASES, BACKENDS, GATEWAYS, Resource

POLL_S: Final = 2.0
_OWN: Final = (BACKENDS, ALIASES, GATEWAYS)
_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
_ENDPOINT_SLICES: Final = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")

_log = structlog.get_logger()


async def kinds_served(kube: Kube, poll_s: float = POLL_S) -> None:
    """Return when the API server serves all our kinds. They may be installed after the operator."""
    said = None
    while (missing := await _missing(kube)) is not None:
        if missing != said:
            _log.warning("waiting_for_kinds", missing=missing)
            said = missing
        await asyncio.sleep(poll_s)


async def _missing(kube: Kube) -> str | None:
    """What is not served, in words; ``None``: all is."""
    group = f"/apis/{BACKENDS.api_version}"
    try:
        served = {each["name"] for each in (await kube.read(group))["resources"]}
    except ApiError as error:
        return f"{group}: {error.status} {error.reason}"
    except KubeError as error:
        return str(error)
    return ", ".join(str(each) for each in _OWN if each.plural not in served) or None


async def api_server_addresses(kube: Kube, server: str) -> frozenset[IPv4Address | IPv6Address]:
    """Where the API server is: what its URL resolves to, its Service, and behind that its endpoints, where we may see them."""
    hosts = {str(URL(server).host), os.environ.get("KUBERNETES_SERVICE_HOST", "")} - {""}
    found: set[str] = set()
    for host in hosts:
        with suppress(OSError):
            found |= {str(each[4][0]) for each in await asyncio.get_running_loop().getaddrinfo(host, None)}
    try:
        page = await kube.page(_ENDPOINT_SLICES, "default", "kubernetes.io/service-name=kubernetes")
    except ApiError as error:
        _log.warning("api_server_endpoints_not_seen", error=f"{error.status} {error.reason}")
    else:
        endpoints = [endpoint for item in page.items for endpoint in item.get("endpoints") or ()]
        found |= {address for endpoint in endpoints for address in endpoint.get("addresses") or ()}
    return frozenset(map(ip_address, found))


async def may_watch(kube: Kube, resource: Resource, namespaces: Collection[str] = ()) -> bool:
    """Whether we are allowed to list and watch the resource in all of these namespaces; none are given: everywhere.

    Raises:
        KubeError: the API server does not say.
    """
    attributes = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    for namespace, verb in product(namespaces or ("",), ("list", "watch")):
        review = {
            "apiVersion": _REVIEWS.api_version,
            "kind": _REVIEWS.kind,
            "spec": {"resourceAttributes": {**attributes, "verb": verb, "namespace": namespace}},
        }
        if not (await kube.create(_REVIEWS, review))["status"].get("allowed"):
            return False
    return True
