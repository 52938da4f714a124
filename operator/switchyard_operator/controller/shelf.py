"""All objects of one resource, as the API server's events and lists tell of them. The newest state of each object wins.

Events may come late, twice or after a list that knew more; a list may be read while objects change. Resource versions are
compared as numbers (KEP-5504); where one is no number, what comes later counts as newer. Four rules follow:

1. What is not newer than what is held is nothing new.
2. An object of a key that is held under another uid replaces it, if it is newer: the other one must be gone.
3. A deletion is remembered (by uid, with its version), so that nothing older brings the object back. An object may still come
   back with a newer version: it had merely left a label selector.
4. A complete list of version V says of everything up to V: what is not in it is gone. An event no newer than V about an object
   that is not held is therefore too late.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from switchyard_operator.api.explain import Explained
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.resources import Resource

M = TypeVar("M")

GUARDS: Final[Mapping[str, str]] = {"auth": "authentication", "visibility": "visibility"}
"""Fields of a gateway's spec that limit who is let in or who sees what, each with its section of the config."""
_REMEMBERED_DELETIONS: Final = 16_384
"""How many deletions a shelf remembers: more than can be on their way at once."""


@dataclass(frozen=True, slots=True)
class Item(Generic[M]):
    """One object as last seen."""

    key: Key
    uid: str
    resource_version: str
    generation: int
    """Of its spec; 0 where Kubernetes counts none."""
    deleting: bool
    """Whether it is on its way out, waiting for finalizers or a grace period."""
    model: M | None
    """What was made of it; ``None`` when it breaks rules of its kind that the API server has not enforced."""
    faults: tuple[Explained, ...] = ()
    """What is wrong with it, when there is no model."""
    status: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """As it is in the cluster. Of our own kinds alone."""
    guards: frozenset[str] = frozenset()
    """Of a gateway without a model: which of :data:`GUARDS` its spec has, whatever it says there."""

    @property
    def version(self) -> int | None:
        """The resource version as a number, where it is one."""
        return comparable(self.resource_version)

    def tells_the_same(self, other: "Item[M]") -> bool:
        """Whether the two differ in nothing but status and bookkeeping."""
        return (
            (self.uid, self.generation, self.deleting, self.faults)
            == (other.uid, other.generation, other.deleting, other.faults)
        ) and (self.model is other.model or self.model == other.model)


def comparable(version: str | None) -> int | None:
    """A resource version as a number, or ``None`` where it is none."""
    return int(version) if version and version.isascii() and version.isdecimal() else None


