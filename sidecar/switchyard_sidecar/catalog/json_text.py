"""Where the parts of a JSON text begin and end, found without reading them.

Definitions must come out of Switchyard as they came in, so they are cut and joined as bytes, never re-serialised. This
module finds the places to cut. What always holds:

1. It only looks at strings, brackets, commas and colons. What stands between them (``NaN``, a lone surrogate, bytes that
   are no UTF-8) is for whoever reads the part, so that a fault inside one part never hides its neighbours.
2. It does not recurse: nesting costs one byte a level, and no depth is too deep.
3. A text whose strings or brackets do not match has no parts: :class:`JsonTextError`.

Source: RFC 8259.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

_SPACE: Final = rb"[ \t\n\r]*"
_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_key: Final = re.compile(rb"(%b)%b:%b" % (_STRING, _SPACE, _SPACE), re.DOTALL)
_scalar: Final = re.compile(rb'%b|[^\s"\[\]{},:]+' % _STRING, re.DOTALL)
"""A string; or a number, ``true``, ``null``, and what somebody took for one."""
_structure: Final = re.compile(rb'%b|[\[\]{}"]' % _STRING, re.DOTALL)
"""A string, a bracket, or the quote of a string that never ends."""
_mark: Final = re.compile(rb"%b([\[\]{},]|\Z)%b" % (_SPACE, _SPACE))
"""What may stand between two values, with the white space around it; nothing at the end of the text."""
_QUOTE: Final = ord('"')
_CLOSING: Final = {ord("["): ord("]"), ord("{"): ord("}")}

_text: Final = msgspec.json.Decoder(str)


class JsonTextError(ValueError):
    """The text is not what it should be at byte ``at``."""

    def __init__(self, expected: str, at: int) -> None:
        super().__init__(f"expected {expected} at byte {at}")
        self.at = at


class Member(NamedTuple):
    """One member of an object, as places in the text."""

    key: str
    """Decoded."""
    start: int
    """The opening quote of the key."""
    value: int
    """The first byte of the value."""
    end: int
    """The byte after the value."""
    depth: int
    """How deep the value nests: 0 for a scalar, 1 for ``[]``."""


def members(text: bytes) -> Iterator[Member]:
    """The members of the one object in ``text``, in order, duplicates included.

    Raises:
        JsonTextError: while iterating; the text is no object, or a key cannot be decoded.
    """
    at = _past(text, 0, b"{")
    while text[at : at + 1] != b"}":
        key = _key.match(text, at)
        if key is None:
            raise JsonTextError("a key and a colon", at)
        end, depth = _value(text, key.end())
        yield Member(string(key[1]), at, key.end(), end, depth)
        at = _past_comma(text, end, b"}")
    _past(text, _past(text, at, b"}"), b"")


def elements(text: bytes) -> Iterator[bytes]:
    """The elements of the one array in ``text``, as they are written.

    Raises:
        JsonTextError: while iterating; the text is no array.
    """
    at = _past(text, 0, b"[")
    while text[at : at + 1] != b"]":
        end, _ = _value(text, at)
        yield text[at:end]
        at = _past_comma(text, end, b"]")
    _past(text, _past(text, at, b"]"), b"")


def string(text: bytes) -> str:
    """Decode a JSON string, strictly.

    Raises:
        JsonTextError: it is no string, no UTF-8, or half of a surrogate pair.
    """
    try:
        return _text.decode(text)
    except msgspec.DecodeError:
        raise JsonTextError("a valid string", 0) from None


def _value(text: bytes, at: int) -> tuple[int, int]:
    """Where the value that begins at ``at`` ends, and how deep it nests."""
    if text[at : at + 1] not in {b"[", b"{"}:
        scalar = _scalar.match(text, at)
        if scalar is None:
            raise JsonTextError("a value", at)
        return scalar.end(), 0
    awaited = bytearray()
    depth = 0
    for part in _structure.finditer(text, at):
        found = text[part.start()]
        if found == _QUOTE:
            if part.end() == part.start() + 1:
                break
        elif found in _CLOSING:
            awaited.append(_CLOSING[found])
            depth = max(depth, len(awaited))
        elif awaited.pop() != found:
            raise JsonTextError("the other closing bracket", part.start())
        elif not awaited:
            return part.end(), depth
    raise JsonTextError("the end of a string or object", len(text))


def _past(text: bytes, at: int, wanted: bytes) -> int:
    """Past one mark (``b""``: the end of the text) and the white space around it."""
    mark = _mark.match(text, at)
    if mark is None or mark[1] != wanted:
        raise JsonTextError(repr(wanted.decode()) if wanted else "nothing more", at)
    return mark.end()


def _past_comma(text: bytes, at: int, closing: bytes) -> int:
    """To the next value, or to the closing bracket. A comma before a closing bracket is an error."""
    mark = _mark.match(text, at)
    if mark is None or mark[1] not in {b",", closing}:
        raise JsonTextError(f"',' or {closing.decode()!r}", at)
    if mark[1] == closing:
        return mark.start(1)
    if text[mark.end() : mark.end() + 1] == closing:
        raise JsonTextError("a value", mark.end())
    return mark.end()
