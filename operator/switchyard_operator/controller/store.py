"""Everything that is watched, as it was last seen: parsed once, with the views that compiling and the statuses read.

Models are made when an object's spec or labels change and at no other time. What is invalid has faults instead of a model, and
does not exist for others. Secrets are decoded once; bookkeeping (``managedFields``, annotations of others) is not kept.
"""

import base64
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog
from pydantic import ValidationError

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.explain import Explained, explain
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import CREDENTIAL_LABEL, NAMESPACE_LABEL, Key
from switchyard_operator.compile.children import CHILD_LABELS, child_key
from switchyard_operator.compile.objects import ConfigMap, MutableTable, Namespace, Objects, Secret
from switchyard_operator.controller.observed import Child, Pod, Workload
from switchyard_operator.controller.resources import (
    ALIASES,
    BACKENDS,
    CONFIG_MAPS,
    GATEWAYS,
    NAMESPACES,
    PODS,
    SECRETS,
    WATCHED,
    WORKLOADS,
    Resource,
)
from switchyard_operator.controller.shelf import GUARDS, Change, Item, Listing, Shelf, key_of

Own = TypeVar("Own", MCPBackend, MCPToolAlias, MCPGateway)
M = TypeVar("M")

EVERYTHING: Final[Collection[tuple[Resource, str | None]]] = tuple((resource, None) for resource in WATCHED)
"""Every watched resource, in all namespaces."""

_log = structlog.get_logger()


class Store:
    """What is known of the cluster.

    ``expected`` says which lists must have been read once before what is missing can be told from what is not yet known:
    resources, each with a namespace or ``None`` for all.
    """

    def __init__(self, expected: Collection[tuple[Resource, str | None]] = EVERYTHING) -> None:
        self._expected = expected
        backends, aliases, gateways = (
            MutableTable[MCPBackend](),
            MutableTable[MCPToolAlias](),
            MutableTable[MCPGateway](),
        )
        secrets, config_maps = MutableTable[Secret](), MutableTable[ConfigMap]()
        namespaces: dict[str, Namespace] = {}
        self.objects: Final = Objects(backends, aliases, gateways, secrets, config_maps, namespaces)
        """All valid objects, for compiling. A view: it changes with the store."""
        self.backends: Final = Shelf[MCPBackend](BACKENDS, _own(BACKENDS, MCPBackend), _into(backends, MCPBackend))
        self.aliases: Final = Shelf[MCPToolAlias](ALIASES, _own(ALIASES, MCPToolAlias), _into(aliases, MCPToolAlias))
        self.gateways: Final = Shelf[MCPGateway](GATEWAYS, _own(GATEWAYS, MCPGateway), _into(gateways, MCPGateway))
        self.secrets: Final = Shelf[Secret | Child](SECRETS, _core(SECRETS, _secret), _into(secrets, Secret))
        self.config_maps: Final = Shelf[ConfigMap | Child](
            CONFIG_MAPS, _core(CONFIG_MAPS, _config_map), _into(config_maps, ConfigMap)
        )
        self.pods: Final = Shelf[Pod](PODS, _core(PODS, Pod.of), self._follow_pod)
        self.namespaces: Final = Shelf[Namespace](NAMESPACES, _core(NAMESPACES, _namespace), _into_names(namespaces))
        self._pods_of: dict[Key, set[Key]] = {}
        workloads = {
            resource: Shelf[Workload](resource, _core(resource, partial(Workload.of, resource)), _into_nothing)
            for resource in WORKLOADS
        }
        self._shelves: dict[Resource, Shelf[Any]] = {
            **workloads,
            BACKENDS: self.backends,
            ALIASES: self.aliases,
            GATEWAYS: self.gateways,
            SECRETS: self.secrets,
            CONFIG_MAPS: self.config_maps,
            PODS: self.pods,
            NAMESPACES: self.namespaces,
        }

    def event(self, resource: Resource, type_: str | None, raw: Mapping[str, Any]) -> Change | None:
        """Take in one event of a watch, or (as ``MODIFIED``) the API server's answer to a write of ours.

        ``type_`` is ``ADDED``, ``MODIFIED`` or ``DELETED``; kopf says ``None`` of objects it has listed. Returns what has changed for
        others; ``None`` when the event is late, or tells of nothing but status and bookkeeping.
        """
        shelf = self._shelves[resource]
        return shelf.remove(raw) if type_ == "DELETED" else shelf.put(raw)

    def listing(self, resource: Resource, namespace: str | None = None) -> Listing[Any]:
        """Begin to take in our own list of a resource (of one namespace). One at a time of each resource."""
        return self._shelves[resource].listing(namespace)

    @property
    def complete(self) -> bool:
        """Whether everything expected was listed once. Before, nothing may be written."""
        return all(self._shelves[resource].was_listed(namespace) for resource, namespace in self._expected)

    def shelf(self, resource: Resource) -> Shelf[Any]:
        """All objects of one resource."""
        return self._shelves[resource]

    def child(self, resource: Resource, gateway: Key) -> Item[Child] | None:
        """The ConfigMap or Secret of that gateway's name, if it is labelled as a child."""
        item: Item[Any] | None = self._shelves[resource].get(child_key(gateway))
        return item if item is not None and isinstance(item.model, Child) else None

    def workload(self, resource: Resource, gateway: Key) -> Item[Workload] | None:
        """The Deployment of that gateway's name, or what stands beside it, if it is labelled so."""
        item: Item[Workload] | None = self._shelves[resource].get(child_key(gateway))
        return item

    def pods_of(self, gateway: Key) -> Iterator[Pod]:
        """The pods that ask for that gateway, in no particular order."""
        for key in self._pods_of.get(gateway, ()):
            item = self.pods.get(key)
            if item is not None and item.model is not None:
                yield item.model

    def _follow_pod(self, change: Change) -> None:
        if change.old is not None and change.old.model is not None:
            keys = self._pods_of[change.old.model.gateway]
            keys.discard(change.key)
            if not keys:
                del self._pods_of[change.old.model.gateway]
        if change.new is not None and change.new.model is not None:
            self._pods_of.setdefault(change.new.model.gateway, set()).add(change.key)


