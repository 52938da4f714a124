"""Pages and their cursors."""

import json
from collections.abc import Iterable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.catalog.catalog import build
from switchyard_sidecar.catalog.projection import Projection
from switchyard_sidecar.config.model import GatewayConfig
from switchyard_sidecar.protocol import cursor as cursors
from switchyard_sidecar.protocol.errors import INVALID_PARAMS, McpError
from unit.catalog.samples import answered, gateway, views

BARE = gateway({"b": None}, page_size=2)
TWO: dict[str, str | None] = {"b": "b", "a": "a"}


def listed(config: GatewayConfig, **tools: Iterable[str]) -> Projection:
    """The modern list of these backends' tools, which all are public."""
    return build(config, views(**tools)).modern


def scoped(scope: Literal["public", "private"], *tools: str) -> Projection:
    """The list of one backend with this scope, two tools a page."""
    return build(BARE, {"ns/b": answered("b", *tools, scope=scope)}).modern


def names_in(body: bytes) -> list[str]:
    """The names on a page."""
    return [entry["name"] for entry in json.loads(b"[" + body + b"]")]


def walk(projection: Projection, cursor: str | None = None) -> list[list[str]]:
    """All pages from a cursor on, as names."""
    page = projection.page(cursor)
    pages = [names_in(page.body)]
    while page.next_cursor is not None:
        page = projection.page(page.next_cursor)
        pages.append(names_in(page.body))
    return pages


def refusal(projection: Projection, cursor: str) -> McpError:
    """The error that a cursor must bring."""
    with pytest.raises(McpError) as caught:
        projection.page(cursor)
    assert caught.value.code == INVALID_PARAMS
    return caught.value


def test_without_paging_everything_is_on_one_page() -> None:
    """Many clients ask once and ignore cursors, so that is the default."""
    tools = [f"t{number:04}" for number in range(2_000)]
    projection = listed(gateway({"b": None}), b=tools)
    page = projection.page(None)
    assert names_in(page.body) == tools
    assert page.next_cursor is None


def test_a_page_of_an_unpaged_list_is_not_made_twice() -> None:
    """Serving a list costs no more than sending it."""
    projection = listed(gateway({"b": None}), b=["t"])
    assert projection.page(None) is projection.page(None)


@pytest.mark.parametrize(
    ("tools", "pages"),
    [
        ([], [[]]),
        (["a"], [["a"]]),
        (["b", "a"], [["a", "b"]]),
        (["a", "b", "c"], [["a", "b"], ["c"]]),
        (["a", "b", "c", "d"], [["a", "b"], ["c", "d"]]),
    ],
)
def test_pages_are_full_and_the_last_has_no_cursor(tools: list[str], pages: list[list[str]]) -> None:
    """No page but the only one is ever empty."""
    assert walk(listed(BARE, b=tools)) == pages


def test_names_are_in_code_point_order() -> None:
    """Not in a locale's, and not in that of UTF-16."""
    tools = ["é", "a", "B", "_", "😀", "\uffff", "aa", "a.b"]
    assert listed(gateway({"b": None}), b=tools).names == ("B", "_", "a", "a.b", "aa", "é", "\uffff", "😀")


def test_ordered_by_backend_the_gateways_order_comes_first() -> None:
    """Within a backend the order is by name."""
    projection = listed(gateway(TWO, order="Backend", page_size=2), a=["y", "x"], b=["y", "x"])
    assert walk(projection) == [["b__x", "b__y"], ["a__x", "a__y"]]


@pytest.mark.parametrize("order", ["Name", "Backend"])
def test_a_cursor_outlives_the_tool_it_names(order: str) -> None:
    """The next page begins after where the tool would stand."""
    config = gateway(TWO, order=order, page_size=2)
    page = listed(config, a=["x", "z"], b=["x", "y", "z"]).page(None)
    last = names_in(page.body)[-1]
    assert last == {"Name": "a__z", "Backend": "b__y"}[order]
    left = {"a": ["x"], "b": ["x", "y", "z"]} if order == "Name" else {"a": ["x", "z"], "b": ["x", "z"]}
    rest = {"Name": [["b__x", "b__y"], ["b__z"]], "Backend": [["b__z", "a__x"], ["a__z"]]}[order]
    assert walk(listed(config, **left), page.next_cursor) == rest


def test_ordered_by_backend_a_cursor_outlives_its_backends_list() -> None:
    """A backend that is declared keeps its place, with or without tools."""
    config = gateway(TWO, order="Backend", page_size=1)
    cursor = listed(config, b=["x", "y"], a=["z"]).page(None).next_cursor
    assert walk(listed(config, a=["z"]), cursor) == [["a__z"]]


