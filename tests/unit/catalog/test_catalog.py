"""All backends as one list: what either era sees, what is reported, and what is not made twice."""

import gc
import json
from dataclasses import replace
from typing import Literal

import pytest

from switchyard_sidecar.catalog.catalog import BackendView, Catalog, build, effort
from switchyard_sidecar.catalog.definition import Rejection, ToolDefinition
from switchyard_sidecar.catalog.part import LeftOut
from switchyard_sidecar.config.model import Auth, AuthType, GatewayConfig, ToolFilter
from switchyard_sidecar.protocol.versions import Era
from unit.catalog.samples import accepted, alias, answered, gateway, snapshot_of, tool, views

TWO = gateway({"gh": "gh", "jira": "jr"})
FAULTY = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region\r\nX-Evil: 1"}}}


def test_both_eras_see_one_list_where_there_is_no_difference() -> None:
    """The bytes are there once."""
    catalog = build(TWO, views(gh=["search"], jira=["search"]))
    assert catalog.modern.names == ("gh__search", "jr__search")
    assert catalog.modern is catalog.legacy


def test_a_backends_fresh_list_replaces_its_old_one() -> None:
    """Nothing is ever appended: four tools read again are four tools."""
    before = build(TWO, views(gh=["a", "b", "c", "d"]))
    after = build(TWO, views(gh=["a", "b", "c", "d"]), before)
    assert after.modern.names == ("gh__a", "gh__b", "gh__c", "gh__d")
    assert after.modern.digest == before.modern.digest


def test_what_is_listed_can_be_called_whatever_its_page() -> None:
    """The table that routes calls has every tool of every page."""
    config = gateway({"b": None}, page_size=50)
    catalog = build(config, views(b=[f"t{number}" for number in range(88)]))
    assert len(json.loads(b"[" + catalog.modern.page(None).body + b"]")) == 50
    assert set(catalog.routes) == {f"t{number}" for number in range(88)}
    assert catalog.routes["t60"].tool.name == "t60"


def test_legacy_clients_do_not_see_output_schemas_that_are_no_objects() -> None:
    """The schema is cut out and the tool stays; modern clients get all of it."""
    array = accepted(b'{"name":"list", "outputSchema":{"type":"array"}, "inputSchema":{}}')
    plain = accepted(b'{"name":"get","outputSchema":{"type":"object"},"inputSchema":{}}')
    catalog = build(gateway({"b": None}), views(b=[array, plain]))
    assert catalog.modern.entries == (plain.raw, array.raw)
    assert catalog.legacy.entries == (plain.raw, b'{"name":"list", "inputSchema":{}}')
    assert catalog.left_out == ()


def test_modern_clients_do_not_see_tools_that_need_the_old_tasks() -> None:
    """Legacy clients do, and it is reported for whom it is left out."""
    catalog = build(TWO, views(gh=[tool("task", execution={"taskSupport": "required"}), "t"]))
    assert catalog.modern.names == ("gh__t",)
    assert catalog.legacy.names == ("gh__t", "gh__task")
    assert catalog.left_out == (LeftOut("ns/gh", "task", "it can only be called as a task of 2025-11-25", Era.MODERN),)


def test_what_a_revision_no_longer_knows_is_carried_all_the_same() -> None:
    """Optional task support is an unknown member to modern clients, and no reason to touch the definition."""
    definition = tool("t", execution={"taskSupport": "optional"})
    assert build(gateway({"b": None}), views(b=[definition])).modern.entries == (definition.raw,)


def test_modern_clients_do_not_see_a_tool_with_an_invalid_header_annotation() -> None:
    """That tool alone is left out, with name and reason; legacy clients know no such annotations."""
    catalog = build(TWO, views(gh=[tool("bad", inputSchema=FAULTY), "good"]))
    assert catalog.modern.names == ("gh__good",)
    assert catalog.legacy.names == ("gh__bad", "gh__good")
    [left_out] = catalog.left_out
    assert (left_out.tool, left_out.era) == ("bad", Era.MODERN)
    assert "x-mcp-header" in left_out.reason


