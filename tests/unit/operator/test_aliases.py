"""Which aliases act on a gateway, and which win."""

from typing import Any

import pytest

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.compile.aliases import idle_aliases
from switchyard_operator.compile.objects import Objects
from switchyard_sidecar.config.model import Alias
from unit.operator.declared import alias, backend, compiled, found, gateway


def acting(*aliases: MCPToolAlias, on: tuple[str | dict[str, Any], ...] = ("github", "jira")) -> list[str]:
    """Names of the aliases in the compiled config, in order."""
    result = compiled(gateway(*on), backend("github"), backend("jira"), *aliases)
    return [each.name for each in result.config.aliases]


def test_an_alias_is_carried_over_whole() -> None:
    """With its overrides, and its backend by namespace and name."""
    declared = alias(
        "find", "tools/github", "search", "find_repo", title="Find", description="Finds.", keepOriginal=True
    )
    on = {"name": "github", "namespace": "tools"}
    result = compiled(gateway(on), backend("github", "tools", allowedNamespaces={"from": "All"}), declared)
    assert result.config.aliases == (
        Alias(
            namespace="agents",
            name="find",
            backend="tools/github",
            tool="search",
            alias="find_repo",
            title="Find",
            description="Finds.",
            keep_original=True,
        ),
    )
    assert found(result) == []


@pytest.mark.parametrize(
    ("target", "refs", "acts"),
    [
        ("github", None, True),
        ("github", ["main"], True),
        ("github", ["other"], False),
        ("github", ["other", "main"], True),
        ("absent", None, False),
        ("tools/github", None, False),
        ("broken", None, True),
    ],
)
def test_an_alias_acts_on_gateways_that_include_its_backend(target: str, refs: list[str] | None, acts: bool) -> None:
    """On all of its namespace unless it names some; a backend that does not resolve still has its names."""
    spec: dict[str, Any] = {"gatewayRefs": [{"name": name} for name in refs]} if refs else {}
    assert acting(alias("a", target, "t", "x", **spec), on=("github", "broken")) == (["a"] if acts else [])


def test_an_alias_of_another_namespace_does_not_act() -> None:
    """Whoever may write in one namespace must not rename tools in another."""
    foreign = alias("a", "agents/github", "t", "x").model_copy(
        update={"metadata": alias("a", "github", "t", "x").metadata.model_copy(update={"namespace": "elsewhere"})}
    )
    assert acting(foreign) == []


def test_a_named_gateway_without_the_backend_is_reported() -> None:
    """The alias asked for just this gateway."""
    declared = alias("a", "absent", "t", "x", gatewayRefs=[{"name": "main"}])
    assert found(compiled(gateway("github"), backend("github"), declared)) == [
        ("MCPToolAlias agents/a", "BackendNotFound")
    ]


@pytest.mark.parametrize(
    ("aliases", "order", "loser"),
    [
        (
            [alias("b", "github", "t", "x"), alias("a", "jira", "u", "x")],
            ["a", "b"],
            "MCPToolAlias agents/b",
        ),
        (
            [
                alias("a", "github", "t", "x", created="2026-07-02T00:00:00Z"),
                alias("b", "jira", "u", "x", created="2026-07-01T00:00:00Z"),
            ],
            ["b", "a"],
            "MCPToolAlias agents/a",
        ),
        (
            [alias("a", "github", "t", "x"), alias("b", "jira", "u", "x", created="2026-07-01T00:00:00Z")],
            ["b", "a"],
            "MCPToolAlias agents/a",
        ),
    ],
)
def test_of_two_aliases_for_one_name_the_older_wins(aliases: list[MCPToolAlias], order: list[str], loser: str) -> None:
    """Then by namespace and name; an alias from a file is younger than anything in a cluster."""
    result = compiled(gateway("github", "jira"), backend("github"), backend("jira"), *aliases)
    assert [each.name for each in result.config.aliases] == order
    assert found(result) == [(loser, "AliasConflict")]


def test_a_conflict_names_the_winner() -> None:
    """So that its author can be asked."""
    result = compiled(
        gateway("github"), backend("github"), alias("a", "github", "t", "x"), alias("b", "github", "u", "x")
    )
    assert str(result.reports[0]) == (
        'MCPToolAlias agents/b: spec.alias: "x" on gateway agents/main belongs to MCPToolAlias agents/a, which comes first '
        "(older, then by namespace and name); this tool keeps its ordinary name [AliasConflict]"
    )


def test_two_names_for_one_tool_are_no_conflict() -> None:
    """Each is an alias of its own."""
    assert acting(alias("a", "github", "t", "x"), alias("b", "github", "t", "y")) == ["a", "b"]


@pytest.mark.parametrize(
    ("declared", "reasons"),
    [
        (alias("a", "github", "t", "x"), []),
        (alias("a", "absent", "t", "x"), ["NoGateway"]),
        (alias("a", "tools/github", "t", "x"), ["NoGateway"]),
        (alias("a", "github", "t", "x", gatewayRefs=[{"name": "main"}, {"name": "gone"}]), ["GatewayNotFound"]),
    ],
)
def test_an_alias_without_a_gateway_is_not_passed_over(declared: MCPToolAlias, reasons: list[str]) -> None:
    """No gateway would report it, since it acts on none."""
    objects = Objects.of([gateway("github"), backend("github"), declared])
    assert [str(report.reason) for report in idle_aliases(objects)] == reasons
