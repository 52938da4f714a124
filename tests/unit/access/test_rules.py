"""Which tools a caller may see."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.access.rules import Rules
from switchyard_sidecar.config.model import Condition, ToolFilter, Visibility, VisibilityRule

CLAIMS: dict[str, Any] = {
    "sub": "ada",
    "groups": ["platform", "on-call"],
    "scope": "tools:read  tools:write",
    "scp": "tools:read tools:write",
    "level": 3,
    "ratio": 0.5,
    "admin": True,
    "nothing": None,
    "none": [],
    "empty": "",
    "https://idp.example/tenant": "blue",
    "realm_access": {"roles": ["viewer", 7], "a/b": {"m~n": "deep"}},
    "mixed": ["platform", {"name": "hidden"}],
    "": "nameless",
}


def condition(claim: str, any_of: tuple[str, ...] = (), none_of: tuple[str, ...] = ()) -> Condition:
    return Condition(claim=claim, any_of=any_of, none_of=none_of)


def rules(*whens: tuple[Condition, ...], default: Any = "Deny") -> Rules:
    """A table of rules with these conditions."""
    return Rules.of(Visibility(default=default, rules=tuple(VisibilityRule(when=when) for when in whens)))


def holds(tested: Condition, claims: dict[str, Any] = CLAIMS) -> bool:
    return rules((tested,)).outcome(claims) == 0


@pytest.mark.parametrize(
    ("claim", "any_of", "expected"),
    [
        ("sub", ("ada",), True),
        ("sub", ("bob", "ada"), True),
        ("sub", ("Ada",), False),
        ("sub", ("ada ",), False),
        ("groups", ("on-call",), True),
        ("groups", ("on",), False),
        ("groups", ("platform on-call",), False),
        ("scope", ("tools:write",), True),
        ("/scope", ("tools:write",), True),
        ("scope", ("tools",), False),
        ("scope", ("",), False),
        ("scp", ("tools:write",), False),
        ("scp", ("tools:read tools:write",), True),
        ("level", ("3",), True),
        ("level", ("3.0",), False),
        ("ratio", ("0.5",), True),
        ("admin", ("true",), True),
        ("admin", ("True", "1"), False),
        ("nothing", ("null", "None", ""), False),
        ("none", ("",), False),
        ("empty", ("",), True),
        ("absent", ("",), False),
        ("https://idp.example/tenant", ("blue",), True),
        ("/realm_access/roles", ("viewer",), True),
        ("/realm_access/roles", ("7",), True),
        ("/realm_access/roles/0", ("viewer",), True),
        ("/realm_access/roles/00", ("viewer",), False),
        ("/realm_access/roles/-", ("viewer",), False),
        ("/realm_access/roles/9", ("viewer",), False),
        ("/realm_access/roles/0/0", ("v",), False),
        ("/realm_access/a~1b/m~0n", ("deep",), True),
        ("realm_access.roles", ("viewer",), False),
        ("realm_access", ("viewer", "roles"), False),
        ("mixed", ("platform",), True),
        ("mixed", ("hidden",), False),
        ("/", ("nameless",), True),
    ],
)
def test_any_of_finds_a_value_of_the_claim(claim: str, any_of: tuple[str, ...], expected: bool) -> None:
    """A list has its elements, ``scope`` its words, all else one value, compared to the letter."""
    assert holds(condition(claim, any_of)) is expected


@pytest.mark.parametrize(
    ("claim", "none_of", "expected"),
    [
        ("sub", ("bob",), True),
        ("sub", ("ada",), False),
        ("groups", ("contractor",), True),
        ("groups", ("contractor", "platform"), False),
        ("none", ("contractor",), True),
        ("absent", ("contractor",), False),
        ("nothing", ("contractor",), False),
        ("/realm_access/absent", ("contractor",), False),
        ("realm_access", ("contractor",), False),
        ("mixed", ("contractor",), False),
    ],
)
def test_none_of_holds_of_known_values_only(claim: str, none_of: tuple[str, ...], expected: bool) -> None:
    """A claim that is missing, or that cannot be compared, opens nothing."""
    assert holds(condition(claim, none_of=none_of)) is expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [("sub", True), ("none", True), ("empty", True), ("realm_access", True), ("nothing", False), ("absent", False)],
)
def test_without_a_list_the_claim_must_be_there(claim: str, expected: bool) -> None:
    """Empty is there; ``null`` is not."""
    assert holds(condition(claim)) is expected


def test_first_rule_that_holds_decides() -> None:
    """Later rules are not looked at, and after the last one comes the default."""
    table = rules(
        (condition("sub", ("bob",)),),
        (condition("groups", ("platform",)), condition("level", ("3",))),
        (condition("sub", ("ada",)),),
    )
    assert table.outcome(CLAIMS) == 1
    assert table.outcome(CLAIMS | {"level": 4}) == 2
    assert table.outcome({}) == 3


def test_any_of_and_none_of_of_one_condition_must_both_hold() -> None:
    """Being of a group does not make up for being of another one."""
    tested = condition("groups", ("platform",), ("suspended",))
    assert holds(tested)
    assert not holds(tested, {"groups": ["platform", "suspended"]})


def test_rule_without_conditions_is_for_everybody() -> None:
    """It holds for callers of whom nothing is known."""
    assert rules(()).outcome({}) == 0


@pytest.mark.parametrize(("default", "includes"), [("Allow", ("*",)), ("Deny", ())])
def test_default_shows_all_or_nothing(default: str, includes: tuple[str, ...]) -> None:
    """What is seen by outcome: the rules' globs, then the default's."""
    seen = ToolFilter(include=("a*",), exclude=("ab",))
    table = Rules.of(Visibility.model_validate({"default": default, "rules": [VisibilityRule(tools=seen)]}))
    assert table.tools == (seen, ToolFilter(include=includes))


def test_without_a_table_everybody_sees_everything() -> None:
    """A gateway that says nothing of visibility hides nothing."""
    open_to_all = Rules.of(None)
    assert open_to_all.tools[open_to_all.outcome({})] == ToolFilter()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["a", "b", "scope", "/a", "/a/0", "/a/b", "/a/~0", "/scope", "", "/"]) | st.text(max_size=3)
TEXTS = st.lists(st.sampled_from(["", "0", "true", "a", "b"]) | st.text(max_size=2), max_size=2).map(tuple)
CONDITIONS = st.builds(condition, NAMES, TEXTS, TEXTS)
TABLES = st.lists(st.lists(CONDITIONS, max_size=2).map(tuple), max_size=3)
CALLERS = st.dictionaries(st.sampled_from(["a", "b", "scope", ""]) | st.text(max_size=2), JSON, max_size=4)


@given(TABLES, CALLERS)
def test_every_caller_has_one_outcome(table: list[tuple[Condition, ...]], claims: dict[str, Any]) -> None:
    """Whatever a token holds, asking raises nothing, and the outcome is the first rule all of whose conditions hold alone."""
    expected = next(
        (place for place, when in enumerate(table) if all(holds(each, claims) for each in when)), len(table)
    )
    assert rules(*table).outcome(claims) == expected


@given(CONDITIONS, CALLERS)
def test_no_condition_holds_because_a_claim_is_gone(tested: Condition, claims: dict[str, Any]) -> None:
    """A token that loses the claim a condition is about never meets the condition."""
    name = tested.claim.split("/")[1].replace("~1", "/").replace("~0", "~") if tested.claim[:1] == "/" else tested.claim
    assert not holds(tested, {key: value for key, value in claims.items() if key != name})


@given(st.one_of(st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False)), st.text(max_size=3))
def test_scalars_are_compared_as_json_writes_them(value: Any, other: str) -> None:
    """Exactly one text is equal to a value."""
    written = value if isinstance(value, str) else json.dumps(value)
    assert holds(condition("claim", (written,)), {"claim": value})
    assert holds(condition("claim", (other,)), {"claim": value}) is (other == written)
    assert holds(condition("claim", none_of=(other,)), {"claim": value}) is (other != written)