def _own(resource: Resource, kind: type[Own]) -> Callable[[Mapping[str, Any], Item[Own] | None], Item[Own]]:
    """Reads an object of one of our kinds."""

    def read(raw: Mapping[str, Any], held: Item[Own] | None) -> Item[Own]:
        metadata = raw["metadata"]
        uid, generation = metadata.get("uid", ""), metadata.get("generation", 0)
        # Whoever changes a spec changes its generation.
        if (
            held is not None
            and held.model is not None
            and (held.uid, held.generation) == (uid, generation)
            and held.model.metadata.labels == (metadata.get("labels") or {})
        ):
            return _item(raw, held.model, status=raw.get("status"))
        model, faults = _parsed(resource, kind, raw)
        return _item(raw, model, faults, raw.get("status"), _guards(raw) if model is None else frozenset())

    return read


def _guards(raw: Mapping[str, Any]) -> frozenset[str]:
    spec = raw.get("spec")
    return frozenset(name for name in GUARDS if isinstance(spec, Mapping) and spec.get(name) is not None)


def _parsed(resource: Resource, kind: type[Own], raw: Mapping[str, Any]) -> tuple[Own | None, tuple[Explained, ...]]:
    tree = {"metadata": raw["metadata"], "apiVersion": resource.api_version, "kind": resource.kind}
    if "spec" in raw:
        tree["spec"] = raw["spec"]
    try:
        return kind.model_validate(tree), ()
    except ValidationError as error:
        return None, tuple(explain(kind, error))
    except Exception as error:  # noqa: BLE001 - one object costs itself, never its neighbours
        _complain(resource, raw, error)
        return None, (Explained(("spec",), "cannot be read, by a fault of the operator's: please report it", ""),)


def _core(
    resource: Resource, read: Callable[[Mapping[str, Any]], M]
) -> Callable[[Mapping[str, Any], Item[M] | None], Item[M]]:
    """Reads an object of Kubernetes' own, of which the API server has seen to it that it is well-formed."""

    def of(raw: Mapping[str, Any], _: Item[M] | None) -> Item[M]:
        try:
            return _item(raw, read(raw))
        except Exception as error:  # noqa: BLE001 - one object costs itself, never its neighbours
            _complain(resource, raw, error)
            return _item(raw, None)

    return of


def _complain(resource: Resource, raw: Mapping[str, Any], error: Exception) -> None:
    """Say which object could not be read, and where in the program. What the error says may be the object's own, secrets included."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(at.filename).name}:{at.lineno}"
    _log.error("object_not_read", resource=str(resource), object=str(key_of(raw)), error=type(error).__name__, at=where)


def _item(
    raw: Mapping[str, Any],
    model: M | None,
    faults: tuple[Explained, ...] = (),
    status: Mapping[str, Any] | None = None,
    guards: frozenset[str] = frozenset(),
) -> Item[M]:
    metadata = raw["metadata"]
    return Item(
        key=key_of(raw),
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        generation=metadata.get("generation", 0),
        deleting="deletionTimestamp" in metadata,
        model=model,
        faults=faults,
        status=status or {},
        guards=guards,
    )


def _secret(raw: Mapping[str, Any]) -> Secret | Child:
    if _is_child(raw):
        return Child.of(SECRETS, raw)
    data = {name: base64.b64decode(text) for name, text in (raw.get("data") or {}).items()}
    return Secret(key_of(raw), data, raw["metadata"].get("labels") or {})


def _config_map(raw: Mapping[str, Any]) -> ConfigMap | Child:
    if _is_child(raw):
        return Child.of(CONFIG_MAPS, raw)
    plain = {name: text.encode() for name, text in (raw.get("data") or {}).items()}
    binary = {name: base64.b64decode(text) for name, text in (raw.get("binaryData") or {}).items()}
    return ConfigMap(key_of(raw), plain | binary)


def _namespace(raw: Mapping[str, Any]) -> Namespace:
    name = raw["metadata"]["name"]
    return Namespace(name, {**(raw["metadata"].get("labels") or {}), NAMESPACE_LABEL: name})


def _is_child(raw: Mapping[str, Any]) -> bool:
    return (raw["metadata"].get("labels") or {}).get(CREDENTIAL_LABEL) == CHILD_LABELS[CREDENTIAL_LABEL]


def _into(table: MutableTable[M], kind: type[M]) -> Callable[[Change], None]:
    """Keeps a table in step with a shelf; what is not of this kind is not in the table."""

    def follow(change: Change) -> None:
        model = change.new and change.new.model
        if isinstance(model, kind):
            table.put(change.key, model)
        else:
            table.drop(change.key)

    return follow


def _into_nothing(_: Change) -> None:
    """Compiling does not look at it."""


def _into_names(table: dict[str, Namespace]) -> Callable[[Change], None]:
    def follow(change: Change) -> None:
        if change.new is not None and isinstance(change.new.model, Namespace):
            table[change.key.name] = change.new.model
        else:
            table.pop(change.key.name, None)

    return follow
