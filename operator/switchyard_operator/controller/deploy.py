"""What to do next, so that a gateway in mode ``Deployment`` has its Deployment, Service and disruption budget, and another has none.

1. Everything is written by server-side apply (KEP-555) with the fields that are ours alone. What others have set beside them
   stays: the annotation of ``kubectl rollout restart``, what a mesh adds, node selectors.
2. An object is made by an apply without force: with one that a stranger has made meanwhile under this name it conflicts. What
   exists is only written when this gateway controls it, bound to the uid and the version that were looked at.
3. Whether something differs is known by the API server alone, which fills in and rewrites what it is given: an apply that changes
   nothing leaves the object's version as it was, and is no write. It is not asked twice about the same (:func:`settled`).
4. How many replicas there are is ours while the gateway says it. Where it does not, others decide: the number is handed over by
   applying it under a manager that is not used for anything else, and then no more under our own (Kubernetes' documentation,
   "Server-Side Apply", "Transferring ownership"). So it is at first, too: a Deployment is made with a number, which is handed over.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.observed import FIELD_MANAGER, Workload, applied, controller_uid
from switchyard_operator.controller.plan import Blocked, Raw, looked_at, obstacle
from switchyard_operator.controller.resources import DEPLOYMENTS, DISRUPTION_BUDGETS, SERVICES, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.workloads.deployment import FIRST_REPLICAS, deployment, disruption_budget, service
from switchyard_operator.workloads.settings import Installation, settings_for

REPLICAS_MANAGER: Final = "switchyard-operator-replicas"
"""Under which a number of replicas is left to others."""


class ImageUnknown(Exception):  # noqa: N818 - the name says it
    """Neither the gateway nor the installation says of which image the replicas are."""


@dataclass(frozen=True, slots=True)
class Make:
    """Apply an object that does not exist, without force. 409: it does by now; look again."""

    resource: Resource
    body: Raw = field(repr=False)
    complete: bool
    """Whether it is then as it should be."""


@dataclass(frozen=True, slots=True)
class Update:
    """Apply an object with force, as it was looked at. 409, 404: look again."""

    resource: Resource
    body: Raw = field(repr=False)


@dataclass(frozen=True, slots=True)
class HandOver:
    """Apply the number of replicas that there is under :data:`REPLICAS_MANAGER`, as it was looked at, without force."""

    resource: Resource
    body: Raw


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete an object as it was looked at."""

    resource: Resource
    key: Key
    uid: str
    resource_version: str


Step: TypeAlias = Make | Update | HandOver | Remove


def wanted(item: Item[MCPGateway], installation: Installation) -> Mapping[Resource, Raw | None] | None:
    """What a gateway should consist of, each with what is ours in it; ``None`` of an object: none.

    ``None`` of all: what there is stays as it is, since the gateway is not valid, or on its way out, which takes its objects along.

    Raises:
        ImageUnknown: see there.
    """
    gateway = item.model
    if gateway is None or item.deleting:
        return None
    if gateway.spec.mode != "Deployment":
        return {SERVICES: None, DISRUPTION_BUDGETS: None, DEPLOYMENTS: None}
    settings = settings_for(installation, gateway)
    if not settings.image:
        raise ImageUnknown
    return {
        SERVICES: service(gateway, item.uid, settings),
        DISRUPTION_BUDGETS: disruption_budget(gateway, item.uid),
        DEPLOYMENTS: deployment(gateway, item.uid, settings, gateway.spec.replicas),
    }


def concerned(known: Item[Workload] | None, desired: Raw | None, uid: str) -> bool:
    """Whether there may be something to do about an object, as the store knows it."""
    return desired is not None or (known is not None and known.model is not None and known.model.owner == uid)


def agreed(desired: Raw, live: bytes) -> bytes:
    """Stands for: an object that others have in this state (:func:`.observed.decided`) is as we want it."""
    return hashlib.sha256(live + msgspec.json.encode(desired, order="deterministic")).digest()


def next_step(
    resource: Resource, desired: Raw | None, live: Raw | None, gateway: Key, uid: str
) -> Step | Blocked | None:
    """What to do about one object, given how the API server has it. ``None``: nothing.

    After a :class:`Make` that is not complete, and after :class:`HandOver`, ask again with the API server's answer.
    """
    if desired is None:
        return None if live is None else _removed(resource, live, uid)
    if live is None:
        return _made(resource, desired)
    if (blocked := obstacle(resource, live, gateway, uid)) is not None:
        return blocked
    if resource == DEPLOYMENTS and "replicas" not in desired["spec"] and _holds_alone(live):
        number = {**_bare(desired), "spec": {"replicas": live["spec"]["replicas"]}}
        return HandOver(resource, looked_at(number, live))
    return Update(resource, looked_at(desired, live))


def _removed(resource: Resource, live: Raw, uid: str) -> Remove | None:
    metadata = live["metadata"]
    if controller_uid(live) != uid or "deletionTimestamp" in metadata:
        return None
    key = Key(metadata["namespace"], metadata["name"])
    return Remove(resource, key, metadata["uid"], metadata["resourceVersion"])


def _made(resource: Resource, desired: Raw) -> Make:
    if resource != DEPLOYMENTS or "replicas" in desired["spec"]:
        return Make(resource, desired, complete=True)
    return Make(resource, {**desired, "spec": {**desired["spec"], "replicas": FIRST_REPLICAS}}, complete=False)


def _holds_alone(live: Raw) -> bool:
    """Whether the number of replicas is ours and nobody else's, so that it would fall back to the default if we let it go."""
    owners = [
        entry.get("manager")
        for entry in live["metadata"].get("managedFields") or ()
        if "f:replicas" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    return "f:replicas" in (applied(live).get("f:spec") or {}) and set(owners) == {FIELD_MANAGER}


def _bare(desired: Raw) -> dict[str, Any]:
    metadata = {name: desired["metadata"][name] for name in ("name", "namespace")}
    return {"apiVersion": desired["apiVersion"], "kind": desired["kind"], "metadata": metadata}