sets_of_tools = st.sets(st.text("abc", min_size=1, max_size=2), max_size=8)


@given(
    sets_of_tools,
    sets_of_tools,
    sets_of_tools,
    st.sampled_from(["Name", "Backend"]),
    st.integers(1, 4),
    st.integers(0, 4),
)
def test_a_walk_across_a_change_meets_what_stays_exactly_once(
    stays: set[str], goes: set[str], comes: set[str], order: str, page_size: int, pages_before: int
) -> None:
    """Whatever vanishes or appears between two pages, nothing is listed twice and nothing that stays is missed."""
    config = gateway(TWO, order=order, page_size=page_size)
    both = {"a": stays, "b": stays}
    before = listed(config, **{name: sorted(own | goes) for name, own in both.items()})
    after = listed(config, **{name: sorted(own | comes) for name, own in both.items()})
    met: list[str] = []
    cursor: str | None = None
    for _ in range(pages_before):
        page = before.page(cursor)
        met += names_in(page.body)
        cursor = page.next_cursor
        if cursor is None:
            break
    else:
        met += [name for page_names in walk(after, cursor) for name in page_names]
        assert {f"{backend}__{name}" for backend in both for name in stays} <= set(met)
    assert len(met) == len(set(met))


def test_a_cursor_stays_good_when_the_page_size_changes() -> None:
    """The rest of the list is served in pages of the new size."""
    cursor = listed(BARE, b=["a", "b", "c", "d"]).page(None).next_cursor
    assert walk(listed(gateway({"b": None}), b=["a", "b", "c", "d"]), cursor) == [["c", "d"]]
    assert walk(listed(gateway({"b": None}, page_size=1), b=["a", "b", "c", "d"]), cursor) == [["c"], ["d"]]


def test_all_pages_of_a_list_have_one_scope() -> None:
    """A walk that began private stays private, though the list has become public."""
    first = scoped("private", *"abcde").page(None)
    assert first.scope == "private"
    assert first.next_cursor is not None
    second = scoped("public", *"abcde").page(first.next_cursor)
    assert second.scope == "private"
    third = scoped("public", *"abcde").page(second.next_cursor)
    assert (names_in(third.body), third.scope) == (["e"], "private")


def test_a_public_walk_of_a_list_that_is_private_now_starts_anew() -> None:
    """Its first pages may be shared by anyone; the rest must not follow them."""
    cursor = scoped("public", *"abc").page(None).next_cursor
    assert cursor is not None
    assert "private now" in refusal(scoped("private", *"abc"), cursor).message


def test_a_cursor_of_another_order_starts_anew() -> None:
    """A place in one order is none in the other."""
    by_name = listed(gateway(TWO, page_size=1), a=["x"], b=["x"])
    by_backend = listed(gateway(TWO, page_size=1, order="Backend"), a=["x"], b=["x"])
    for made_by, asked in ((by_name, by_backend), (by_backend, by_name)):
        cursor = made_by.page(None).next_cursor
        assert cursor is not None
        refusal(asked, cursor)


def test_a_cursor_into_a_backend_that_is_no_longer_declared_starts_anew() -> None:
    """Where it stood in the order, nobody knows any more."""
    cursor = listed(gateway(TWO, page_size=1, order="Backend"), a=["x"], b=["x"]).page(None).next_cursor
    assert cursor is not None
    refusal(listed(gateway({"a": "a"}, page_size=1, order="Backend"), a=["x"]), cursor)


@pytest.mark.parametrize(
    "cursor", ["", "2", "p2", "AAAA", "====", "é", cursors.encode("\0a", "team"), cursors.encode("a", "public")]
)
def test_any_other_cursor_is_refused(cursor: str) -> None:
    """Also an empty one: we never gave it."""
    refusal(listed(BARE, b=["a", "b", "c"]), cursor)


def test_a_name_may_hold_anything() -> None:
    """Even the mark that separates a cursor's parts."""
    tools = ["a\0a", "a\0b", "b", "ü\n"]
    for order in ("Name", "Backend"):
        projection = listed(gateway({"b": None}, page_size=1, order=order), b=tools)
        assert walk(projection) == [[name] for name in tools]


def test_the_digest_sees_the_order() -> None:
    """Clients keep the list as it comes, so another order is another list."""
    tools = views(a=["x"], b=["x"])
    by_name, by_backend = (build(gateway(TWO, order=order), tools).modern for order in ("Name", "Backend"))
    assert by_name.digest != by_backend.digest


def test_the_digest_does_not_see_the_pages() -> None:
    """Paging is no part of the list."""
    one, two = (listed(gateway({"b": None}, page_size=size), b=["a", "b"]) for size in (0, 1))
    assert one.digest == two.digest
