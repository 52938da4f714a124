"""The three kinds of Kubernetes itself that manifests may bring along: Secret, ConfigMap, Namespace.

They are read by hand, since next to nothing of them matters and no value of a Secret may come near a message.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Any, Final

from switchyard_operator.api.explain import Explained
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.resource import DEFAULT_NAMESPACE, NAMESPACE_LABEL, Key
from switchyard_operator.compile.objects import ConfigMap, Namespace, Secret

Core = Secret | ConfigMap | Namespace


def read_core(kind: str, tree: dict[str, Any]) -> Core | list[Explained]:
    """The object, or what is wrong with it."""
    reading = _Reading(tree)
    result = _READERS[kind](reading)
    return reading.faults or result


class _Reading:
    def __init__(self, tree: dict[str, Any]) -> None:
        self.tree = tree
        self.faults: list[Explained] = []
        metadata = tree.get("metadata")
        self.metadata: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
        name = self.metadata.get("name")
        if not isinstance(name, str) or not name:
            self.fault(("metadata", "name"), "is required, and must be a string")
            name = ""
        namespace = self.metadata.get("namespace") or DEFAULT_NAMESPACE
        if not isinstance(namespace, str):
            self.fault(("metadata", "namespace"), "must be a string")
            namespace = DEFAULT_NAMESPACE
        self.key = Key(namespace, name)

    def fault(self, field: FieldPath, message: str) -> None:
        self.faults.append(Explained(field, message, ""))

    def strings(self, *path: str) -> dict[str, str]:
        """A mapping of strings, empty when it is absent."""
        value: Any = self.tree
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fault(path, "must be a mapping of strings")
            return {}
        for key, each in value.items():
            if not isinstance(each, str):
                self.fault((*path, key), "must be a string; put it in quotes")
        return {key: each for key, each in value.items() if isinstance(each, str)}

    def decoded(self, member: str) -> Iterator[tuple[str, bytes]]:
        """The entries of a mapping of base64."""
        for key, text in self.strings(member).items():
            try:
                yield key, base64.b64decode("".join(text.split()), validate=True)
            except (binascii.Error, ValueError):
                self.fault((member, key), "is not base64; plain text goes into stringData")


def _secret(reading: _Reading) -> Secret:
    plain = {key: text.encode() for key, text in reading.strings("stringData").items()}
    return Secret(reading.key, dict(reading.decoded("data")) | plain, reading.strings("metadata", "labels"))


def _config_map(reading: _Reading) -> ConfigMap:
    plain = {key: text.encode() for key, text in reading.strings("data").items()}
    return ConfigMap(reading.key, plain | dict(reading.decoded("binaryData")))


def _namespace(reading: _Reading) -> Namespace:
    name = reading.key.name
    return Namespace(name, {**reading.strings("metadata", "labels"), NAMESPACE_LABEL: name})


_READERS: Final[dict[str, Callable[[_Reading], Core]]] = {
    "Secret": _secret,
    "ConfigMap": _config_map,
    "Namespace": _namespace,
}
CORE_KINDS: Final = frozenset(_READERS)
