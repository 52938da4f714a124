"""Exposed names that a person would take for one another: reported, never altered and never hidden.

What is found:

1. *Case*: names that are the same under NFKC and case folding.
2. *Shape*: names that look the same: letters of other scripts for Latin ones, ``l`` and ``1`` and ``I``, ``0`` and ``O``, ``rn``
   and ``m`` (UTS #39 section 4, skeletons, as far as they are ASCII).
3. *MixedScripts*: a word with letters of several scripts, apart from those that are written together (UTS #39 section 5.2, highly
   restrictive). Words, not names: a backend's prefix may be written otherwise than its tools.
4. *Invisible*: a name with characters that are not shown.

Most names are what they are compared by. Only the others are kept, for each backend once (:class:`Looks`), so that a
catalog made of many backends costs little more than a lookup for each of those.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal

from switchyard_sidecar.catalog.confusables import LOOK_LIKE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

Kind = Literal["Case", "Shape", "MixedScripts", "Invisible"]

_ODD: Final = re.compile(r"[A-Z01|]|rn|[^\x00-\x7f]")
"""Without any of these, a name is what it is compared by."""
_LATIN: Final = {ord(character): text for text, characters in LOOK_LIKE.items() for character in characters}
_SHAPES: Final = str.maketrans("01I|", "Olll")
_FOLDED: Final = str.maketrans("01|", "oll")
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point (Unicode, DerivedCoreProperties)."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lo"})
_EAST_ASIAN: Final = frozenset({"BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "KATAKANA"})


@dataclass(frozen=True, slots=True)
class Lookalike:
    """Something about exposed names that a person should look at."""

    kind: Kind
    names: tuple[str, ...]
    """In code point order: those that are taken for one another; or the one that is what ``kind`` says."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What is to be known of some names: those that are not what they are compared by, by what that is."""

    folded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By what case is folded to, look-alikes being one."""
    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By what they look like, case counting."""
    odd: tuple[Lookalike, ...] = ()
    """What is to be said of one name by itself."""

    @classmethod
    def of(cls, names: Iterable[str]) -> Looks:
        """The looks of these names."""
        folded: dict[str, tuple[str, ...]] = {}
        shapes: dict[str, tuple[str, ...]] = {}
        odd: list[Lookalike] = []
        for name in names:
            if _ODD.search(name) is None:
                continue
            if not name.isascii():
                odd += _odd(name)
            for key, kept in (_fold(name), folded), (_shape(name), shapes):
                if key != name:
                    kept[key] = (*kept.get(key, ()), name)
        return cls(folded, shapes, tuple(odd))


def find(parts: Iterable[Looks], names: AbstractSet[str]) -> tuple[Lookalike, ...]:
    """What is to be said of ``names``, whose looks are these."""
    all_parts = list(parts)
    alike = set(_groups([each.folded for each in all_parts], names))
    for group in _groups([each.shapes for each in all_parts], names):
        if len({_fold(name) for name in group}) > 1:  # otherwise they are of one group already
            alike.add(group)
    found = [Lookalike(_kind(group), group) for group in alike]
    found += chain.from_iterable(each.odd for each in all_parts)
    return tuple(sorted(found, key=lambda each: (each.names, each.kind)))


def _groups(parts: Iterable[Mapping[str, tuple[str, ...]]], names: AbstractSet[str]) -> Iterator[tuple[str, ...]]:
    """Names that are compared by the same; a key that is a name itself is of its group."""
    merged: dict[str, tuple[str, ...]] = {}
    for part in parts:
        met = {key: (*merged[key], *part[key]) for key in merged.keys() & part.keys()}
        merged |= part
        merged |= met
    for key, group in merged.items():
        if key in names:
            yield tuple(sorted((key, *group)))
        elif len(group) > 1:
            yield tuple(sorted(group))


def _fold(name: str) -> str:
    if not name.isascii():
        name = _latin(_latin(name).casefold())
    return name.lower().translate(_FOLDED).replace("rn", "m")


def _shape(name: str) -> str:
    return (name if name.isascii() else _latin(name)).translate(_SHAPES).replace("rn", "m")


def _latin(name: str) -> str:
    # Decomposed, so that an accent is the same above a letter of any script.
    return _INVISIBLE.sub("", unicodedata.normalize("NFKD", name)).translate(_LATIN)


def _kind(group: tuple[str, ...]) -> Kind:
    return "Shape" if len({unicodedata.normalize("NFKC", name).casefold() for name in group}) > 1 else "Case"


def _odd(name: str) -> Iterator[Lookalike]:
    if any(_is_mixed(word) for word in _WORD.findall(unicodedata.normalize("NFKC", name))):
        yield Lookalike("MixedScripts", (name,))
    if _INVISIBLE.search(name) is not None:
        yield Lookalike("Invisible", (name,))


def _is_mixed(word: str) -> bool:
    # Python knows no scripts, but the names of letters, which begin with their script.
    scripts = {unicodedata.name(each).partition(" ")[0] for each in word if unicodedata.category(each) in _LETTERS}
    if scripts & _EAST_ASIAN:
        scripts -= _EAST_ASIAN | {"LATIN"}
        return bool(scripts)
    return len(scripts) > 1
