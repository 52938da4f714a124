"""The page walk, as playbooks: what comes in on one side, what is asked for next on the other."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.config.model import Limits
from switchyard_sidecar.upstream.walk import MAX_RESTARTS, Ask, Cut, Step, Walk, Walked

SIZE = 10
"""Bytes of every page in these tests."""
LIMITS = Limits(pages=10, tools=100, bytes=1000)


@dataclass(frozen=True)
class Page:
    """A page that comes in."""

    names: str
    """One letter an entry."""
    cursor: str | None = None


@dataclass(frozen=True)
class Refused:
    """An error that comes in."""

    code: int


@dataclass(frozen=True)
class TooLarge:
    """A page that was too large to be read."""


def entries(names: str) -> tuple[bytes, ...]:
    return tuple(name.encode() for name in names)


def play(limits: Limits, *incoming: Page | Refused | TooLarge) -> tuple[list[str | None], Step | None]:
    """Report all that comes in; return the cursors that were asked for, and the last step."""
    walk = Walk(limits)
    step: Step | None = walk.first
    asked: list[str | None] = []
    for each in incoming:
        assert isinstance(step, Ask), f"{each} came in after the end"
        asked.append(step.cursor)
        match each:
            case Page(names, cursor):
                step = walk.page(entries(names), cursor, SIZE)
            case Refused(code):
                step = walk.refused(code)
            case TooLarge():
                step = walk.too_large()
    return asked, step


@pytest.mark.parametrize(
    ("incoming", "asked", "outcome"),
    [
        pytest.param([Page("ab")], [None], Walked(entries("ab")), id="one page"),
        pytest.param([Page("")], [None], Walked(()), id="an empty list"),
        pytest.param(
            [Page("ab", "2"), Page("cd", "3"), Page("e")],
            [None, "2", "3"],
            Walked(entries("abcde")),
            id="three pages",
        ),
        pytest.param([Page("", "2"), Page("a")], [None, "2"], Walked(entries("a")), id="an empty page is no end"),
        pytest.param([Page("a", ""), Page("b")], [None, ""], Walked(entries("ab")), id="an empty cursor is a cursor"),
        pytest.param(
            [Page("a", "x"), Page("b", ""), Page("c")],
            [None, "x", ""],
            Walked(entries("abc")),
            id="an empty cursor later on",
        ),
        pytest.param(
            [Page("ab", ""), Page("ab", "")],
            [None, ""],
            Walked(entries("ab")),
            id="an empty cursor that brings the first page again meant the end",
        ),
        pytest.param(
            [Page("ab", "2"), Page("c", ""), Page("ab", "2")],
            [None, "2", ""],
            Walked(entries("abc")),
            id="and so it does after several pages",
        ),
        pytest.param(
            [Page("a", ""), Page("b", "")],
            [None, ""],
            Walked(entries("ab"), Cut.REPEATED_CURSOR),
            id="an empty cursor is sent once",
        ),
        pytest.param(
            [Page("a", "x"), Page("b", "x")],
            [None, "x"],
            Walked(entries("ab"), Cut.REPEATED_CURSOR),
            id="a cursor that names itself",
        ),
        pytest.param(
            [Page("a", "x"), Page("b", "y"), Page("c", "x")],
            [None, "x", "y"],
            Walked(entries("abc"), Cut.REPEATED_CURSOR),
            id="cursors in a circle",
        ),
    ],
)
def test_walk_ends_where_the_list_ends(incoming: list[Page], asked: list[str | None], outcome: Walked) -> None:
    """Only an absent cursor ends a list; a cursor is never sent twice, and what that leaves unread is said."""
    assert play(LIMITS, *incoming) == (asked, outcome)


@pytest.mark.parametrize(
    ("limits", "incoming", "outcome"),
    [
        pytest.param({"pages": 2}, [Page("a", "x"), Page("b", "y")], Walked(entries("ab"), Cut.PAGES), id="pages"),
        pytest.param({"pages": 2}, [Page("a", "x"), Page("b")], Walked(entries("ab")), id="as many pages as allowed"),
        pytest.param({"tools": 3}, [Page("ab", "x"), Page("cd", "y")], Walked(entries("abc"), Cut.TOOLS), id="tools"),
        pytest.param(
            {"tools": 4}, [Page("ab", "x"), Page("cd")], Walked(entries("abcd")), id="as many tools as allowed"
        ),
        pytest.param(
            {"bytes": 20}, [Page("a", "x"), Page("b", "y")], Walked(entries("ab"), Cut.BYTES), id="bytes used up"
        ),
        pytest.param(
            {"bytes": 25}, [Page("a", "x"), TooLarge()], Walked(entries("a"), Cut.BYTES), id="a page beyond the bytes"
        ),
    ],
)
def test_limits_end_a_walk_incomplete(limits: dict[str, int], incoming: list[Page | TooLarge], outcome: Walked) -> None:
    """What was read until then is kept, and the walk says why it is not all."""
    _, step = play(Limits(**{**LIMITS.model_dump(), **limits}), *incoming)
    assert step == outcome


def test_each_page_may_take_what_the_others_left() -> None:
    """The limit of bytes holds for all pages together."""
    walk = Walk(Limits(bytes=100))
    assert walk.first == Ask(None, 100)
    assert walk.page(entries("a"), "x", 60) == Ask("x", 40)


@pytest.mark.parametrize(
    ("incoming", "asked", "outcome"),
    [
        pytest.param([Refused(-32601)], [None], Walked(()), id="no such method: no tools"),
        pytest.param([Page("a", "x"), Refused(-32601)], [None, "x"], None, id="no such method on a later page"),
        pytest.param([Refused(-32602)], [None], None, id="invalid params without a cursor"),
        pytest.param([Refused(-32603)], [None], None, id="an internal error"),
        pytest.param([Page("a", "x"), Refused(-32603)], [None, "x"], None, id="an internal error on a later page"),
        pytest.param([TooLarge()], [None], None, id="a first page that is too large"),
        pytest.param(
            [Page("a", "x"), Refused(-32602), Page("b", "y"), Page("c")],
            [None, "x", None, "y"],
            Walked(entries("bc")),
            id="a refused cursor starts anew",
        ),
        pytest.param(
            [Page("a", "x"), Refused(-32602), Page("a", "x"), Page("b")],
            [None, "x", None, "x"],
            Walked(entries("ab")),
            id="and cursors may come again then",
        ),
        pytest.param(
            [Page("a", "x"), Refused(-32602)] * 2 + [Page("a", "x"), Page("b", "y"), Refused(-32602)],
            [None, "x"] * 2 + [None, "x", "y"],
            Walked(entries("ab"), Cut.REFUSED_CURSOR),
            id="not for ever",
        ),
    ],
)
def test_refusals(incoming: list[Any], asked: list[str | None], outcome: Walked | None) -> None:
    """A refused cursor restarts the walk, a bounded number of times; what is not the walk's to mend is its failure."""
    assert play(LIMITS, *incoming) == (asked, outcome)


ANSWERS = st.one_of(
    st.builds(Page, st.text("abc", max_size=3), st.sampled_from([None, "", "x", "y", "z"])),
    st.builds(Refused, st.just(-32602)),
)


@given(answers=st.lists(ANSWERS, min_size=30, max_size=30))
def test_every_walk_ends_whatever_the_backend_answers(answers: list[Page | Refused]) -> None:
    """Within its pages and restarts, and without sending a cursor twice between two restarts."""
    walk = Walk(LIMITS)
    step: Step | None = walk.first
    asked: list[str | None] = []
    for count, answer in enumerate(answers):
        if not isinstance(step, Ask):
            break
        if step.cursor is None:
            asked = []
        assert step.cursor not in asked
        asked.append(step.cursor)
        assert count < LIMITS.pages * (1 + MAX_RESTARTS)
        match answer:
            case Page(names, cursor):
                step = walk.page(entries(names), cursor, SIZE)
            case Refused(code):
                step = walk.refused(code)
    assert not isinstance(step, Ask)
