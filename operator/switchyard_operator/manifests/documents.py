"""YAML text to plain values that remember their places.

The grammar is PyYAML's. On top of it: a mapping's keys are strings and stand once, a timestamp stays text, and nothing is built
but what JSON knows. Values are those of YAML 1.1, as ``kubectl`` reads it. What anchors stand for is bounded: whoever reads values
does not see anchors any more, and a few lines of them could mean more values than there are atoms ("billion laughs").
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from switchyard_operator.api.fields import FieldPath
from switchyard_operator.manifests.faults import Fault, Place

MAX_REPEATED: Final = 100_000
"""Values in one document that are written elsewhere in it."""
MAX_INT_BITS: Final = 1024
"""Of a whole number: what any other number may mean at most (IEEE 754). Python refuses to write much larger ones."""

_TAG: Final = "tag:yaml.org,2002:"
_TEXT_TAGS: Final = frozenset({f"{_TAG}str", f"{_TAG}timestamp", f"{_TAG}value"})
_MERGE_TAG: Final = f"{_TAG}merge"
_SCALARS: Final = yaml.constructor.SafeConstructor()


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file."""

    file: str
    value: Any = field(repr=False)
    """Mappings, lists, strings, numbers, booleans and None."""
    node: yaml.Node = field(repr=False)

    def place(self, path: FieldPath = ()) -> Place:
        """Where the field stands; where its nearest parent stands, when it is not there."""
        node, mark = self.node, self.node.start_mark
        for step in path:
            below = _child(node, step)
            if below is None:
                break
            node, mark = below
        return _place(self.file, mark)

    def item(self, index: int) -> "Document":
        """The entry of ``items`` as a document of its own."""
        below = _child(self.node, "items")
        entry = below and _child(below[0], index)
        return Document(self.file, self.value["items"][index], entry[0] if entry else self.node)


def documents(file: str, content: bytes) -> Iterator[Document | Fault]:
    """The documents in a file's text that are not empty, and what keeps others from being read."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Fault(Place(file), f"is not text in UTF-8 (byte {error.start})")
        return
    if file.endswith(".json"):
        text = text.replace("\t", " ")  # white space in JSON, forbidden as such in YAML; never part of a JSON string
    try:
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            reading = _Reading(file)
            value = reading.value(node)
            yield from reading.faults
            if value is not None and not reading.faults:
                yield Document(file, value, node)
    except yaml.MarkedYAMLError as error:
        yield Fault(_place(file, error.problem_mark or error.context_mark), _syntax(error))
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        yield Fault(Place(file, line, column), "contains a control character that YAML does not allow")
    except RecursionError:
        yield Fault(Place(file), "is nested too deeply")


class _Reading:
    """Turns one document's nodes into values; an anchor's value is built once, however often it is used."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []
        self._built: dict[int, Any] = {}
        self._open: set[int] = set()
        self._sizes: dict[int, int] = {}
        self._size = 0  # of all that was read, in values, with each anchor's as often as it is used
        self._repeated = 0

    def value(self, node: yaml.Node) -> Any:
        if id(node) in self._open:
            return self._fault(node, "an anchor that contains itself cannot be read")
        if id(node) in self._built:
            self._repeat(node)
        else:
            before = self._size
            self._open.add(id(node))
            self._built[id(node)] = self._build(node)
            self._open.discard(id(node))
            self._size += 1
            self._sizes[id(node)] = self._size - before
        return self._built[id(node)]

    def _repeat(self, node: yaml.Node) -> None:
        was_too_much, size = self._repeated > MAX_REPEATED, self._sizes[id(node)]
        self._size += size
        self._repeated += size
        if self._repeated > MAX_REPEATED and not was_too_much:
            self._fault(
                node, f"is repeated until anchors stand for more than {MAX_REPEATED} values: write out what is meant"
            )

    def _build(self, node: yaml.Node) -> Any:
        match node:
            case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
                return self._mapping(node)
            case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self.value(item) for item in node.value]
            case yaml.ScalarNode():
                return self._scalar(node)
        return self._fault(node, f"the tag {node.tag} is not understood; remove it")

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE_TAG:
                sources = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for source in sources:
                    base = self.value(source)
                    if isinstance(base, dict):
                        merged = base | merged
                    else:
                        self._fault(source, "'<<' merges mappings only")
                continue
            key = self.value(key_node)
            if not isinstance(key, str):
                shown = key_node.value if isinstance(key_node, yaml.ScalarNode) else "this"
                self._fault(key_node, f"{shown} is not a string, and a field's name must be one: put it in quotes")
            elif key in own:
                self._fault(key_node, f'"{key}" is given twice in one mapping, first in line {lines[key]}')
            else:
                own[key] = self.value(value_node)
                lines[key] = key_node.start_mark.line + 1
        return merged | own

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag in _TEXT_TAGS:
            return self._text(node)
        try:
            match node.tag.removeprefix(_TAG):
                case "null":
                    return None
                case "bool":
                    return _SCALARS.construct_yaml_bool(node)
                case "int":
                    return self._int(node)
                case "float":
                    return _SCALARS.construct_yaml_float(node)
        except (ValueError, KeyError, IndexError):
            return self._fault(node, "cannot be read as what it looks like: put it in quotes")
        return self._fault(node, f"the tag {node.tag} is not understood; remove it")

    def _int(self, node: yaml.ScalarNode) -> Any:
        value = _SCALARS.construct_yaml_int(node)
        if value.bit_length() > MAX_INT_BITS:
            return self._fault(node, "is a larger number than anything can mean: put it in quotes")
        return value

    def _text(self, node: yaml.ScalarNode) -> Any:
        # JSON writes characters beyond U+FFFF as two escapes, which YAML leaves as two halves.
        try:
            return node.value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            return self._fault(node, "contains half of a surrogate pair, which is no character")

    def _fault(self, node: yaml.Node, message: str) -> None:
        self.faults.append(Fault(_place(self.file, node.start_mark), message))


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Mark] | None:
    """The node below, and the mark of its key or, in a list, of itself."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step].start_mark
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            if key_node.value == step:
                return value_node, key_node.start_mark
    return None


def _place(file: str, mark: yaml.Mark | None) -> Place:
    return Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)


def _syntax(error: yaml.MarkedYAMLError) -> str:
    """What the parser says, without the excerpt of the file, which may hold a secret."""
    said = ", ".join(filter(None, (error.context, error.problem)))
    hint = "; indent with spaces, not tabs" if "'\\t'" in said else ""
    return f"is not well-formed YAML: {said}{hint}"
