"""What callers see for whom some of the tools pass: that and nothing else, made anew only where it has to be."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.catalog.catalog import BackendView, Catalog, Degraded, build
from switchyard_sidecar.catalog.filters import passes
from switchyard_sidecar.catalog.projection import Projection
from switchyard_sidecar.catalog.view import View, effort, see
from switchyard_sidecar.config.model import GatewayConfig, Pin, Pinning, ToolFilter, Visibility
from switchyard_sidecar.protocol import cursor as cursors
from switchyard_sidecar.protocol.errors import McpError
from unit.catalog.samples import alias, answered, gateway, tool, views

RULES: dict[str, Any] = {"visibility": Visibility()}
TWO = gateway({"gh": "gh", "jira": "jr"}, **RULES)
GH = ToolFilter(include=("gh__*",))
NOTHING = ToolFilter(include=())
DOWN = BackendView(settled=True, failing=True, error="refused")


def tools(*include: str, without: tuple[str, ...] = ()) -> ToolFilter:
    return ToolFilter(include=include or ("*",), exclude=without)


def walked(projection: Projection) -> list[str]:
    """The names on all pages."""
    names, cursor = [], None
    while True:
        page = projection.page(cursor)
        names += [each["name"] for each in json.loads(b"[" + page.body + b"]")]
        if (cursor := page.next_cursor) is None:
            return names


def test_view_has_the_tools_that_pass_and_no_others() -> None:
    """One table for both lists and for calls."""
    view = see(build(TWO, views(gh=["a", "b"], jira=["a", "c"])), tools("*a", without=("jr*",)))
    assert view.modern.names == view.legacy.names == ("gh__a",)
    assert list(view.routes) == ["gh__a"]
    assert json.loads(b"[" + view.modern.page(None).body + b"]") == [
        {"name": "gh__a", "inputSchema": {"type": "object"}}
    ]


def test_what_every_caller_may_see_is_the_catalog_itself() -> None:
    """Nothing is made."""
    catalog = build(TWO, views(gh=["a"]))
    assert see(catalog, ToolFilter()) is catalog
    assert effort(catalog, ToolFilter(), None) == (0, 0)


def test_who_may_see_nothing_sees_an_empty_list() -> None:
    """It is a list all the same."""
    view = see(build(TWO, views(gh=["a"])), NOTHING)
    assert (view.modern.names, dict(view.routes), view.modern.page(None).next_cursor) == ((), {}, None)


def test_each_era_has_its_own_tools_in_a_view_too() -> None:
    """A tool that modern clients do not get to see is in the routes all the same, as in the catalog."""
    old = tool("old", execution={"taskSupport": "required"})
    view = see(build(TWO, views(gh=[old, "t"], jira=["x"])), GH)
    assert view.modern.names == ("gh__t",)
    assert view.legacy.names == ("gh__old", "gh__t")
    assert set(view.routes) == {"gh__old", "gh__t"}


def test_rules_are_about_exposed_names() -> None:
    """An alias passes or does not by the name it gives, whatever its tool is called."""
    config = gateway({"gh": "gh", "jira": "jr"}, alias("find", "gh", "secret"), **RULES)
    catalog = build(config, views(gh=["secret", "other"], jira=["x"]))
    assert see(catalog, tools(without=("*secret*",))).modern.names == ("find", "gh__other", "jr__x")
    assert see(catalog, tools(without=("find",))).modern.names == ("gh__other", "jr__x")


def test_list_that_is_not_the_same_for_everyone_is_private() -> None:
    """Whatever backends say of theirs, and also for those who see everything."""
    catalog = build(TWO, views(gh=["a"], jira=["x"]))
    assert catalog.modern.scope == see(catalog, GH).modern.scope == "private"
    assert build(gateway({"gh": None}), views(gh=["a"])).modern.scope == "public"
    asking = GatewayConfig.model_validate(gateway({"gh": None}).model_dump() | {"authentication": {}})
    assert build(asking, views(gh=["a"])).modern.scope == "private"


def test_change_of_a_hidden_tool_changes_nothing() -> None:
    """The very same lists, digest and all, are those of the next view."""
    seen = views(gh=["a"], jira=["x"])
    before = build(TWO, seen)
    view = see(before, GH)
    after = build(TWO, seen | views(jira=[tool("x", title="new"), "y"]), before)
    assert after.modern.digest != before.modern.digest
    next_view = see(after, GH, view)
    assert (next_view.modern, next_view.routes) == (view.modern, view.routes)
    assert next_view.modern is view.modern


def test_view_of_another_catalog_that_shows_the_same_is_the_same() -> None:
    """A hidden backend that is down is none of its business."""
    seen = views(gh=["a"], jira=["x"])
    before = build(TWO, seen)
    view = see(before, GH)
    after = build(TWO, seen | {"ns/jira": replace(seen["ns/jira"], failing=True)}, before)
    assert after.degraded
    assert see(after, GH, view) is view


def test_change_of_a_hidden_tool_beside_a_seen_one_keeps_the_lists() -> None:
    """Tools of one backend are told apart: its list is made of the same lines."""
    a, before_b, after_b = tool("a"), tool("b"), tool("b", title="new")
    before = build(TWO, views(gh=[a, before_b], jira=["x"]))
    view = see(before, tools("*a"))
    after = build(TWO, views(gh=[a, after_b, "c"], jira=["x"]), before)
    seen = see(after, tools("*a"), view)
    assert (seen.modern, seen.legacy, seen.routes) == (view.modern, view.legacy, view.routes)
    assert seen.modern is view.modern


@pytest.mark.parametrize(
    "changed",
    [[tool("a", title="new")], ["a", "b"], []],
    ids=["definition", "added", "removed"],
)
def test_change_of_a_seen_tool_changes_the_view(changed: list[Any]) -> None:
    """The digest differs, as that of the catalog does."""
    before = build(TWO, views(gh=["a"], jira=["x"]))
    view = see(before, GH)
    after = see(build(TWO, views(gh=changed, jira=["x"]), before), GH, view)
    assert after.modern.digest != view.modern.digest


def test_only_what_changed_is_tried_again() -> None:
    """The effort is that of the backend that changed."""
    catalog = build(TWO, views(gh=["a", "b", "c"], jira=["x", "y"]))
    assert effort(catalog, GH, None) == (5, 5)
    view = see(catalog, GH)
    assert effort(catalog, GH, view) == (0, 5)
    changed = build(TWO, {"ns/gh": answered("gh", "a"), "ns/jira": answered("jira", "x", "y")}, catalog)
    assert effort(changed, GH, view) == (3, 3)


def degraded(config: GatewayConfig, seen: Mapping[str, BackendView], passing: ToolFilter) -> list[str]:
    return [each.backend for each in see(build(config, seen), passing).degraded]


@pytest.mark.parametrize(
    ("passing", "named"),
    [
        (ToolFilter(), ["ns/gh", "ns/jira"]),
        (GH, ["ns/gh"]),
        (tools("gh__a"), ["ns/gh"]),
        (tools("gh__nothing_like_it"), []),
        (tools(without=("gh__*",)), ["ns/jira"]),
        (tools("jr__x"), ["ns/jira"]),
        (tools("find"), ["ns/jira"]),
        (NOTHING, []),
    ],
)
def test_backend_is_named_to_those_who_could_see_a_tool_of_it(passing: ToolFilter, named: list[str]) -> None:
    """Of one that was listed once, what it listed decides (``gh``); of one that never was, what the config leaves room for."""
    config = gateway({"gh": "gh", "jira": "jr"}, alias("find", "jira", "search"), **RULES)
    listed = replace(answered("gh", "a"), failing=True, error="refused")
    assert degraded(config, {"ns/gh": listed, "ns/jira": DOWN}, passing) == named


def test_backend_that_waits_for_a_hidden_one_does_not_name_it() -> None:
    """Its names depend on those of a backend before it; which one, nobody is told by that."""
    config = gateway({"hidden": "", "b": ""}, alias("b_tool", "b", "t"), **RULES)
    view = see(build(config, {"ns/b": answered("b", "t")}), tools("b_*"))
    assert view.degraded == (
        Degraded("ns/hidden", "it has not answered yet"),
        Degraded("ns/b", "its names depend on those of a backend before it, which has not answered yet"),
    )
    only_alias = see(build(config, {"ns/b": answered("b", "t")}), tools("b_tool", without=("x*",)))
    assert "ns/hidden" not in str([each.reason for each in only_alias.degraded])


def test_drifted_tools_are_named_to_those_who_see_them() -> None:
    """A warning about a hidden tool would tell of it."""
    pinning = Pinning(mode="Warn", digests=(Pin(tool="a", sha256="0" * 64), Pin(tool="b", sha256="0" * 64)))
    backend = TWO.backends[0].model_copy(update={"pinning": pinning})
    catalog = build(TWO.model_copy(update={"backends": (backend, TWO.backends[1])}), views(gh=["a", "b"], jira=[]))
    assert catalog.drifted == ("gh__a", "gh__b")
    assert see(catalog, tools("*a")).drifted == ("gh__a",)


@pytest.mark.parametrize("order", ["Name", "Backend"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_cursor_of_one_view_shows_nothing_hidden_in_another(order: Literal["Name", "Backend"], size: int) -> None:
    """It names a place in the order of names; what comes after it there is the other view's own, or nothing at all."""
    config = gateway({"gh": "gh", "jira": "jr"}, order=order, page_size=size, **RULES)
    catalog = build(config, views(gh=list("abcdef"), jira=list("stuvwx")))
    small = see(catalog, tools("gh__b", "gh__e", "jr__u"))
    assert walked(catalog.modern) == sorted(catalog.routes)
    assert walked(small.modern) == ["gh__b", "gh__e", "jr__u"]
    cursor = None
    while (cursor := catalog.modern.page(cursor).next_cursor) is not None:
        names = [each["name"] for each in json.loads(b"[" + small.modern.page(cursor).body + b"]")]
        place = cursors.decode(cursor).last.rpartition("\0")[2]
        assert names == [name for name in small.modern.names if name > place][:size]


