"""Exposed names that a person would take for one another: reported, never altered and never hidden.

What is found:

1. *Case*: names that are the same under NFKC and case folding.
2. *Shape*: names that look the same: letters of other scripts for Latin ones, ``l`` and ``1`` and ``I``, ``0`` and ``O``, ``rn``
   and ``m`` (UTS #39 section 4, skeletons, as far as they are ASCII).
3. *MixedScripts*: a word with letters of several scripts, apart from those that are written together (UTS #39 section 5.2, highly
   restrictive). Words, not names: a backend's prefix may be written otherwise than its tools.
4. *Invisible*: a name with characters that are not shown.

Of a name only its beginning is looked at (:data:`LEGIBLE`), and a longer one is compared with none: what a backend calls its tools has no
limit, and nobody reads that far.

Two names are alike that are the same after folding, or the same in shape. Most names are what they are compared by, so that only the
others are kept, for each backend once (:class:`Looks`); a catalog of many backends costs a few operations on sets.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal

from switchyard_sidecar.catalog.confusables import LOOK_LIKE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

Kind = Literal["Case", "Shape", "MixedScripts", "Invisible"]

LEGIBLE: Final = 128
"""Characters of a name that are looked at: as many as MCP recommends for a whole one (2026-07-28, ``server/tools``)."""
_ODD: Final = re.compile(r"[A-Z01|]|rn|[^\x00-\x7f]")
"""Without any of these, a name is what it is compared by."""
_LATIN: Final = {ord(character): text for text, characters in LOOK_LIKE.items() for character in characters}
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
    """What is to be known of some names."""

    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By what they are compared by: the names that are not that themselves."""
    several: frozenset[str] = frozenset()
    """By what more than one of them is compared."""
    odd: tuple[Lookalike, ...] = ()
    """What is to be said of one name by itself."""

    @classmethod
    def of(cls, names: Iterable[str]) -> Looks:
        """The looks of these names."""
        kept: dict[str, list[str]] = {}
        several: set[str] = set()
        odd: list[Lookalike] = []
        for name in names:
            legible = name[:LEGIBLE]
            if _ODD.search(legible) is None:
                continue
            if not legible.isascii():
                odd += (Lookalike(kind, (name,)) for kind in _oddities(legible))
            if len(name) > LEGIBLE:
                continue
            folded, shape = _fold(name), _shape(name)
            for key in (folded,) if folded == shape else (folded, shape):
                if key in kept:
                    several.add(key)
                    kept[key].append(name)
                elif key != name:
                    kept[key] = [name]
        return cls(kept, frozenset(several), tuple(odd))


def find(parts: Iterable[Looks], names: AbstractSet[str]) -> tuple[Lookalike, ...]:
    """What is to be said of ``names``, whose looks are these."""
    looks = list(parts)
    groups = {group for key in _met_again(looks, names) for group in _groups(key, looks, names)}
    found = [Lookalike(_kind(group), group) for group in groups]
    found += chain.from_iterable(each.odd for each in looks)
    return tuple(sorted(found, key=lambda each: (each.names, each.kind)))


def among(names: Iterable[str]) -> tuple[Lookalike, ...]:
    """What is to be said of names that come from one place."""
    known = frozenset(names)
    return find([Looks.of(known)], known)


def _met_again(looks: Iterable[Looks], names: AbstractSet[str]) -> set[str]:
    """What more than one name is compared by, or might be. A pass over sets, since nearly always there is nothing to be found."""
    again: set[str] = set()
    seen: set[str] = set()
    for each in looks:
        again |= each.several
        again.update(seen.intersection(each.kept))
        seen.update(each.kept)
    return again | (names & seen)


def _groups(key: str, looks: Iterable[Looks], names: AbstractSet[str]) -> Iterator[tuple[str, ...]]:
    """The names that are the same when folded to this, or look like this."""
    candidates = {name for each in looks for name in each.kept.get(key, ())}
    if key in names:
        candidates.add(key)
    folded = {name for name in candidates if _fold(name) == key}
    shaped = {name for name in candidates if _shape(name) == key}
    if len(folded) > 1:
        yield tuple(sorted(folded))
    if len(shaped) > 1 and len({_fold(name) for name in shaped}) > 1:  # otherwise they are of one group already
        yield tuple(sorted(shaped))


def _fold(name: str) -> str:
    if not name.isascii():
        name = _latin(_latin(name).casefold().lower())  # which are not the same for Cherokee
    return name.lower().replace("0", "o").replace("1", "l").replace("|", "l").replace("rn", "m")


def _shape(name: str) -> str:
    if not name.isascii():
        name = _latin(name)
    return name.replace("0", "O").replace("1", "l").replace("I", "l").replace("|", "l").replace("rn", "m")


def _latin(name: str) -> str:
    # Decomposed, so that an accent is the same above a letter of any script.
    return _INVISIBLE.sub("", unicodedata.normalize("NFKD", name)).translate(_LATIN)


def _kind(group: tuple[str, ...]) -> Kind:
    return "Shape" if len({unicodedata.normalize("NFKC", name).casefold() for name in group}) > 1 else "Case"


def _oddities(name: str) -> Iterator[Kind]:
    if any(_is_mixed(word) for word in _WORD.findall(unicodedata.normalize("NFKC", name))):
        yield "MixedScripts"
    if _INVISIBLE.search(name) is not None:
        yield "Invisible"


def _is_mixed(word: str) -> bool:
    # Python knows no scripts, but the names of letters, which begin with their script; those it has no name for count as one.
    scripts = {unicodedata.name(each, "").partition(" ")[0] for each in word if unicodedata.category(each) in _LETTERS}
    if scripts & _EAST_ASIAN:
        scripts -= _EAST_ASIAN | {"LATIN"}
        return bool(scripts)
    return len(scripts) > 1
