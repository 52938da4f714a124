"""Exposed names: composed, cut, made safe, aliased, contested, and the same whoever answers first."""

import hashlib
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.catalog.catalog import BackendView, Catalog, Claim, Conflict, Degraded, build
from switchyard_sidecar.catalog.naming import plan
from switchyard_sidecar.config.model import Alias, GatewayConfig
from unit.catalog.samples import alias, answered, gateway, views


def hashed(name: str, backend: str, tool: str) -> str:
    """``name`` with the suffix that tells this tool from all others."""
    identity = f"ns/{backend}\0{tool}"
    return f"{name}_{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def routes(catalog: Catalog) -> dict[str, tuple[str, str]]:
    """Exposed name to backend and own name."""
    return {name: (route.backend.removeprefix("ns/"), route.tool.name) for name, route in catalog.routes.items()}


@pytest.mark.parametrize(
    ("config", "tool", "name"),
    [
        pytest.param(gateway({"gh": "gh"}), "search", "gh__search", id="prefix, separator, tool"),
        pytest.param(gateway({"gh": "gh"}, separator="-"), "search", "gh-search", id="another separator"),
        pytest.param(gateway({"gh": None}), "search", "search", id="no prefix"),
        pytest.param(gateway({"gh": ""}), "search", "search", id="an empty prefix drops the separator"),
        pytest.param(gateway({"gh": "gh"}), "a__b", "gh__a__b", id="the separator in a tool's name means nothing"),
        pytest.param(gateway({"gh": "gh"}), "a.b c/ü", "gh__a.b c/ü", id="all characters are kept"),
        pytest.param(gateway({"gh": "gh"}), "x" * 60, "gh__" + "x" * 60, id="as long as allowed"),
        pytest.param(gateway({"gh": "gh"}), "x" * 61, hashed("gh__" + "x" * 51, "gh", "x" * 61), id="too long: cut, hashed"),
        pytest.param(gateway({"gh": "gh"}), "ü" * 60, "gh__" + "ü" * 60, id="length counts characters"),
        pytest.param(gateway({"gh": ""}), "x" * 65, hashed("x" * 55, "gh", "x" * 65), id="an empty prefix is a prefix"),
        pytest.param(gateway({"gh": None}), "x" * 200, "x" * 200, id="a bare name is not cut"),
        pytest.param(gateway({"gh": "p" * 63}), "t", hashed("p" * 55, "gh", "t"), id="no room beside the prefix"),
        pytest.param(gateway({"gh": "gh"}, max_length=24), "x" * 21, hashed("gh__" + "x" * 11, "gh", "x" * 21), id="24"),
        pytest.param(gateway({"gh": "gh"}, charset="Safe"), "get_it-2", "gh__get_it-2", id="safe already"),
        pytest.param(
            gateway({"gh": "gh"}, charset="Safe"), "a.b", hashed("gh__a_b", "gh", "a.b"), id="made safe, so hashed"
        ),
        pytest.param(
            gateway({"gh": None}, charset="Safe"), "a.b", hashed("a_b", "gh", "a.b"), id="a bare name is made safe too"
        ),
        pytest.param(
            gateway({"gh": "g.h"}, charset="Safe"), "a", "g_h__a", id="a prefix made safe hides nothing"
        ),
        pytest.param(
            gateway({"gh": "gh"}, charset="Safe"), "ü" * 61, hashed("gh__" + "_" * 51, "gh", "ü" * 61), id="safe and cut"
        ),
    ],
)  # fmt: skip
def test_a_name_follows_from_config_and_tool_alone(config: GatewayConfig, tool: str, name: str) -> None:
    """Composed, made safe and cut by fixed rules; the table leads back from every name."""
    assert routes(build(config, views(gh=[tool]))) == {name: ("gh", tool)}


def test_the_hash_is_of_backend_and_tool() -> None:
    """The suffix is the one that is written down: it must not change between releases."""
    config = gateway({"gh": "gh"}, charset="Safe")
    assert list(routes(build(config, views(gh=["calendar.respondToEvent"])))) == [
        "gh__calendar_respondToEvent_20917898"
    ]


