"""Who sees what: whatever tokens say and rules ask, one rule decides, and nothing opens by being left out or odd."""

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fuzz.texts import budget, names, values
from switchyard_sidecar.access.rules import Rules
from switchyard_sidecar.catalog.filters import passes
from switchyard_sidecar.config.model import ToolFilter, Visibility

CLAIM: Final = st.sampled_from(
    ["sub", "scope", "groups", "a", "/a", "/a/b", "/groups/0", "/a~1b/~0", "/", "//"]
) | names.filter(bool)
WORDS: Final = st.sampled_from(["a", "b", "admin", "1", "true", "null", ""]) | names
CLAIMS: Final[SearchStrategy[Mapping[str, Any]]] = st.dictionaries(
    st.sampled_from(["sub", "scope", "groups", "a", "a/b", "/", ""]) | names,
    values
    | WORDS
    | st.lists(WORDS)
    | st.dictionaries(WORDS, values | WORDS)
    | st.sampled_from([10**400, float("inf"), -0.0]),
    max_size=4,
)
CONDITION: Final = st.fixed_dictionaries(
    {"claim": CLAIM}, optional={"anyOf": st.lists(WORDS, max_size=3), "noneOf": st.lists(WORDS, max_size=3)}
)
GLOBS: Final = st.text("ab*?[]!-_^", max_size=8)
FILTER: Final = st.fixed_dictionaries(
    {}, optional={"include": st.lists(GLOBS, min_size=1, max_size=3), "exclude": st.lists(GLOBS, max_size=3)}
)
RULE: Final = st.fixed_dictionaries({"when": st.lists(CONDITION, max_size=3), "tools": FILTER})
VISIBILITY: Final = st.builds(
    Visibility.model_validate,
    st.fixed_dictionaries({"default": st.sampled_from(["Allow", "Deny"]), "rules": st.lists(RULE, max_size=4)}),
)


@budget
@given(VISIBILITY, CLAIMS)
def test_exactly_one_rule_decides(visibility: Visibility, claims: Mapping[str, Any]) -> None:
    """The first whose conditions hold, each by itself; the default where none does."""
    rules = Rules.of(visibility)
    place = rules.outcome(claims)
    assert 0 <= place <= len(visibility.rules)
    assert len(rules.tools) == len(visibility.rules) + 1
    alone = [
        Rules.of(Visibility(rules=(each,))).outcome(claims) == 0  # whether it would decide if it were the only one
        for each in visibility.rules
    ]
    assert place == (alone.index(True) if True in alone else len(alone))


@budget
@given(VISIBILITY, CLAIMS, st.sampled_from(["sub", "scope", "groups", "a"]))
def test_no_rule_with_a_condition_opens_to_who_says_nothing(
    visibility: Visibility, claims: Mapping[str, Any], left_out: str
) -> None:
    """What a token leaves out decides like what it sets to null, and a condition on it does not hold."""
    rest = {name: value for name, value in claims.items() if name != left_out}
    rules = Rules.of(visibility)
    assert rules.outcome(rest) == rules.outcome({**rest, left_out: None})
    place = rules.outcome(rest)
    if place < len(visibility.rules):
        assert all(each.claim not in {left_out, f"/{left_out}"} for each in visibility.rules[place].when)


@budget
@given(st.builds(ToolFilter.model_validate, FILTER), st.text("ab_-[]*", max_size=6))
def test_any_pattern_passes_a_name_or_does_not(tools: ToolFilter, name: str) -> None:
    """And what is excluded by its own name is out, whatever is included."""
    assert passes((tools,), name) in {True, False}
    plain = name.replace("[", "").replace("]", "").replace("*", "")
    assert not passes((tools.model_copy(update={"exclude": (*tools.exclude, plain)}),), plain)
