"""Who is touched when an object changes: which gateways have to be compiled again, which statuses to be looked at.

Old and new version of an object both count, so that a reference that was removed still touches what it referred to. What is touched
is found in indices, in time that depends on how much that is and on nothing else. Too much may be touched, at the cost of
looking for nothing; never too little.
"""

from collections.abc import Collection, Iterator
from typing import Generic, TypeVar

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.references import CaRef
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.aliases import target
from switchyard_operator.compile.credentials import references_of
from switchyard_operator.controller.observed import Child, Pod, Workload
from switchyard_operator.controller.resources import (
    ALIASES,
    BACKENDS,
    CONFIG_MAPS,
    GATEWAYS,
    NAMESPACES,
    PODS,
    SECRETS,
    WORKLOADS,
    Resource,
)
from switchyard_operator.controller.shelf import Change
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.store import Store
from switchyard_operator.controller.work import Task, Work

A = TypeVar("A")
B = TypeVar("B")


class Links(Generic[A, B]):
    """Which ``B`` point to an ``A``."""

    def __init__(self) -> None:
        self._to: dict[A, set[B]] = {}

    def to(self, there: A) -> Collection[B]:
        """All that point there."""
        return self._to.get(there, ())

    def move(self, here: B, old: Collection[A], new: Collection[A]) -> None:
        """``here`` pointed to ``old``, and from now on points to ``new``."""
        for there in old:
            if there not in new and (pointing := self._to.get(there)) is not None:
                pointing.discard(here)
                if not pointing:
                    del self._to[there]
        for there in new:
            self._to.setdefault(there, set()).add(here)