def test_names_that_only_parsing_would_confuse_are_told_apart() -> None:
    """A tool whose name contains the separator and a prefix is still its own backend's tool."""
    config = gateway({"a": "a", "b": "b"})
    catalog = build(config, views(a=["b__c", "c"], b=["c", "a__c"]))
    assert routes(catalog) == {
        "a__b__c": ("a", "b__c"),
        "a__c": ("a", "c"),
        "b__c": ("b", "c"),
        "b__a__c": ("b", "a__c"),
    }
    assert catalog.conflicts == ()


def test_equal_names_behind_two_prefixes_are_two_tools() -> None:
    """Two databases with ``execute_sql`` are never mistaken for one another."""
    config = gateway({"oceanbase": "oceanbase", "clickhouse": "clickhouse"})
    assert routes(build(config, views(oceanbase=["execute_sql"], clickhouse=["execute_sql"]))) == {
        "oceanbase__execute_sql": ("oceanbase", "execute_sql"),
        "clickhouse__execute_sql": ("clickhouse", "execute_sql"),
    }


def test_tools_that_become_equal_when_made_safe_stay_apart() -> None:
    """Of one backend's ``a.b``, ``a b`` and ``a_b`` only the last had that name to begin with."""
    config = gateway({"gh": "gh"}, charset="Safe")
    catalog = build(config, views(gh=["a.b", "a b", "a_b"]))
    assert routes(catalog) == {
        "gh__a_b": ("gh", "a_b"),
        hashed("gh__a_b", "gh", "a.b"): ("gh", "a.b"),
        hashed("gh__a_b", "gh", "a b"): ("gh", "a b"),
    }
    assert catalog.conflicts == ()


def test_tools_that_become_equal_when_cut_stay_apart() -> None:
    """Two long names with one beginning are two names."""
    long = "servicenow_post_api_sn_sc_servicecatalog_items_by_sys_id_versioning_"
    catalog = build(gateway({"s": "s"}), views(s=[long + "checkout", long + "order"]))
    assert all(len(name) == 64 for name in catalog.routes)
    assert sorted(routes(catalog).values()) == [("s", long + "checkout"), ("s", long + "order")]


def test_in_a_shared_name_space_gateway_order_decides() -> None:
    """The earlier backend keeps the name, the later one's tool gets a hash, and the conflict says so."""
    config = gateway({"b": "", "a": ""})
    catalog = build(config, views(a=["search", "only_a"], b=["search"]))
    assert routes(catalog) == {
        "search": ("b", "search"),
        hashed("search", "a", "search"): ("a", "search"),
        "only_a": ("a", "only_a"),
    }
    assert catalog.conflicts == (
        Conflict(
            "search",
            winner=Claim("tool", "ns/b", "search"),
            loser=Claim("tool", "ns/a", "search"),
            exposed_as=hashed("search", "a", "search"),
        ),
    )


@pytest.mark.parametrize(
    ("prefixes", "separator", "shared"),
    [
        pytest.param({"a": "a", "b": "b"}, "__", False, id="different prefixes"),
        pytest.param({"a": "x", "b": "x"}, "__", True, id="equal prefixes"),
        pytest.param({"a": "", "b": ""}, "__", True, id="empty prefixes"),
        pytest.param({"a": "a", "b": ""}, "__", True, id="an empty prefix beside another"),
        pytest.param({"a": "a", "b": "a-b"}, "-", True, id="one prefix goes on with the separator"),
        pytest.param({"a": "a", "b": "a-b"}, "__", False, id="one prefix goes on with something else"),
        pytest.param({"a": "p" * 70 + "a", "b": "p" * 70 + "b"}, "__", True, id="prefixes that are cut to the same"),
    ],
)
def test_a_later_backend_waits_where_names_could_meet_and_only_there(
    prefixes: dict[str, str | None], separator: str, shared: bool
) -> None:
    """Until the earlier backend is settled, it is unknown which names it will claim."""
    config = gateway(prefixes, separator=separator)
    unsettled = build(config, {"ns/a": BackendView(), "ns/b": answered("b", "t")})
    settled = build(config, {"ns/a": BackendView(settled=True), "ns/b": answered("b", "t")})
    assert len(unsettled.routes) == (0 if shared else 1)
    assert len(settled.routes) == 1
    waiting = Degraded("ns/b", "its names depend on those of a backend before it, which has not answered yet")
    assert (waiting in unsettled.degraded) is shared
    assert waiting not in settled.degraded


