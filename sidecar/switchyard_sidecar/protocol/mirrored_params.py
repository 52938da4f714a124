"""``x-mcp-header``: tool parameters whose values travel in ``Mcp-Param-*`` headers too.

Found in a tool's ``inputSchema``, written when we call, checked when we are called. Source: 2026-07-28
``basic/transports/streamable-http``, "Custom Headers from Tool Parameters" and "Server Validation".

The walk visits every place where JSON Schema (2020-12, and the keywords that earlier drafts have besides) puts a schema,
and nothing else: a parameter that is *called* ``x-mcp-header``, or a ``const``, ``enum``, ``default`` or example that
contains such a key, is data. It follows no reference and does not recurse, so that no schema, however deep, can harm it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

import msgspec

from switchyard_sidecar.protocol import header_values
from switchyard_sidecar.protocol.errors import HEADER_MISMATCH, INVALID_PARAMS, McpError

ANNOTATION: Final = "x-mcp-header"
HEADER_PREFIX: Final = "Mcp-Param-"
SAFE_INTEGER: Final = 2**53 - 1
"""Integers beyond this, either way, must not be mirrored: receivers that compute in doubles would read another number."""

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NUMBER: Final = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?")
_SCHEMA: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_SCHEMAS_IN_ARRAY: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_SCHEMAS_BY_NAME: Final = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"})

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_decode_string: Final = msgspec.json.Decoder(str)

_Path = tuple[str, ...]


class InvalidAnnotation(Exception):  # noqa: N818 - the name says it
    """The annotations of a schema break a rule, so its tool must be left out for modern clients. ``reason`` says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class MirroredParam:
    """One annotated parameter."""

    header: str
    """The annotation's value; the header is called ``Mcp-Param-`` and this."""
    path: _Path
    """The property names that lead from the arguments to the value."""
    type: Literal["integer", "string", "boolean"]


def find(input_schema: Any) -> tuple[MirroredParam, ...]:
    """The annotated parameters of a schema (any JSON value), outermost first.

    Raises :class:`InvalidAnnotation`. ``type`` must be one of the three names as a string. An array of types is refused
    even if it only adds ``null``: the text permits "primitive types (integer, string, boolean)" and null is not among
    them, and clients that follow it drop such a tool, so that keeping it would help no one.
    """
    found: dict[str, MirroredParam] = {}
    for path, schema in _schemas(input_schema):
        if ANNOTATION not in schema:
            continue
        if not path:
            raise InvalidAnnotation(f"{ANNOTATION} stands where `properties` alone do not lead")
        param = _param(path, schema)
        if found.setdefault(param.header.lower(), param) is not param:
            raise InvalidAnnotation(f"{ANNOTATION} {param.header!r} is used twice")
    return tuple(found.values())


def _param(path: _Path, schema: Mapping[str, Any]) -> MirroredParam:
    where = f"parameter {'.'.join(path)!r}"
    header = schema[ANNOTATION]
    if not isinstance(header, str) or not _TOKEN.fullmatch(header):
        raise InvalidAnnotation(f"{where}: {ANNOTATION} is not a header name token")
    match schema.get("type"):
        case ("integer" | "string" | "boolean") as primitive:
            return MirroredParam(header, path, primitive)
        case _:
            raise InvalidAnnotation(f"{where}: {ANNOTATION} needs the type integer, string or boolean")


def _schemas(root: Any) -> Iterator[tuple[_Path | None, Mapping[str, Any]]]:
    """Every object schema in ``root`` with its path of property names; ``None`` where another keyword is on the way."""
    level: list[tuple[_Path | None, Any]] = [((), root)]
    while level:
        deeper: list[tuple[_Path | None, Any]] = []
        for path, schema in level:
            if not isinstance(schema, dict):
                continue  # true and false are schemas without parts; anything else is the backend's own fault
            yield path, schema
            for keyword, value in schema.items():
                if keyword == "properties" and isinstance(value, dict):
                    deeper.extend((None if path is None else (*path, name), part) for name, part in value.items())
                elif keyword in _SCHEMAS_BY_NAME and isinstance(value, dict):
                    deeper.extend((None, part) for part in value.values())
                elif keyword in _SCHEMAS_IN_ARRAY and isinstance(value, list):
                    deeper.extend((None, part) for part in value)
                elif keyword in _SCHEMA:
                    deeper.append((None, value))
        level = deeper