@pytest.mark.parametrize("passing", [GH, NOTHING, tools(without=("jr__*",))])
def test_cursor_into_a_hidden_backend_is_like_one_into_none(passing: ToolFilter) -> None:
    """Anyone can write a cursor; it must not tell whether there is such a backend."""
    catalog = build(
        gateway({"gh": "gh", "jira": "jr"}, order="Backend", page_size=1, **RULES), views(gh=["a"], jira=["x"])
    )
    view = see(catalog, passing)
    refusals = []
    for backend in ("ns/jira", "ns/nowhere"):
        with pytest.raises(McpError) as refusal:
            view.modern.page(cursors.encode(f"{backend}\0jr__a", "private"))
        refusals.append((refusal.value.code, refusal.value.message, refusal.value.data))
    assert refusals[0] == refusals[1]
    assert refusals[0][0] == -32602


NAMES = st.lists(st.sampled_from("abcd"), max_size=4, unique=True)
STATES = st.fixed_dictionaries(
    {},
    optional={
        f"ns/{backend}": st.builds(lambda names, b=backend: answered(b, *names), NAMES) for backend in ("x", "y", "z")
    },
)
FILTERS = st.builds(
    tools,
    st.sampled_from(["*", "x__*", "x__a", "?__[ab]", "y*", "alias", "nothing"]),
    without=st.lists(st.sampled_from(["*a", "x__*", "z__b", "alias"]), max_size=2).map(tuple),
)
CONFIGS = [
    gateway({"x": "x", "y": "y", "z": "z"}, alias("alias", "y", "b"), order=order, page_size=size, **RULES)
    for order in ("Name", "Backend")
    for size in (0, 2)
]


def shown(view: View) -> tuple[Any, ...]:
    lists = [
        (each.names, each.entries, each.digest, each.groups, each.first, each.scope)
        for each in (view.modern, view.legacy)
    ]
    return *lists, dict(view.routes), view.degraded, view.drifted


@given(st.lists(st.tuples(st.sampled_from(CONFIGS), STATES), min_size=1, max_size=4), FILTERS)
def test_view_is_the_same_whatever_was_seen_before(steps: list[tuple[GatewayConfig, Any]], passing: ToolFilter) -> None:
    """Reuse only saves work; and a view is what passes of its catalog, in its order."""
    catalog: Catalog | None = None
    view: View | None = None
    for config, states in steps:
        catalog = build(config, states, catalog)
        view = see(catalog, passing, view)
        assert shown(view) == shown(see(catalog, passing))
        assert view.modern.names == tuple(name for name in catalog.modern.names if passes((passing,), name))
        assert view.routes == {name: route for name, route in catalog.routes.items() if passes((passing,), name)}
        assert tuple(walked(view.modern)) == view.modern.names