@given(st.lists(st.text("ab_", max_size=3), max_size=8))
def test_name_spaces_are_shared_where_one_beginning_begins_another(prefixes: list[str]) -> None:
    """Every pair is found, and no other, though not every pair is looked at."""
    config = gateway({str(number): prefix for number, prefix in enumerate(prefixes)}, separator="_")
    leads = {f"{prefix}_" if prefix else "" for prefix in prefixes}
    assert {lead: set(others) for lead, others in plan(config).shared.items()} == {
        lead: {other for other in leads if lead.startswith(other) or other.startswith(lead)} for lead in leads
    }


@given(st.lists(st.text("ab_", max_size=3), max_size=4), st.lists(st.text("ab_\U0010ffff", min_size=1, max_size=4)))
def test_an_alias_is_reserved_in_the_name_spaces_it_lies_in(prefixes: list[str], wanted: list[str]) -> None:
    """It is known to every backend whose tools could come to its name, and to no other."""
    aliases = [alias(name, "0", "t") for name in wanted]
    config = gateway({str(number): prefix for number, prefix in enumerate(prefixes)}, *aliases, separator="_")
    for naming, prefix in zip(plan(config).backends, prefixes, strict=True):
        lead = f"{prefix}_" if prefix else ""
        assert naming.reserved == {name for name in wanted if name.startswith(lead)}


def test_waiting_is_passed_on() -> None:
    """A backend waits for one that waits, though it could never meet the one that is waited for at first."""
    config = gateway({"a": "a", "b": "", "c": "c"})
    catalog = build(config, {"ns/a": BackendView(), "ns/b": answered("b", "c__t"), "ns/c": answered("c", "t")})
    assert routes(catalog) == {}
    catalog = build(
        config, {"ns/a": BackendView(settled=True), "ns/b": answered("b", "c__t"), "ns/c": answered("c", "t")}
    )
    assert routes(catalog) == {"c__t": ("b", "c__t"), hashed("c__t", "c", "t"): ("c", "t")}


def test_an_earlier_backend_never_waits_for_a_later_one() -> None:
    """Precedence goes one way."""
    catalog = build(gateway({"a": "", "b": ""}), {"ns/a": answered("a", "t"), "ns/b": BackendView()})
    assert routes(catalog) == {"t": ("a", "t")}


def test_a_backend_that_failed_keeps_its_claims() -> None:
    """The last good list of an earlier backend still decides who has which name."""
    config = gateway({"a": "", "b": ""})
    last_good = answered("a", "t").snapshot
    catalog = build(config, {"ns/a": BackendView(last_good, failing=True, error="Refused"), "ns/b": answered("b", "t")})
    assert routes(catalog) == {"t": ("a", "t"), hashed("t", "b", "t"): ("b", "t")}


def test_an_unresolved_backend_is_not_waited_for() -> None:
    """A backend that cannot be asked will claim nothing."""
    config = gateway({"a": "", "b": ""})
    absent = config.backends[0].model_copy(update={"unresolved": "BackendNotFound"})
    config = config.model_copy(update={"backends": (absent, config.backends[1])})
    assert routes(build(config, {"ns/b": answered("b", "t")})) == {"t": ("b", "t")}


def test_what_cannot_even_have_its_hashed_name_is_left_out_and_reported() -> None:
    """A name that is taken on purpose costs the other tool, not the list."""
    thief = hashed("t", "b", "t")
    catalog = build(gateway({"a": "", "b": ""}), views(a=["t", thief], b=["t"]))
    assert routes(catalog) == {"t": ("a", "t"), thief: ("a", thief)}
    assert [(entry.backend, entry.tool) for entry in catalog.left_out] == [("ns/b", "t")]
    assert catalog.conflicts == (Conflict("t", Claim("tool", "ns/a", "t"), Claim("tool", "ns/b", "t"), None),)


