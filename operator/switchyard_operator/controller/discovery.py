"""What there is to watch: our kinds, once they are installed, and namespaces, where we may see them."""

import asyncio
from typing import Final

import structlog

from switchyard_operator.controller.kube import ApiError, Kube, KubeError
from switchyard_operator.controller.resources import ALIASES, BACKENDS, GATEWAYS, Resource

POLL_S: Final = 2.0
_OWN: Final = (BACKENDS, ALIASES, GATEWAYS)
_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)

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


async def may_watch(kube: Kube, resource: Resource) -> bool:
    """Whether we are allowed to list and watch the resource everywhere.

    Raises:
        KubeError: the API server does not say.
    """
    for verb in ("list", "watch"):
        attributes = {"verb": verb, "group": resource.group, "version": resource.version, "resource": resource.plural}
        review = {
            "apiVersion": _REVIEWS.api_version,
            "kind": _REVIEWS.kind,
            "spec": {"resourceAttributes": attributes},
        }
        if not (await kube.create(_REVIEWS, review))["status"].get("allowed"):
            return False
    return True
