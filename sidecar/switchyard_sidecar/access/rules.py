"""Which tools a caller may see: the first rule whose conditions all hold for its claims decides. Pure.

What always holds:

1. **Nothing holds because something is missing.** A condition on a claim that is not there, or is ``null``, does not hold,
   whatever it asks, ``noneOf`` included: what an issuer leaves out of a token must never open a rule. (``NotIn`` of Kubernetes'
   label selectors holds there.) Such a caller falls through to the rules below and then to the default, so whoever writes
   ``default: Allow`` allows all that to callers of whom nothing is known.
2. **What cannot be compared is no reason.** A claim that is an object or a list that holds one is there; but no text equals it,
   so ``anyOf`` does not find it, and nobody can tell that it is none of the texts of a ``noneOf``, which then does not hold.
3. Comparing is exact: case counts, and nothing is trimmed, as RFC 7519 (section 4.1) has it for names and values.
"""

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from switchyard_sidecar.config.model import Condition, ToolFilter, Visibility

_ALL: Final = ToolFilter()
_NONE: Final = ToolFilter(include=())
_SCOPE: Final = "scope"
"""The one claim whose text is a list: words with blanks between them (RFC 6749, section 3.3; RFC 8693, section 4.2)."""
_Path = tuple[str, ...]
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,17}")
"""A place in a list as RFC 6901 writes it; more digits are no place in any list."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A rule table, ready to be asked for each request."""

    _rules: tuple[tuple["_Test", ...], ...]
    tools: tuple[ToolFilter, ...]
    """What callers see, by outcome: globs on exposed names."""

    @classmethod
    def of(cls, visibility: Visibility | None) -> "Rules":
        """Prepare a table; without one everybody sees everything."""
        if visibility is None:
            return cls((), (_ALL,))
        default = _ALL if visibility.default == "Allow" else _NONE
        return cls(
            tuple(tuple(_Test.of(condition) for condition in rule.when) for rule in visibility.rules),
            (*(rule.tools for rule in visibility.rules), default),
        )

    def outcome(self, claims: Mapping[str, JsonValue]) -> int:
        """The place of the rule that decides for a caller with these claims; that of the default is after the last rule's."""
        known: dict[_Path, AbstractSet[str | None] | None] = {}  # many rules ask for the same claim
        for place, tests in enumerate(self._rules):
            for test in tests:
                if test.path not in known:
                    known[test.path] = _values(claims, test.path)
                if not test.holds(known[test.path]):
                    break
            else:
                return place
        return len(self._rules)


@dataclass(frozen=True, slots=True)
class _Test:
    """One condition. ``path`` leads from the claims to the value."""

    path: _Path
    any_of: frozenset[str]
    none_of: frozenset[str]

    @classmethod
    def of(cls, condition: Condition) -> "_Test":
        claim = condition.claim
        path = tuple(_unescaped(token) for token in claim[1:].split("/")) if claim.startswith("/") else (claim,)
        return cls(path, frozenset(condition.any_of), frozenset(condition.none_of))

    def holds(self, values: AbstractSet[str | None] | None) -> bool:
        """Whether it holds of a claim with these values; see :func:`_values`."""
        if values is None or (self.any_of and self.any_of.isdisjoint(values)):
            return False
        return not self.none_of or (None not in values and self.none_of.isdisjoint(values))


def _values(claims: Mapping[str, JsonValue], path: _Path) -> AbstractSet[str | None] | None:
    """What a claim has, as conditions write it; ``None`` in it stands for what they cannot write. ``None``: it is not there."""
    value = _found(claims, path)
    if value is None:
        return None
    if isinstance(value, str) and path == (_SCOPE,):
        return set(filter(None, value.split(" ")))
    return {_text(each) for each in (value if isinstance(value, list) else (value,))}


def _found(claims: Mapping[str, JsonValue], path: _Path) -> JsonValue:
    """The value a path leads to; ``None`` where it leads nowhere, or to ``null``."""
    value = claims.get(path[0])
    for token in path[1:]:
        if isinstance(value, dict):
            value = value.get(token)
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def _text(value: JsonValue) -> str | None:
    """A value as conditions write it; ``None`` for one that they cannot write."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, int | float) else None


def _unescaped(token: str) -> str:
    """A reference token of RFC 6901 (section 4): in this order, so that ``~01`` is ``~1``."""
    return token.replace("~1", "/").replace("~0", "~")
