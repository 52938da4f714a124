"""Which backends a gateway consists of, in which order."""

from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.members import members
from switchyard_operator.compile.objects import Objects
from unit.operator.declared import AGENTS, backend, compiled, found, gateway

TEAM_A: dict[str, Any] = {"selector": {"matchLabels": {"team": "a"}}}


def of(*entries: str | dict[str, Any], among: int = 3) -> list[str]:
    """Names of the members, among backends b0, b1, ... of team a, one elsewhere and one of another team."""
    declared = [backend(f"b{number}", labels={"team": "a"}) for number in reversed(range(among))]
    others = [backend("b1", "tools", labels={"team": "a"}), backend("other", labels={"team": "b"})]
    found_members, _ = members(gateway(*entries), Objects.of([*declared, *others]))
    return [str(member.key) for member in found_members]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], []),
        (["b2", "b0"], ["agents/b2", "agents/b0"]),
        (["absent", "b0"], ["agents/absent", "agents/b0"]),
        ([{"name": "b1", "namespace": "tools"}, "b1"], ["tools/b1", "agents/b1"]),
        ([TEAM_A], ["agents/b0", "agents/b1", "agents/b2"]),
        (["other", TEAM_A], ["agents/other", "agents/b0", "agents/b1", "agents/b2"]),
        (["b1", TEAM_A], ["agents/b1", "agents/b0", "agents/b2"]),
        ([TEAM_A, "b1"], ["agents/b0", "agents/b1", "agents/b2"]),
        (["b1", "b1"], ["agents/b1"]),
        ([{"selector": {}}], ["agents/b0", "agents/b1", "agents/b2", "agents/other"]),
        ([{"selector": {"matchLabels": {"team": "z"}}}], []),
    ],
)
def test_backends_come_in_the_gateways_order_each_where_it_is_first_named(
    entries: list[str | dict[str, Any]], expected: list[str]
) -> None:
    """A selector looks in the gateway's namespace and brings its finds in order of name; what is absent keeps its place."""
    assert of(*entries) == expected


def test_a_selector_brings_in_a_hundred_backends_at_most() -> None:
    """The rest is left out, by name, and the gateway is told."""
    declared = [backend(f"b{number:03}") for number in range(101)]
    result = compiled(gateway({"selector": {}}), *declared)
    assert [each.name for each in result.config.backends] == [f"b{number:03}" for number in range(100)]
    assert found(result) == [("MCPGateway agents/main", "SelectorTooBroad")]


@pytest.mark.parametrize(
    ("entries", "reports"),
    [
        (["a", "a"], [("MCPGateway agents/main", "DuplicateBackend")]),
        ([{"selector": {}}, "a"], [("MCPGateway agents/main", "DuplicateBackend")]),
        (["a", {"selector": {}}], []),
        ([{"selector": {}}, {"selector": {}}], []),
    ],
)
def test_a_backend_named_again_is_reported_and_one_selected_again_is_not(
    entries: list[str | dict[str, Any]], reports: list[tuple[str, str]]
) -> None:
    """A selector is expected to overlap; a second entry by name has a prefix or filter that would silently do nothing."""
    assert found(compiled(gateway(*entries), backend("a"))) == reports


def test_an_entry_knows_its_field() -> None:
    """So that messages can point at it."""
    found_members, _ = members(gateway("a", "b"), Objects())
    assert [(member.key, member.field) for member in found_members] == [
        (Key(AGENTS, "a"), ("spec", "backends", 0)),
        (Key(AGENTS, "b"), ("spec", "backends", 1)),
    ]