class Graph:
    """Knows who refers to whom in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._objects = store.objects
        self._gateways: set[Key] = set()
        """All of them, valid or not."""
        self._invalid: set[Key] = set()
        """Gateways of which only their children tell which backends they use."""
        self._naming = Links[Key, Key]()
        """From a backend to the gateways that name it."""
        self._selecting = Links[str, Key]()
        """From a namespace to its gateways that select backends by their labels."""
        self._borrowing = Links[str, Key]()
        """From a namespace to its gateways that name backends of others."""
        self._referring = Links[tuple[Resource, Key], Key]()
        """From a Secret or ConfigMap to the backends that refer to it."""
        self._renaming = Links[Key, Key]()
        """From a backend to the aliases of its tools."""
        self._admitting = Links[tuple[Resource, Key], Key]()
        """From a Secret or ConfigMap to the gateways whose ``auth`` refers to it."""

    def touched(self, change: Change) -> set[Work]:
        """What there is to do after a change. To be told of every change, in order, when the store has made it."""
        return set(self._follow(change))

    def everything(self) -> Iterator[Work]:
        """What is to be done by whoever begins to write: he has acted on none of the changes that led here.

        Deployments follow their configs, and are not named.
        """
        yield from (Work(Task.CONFIG, item.key) for item in self._store.gateways)
        yield from (Work(Task.BACKEND_STATUS, item.key) for item in self._store.backends)
        yield from (Work(Task.ALIAS_STATUS, item.key) for item in self._store.aliases)

    def aliases_touched(self, gateway: Key, before: Composition | None, after: Composition) -> set[Key]:
        """The aliases that stand otherwise on a gateway than they did when it was compiled before."""
        aliases = self._objects.aliases.within(gateway.namespace)
        if before is None:
            return {key for key, alias in aliases.items() if _may_mean(alias, gateway)}
        moved = (before.aliases.items() ^ after.aliases.items()) | (before.idle.items() ^ after.idle.items())
        return {key for key, _ in moved} & aliases.keys()

    def aliases_of(self, backend: Key) -> Collection[Key]:
        """The aliases of a backend's tools."""
        return self._renaming.to(backend)

    def gateways_of(self, backend: Key) -> set[Key]:
        """The gateways that use a backend, or would if they might."""
        declared = self._objects.backends.get(backend)
        return self._users(backend, () if declared is None else (declared,))

    def _follow(self, change: Change) -> Iterator[Work]:
        old = None if change.old is None else change.old.model
        new = None if change.new is None else change.new.model
        if change.resource == BACKENDS:
            yield from self._backend(change, old, new)
        elif change.resource == GATEWAYS:
            yield from self._gateway(change, old, new)
        elif change.resource == ALIASES:
            yield from self._alias(change, old, new)
        elif change.resource == PODS:
            pods = (each for each in (old, new) if isinstance(each, Pod))
            yield from (Work(Task.GATEWAY_STATUS, each.gateway) for each in pods if each.gateway in self._gateways)
        elif change.resource in WORKLOADS:
            workloads = (each for each in (old, new) if isinstance(each, Workload))
            yield from (Work(Task.DEPLOYMENT, each.gateway) for each in workloads if each.gateway in self._gateways)
        elif change.resource == NAMESPACES:
            yield from self._namespace(change.key.name)
        else:
            yield from self._credential(change, old, new)

    def _backend(self, change: Change, old: MCPBackend | None, new: MCPBackend | None) -> Iterator[Work]:
        self._referring.move(change.key, _references(old), _references(new))
        if change.new is not None:
            yield Work(Task.BACKEND_STATUS, change.key)
        versions = [each for each in (old, new) if each is not None]
        yield from (Work(Task.CONFIG, gateway) for gateway in self._users(change.key, versions))

    def _gateway(self, change: Change, old: MCPGateway | None, new: MCPGateway | None) -> Iterator[Work]:
        key = change.key
        self._naming.move(key, _named(old), _named(new))
        self._selecting.move(key, [key.namespace] if _selects(old) else (), [key.namespace] if _selects(new) else ())
        self._admitting.move(key, _references(old), _references(new))
        self._borrowing.move(key, [key.namespace] if _borrows(old) else (), [key.namespace] if _borrows(new) else ())
        (self._gateways.discard if change.new is None else self._gateways.add)(key)
        (self._invalid.add if change.new is not None and new is None else self._invalid.discard)(key)
        yield Work(Task.CONFIG, key)
        if (old is None) != (new is None):
            aliases = self._objects.aliases.within(key.namespace).values()
            yield from (Work(Task.ALIAS_STATUS, alias.key) for alias in aliases if _may_mean(alias, key))

    def _alias(self, change: Change, old: MCPToolAlias | None, new: MCPToolAlias | None) -> Iterator[Work]:
        self._renaming.move(change.key, _renamed(old), _renamed(new))
        if change.new is not None:
            yield Work(Task.ALIAS_STATUS, change.key)
        for alias in (old, new):
            if alias is not None:
                backend = target(alias)
                yield from (
                    Work(Task.CONFIG, gateway)
                    for gateway in self.gateways_of(backend) - self._invalid
                    if gateway.namespace == alias.key.namespace and _may_mean(alias, gateway)
                )

    def _namespace(self, namespace: str) -> Iterator[Work]:
        for gateway in (*self._borrowing.to(namespace), *self._invalid):
            if gateway.namespace == namespace:
                yield Work(Task.CONFIG, gateway)

    def _credential(self, change: Change, old: object, new: object) -> Iterator[Work]:
        for each in (old, new):
            if isinstance(each, Child) and each.gateway in self._gateways:
                yield Work(Task.CONFIG, each.gateway)
        for gateway in self._admitting.to((change.resource, change.key)):
            yield Work(Task.CONFIG, gateway)
        # Of one that is not valid nobody knows which Secrets hold its tokens.
        yield from (Work(Task.CONFIG, each) for each in self._invalid if each.namespace == change.key.namespace)
        for backend in self._referring.to((change.resource, change.key)):
            yield Work(Task.BACKEND_STATUS, backend)
            yield from (Work(Task.CONFIG, gateway) for gateway in self.gateways_of(backend))

    def _users(self, backend: Key, versions: Collection[MCPBackend]) -> set[Key]:
        """Gateways that name the backend, select any of its versions, or may have used it before they became invalid."""
        selecting = (
            key
            for key in self._selecting.to(backend.namespace)
            if any(_selects_any(self._objects.gateways[key], each) for each in versions)
        )
        return {*self._naming.to(backend), *selecting, *self._invalid}


def _named(gateway: MCPGateway | None) -> set[Key]:
    entries = gateway.spec.backends if gateway else ()
    namespace = gateway.key.namespace if gateway else ""
    return {Key(entry.namespace or namespace, entry.name) for entry in entries if entry.name is not None}


def _renamed(alias: MCPToolAlias | None) -> set[Key]:
    return set() if alias is None else {target(alias)}


def _borrows(gateway: MCPGateway | None) -> bool:
    return gateway is not None and any(key.namespace != gateway.key.namespace for key in _named(gateway))


def _selects(gateway: MCPGateway | None) -> bool:
    return gateway is not None and any(entry.selector is not None for entry in gateway.spec.backends)


def _selects_any(gateway: MCPGateway, backend: MCPBackend) -> bool:
    selectors = (entry.selector for entry in gateway.spec.backends)
    return any(each is not None and each.matches(backend.metadata.labels) for each in selectors)


def _may_mean(alias: MCPToolAlias, gateway: Key) -> bool:
    refs = alias.spec.gateway_refs
    return refs is None or any(ref.name == gateway.name for ref in refs)


def _references(declared: MCPBackend | MCPGateway | None) -> set[tuple[Resource, Key]]:
    """The Secrets and ConfigMaps that an object refers to."""
    if declared is None:
        return set()
    return {
        (
            CONFIG_MAPS if isinstance(ref, CaRef) and ref.kind == "ConfigMap" else SECRETS,
            Key(declared.key.namespace, ref.name),
        )
        for _, ref in references_of(declared)
    }
