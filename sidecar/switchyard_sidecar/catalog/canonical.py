"""When two definitions are the same: a strict reading of JSON that keeps every digit, and a digest of what was read.

The canonical form sorts keys by code point, writes strings without needless escapes and numbers exactly as they were
written: ``1``, ``1.0`` and ``1e400`` are three different things here, and no parser's idea of a number can change one into
another. It is only ever hashed, never sent.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

_Pairs: TypeAlias = list[tuple[str, Any]]

_NAN: Final = float("nan")


class NotJsonError(ValueError):
    """The text is not JSON as RFC 8259 has it, in UTF-8; the message says why."""


class Number:
    """A number, as it was written."""

    __slots__ = ("lexeme",)

    def __init__(self, lexeme: str) -> None:
        self.lexeme = lexeme


class Repetition:
    """An object that names a member twice: its members, as they were written."""

    __slots__ = ("members",)

    def __init__(self, members: _Pairs) -> None:
        self.members = members


@dataclass(frozen=True, slots=True)
class Reading:
    """What one text says."""

    value: Any
    """JSON as Python values, but every number is a :class:`Number`. Where an object names a member twice, the last counts."""
    whole: Any
    """The same with every such object in its place as a :class:`Repetition`, since to some parsers the first counts."""


def read(text: bytes) -> Reading:
    """Read one JSON text.

    Raises:
        NotJsonError: it is no JSON; NaN and infinities are none, nor are bytes that are no UTF-8. Or it nests so deeply
            that Python does not read it, which is some hundred levels.
    """
    repeats = False

    def members(pairs: _Pairs) -> dict[str, Any]:
        nonlocal repeats
        value = dict(pairs)
        repeats = repeats or len(value) != len(pairs)
        return value

    try:
        characters = text.decode()
        value = _decoded(characters, members)
        return Reading(value, _decoded(characters, _unabridged) if repeats else value)
    except UnicodeDecodeError:
        raise NotJsonError("it is not valid UTF-8") from None
    except RecursionError:
        raise NotJsonError("it nests too deeply") from None
    except json.JSONDecodeError as error:
        raise NotJsonError(f"it is not valid JSON: {error.msg} at character {error.pos}") from None


def digest(reading: Reading) -> bytes:
    """SHA-256 of the canonical form.

    Raises:
        NotJsonError: a string holds half of a surrogate pair, which no UTF-8 can carry.
    """
    try:
        form = _form.encode(reading.whole).encode()
    except UnicodeEncodeError:
        raise NotJsonError("it holds a lone surrogate") from None
    return hashlib.sha256(form).digest()


def _decoded(text: str, members: Callable[[_Pairs], object]) -> Any:
    reader = json.JSONDecoder(
        object_pairs_hook=members, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
    )
    return reader.decode(text)


def _unabridged(pairs: _Pairs) -> dict[str, Any] | Repetition:
    value = dict(pairs)
    return value if len(value) == len(pairs) else Repetition(pairs)


def _refuse_constant(constant: str) -> NoReturn:
    raise NotJsonError(f"{constant} is not valid JSON")


def _unmistakable(part: Number | Repetition) -> list[Any]:
    # A text that holds NaN is refused above, so an array that begins with it can only stand for one of these.
    return [_NAN, part.lexeme if isinstance(part, Number) else part.members]


_form: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_unmistakable)