@pytest.mark.parametrize(
    ("aliases", "exposed"),
    [
        pytest.param([], {"gh__search": "search"}, id="none"),
        pytest.param([alias("find", "gh", "search")], {"find": "search"}, id="instead of the ordinary name"),
        pytest.param(
            [alias("find", "gh", "search", keep_original=True)],
            {"find": "search", "gh__search": "search"},
            id="beside it",
        ),
        pytest.param(
            [alias("find", "gh", "search"), alias("seek", "gh", "search")],
            {"find": "search", "seek": "search"},
            id="two",
        ),
        pytest.param(
            [alias("find", "gh", "search"), alias("seek", "gh", "search", keep_original=True)],
            {"find": "search", "seek": "search", "gh__search": "search"},
            id="two, one keeps the original",
        ),
        pytest.param([alias("gh__search", "gh", "search")], {"gh__search": "search"}, id="the name it has anyway"),
        pytest.param(
            [alias("gh__search", "gh", "search", keep_original=True)], {"gh__search": "search"}, id="the same, kept"
        ),
        pytest.param([alias("x" * 100 + ".ü", "gh", "search")], {"x" * 100 + ".ü": "search"}, id="exactly as written"),
        pytest.param([alias("find", "gh", "absent")], {"gh__search": "search"}, id="the tool is not there"),
        pytest.param([alias("find", "other", "search")], {"gh__search": "search"}, id="the backend is not there"),
    ],
)
def test_an_alias_gives_its_tool_its_name(aliases: list[Alias], exposed: dict[str, str]) -> None:
    """Exactly as written, instead of the ordinary name or beside it."""
    catalog = build(gateway({"gh": "gh"}, *aliases), views(gh=["search"]))
    assert {name: own for name, (_, own) in routes(catalog).items()} == exposed
    assert catalog.conflicts == ()


@pytest.mark.parametrize("present", [True, False])
def test_an_alias_reserves_its_name_whether_or_not_its_tool_is_there(present: bool) -> None:
    """Another backend's tool never gets a name that an alias was written for."""
    config = gateway({"a": "a", "b": "b"}, alias("b__t", "a", "aliased"))
    catalog = build(config, views(a=["aliased"] if present else [], b=["t"]))
    assert routes(catalog) == ({"b__t": ("a", "aliased")} if present else {}) | {hashed("b__t", "b", "t"): ("b", "t")}
    assert catalog.conflicts == (
        Conflict("b__t", Claim("alias", "ns/b__t", "aliased"), Claim("tool", "ns/b", "t"), hashed("b__t", "b", "t")),
    )


def test_an_alias_over_a_bare_name_moves_the_bare_tool() -> None:
    """Even the one named backend's own name yields to what was written down."""
    catalog = build(gateway({"gh": None}, alias("get", "gh", "search")), views(gh=["search", "get"]))
    assert routes(catalog) == {"get": ("gh", "search"), hashed("get", "gh", "get"): ("gh", "get")}


def test_of_two_aliases_for_one_name_the_first_has_it() -> None:
    """The other has no effect: its tool keeps its ordinary name, whether or not the winner's tool is there."""
    first = alias("find", "a", "one", resource="older")
    second = alias("find", "b", "two", resource="younger")
    for tools in (["one"], []):
        catalog = build(gateway({"a": "a", "b": "b"}, first, second), views(a=tools, b=["two"]))
        assert routes(catalog) == ({"find": ("a", "one")} if tools else {}) | {"b__two": ("b", "two")}
        assert catalog.conflicts == (
            Conflict("find", Claim("alias", "ns/older", "one"), Claim("alias", "ns/younger", "two"), None),
        )


BACKENDS = ["a", "b", "c"]
names = st.text("ab_.", min_size=1, max_size=3)
tools_of_one = st.lists(names, unique=True, max_size=6)


