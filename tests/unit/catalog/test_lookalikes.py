"""Names that a person would take for one another: what is found, what is not, and that it costs next to nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from switchyard_sidecar.catalog import lookalikes
from switchyard_sidecar.catalog.catalog import build
from switchyard_sidecar.catalog.confusables import LOOK_LIKE
from switchyard_sidecar.catalog.lookalikes import Lookalike, Looks, find
from unit.catalog.samples import gateway, views


def found(*names: str) -> list[tuple[str, ...]]:
    """What is said of names that come from one backend each: the kind, and the names."""
    return [(each.kind, *each.names) for each in find([Looks.of([name]) for name in names], set(names))]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["getUser", "getuser"], [("Case", "getUser", "getuser")], id="case"),
        pytest.param(["GETUSER", "GetUser"], [("Case", "GETUSER", "GetUser")], id="case, none of them folded"),
        pytest.param(["find", "\ufb01nd"], [("Case", "find", "\ufb01nd")], id="a ligature (NFKC)"),
        pytest.param(["\u212bx", "\u00c5x"], [("Case", "\u00c5x", "\u212bx")], id="angstrom sign (NFKC)"),
        pytest.param(
            ["paypal", "p\u0430ypal"],
            [("Shape", "paypal", "p\u0430ypal"), ("MixedScripts", "p\u0430ypal")],
            id="a Cyrillic letter",
        ),
        pytest.param(
            ["cope", "\u0441\u043e\u0440\u0435"],
            [("Shape", "cope", "\u0441\u043e\u0440\u0435")],
            id="a word all Cyrillic",
        ),
        pytest.param(
            ["mail", "\u039cail"],
            [("Shape", "mail", "\u039cail"), ("MixedScripts", "\u039cail")],
            id="a Greek capital, case folded",
        ),
        pytest.param(["list_1", "list_l"], [("Shape", "list_1", "list_l")], id="digit and letter"),
        pytest.param(["listI", "listl"], [("Shape", "listI", "listl")], id="capital I"),
        pytest.param(["modem", "modern"], [("Shape", "modem", "modern")], id="rn and m"),
        pytest.param(
            ["\u00e9t", "\u0435\u0301t"],
            [("Shape", "\u00e9t", "\u0435\u0301t")],
            id="an accent above a letter of another script",
        ),
        pytest.param(
            ["ab", "a\u200bb"], [("Shape", "ab", "a\u200bb"), ("Invisible", "a\u200bb")], id="a zero-width space"
        ),
        pytest.param(["safe\u202etxt"], [("Invisible", "safe\u202etxt")], id="an override of direction"),
        pytest.param(
            ["sear\u0441h"], [("MixedScripts", "sear\u0441h")], id="scripts mixed in a word, nothing else there"
        ),
    ],
)
def test_what_could_be_mistaken_is_said(names: list[str], expected: list[tuple[str, ...]]) -> None:
    """Whatever comes first, and whether one of the names is the plain one or none is."""
    assert found(*names) == expected
    assert found(*reversed(names)) == expected


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["search", "search_all", "get_user", "get_users"], id="other words"),
        pytest.param(["fail", "fall"], id="i is no l"),
        pytest.param(["jira__\u043f\u043e\u0438\u0441\u043a"], id="a prefix in Latin, a tool in Cyrillic"),
        pytest.param(["\u691c\u7d22search", "\u30c6\u30b9\u30c8\u306e\u691c\u7d22"], id="Japanese, with a Latin word"),
        pytest.param(["caf\u00e9", "cafe"], id="an accent is seen"),
        pytest.param(["\u0645\u0648\u0642\u0639"], id="a word in Arabic"),
    ],
)
def test_what_is_told_apart_is_not_reported(names: list[str]) -> None:
    """A report that cries wolf is not read."""
    assert found(*names) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["x" * 128, "X" * 128], [("Case", "X" * 128, "x" * 128)], id="as long as names are"),
        pytest.param(["x" * 129, "X" * 129], [], id="longer"),
        pytest.param(
            ["x" * 127 + "\u200bx"], [("Invisible", "x" * 127 + "\u200bx")], id="the beginning of a longer one"
        ),
        pytest.param(["x" * 128 + "\u200b", "x" * 128 + "\u0430"], [], id="and its end"),
    ],
)
def test_of_a_long_name_the_beginning_is_looked_at(names: list[str], expected: list[tuple[str, ...]]) -> None:
    """A backend that gives its tools names of megabytes holds up nobody."""
    assert found(*names) == expected


def test_a_catalog_reports_and_changes_nothing() -> None:
    """Both names are listed and lead to their own tools."""
    catalog = build(gateway({"gh": "", "jira": ""}), views(gh=["search"], jira=["Search"]))
    assert catalog.lookalikes == (Lookalike("Case", ("Search", "search")),)
    assert catalog.modern.names == ("Search", "search")


def test_a_name_that_comes_or_goes_is_seen_by_the_next_catalog() -> None:
    """Only the share of the backend that changed is made anew; what is said is of all."""
    config, other = gateway({"gh": "", "jira": ""}), ["search"]
    before = build(config, views(gh=other, jira=["x"]))
    during = build(config, views(gh=other, jira=["Search"]), before)
    after = build(config, views(gh=other, jira=["x"]), during)
    assert [len(each.lookalikes) for each in (before, during, after)] == [0, 1, 0]


@given(
    st.lists(
        st.text("aAmnrlI10o\u0430\u043e\u0406\u041c\u0399\u0131\u00df\u212b\u0301\u200b", min_size=1, max_size=4),
        max_size=6,
        unique=True,
    )
)
def test_what_is_found_does_not_depend_on_who_has_the_names(names: list[str]) -> None:
    """One backend with all names, or each with one: the same is said, and what is said twice is one."""
    assert find([Looks.of(names)], set(names)) == find([Looks.of([name]) for name in reversed(names)], set(names))


@given(st.text(st.sampled_from("".join(LOOK_LIKE.values())), min_size=1, max_size=6))
def test_whatever_looks_like_ascii_is_found_beside_it(name: str) -> None:
    """Each character of the table, in any company."""
    plain = "".join(next(text for text, characters in LOOK_LIKE.items() if each in characters) for each in name)
    assert {"Shape"} <= {kind for kind, *_ in found(name, plain)}


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
@example("\u13b1")
@example("\U00017000a")
@example("\U0001f600")
def test_any_name_can_be_looked_at(name: str) -> None:
    """Whatever a backend calls its tools. What names are compared by is compared by itself."""
    find([Looks.of([name])], {name})
    for compared_by in (lookalikes._fold, lookalikes._shape):
        assert compared_by(compared_by(name)) == compared_by(name)


def test_ordinary_names_leave_nothing_to_be_compared() -> None:
    """Ten thousand of them add nothing to a catalog."""
    assert Looks.of(f"backend__find_tool_{number}".translate({48: "x", 49: "y"}) for number in range(10_000)) == Looks()


def test_the_table_is_what_unicode_says_of_well_known_letters() -> None:
    """Lines of ``confusables.txt`` that anybody can look up."""
    for line in (
        "a \u0430",
        "o \u03bf",
        "e \u0435",
        "p \u0440",
        "A \u0391",
        "K \u041a",
        "l \u04cf",
        "rn \U000118e3",
        "- \u2010",
        "_ \u07fa",
    ):
        text, character = line.split(" ")
        assert character in LOOK_LIKE[text], line
    assert all(not each.isascii() for each in "".join(LOOK_LIKE.values()))
