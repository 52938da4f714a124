"""From the texts of files to :class:`Objects`, with everything that is wrong with them at once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.explain import Explained, explain, nearest
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import API_VERSION, DEFAULT_NAMESPACE, GROUP, Ref
from switchyard_operator.compile.objects import Objects
from switchyard_operator.manifests.core import CORE_KINDS, Core, read_core
from switchyard_operator.manifests.documents import Document, documents
from switchyard_operator.manifests.faults import Fault, Place
from switchyard_operator.manifests.sources import Source

Own = MCPBackend | MCPToolAlias | MCPGateway
OWN_KINDS: Final[Mapping[str, type[Own]]] = {
    "MCPBackend": MCPBackend,
    "MCPToolAlias": MCPToolAlias,
    "MCPGateway": MCPGateway,
}

_METADATA_FIELDS: Final = frozenset(
    [
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ]
)
"""Of Kubernetes' ObjectMeta."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """What some files declare."""

    objects: Objects
    """All objects without a fault."""
    faults: tuple[Fault, ...]
    """In the order of files and lines."""
    unused: Mapping[str, int]
    """How many objects of which other kinds there were."""
    origins: Mapping[Ref, Document]

    def place(self, ref: Ref, field: FieldPath = ()) -> Place | None:
        """Where a field of an object stands, or None when the object is not from these files."""
        document = self.origins.get(ref)
        return document.place(field) if document else None


def load(sources: Iterable[Source]) -> Manifests:
    """Read all objects of all files. Never raises: what is wrong is in ``faults``."""
    loading = _Loading()
    for source in sources:
        if source.fault is not None:
            loading.faults.append(Fault(Place(source.name), source.fault))
            continue
        for each in documents(source.name, source.content):
            if isinstance(each, Fault):
                loading.faults.append(each)
            else:
                loading.add(each)
    return Manifests(
        objects=Objects.of(loading.objects),
        faults=tuple(sorted(loading.faults, key=lambda fault: fault.place)),
        unused=dict(sorted(loading.unused.items())),
        origins=loading.origins,
    )


class _Loading:
    def __init__(self) -> None:
        self.objects: list[Own | Core] = []
        self.faults: list[Fault] = []
        self.unused = Counter[str]()
        self.origins: dict[Ref, Document] = {}

    def add(self, document: Document, *, in_list: bool = False) -> None:
        tree = document.value
        if not isinstance(tree, dict):
            self._fault(document, (), "is no object: a mapping with apiVersion, kind, metadata and spec is expected")
            return
        kind, version = tree.get("kind"), tree.get("apiVersion")
        if not isinstance(kind, str) or not isinstance(version, str):
            self._fault(document, (), "is no object: apiVersion and kind are required, and strings")
        elif kind == "List" and version == "v1" and in_list:
            self._fault(document, (), "a List within a List is not read: put its items into the outer one")
        elif kind == "List" and version == "v1":
            self._add_items(document)
        elif kind in OWN_KINDS:
            self._add_own(document, kind, version)
        elif version.partition("/")[0] == GROUP:
            near = nearest(kind, list(OWN_KINDS))
            hint = f"did you mean {near}?" if near else f"there are {', '.join(OWN_KINDS)}"
            self._fault(document, ("kind",), f"{GROUP} has no kind {kind}; {hint}")
        elif kind in CORE_KINDS and version == "v1":
            self._add_core(document, kind)
        else:
            self.unused[kind] += 1

    def _add_items(self, document: Document) -> None:
        items = document.value.get("items")
        if not isinstance(items, list):
            self._fault(document, ("items",), "must be a list of objects")
            return
        for index in range(len(items)):
            self.add(document.item(index), in_list=True)

    def _add_own(self, document: Document, kind: str, version: str) -> None:
        if version != API_VERSION:
            message = f"{kind} has apiVersion {API_VERSION}, not {version}"
            self._fault(document, ("apiVersion",), message)
            return
        model = OWN_KINDS[kind]
        explained = list(_unknown_metadata(document.value))
        try:
            resource = model.model_validate(document.value)
        except ValidationError as error:
            explained += explain(model, error)
        else:
            self._keep(document, Ref(kind, *resource.key), resource)
        self._explained(document, kind, explained)

    def _add_core(self, document: Document, kind: str) -> None:
        result = read_core(kind, document.value)
        if isinstance(result, list):
            self._explained(document, kind, result)
            return
        self._keep(document, Ref(kind, *result.key), result)

    def _keep(self, document: Document, ref: Ref, resource: Own | Core) -> None:
        first = self.origins.setdefault(ref, document)
        if first is not document:
            message = f"is declared twice, first at {first.place()}: remove one of them"
            self.faults.append(Fault(document.place(), message, str(ref)))
            return
        self.objects.append(resource)

    def _explained(self, document: Document, kind: str, explained: Iterable[Explained]) -> None:
        name = _name(document.value)
        self.faults += [
            Fault(document.place(each.field), each.message, f"{kind} {name}".rstrip(), each.field, each.value)
            for each in explained
        ]

    def _fault(self, document: Document, field: FieldPath, message: str) -> None:
        self.faults.append(Fault(document.place(field), message))


def _name(tree: dict[str, Any]) -> str:
    """``namespace/name`` as far as they can be read."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return ""
    namespace = metadata.get("namespace") or DEFAULT_NAMESPACE
    return f"{namespace}/{metadata['name']}" if isinstance(namespace, str) else str(metadata["name"])


def _unknown_metadata(tree: dict[str, Any]) -> Iterator[Explained]:
    """The models leave metadata to Kubernetes, which may add to it; in a file, an unknown field is a slip."""
    metadata = tree.get("metadata")
    for name in metadata if isinstance(metadata, dict) else ():
        if name not in _METADATA_FIELDS:
            near = nearest(name, list(_METADATA_FIELDS))
            hint = f"; did you mean {near}?" if near else ""
            yield Explained(("metadata", name), f"there is no such field{hint}", "")