def test_valid_header_annotations_are_relayed_intact() -> None:
    """The downstream client mirrors by the very same annotations."""
    definition = tool(
        "t", inputSchema={"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}
    )
    assert build(gateway({"b": None}), views(b=[definition])).modern.entries == (definition.raw,)


def test_refused_entries_are_reported_with_their_backend() -> None:
    """A tool that cannot be listed is named, not just missing."""
    view = BackendView(snapshot_of("gh", "t", rejected=[Rejection("#1", "it has no name")]), settled=True)
    assert build(TWO, {"ns/gh": view}).left_out == (LeftOut("ns/gh", "#1", "it has no name"),)


def test_filtered_tools_are_neither_listed_nor_reported() -> None:
    """They were left out on purpose; an alias does not bring one back."""
    filters = {"gh": (ToolFilter(exclude=("delete_*",)), ToolFilter(include=("*_repo",)))}
    config = gateway({"gh": "gh"}, alias("gone", "gh", "delete_repo"), filters=filters)
    catalog = build(config, views(gh=["get_repo", "delete_repo", "get_user"]))
    assert set(catalog.routes) == {"gh__get_repo"}
    assert catalog.left_out == ()


def test_an_aliass_overrides_show_under_its_name_only() -> None:
    """The ordinary name, if kept, shows what the backend says."""
    definition = accepted(b'{"name":"search","title":"T","inputSchema":{}}')
    config = gateway({"gh": "gh"}, alias("find", "gh", "search", title="Find", description="D", keep_original=True))
    assert build(config, views(gh=[definition])).modern.entries == (
        b'{"name":"find","title":"Find","inputSchema":{},"description":"D"}',
        b'{"name":"gh__search","title":"T","inputSchema":{}}',
    )


def digests(catalog: Catalog) -> tuple[bytes, bytes]:
    """The digests of the modern and the legacy list."""
    return catalog.modern.digest, catalog.legacy.digest


@pytest.mark.parametrize(
    ("config", "changed_tool"),
    [
        pytest.param(TWO, tool("t", title="new"), id="a member"),
        pytest.param(TWO, tool("t", inputSchema={"type": "object", "maximum": 1}), id="a schema"),
        pytest.param(TWO, tool("t", _meta={"x": 1}), id="what no client reads"),
        pytest.param(TWO, tool("u"), id="a name"),
        pytest.param(gateway({"gh": "g", "jira": "jr"}), tool("t"), id="a prefix"),
        pytest.param(gateway({"gh": "gh"}, alias("find", "gh", "t")), tool("t"), id="an alias"),
        pytest.param(gateway({"gh": "gh"}, alias("gh__t", "gh", "t", title="x")), tool("t"), id="an override"),
        pytest.param(gateway({"gh": "gh"}, filters={"gh": (ToolFilter(include=()),)}), tool("t"), id="a filter"),
    ],
)
def test_whatever_a_client_could_see_changes_the_digest(config: GatewayConfig, changed_tool: ToolDefinition) -> None:
    """Definitions, names and overrides all count, in both eras."""
    before = digests(build(TWO, views(gh=["t"])))
    after = digests(build(config, views(gh=[changed_tool])))
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_what_no_client_could_see_does_not_change_the_digest() -> None:
    """Another way of writing, another order, a failure, a re-read: nobody needs to be told."""
    one = accepted(b'{"name":"t","inputSchema":{}}')
    same = accepted(b'{ "inputSchema":{}, "name":"\\u0074" }')
    before = build(TWO, views(gh=[one, "u"]))
    well, failing = views(gh=["u", same]), {"ns/gh": replace(answered("gh", one, "u"), failing=True)}
    assert digests(build(TWO, well)) == digests(build(TWO, failing)) == digests(before)


def test_each_era_has_the_digest_of_what_it_sees() -> None:
    """A change that only modern clients see is no change for legacy ones, and the other way round."""
    array, string = tool("t", outputSchema={"type": "array"}), tool("t", outputSchema={"type": "string"})
    one, other = build(TWO, views(gh=[array])), build(TWO, views(gh=[string]))
    assert one.modern.digest != other.modern.digest
    assert one.legacy.digest == other.legacy.digest
    with_faulty, without = build(TWO, views(gh=[tool("bad", inputSchema=FAULTY)])), build(TWO, views(gh=[]))
    assert with_faulty.modern.digest == without.modern.digest
    assert with_faulty.legacy.digest != without.legacy.digest


@pytest.mark.parametrize(
    ("scopes", "scope"),
    [
        ({"gh": "public", "jira": "public"}, "public"),
        ({"gh": "public", "jira": "private"}, "private"),
        ({"gh": "public"}, "public"),
        ({}, "private"),
    ],
)
def test_the_list_is_private_if_any_contributor_is(scopes: dict[str, Literal["public", "private"]], scope: str) -> None:
    """A backend that has not answered contributes nothing; where nothing is known, nothing is known to be public."""
    catalog = build(TWO, {f"ns/{name}": answered(name, "t", scope=said) for name, said in scopes.items()})
    assert catalog.scope == scope
    assert catalog.modern.page(None).scope == catalog.legacy.page(None).scope == scope


def test_a_list_that_varies_by_caller_is_private() -> None:
    """Where a caller's own authorization is forwarded, the answer is the caller's, whatever the backend says."""
    forwarding = TWO.backends[0].model_copy(update={"auth": Auth(type=AuthType.FORWARD)})
    config = TWO.model_copy(update={"backends": (forwarding, TWO.backends[1])})
    assert build(config, views(gh=["t"], jira=["t"])).scope == "private"


def test_a_list_says_what_is_missing_or_may_be_old() -> None:
    """Each backend in trouble is named with the reason, in gateway order; those without any answer are marked."""
    config = gateway({"awaited": "a", "down": "b", "stale": "c", "part": "d", "absent": "e", "well": "f"})
    absent = config.backends[4].model_copy(update={"unresolved": "BackendNotFound"})
    config = config.model_copy(update={"backends": (*config.backends[:4], absent, config.backends[5])})
    catalog = build(
        config,
        {
            "ns/down": BackendView(settled=True, failing=True, error="Refused", next_attempt_ms=1_000),
            "ns/stale": replace(answered("stale", "t"), failing=True),
            "ns/part": BackendView(snapshot_of("part", "t", complete=False), settled=True),
            "ns/well": answered("well", "t"),
        },
    )
    assert catalog.degraded == (
        ("ns/awaited", "it has not answered yet"),
        ("ns/down", "Refused"),
        ("ns/stale", "its last attempt failed"),
        ("ns/part", "its list was not read to the end"),
        ("ns/absent", "BackendNotFound"),
    )
    assert catalog.unanswered == ("ns/awaited", "ns/down", "ns/absent")
    assert set(catalog.routes) == {"c__t", "d__t", "f__t"}


def test_a_gateway_without_backends_has_an_empty_list() -> None:
    """That is a valid gateway, and nothing is wrong with it."""
    catalog = build(gateway({}), {})
    assert catalog.modern.page(None).body == b""
    assert (catalog.routes, catalog.degraded, catalog.unanswered) == ({}, (), ())


def test_views_of_backends_that_are_not_declared_are_ignored() -> None:
    """A session that is just being ended adds nothing."""
    assert build(TWO, views(former=["t"])).routes == {}


def test_a_change_of_one_backend_leaves_the_others_work_alone() -> None:
    """What the others contributed is used again as it is; of the changed one, every unchanged line."""
    gh, jira = answered("gh", "t", "u"), answered("jira", "t")
    before = build(TWO, {"ns/gh": gh, "ns/jira": jira})
    changed = replace(gh, snapshot=snapshot_of("gh", "t", tool("u", title="new"), previous=gh.snapshot))
    read_again = replace(jira, snapshot=snapshot_of("jira", "t", previous=jira.snapshot))
    after = build(TWO, {"ns/gh": changed, "ns/jira": read_again}, before)
    assert after.parts["ns/jira"] is before.parts["ns/jira"]
    assert after.parts["ns/gh"].lines[0] is before.parts["ns/gh"].lines[0]
    assert after.parts["ns/gh"].lines[1] is not before.parts["ns/gh"].lines[1]


def test_a_change_that_does_not_show_leaves_the_lists_alone() -> None:
    """A failure, or a config that says the same in its own objects, makes no list anew."""
    seen = views(gh=["t"], jira=["t"])
    before = build(TWO, seen)
    reloaded = TWO.model_copy(update={"backends": tuple(backend.model_copy() for backend in TWO.backends)})
    after = build(reloaded, seen | {"ns/gh": replace(seen["ns/gh"], failing=True, error="Refused")}, before)
    assert after.modern is before.modern
    assert after.degraded == (("ns/gh", "Refused"),)


def test_a_reused_share_is_made_anew_when_an_earlier_one_takes_its_name() -> None:
    """In a shared name space a change of the first backend can rename the second's tools."""
    config = gateway({"a": "", "b": ""})
    seen = views(a=["t"], b=["u"])
    before = build(config, seen)
    after = build(config, seen | views(a=["t", "u"]), before)
    assert after.routes["u"].backend == "ns/a"
    assert (after.modern, after.routes) == (build(config, seen | views(a=["t", "u"])).modern, after.routes)
    assert len(after.routes) == 3


def test_a_reused_share_is_made_anew_when_an_earlier_one_gives_up_its_name() -> None:
    """The tool that had to yield gets its ordinary name, as if it had never been otherwise."""
    config = gateway({"a": "", "b": ""})
    seen = views(a=["t"], b=["t"])
    before = build(config, seen)
    after = build(config, seen | views(a=[]), before)
    assert [*before.routes] == ["t", "t_daa828b5"]
    assert [*after.routes] == ["t"]
    assert after == build(config, seen | views(a=[]))


def test_what_is_made_for_each_tool_is_nothing_to_the_garbage_collector() -> None:
    """A full collection stops everything for a time that grows with what it looks at."""
    catalog = build(TWO, views(gh=["t"], jira=["u"]))
    made = [line for part in catalog.parts.values() for line in part.lines]
    for line in made:
        assert not any(map(gc.is_tracked, (line, line.route, line.route.tool, line.legacy)))
    assert not gc.is_tracked(catalog.routes)


GH, JIRA = answered("gh", "t", "u"), answered("jira", "t")


@pytest.mark.parametrize(
    ("config", "seen", "expected"),
    [
        pytest.param(TWO, {"ns/gh": GH, "ns/jira": JIRA}, (0, 3), id="nothing changed"),
        pytest.param(TWO, {"ns/gh": answered("gh", "t", "v"), "ns/jira": JIRA}, (2, 3), id="one list changed"),
        pytest.param(TWO, {"ns/gh": GH, "ns/jira": BackendView()}, (0, 2), id="one is gone"),
        pytest.param(gateway({"gh": "g", "jira": "jr"}), {"ns/gh": GH, "ns/jira": JIRA}, (3, 3), id="another config"),
    ],
)
def test_the_effort_is_told_by_what_is_new_and_what_there_is(
    config: GatewayConfig, seen: dict[str, BackendView], expected: tuple[int, int]
) -> None:
    """Whoever builds a catalog knows beforehand whether that takes long."""
    assert effort(config, seen, build(TWO, {"ns/gh": GH, "ns/jira": JIRA})) == expected
