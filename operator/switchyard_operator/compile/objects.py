"""The input of compiling: all objects known at one moment, wherever they came from (files or a cluster)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key


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

    backends: Mapping[Key, MCPBackend] = field(default_factory=dict)
    aliases: Mapping[Key, MCPToolAlias] = field(default_factory=dict)
    gateways: Mapping[Key, MCPGateway] = field(default_factory=dict)
    secrets: Mapping[Key, Secret] = field(default_factory=dict)
    config_maps: Mapping[Key, ConfigMap] = field(default_factory=dict)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)

    @classmethod
    def of(
        cls, objects: Iterable["MCPBackend | MCPToolAlias | MCPGateway | Secret | ConfigMap | Namespace"]
    ) -> "Objects":
        """Sort objects into their kinds. Of two with one key, the later stands."""
        backends: dict[Key, MCPBackend] = {}
        aliases: dict[Key, MCPToolAlias] = {}
        gateways: dict[Key, MCPGateway] = {}
        secrets: dict[Key, Secret] = {}
        config_maps: dict[Key, ConfigMap] = {}
        namespaces: dict[str, Namespace] = {}
        for each in objects:
            match each:
                case MCPBackend():
                    backends[each.key] = each
                case MCPToolAlias():
                    aliases[each.key] = each
                case MCPGateway():
                    gateways[each.key] = each
                case Secret():
                    secrets[each.key] = each
                case ConfigMap():
                    config_maps[each.key] = each
                case Namespace():
                    namespaces[each.name] = each
        return cls(backends, aliases, gateways, secrets, config_maps, namespaces)