def headers_for(params: Sequence[MirroredParam], arguments: bytes | None) -> dict[str, str]:
    """The headers that a call with these arguments (a JSON object as text) must carry.

    A value that is absent or null has none; nor has one that is neither text, number nor boolean: whether to accept it
    is the tool's decision. Only what is mirrored is decoded, so nothing else in the arguments can be at fault here.
    Raises :class:`McpError` (-32602) for an integer outside the safe range, and for text that is not valid.
    """
    texts = ((param, _text(_value(param, arguments))) for param in params)
    return {HEADER_PREFIX + param.header: header_values.encode(text) for param, text in texts if text is not None}


def check(params: Sequence[MirroredParam], arguments: bytes | None, headers: Mapping[str, str]) -> None:
    """Compare the headers of a call with its arguments; headers of unknown parameters mean nothing.

    ``headers`` may be a multidict: a parameter's header that comes twice is refused, for intermediaries may have read
    either. Raises :class:`McpError`: -32020 when a header is malformed, missing, superfluous or different, -32602 as
    :func:`headers_for`.
    """
    if not params:
        return
    received: dict[str, list[str]] = {}
    for sent, line in headers.items():
        received.setdefault(sent.lower(), []).append(line)
    for param in params:
        name = HEADER_PREFIX + param.header
        value = _value(param, arguments)
        text = _text(value)
        match received.get(name.lower(), []):
            case [] if text is None:
                pass
            case [] | [_, _, *_]:
                raise McpError(HEADER_MISMATCH, f"Header mismatch: {name} must be sent exactly once")
            case [header] if text is None or not _same(header_values.decode(header), text, value):
                raise McpError(HEADER_MISMATCH, f"Header mismatch: {name} does not match the body")


def _value(param: MirroredParam, arguments: bytes | None) -> str | bool | Decimal | None:
    raw = arguments
    try:
        for name in param.path:
            raw = _members.decode(raw).get(name) if raw is not None else None
    except (msgspec.DecodeError, RecursionError):
        return None  # a step of the path is no object
    match bytes(raw) if raw is not None else b"null":
        case b"true":
            return True
        case b"false":
            return False
        case text if text.startswith(b'"'):
            return _string(param, text)
        case text if not text.startswith((b"n", b"{", b"[")):
            return _number(param, text)
        case _:
            return None


def _string(param: MirroredParam, text: bytes) -> str:
    try:
        return _decode_string.decode(text)
    except msgspec.DecodeError:
        raise _unfit(param) from None


def _number(param: MirroredParam, text: bytes) -> Decimal:
    try:
        value = Decimal(text.decode())
    except (InvalidOperation, UnicodeDecodeError):  # no number, or an exponent of astronomical size
        raise _unfit(param) from None
    if not -SAFE_INTEGER <= value <= SAFE_INTEGER:  # abs() would raise for exponents beyond the context's
        raise _unfit(param)
    return value


def _unfit(param: MirroredParam) -> McpError:
    return McpError(INVALID_PARAMS, f"Argument {'.'.join(param.path)!r} is nothing that a header may carry")


def _text(value: str | bool | Decimal | None) -> str | None:
    """How a value is written in its header; ``None``: it has no header."""
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return str(int(value)) if value == value.to_integral_value() else str(value)
        case _:
            return value


def _same(header: str, text: str, value: str | bool | Decimal | None) -> bool:
    if isinstance(value, Decimal):
        return _NUMBER.fullmatch(header) is not None and Decimal(header) == value
    return header == text