def key_of(raw: Mapping[str, Any]) -> Key:
    """Where an object of the API server lies."""
    metadata = raw["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one object. ``old`` and ``new`` differ, and never are both absent."""

    resource: Resource
    key: Key
    old: Item[Any] | None
    new: Item[Any] | None


class Shelf(Generic[M]):
    """The objects of one resource.

    ``read`` makes an item of an object, and may take over what it can of the item that was held before. ``follow`` is told
    of every change while it is made.
    """

    def __init__(
        self,
        resource: Resource,
        read: Callable[[Mapping[str, Any], Item[M] | None], Item[M]],
        follow: Callable[[Change], None],
    ) -> None:
        self._resource = resource
        self._read = read
        self._follow = follow
        self._items: dict[Key, Item[M]] = {}
        self._gone: dict[str, int | None] = {}
        """Uids of deleted objects, with the version of the deletion."""
        self._listed: dict[str | None, int] = {}
        """The version of the last complete list, by namespace (``None``: of all); 0 where it is no number."""

    def get(self, key: Key) -> Item[M] | None:
        """The object of this key, if there is one."""
        return self._items.get(key)

    def __iter__(self) -> Iterator[Item[M]]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def was_listed(self, namespace: str | None = None) -> bool:
        """Whether a list of all objects (of one namespace) has been taken in."""
        return namespace in self._listed

    def put(self, raw: Mapping[str, Any], *, listed: bool = False) -> Change | None:
        """An object as it was at some moment. ``listed``: found by a list, which may be older than events."""
        key, uid = key_of(raw), raw["metadata"].get("uid", "")
        held = self._items.get(key)
        if self._is_late(key, uid, comparable(raw["metadata"].get("resourceVersion")), held, listed=listed):
            return None
        item = self._items[key] = self._read(raw, held)
        if held is not None and held.uid != uid:
            self._bury(held.uid, item.version)
        if held is not None and held.tells_the_same(item):
            return None
        return self._changed(key, held, item)

    def remove(self, raw: Mapping[str, Any]) -> Change | None:
        """An object as it was when it was deleted, or when it left the selector of the watch."""
        key, uid = key_of(raw), raw["metadata"].get("uid", "")
        version = comparable(raw["metadata"].get("resourceVersion"))
        self._bury(uid, version)
        held = self._items.get(key)
        if held is None:
            return None
        if version is None or held.version is None:
            return self._drop(held) if held.uid == uid else None
        return self._drop(held) if version >= held.version else None

    def listing(self, namespace: str | None = None) -> "Listing[M]":
        """Begin to take in a list of all objects (of one namespace). One at a time."""
        return Listing(self, namespace, dict(self._items))

    def sweep(self, namespace: str | None, version: int | None, missing: Callable[[Item[M]], bool]) -> list[Change]:
        """A list of all objects (of one namespace) is complete: drop what it would hold if it still existed."""
        self._listed[namespace] = max(version or 0, self._listed.get(namespace, 0))
        swept = [item for item in self if namespace in {None, item.key.namespace} and missing(item)]
        return [self._drop(item) for item in swept]

    def _is_late(self, key: Key, uid: str, version: int | None, held: Item[M] | None, *, listed: bool) -> bool:
        if uid in self._gone:
            deleted = self._gone[uid]
            if listed if version is None or deleted is None else version <= deleted:
                return True
        if version is None:
            return False
        if held is not None:
            return held.version is not None and version <= held.version
        # A list is believed: were it wrong to hold the object, the next one puts it right.
        return not listed and version <= max(self._listed.get(None, 0), self._listed.get(key.namespace, 0))

    def _bury(self, uid: str, version: int | None) -> None:
        before = self._gone.pop(uid, None)
        self._gone[uid] = max(version, before) if version is not None and before is not None else version
        if len(self._gone) > _REMEMBERED_DELETIONS:
            del self._gone[next(iter(self._gone))]

    def _drop(self, held: Item[M]) -> Change:
        del self._items[held.key]
        return self._changed(held.key, held, None)

    def _changed(self, key: Key, old: Item[M] | None, new: Item[M] | None) -> Change:
        change = Change(self._resource, key, old, new)
        self._follow(change)
        return change


class Listing(Generic[M]):
    """A list of one resource on its way in, page by page. One that is given up midway has merely brought some news."""

    def __init__(self, shelf: Shelf[M], namespace: str | None, before: Mapping[Key, Item[M]]) -> None:
        self._shelf = shelf
        self._namespace = namespace
        self._before = before
        """What was held when the list began."""
        self._found: set[Key] = set()

    def add(self, raw: Mapping[str, Any]) -> Change | None:
        """One object of the list."""
        key = key_of(raw)
        self._found.add(key)
        if comparable(raw["metadata"].get("resourceVersion")) is None and self._touched(key):
            return None
        return self._shelf.put(raw, listed=True)

    def done(self, resource_version: str | None) -> list[Change]:
        """The list is complete: what it does not hold is gone. ``resource_version``: the list's own."""
        version = comparable(resource_version)
        return self._shelf.sweep(self._namespace, version, lambda item: self._misses(item, version))

    def _misses(self, item: Item[M], version: int | None) -> bool:
        if item.key in self._found:
            return False
        if version is not None and item.version is not None:
            return item.version <= version
        return not self._touched(item.key)

    def _touched(self, key: Key) -> bool:
        """Whether an event has brought something since the list began."""
        return self._before.get(key) is not self._shelf.get(key)
