"""Digests written into the text of a manifest, and not a byte changed beside them. Pure.

The text is cut at the places that the YAML parser tells, and put together again. (A library that reads and writes whole files and
keeps comments would still indent, fold and quote as it does and not as the author did, and the diff would be of that.) Whoever uses this
reads the new text again and sees whether it says the same but for the pins: what this does not understand must not get through.

A digest takes one line, its tool's name beside it. Names that are not plain ASCII are written with escapes, so that a
reviewer sees the difference between letters that look alike.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import yaml

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Plain words that YAML 1.1 takes for something else than text."""


class CannotEdit(Exception):  # noqa: N818 - the name says it
    """The manifest is written in a way that cannot be added to; the message says which."""


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` in the place of what stands from ``start`` to ``end``."""

    start: int
    end: int
    text: str


def applied(text: str, edits: list[Edit]) -> str:
    """The text with all these edits, of which no two overlap."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def pin(text: str, resource: yaml.MappingNode, digests: Mapping[str, str]) -> Edit:
    """The edit that makes ``digests`` the pins of an MCPBackend, which stands in ``text`` as ``resource``.

    Raises:
        CannotEdit: it uses an anchor where pins belong.
    """
    spec = _Field.of(resource, "spec")
    if spec is None or not isinstance(spec.value, yaml.MappingNode):
        raise CannotEdit("has no spec that pins could stand in")
    writer = _Writer(text, resource, digests)
    pinning = _Field.of(spec.value, "pinning")
    if pinning is None:
        return writer.append(spec.value, ("pinning", "digests"))
    if not isinstance(pinning.value, yaml.MappingNode) or (pinning.value.flow_style and not spec.value.flow_style):
        return writer.rewrite(pinning, spec.value)
    former = _Field.of(pinning.value, "digests")
    if former is None:
        return writer.append(pinning.value, ("digests",))
    return writer.replace(former, pinning.value)


@dataclass(frozen=True, slots=True)
class _Field:
    key: yaml.ScalarNode
    value: yaml.Node

    @classmethod
    def of(cls, mapping: yaml.MappingNode, name: str) -> "_Field | None":
        for key, value in mapping.value:
            if key.value == name:
                if value.start_mark.index < key.end_mark.index:
                    raise CannotEdit(f"has an alias (*) for {name}: write it out, so that it can be pinned")
                return cls(key, value)
        return None


class _Writer:
    def __init__(self, text: str, resource: yaml.MappingNode, digests: Mapping[str, str]) -> None:
        self._text = text
        self._digests = digests
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._all_flow = bool(resource.flow_style)
        self._dash = _dash(resource)

    def append(self, mapping: yaml.MappingNode, path: tuple[str, ...]) -> Edit:
        """The field of that path, new at the end of a mapping."""
        if mapping.flow_style:
            return self._append_to_flow(mapping, path)
        column = mapping.value[0][0].start_mark.column
        at = _end(mapping)
        after_line = at > 0 and self._text[at - 1] == "\n"  # a block of text ends where the next line begins
        if not after_line:
            at = next(
                (place for place in (self._text.find(each, at) for each in "\r\n") if place >= 0), len(self._text)
            )
        block = self._block(column, path)
        return Edit(at, at, block + self._newline if after_line else self._newline + block)

    def replace(self, former: _Field, mapping: yaml.MappingNode) -> Edit:
        """Other digests in the place of former ones."""
        if mapping.flow_style:
            indent = self._indent(former.key.start_mark.index)
            return Edit(
                former.value.start_mark.index, _end(former.value), self._flow(indent, quoted=_is_quoted(mapping))
            )
        column = former.key.start_mark.column
        if isinstance(former.value, yaml.SequenceNode) and not former.value.flow_style and self._digests:
            lines = self._entries(former.value.start_mark.column)
            return Edit(former.value.start_mark.index, _end(former.value), lines.lstrip(" "))
        colon = self._text.index(":", former.key.end_mark.index) + 1
        return Edit(colon, max(colon, _end(former.value)), self._after_colon(column))

    def rewrite(self, pinning: _Field, spec: yaml.MappingNode) -> Edit:
        """``pinning`` as lines of their own: it stands on one, or has nothing yet."""
        colon = self._text.index(":", pinning.key.end_mark.index) + 1
        end = max(colon, _end(pinning.value))
        if spec.flow_style:
            indent = self._indent(pinning.key.start_mark.index)
            quoted = _is_quoted(spec)
            return Edit(colon, end, f" {{{_key('digests', quoted)}: {self._flow(indent, quoted=quoted)}}}")
        column = pinning.key.start_mark.column + 2
        kept = [] if not isinstance(pinning.value, yaml.MappingNode) else pinning.value.value
        lines = [
            f"{' ' * column}{key.value}: {self._text[value.start_mark.index : value.end_mark.index]}"
            for key, value in kept
            if key.value != "digests"
        ]
        return Edit(colon, end, self._newline + self._newline.join([*lines, self._block(column, ("digests",))]))

    def _append_to_flow(self, mapping: yaml.MappingNode, path: tuple[str, ...]) -> Edit:
        quoted = _is_quoted(mapping)
        at = _end(mapping.value[-1][1]) if mapping.value else mapping.start_mark.index + 1
        between = ""
        indent = self._indent(at)
        if mapping.value:
            last = mapping.value[-1][0].start_mark
            own_line = len(self._indent(last.index)) == last.column
            indent = self._indent(last.index)
            between = f",{self._newline}{indent}" if own_line and self._all_flow else ", "
        value = self._flow(indent, quoted=quoted)
        for name in reversed(path[1:]):
            value = f"{{{_key(name, quoted)}: {value}}}"
        return Edit(at, at, f"{between}{_key(path[0], quoted)}: {value}")

    def _block(self, column: int, path: tuple[str, ...]) -> str:
        lines = [f"{' ' * (column + 2 * depth)}{name}:" for depth, name in enumerate(path)]
        return self._newline.join(lines) + self._after_colon(column + 2 * (len(path) - 1))

    def _after_colon(self, column: int) -> str:
        return self._newline + self._entries(column + self._dash) if self._digests else " []"

    def _entries(self, column: int) -> str:
        return self._newline.join(
            f'{" " * column}- {{tool: {_name(tool)}, sha256: "{digest}"}}' for tool, digest in self._digests.items()
        )

    def _flow(self, indent: str, *, quoted: bool) -> str:
        if not self._digests:
            return "[]"
        key, name = ('"tool"', '"sha256"') if quoted else ("tool", "sha256")
        entries = [
            f'{indent}  {{{key}: {json.dumps(tool) if quoted else _name(tool)}, {name}: "{digest}"}}'
            for tool, digest in self._digests.items()
        ]
        end = self._newline + indent if self._all_flow else ""  # in a block, a bracket at its margin would end it
        return "[" + self._newline + f",{self._newline}".join(entries) + end + "]"

    def _indent(self, at: int) -> str:
        """The white space that the line of a place begins with."""
        line = self._text[self._text.rfind("\n", 0, at) + 1 :]
        return line[: len(line) - len(line.lstrip(" \t"))]


def _end(node: yaml.Node) -> int:
    """Where a node's text ends; the parser lets a block end where the next thing begins, comments and blank lines between."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _end(node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _end(node.value[-1])
    return int(node.end_mark.index)


def _dash(resource: yaml.Node) -> int:
    """How much deeper than its key the author begins the entries of a list."""
    for key, value in resource.value if isinstance(resource, yaml.MappingNode) else ():
        if isinstance(value, yaml.SequenceNode) and not value.flow_style:
            return max(0, int(value.start_mark.column - key.start_mark.column))
        if isinstance(value, yaml.MappingNode) and not value.flow_style and (deeper := _dash(value)):
            return deeper
    return 0


def _is_quoted(mapping: yaml.MappingNode) -> bool:
    """Whether keys stand in quotes, as they must in JSON."""
    return bool(mapping.value) and mapping.value[0][0].style == '"'


def _key(name: str, quoted: bool) -> str:
    return f'"{name}"' if quoted else name


def _name(tool: str) -> str:
    if _PLAIN.fullmatch(tool) and tool.lower() not in _WORDS:
        return tool
    return '"' + "".join(map(_escaped, tool)) + '"'


def _escaped(character: str) -> str:
    if character.isascii() and character.isprintable():
        return f"\\{character}" if character in '"\\' else character
    return f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"