@st.composite
def gateways(draw: st.DrawFn) -> GatewayConfig:
    """Gateways whose backends may share name spaces, with aliases that may contest anything."""
    prefixes = {name: draw(st.sampled_from(["", "a", "b", "a_"])) for name in draw(st.permutations(BACKENDS))}
    aliases = [
        alias(
            draw(names),
            draw(st.sampled_from(BACKENDS)),
            draw(names),
            resource=str(place),
            keep_original=draw(st.booleans()),
        )
        for place in range(draw(st.integers(0, 3)))
    ]
    return gateway(
        dict(prefixes),
        *aliases,
        separator="_",
        charset=draw(st.sampled_from(["Keep", "Safe"])),
        order=draw(st.sampled_from(["Name", "Backend"])),
    )


@given(gateways(), st.fixed_dictionaries(dict.fromkeys(BACKENDS, tools_of_one)), st.permutations(BACKENDS))
def test_names_do_not_depend_on_the_order_of_answers(
    config: GatewayConfig, tools: dict[str, list[str]], arrival: list[str]
) -> None:
    """However the backends answer, one after another, no name once shown ever leads anywhere else, and the end is the same."""
    complete = build(config, views(**tools))
    seen: dict[str, BackendView] = {}
    catalogs = [build(config, {})]
    for backend in arrival:
        seen |= views(**{backend: tools[backend]})
        catalogs.append(build(config, dict(seen), catalogs[-1]))
    for before, after in pairwise(catalogs):
        assert routes(before).items() <= routes(after).items()
    last = catalogs[-1]
    assert (last.modern, last.legacy, routes(last)) == (complete.modern, complete.legacy, routes(complete))
    assert (last.conflicts, last.left_out) == (complete.conflicts, complete.left_out)


@given(
    st.fixed_dictionaries(dict.fromkeys(BACKENDS, tools_of_one)),
    st.sets(st.sampled_from(BACKENDS)),
    st.sampled_from(["Keep", "Safe"]),
)
def test_names_do_not_depend_on_who_is_well(
    tools: dict[str, list[str]], well: set[str], charset: Literal["Keep", "Safe"]
) -> None:
    """With name spaces of their own, any backends that answer have the same names with or without the others."""
    config = gateway({"a": "a", "b": "ab", "c": "b"}, charset=charset)
    complete = routes(build(config, views(**tools)))
    partial = routes(build(config, views(**{name: tools[name] for name in well})))
    assert partial == {name: route for name, route in complete.items() if route[0] in well}


@given(gateways(), st.fixed_dictionaries(dict.fromkeys(BACKENDS, tools_of_one)))
def test_every_name_is_unique_and_every_tool_has_one(config: GatewayConfig, tools: dict[str, list[str]]) -> None:
    """Lists and calls agree: each listed name leads to one tool, and each tool is listed or reported."""
    catalog = build(config, views(**tools))
    assert sorted(catalog.legacy.names) == sorted(catalog.routes)
    assert len(set(catalog.legacy.names)) == len(catalog.legacy.names)
    reported = {(entry.backend.removeprefix("ns/"), entry.tool) for entry in catalog.left_out}
    listed = set(routes(catalog).values())
    assert listed | reported == {(name, tool) for name, own in tools.items() for tool in own}
    assert listed.isdisjoint(reported)


def seen_of(backend: str) -> st.SearchStrategy[BackendView]:
    """A backend as it may look at some moment, out of few: so that at two moments it often shows the same list."""
    lists: list[list[str]] = [[], ["a", "b"], ["a", "a_b", "b_" + "x" * 80]]
    return st.sampled_from(
        [BackendView(), BackendView(settled=True, failing=True), *(answered(backend, *each) for each in lists)]
    )


@given(st.data())
def test_a_catalog_is_the_same_whatever_was_there_before(data: st.DataObject) -> None:
    """What a catalog takes over of earlier ones, of other configs and other lists, is what it would make itself."""
    moments = {name: seen_of(name) for name in BACKENDS}
    configs = data.draw(st.lists(gateways(), min_size=1, max_size=2))
    previous: Catalog | None = None
    for _ in range(8):
        config = data.draw(st.sampled_from(configs))
        seen = {f"ns/{name}": data.draw(moment) for name, moment in moments.items()}
        catalog = build(config, seen, previous)
        assert catalog == build(config, seen)
        previous = catalog
