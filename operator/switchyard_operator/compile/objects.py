"""The input of compiling: all objects known at one moment, wherever they came from (files or a cluster)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key

T = TypeVar("T")


class Table(Mapping[Key, T], Generic[T]):
    """Objects of one kind by key, and those of one namespace without a look at the others.

    Read-only for whoever is given one; the one who made it may go on to change it (:class:`MutableTable`).
    """

    __slots__ = ("_all", "_within")

    def __init__(self, objects: Mapping[Key, T] | None = None) -> None:
        self._all: dict[Key, T] = {}
        self._within: dict[str, dict[Key, T]] = {}
        for key, each in (objects or {}).items():
            self._put(key, each)

    def within(self, namespace: str) -> Mapping[Key, T]:
        """The objects of one namespace."""
        return self._within.get(namespace, {})

    def __getitem__(self, key: Key) -> T:
        return self._all[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def _put(self, key: Key, value: T) -> None:
        self._all[key] = value
        self._within.setdefault(key.namespace, {})[key] = value


class MutableTable(Table[T]):
    """A table that follows what is declared."""

    __slots__ = ()

    def put(self, key: Key, value: T) -> None:
        """Add the object, or replace the one of this key."""
        self._put(key, value)

    def drop(self, key: Key) -> None:
        """Remove the object, if it is there."""
        if self._all.pop(key, None) is not None:
            neighbours = self._within[key.namespace]
            del neighbours[key]
            if not neighbours:
                del self._within[key.namespace]


@dataclass(frozen=True, slots=True)
class Secret:
    """A Secret, as far as it can be referred to. Its values never show in a repr."""

    key: Key
    data: Mapping[str, bytes] = field(repr=False)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A ConfigMap, as far as it can be referred to."""

    key: Key
    data: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace whose labels are known, its own name's label among them."""

    name: str
    labels: Mapping[str, str]

    @property
    def key(self) -> Key:
        """Like every object's; a namespace lies in none."""
        return Key("", self.name)


@dataclass(frozen=True, slots=True)
class Objects:
    """Everything declared, by kind and key. A namespace that is absent exists, but its labels are not known."""

    backends: Table[MCPBackend] = field(default_factory=Table)
    aliases: Table[MCPToolAlias] = field(default_factory=Table)
    gateways: Table[MCPGateway] = field(default_factory=Table)
    secrets: Table[Secret] = field(default_factory=Table)
    config_maps: Table[ConfigMap] = field(default_factory=Table)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)

    @classmethod
    def of(
        cls, objects: Iterable["MCPBackend | MCPToolAlias | MCPGateway | Secret | ConfigMap | Namespace"]
    ) -> "Objects":
        """Sort objects into their kinds. Of two with one key, the later stands."""
        backends, aliases, gateways = (
            MutableTable[MCPBackend](),
            MutableTable[MCPToolAlias](),
            MutableTable[MCPGateway](),
        )
        secrets, config_maps = MutableTable[Secret](), MutableTable[ConfigMap]()
        namespaces: dict[str, Namespace] = {}
        for each in objects:
            match each:
                case MCPBackend():
                    backends.put(each.key, each)
                case MCPToolAlias():
                    aliases.put(each.key, each)
                case MCPGateway():
                    gateways.put(each.key, each)
                case Secret():
                    secrets.put(each.key, each)
                case ConfigMap():
                    config_maps.put(each.key, each)
                case Namespace():
                    namespaces[each.name] = each
        return cls(backends, aliases, gateways, secrets, config_maps, namespaces)
