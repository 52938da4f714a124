"""A small API server: versions, uids, generations, server-side apply by one manager, and everything that happened as watch events."""

import copy
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.children import child_key
from switchyard_operator.controller.configure import Command, Outcome, Read
from switchyard_operator.controller.observed import FIELD_MANAGER, content_of
from switchyard_operator.controller.plan import Apply, Create, Raw
from switchyard_operator.controller.resources import CONFIG_MAPS, GATEWAYS, SECRETS, WATCHED, Resource

OWN_GROUP = "switchyard.dev"


class Conflict(Exception):  # noqa: N818
    """409 to an apply: the object is another, or has changed."""


@dataclass(frozen=True)
class Event:
    """What a watch tells."""

    resource: Resource
    type: str
    raw: dict[str, Any]

    @property
    def uid(self) -> str:
        uid: str = self.raw["metadata"]["uid"]
        return uid

    @property
    def version(self) -> int:
        return int(self.raw["metadata"]["resourceVersion"])


@dataclass
class Cluster:
    """The objects of a cluster, and the log of its changes."""

    objects: dict[tuple[Resource, Key], dict[str, Any]] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    version: int = 100
    writes: list[str] = field(default_factory=list)
    """What was created or applied under our name."""

    def get(self, resource: Resource, key: Key) -> dict[str, Any] | None:
        return copy.deepcopy(self.objects.get((resource, key)))

    def list(self, resource: Resource) -> tuple[list[dict[str, Any]], str]:
        """All objects of a resource, and the version of the list."""
        raws = [
            copy.deepcopy(raw)
            for (of, _), raw in self.objects.items()
            if of == resource and _is_selected(resource, raw)
        ]
        return raws, str(self.version)

    def put(self, resource: Resource, key: Key, **parts: Any) -> dict[str, Any]:
        """Create an object or replace parts of it (``labels``, ``status``, ``spec``, ``data``), as its owner would."""
        old = self.objects.get((resource, key))
        raw = copy.deepcopy(old) or self._new(resource, key)
        labels = parts.pop("labels", None)
        if labels is not None:
            raw["metadata"]["labels"] = labels
        if "spec" in parts and old is not None and parts["spec"] != old.get("spec"):
            raw["metadata"]["generation"] += 1
        raw.update(parts)
        if raw == old:
            return raw
        return self._store(resource, key, raw)

    def delete(self, resource: Resource, key: Key) -> None:
        """Delete an object, if it is there."""
        raw = self.objects.pop((resource, key), None)
        if raw is not None and _is_selected(resource, raw):
            self.version += 1
            raw["metadata"]["resourceVersion"] = str(self.version)
            self.log.append(Event(resource, "DELETED", copy.deepcopy(raw)))

    def meddle(self, how: str, resource: Resource, which: int) -> None:
        """Do something to one of our children (``drop``, ``spoil`` or ``unlabel`` it), as somebody might by hand."""
        ours = [(of, key) for (of, key), raw in self.objects.items() if of == resource and _is_child(raw)]
        if not ours:
            return
        _, key = ours[which % len(ours)]
        if how == "drop":
            self.delete(resource, key)
            return
        raw = copy.deepcopy(self.objects[resource, key])
        if how == "unlabel":
            raw["metadata"]["labels"] = {}
        elif "data" in raw:
            # What another manager overwrites is ours no longer.
            raw["data"] = dict.fromkeys(raw["data"], "bm9uZQ==")
            raw["metadata"]["managedFields"] = []
        self._store(resource, key, raw)

    def collect_garbage(self) -> None:
        """Delete children whose gateway is gone."""
        alive = {raw["metadata"]["uid"] for (resource, _), raw in self.objects.items() if resource == GATEWAYS}
        for (resource, key), raw in list(self.objects.items()):
            owners = raw["metadata"].get("ownerReferences") or ()
            if owners and not any(owner["uid"] in alive for owner in owners):
                self.delete(resource, key)

    def answer(self, command: Command) -> Raw | None:
        """Do what a decision asks for. Raises :class:`Conflict`."""
        match command:
            case Read(resource, key):
                return self.get(resource, key)
            case Create(resource, body):
                key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
                if (resource, key) not in self.objects:
                    self.writes.append(f"create {resource.kind} {key}")
                    raw = self._new(resource, key)
                    raw["metadata"] |= copy.deepcopy(dict(body["metadata"]))
                    self._store(resource, key, raw)
                return self.get(resource, key)
            case Apply(resource, body):
                return self._apply(resource, body)

    def _apply(self, resource: Resource, body: Raw) -> Raw:
        metadata = body["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        old = self.objects.get((resource, key))
        if old is None or any(old["metadata"][name] != metadata[name] for name in ("uid", "resourceVersion")):
            raise Conflict(str(key))
        raw = copy.deepcopy(old)
        owned: dict[str, Any] = {}
        for entry in raw["metadata"].get("managedFields", ()):
            owned = entry["fieldsV1"]
        fields: dict[str, Any] = {}
        for part in ("data", "binaryData"):
            given = dict(body.get(part) or {})
            kept = {
                name: text for name, text in raw.get(part, {}).items() if f"f:{name}" not in owned.get(f"f:{part}", {})
            }
            raw.pop(part, None)
            if kept | given:
                raw[part] = kept | given
            if given:
                fields[f"f:{part}"] = {f"f:{name}": {} for name in given}
        raw["metadata"]["labels"] = {**raw["metadata"].get("labels", {}), **metadata["labels"]}
        raw["metadata"]["ownerReferences"] = metadata["ownerReferences"]
        raw["metadata"]["managedFields"] = [{"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields}]
        self.writes.append(f"apply {resource.kind} {key}")
        if raw != old:
            self._store(resource, key, raw)
        found = self.get(resource, key)
        assert found is not None
        return found

    def _new(self, resource: Resource, key: Key) -> dict[str, Any]:
        self.version += 1
        metadata: dict[str, Any] = {"name": key.name, "uid": f"uid-{self.version}"}
        if resource.namespaced:
            metadata["namespace"] = key.namespace
        if resource.group == OWN_GROUP:
            metadata["generation"] = 1
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}

    def _store(self, resource: Resource, key: Key, raw: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        raw["metadata"]["resourceVersion"] = str(self.version)
        old = self.objects.get((resource, key))
        self.objects[resource, key] = raw
        if _is_selected(resource, raw):
            type_ = "MODIFIED" if old is not None and _is_selected(resource, old) else "ADDED"
        elif old is not None and _is_selected(resource, old):
            type_ = "DELETED"  # it has left the selector of the watch
        else:
            return raw
        self.log.append(Event(resource, type_, copy.deepcopy(raw)))
        return raw


def _is_selected(resource: Resource, raw: Mapping[str, Any]) -> bool:
    return WATCHED[resource] in {"", *(raw["metadata"].get("labels") or {})}


def _is_child(raw: Mapping[str, Any]) -> bool:
    return bool(raw["metadata"].get("ownerReferences"))


def carried_out(deciding: Generator[Command, Raw | None, Outcome], cluster: Cluster) -> Outcome:
    """Do all that is decided."""
    answer: Raw | None = None
    while True:
        try:
            command = deciding.send(answer)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        answer = cluster.answer(command)


def children(cluster: Cluster, gateway: Key) -> dict[str, bytes]:
    """The files that a gateway's sidecars find, of those that we wrote."""
    found: dict[str, bytes] = {}
    for resource in (CONFIG_MAPS, SECRETS):
        raw = cluster.get(resource, child_key(gateway))
        found |= content_of(resource, raw) if raw is not None else {}
    return found
