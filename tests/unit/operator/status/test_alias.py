"""What is said of an alias."""

from dataclasses import replace
from typing import Any

import pytest

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.resource import Key
from switchyard_operator.compile import CompiledGateway
from switchyard_operator.controller.status.alias import Listed, Stand, Standing, assess_alias, listed, standings
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.probed import Answer, ProbeReason, Reach
from unit.operator.declared import MAIN, alias, backend, compiled, gateway
from unit.operator.status.situations import GENERATION, NOW, held, in_short, invalid, message, reading

OTHER, GONE = Key("agents", "other"), Key("agents", "gone")
OLDER = Key("agents", "older")
ACTS, LOST = Standing(MAIN, Stand.ACTS), Standing(OTHER, Stand.LOST, OLDER)


def one(**spec: Any) -> MCPToolAlias:
    return alias("find", "github", "search", "find_repo", **spec)


FOREIGN = alias("find", "tools/github", "search", "find_repo")


def named(*names: str) -> MCPToolAlias:
    return one(gatewayRefs=[{"name": name} for name in names])


@pytest.mark.parametrize(
    ("declared", "found", "conditions", "gateways", "read"),
    [
        pytest.param(
            one(),
            [ACTS],
            ["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs", "Ready=True Ready"],
            (1, 1, 0),
            "Current",
            id="it acts",
        ),
        pytest.param(
            one(),
            [ACTS, LOST],
            [
                "Accepted=False AliasConflict",
                "ResolvedRefs=True ResolvedRefs",
                "Stalled=True AliasConflict",
                "Ready=False AliasConflict",
            ],
            (2, 1, 1),
            "Failed",
            id="an older one has the name on one of two gateways",
        ),
        pytest.param(
            one(),
            [],
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False NoGateway",
                "Reconciling=True NoGateway",
                "Ready=False NoGateway",
            ],
            (0, 0, 0),
            "InProgress",
            id="no gateway includes its backend yet",
        ),
        pytest.param(
            named("main", "gone"),
            [ACTS, Standing(GONE, Stand.NOT_FOUND)],
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False GatewayNotFound",
                "Reconciling=True GatewayNotFound",
                "Ready=False GatewayNotFound",
            ],
            (2, 1, 0),
            "InProgress",
            id="a gateway that may still come",
        ),
        pytest.param(
            one(),
            [Standing(MAIN, Stand.NOT_SERVED)],
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False BackendNotResolved",
                "Reconciling=True BackendNotResolved",
                "Ready=False BackendNotResolved",
            ],
            (1, 0, 0),
            "InProgress",
            id="its backend is left out",
        ),
        pytest.param(
            one(),
            [Standing(MAIN, Stand.NO_BACKEND)],
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False BackendNotFound",
                "Reconciling=True BackendNotFound",
                "Ready=False BackendNotFound",
            ],
            (1, 0, 0),
            "InProgress",
            id="its backend is gone, or does not admit the namespace",
        ),
        pytest.param(
            named("other"),
            [Standing(OTHER, Stand.NOT_INCLUDED)],
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False BackendNotFound",
                "Reconciling=True BackendNotFound",
                "Ready=False BackendNotFound",
            ],
            (1, 0, 0),
            "InProgress",
            id="a gateway without its backend",
        ),
        pytest.param(
            named("gone", "other"),
            [Standing(GONE, Stand.NOT_FOUND), LOST],
            [
                "Accepted=False AliasConflict",
                "ResolvedRefs=False GatewayNotFound",
                "Stalled=True AliasConflict",
                "Ready=False AliasConflict",
            ],
            (2, 0, 1),
            "Failed",
            id="a conflict that waiting does not end",
        ),
    ],
)
def test_situations(
    declared: MCPToolAlias, found: list[Standing], conditions: list[str], gateways: tuple[int, int, int], read: str
) -> None:
    """What is said in each, and what Flux and Helm make of it."""
    assessment = assess_alias(held(declared), found)
    assert in_short(assessment) == conditions
    assert tuple(assessment.facts["gateways"].values()) == gateways
    assert reading(assessment) == read


def test_an_invalid_alias_acts_nowhere() -> None:
    """Its form is all that is said."""
    assessment = assess_alias(invalid("find"), ())
    assert in_short(assessment) == [
        "Accepted=False Invalid",
        "ResolvedRefs=Unknown Invalid",
        "Stalled=True Invalid",
        "Ready=False Invalid",
    ]


def test_a_conflict_names_its_winner() -> None:
    """In a sentence for people and in a field for programs."""
    assessment = assess_alias(held(one()), [LOST])
    assert message(assessment, "Ready") == (
        'spec.alias: "find_repo" on gateway agents/other belongs to MCPToolAlias agents/older, which comes first '
        "(older, then by namespace and name); this tool keeps its ordinary name"
    )
    assert assessment.facts["conflicts"] == [{"gateway": "other", "winner": "older"}]


def test_of_many_conflicts_sixteen_are_named_and_all_counted() -> None:
    """In the order of the gateways' names, whatever order they were found in."""
    found = [Standing(Key("agents", f"g{index:02}"), Stand.LOST, OLDER) for index in reversed(range(40))]
    assessment = assess_alias(held(one()), found)
    assert [each["gateway"] for each in assessment.facts["conflicts"]] == [f"g{index:02}" for index in range(16)]
    assert assessment.facts["gateways"] == {"total": 40, "accepted": 0, "conflicted": 40}
    assert len(message(assessment, "Ready").encode()) <= 1024
    assert message(assessment, "Ready").endswith("more")


def test_a_missing_gateway_is_named_by_its_place() -> None:
    """The field to look at is the one that names it."""
    found = [ACTS, Standing(GONE, Stand.NOT_FOUND)]
    assert message(assess_alias(held(named("main", "gone")), found), "Ready") == (
        "spec.gatewayRefs[1].name: there is no MCPGateway agents/gone"
    )


def composed(*aliases: MCPToolAlias, on: str = "github") -> Composition:
    return Composition.of(compiled(gateway(on), backend("github"), *aliases))


def without_backend(*aliases: MCPToolAlias) -> Composition:
    return Composition.of(compiled(gateway("github"), *aliases))


def at_fault(*aliases: MCPToolAlias) -> Composition:
    auth = {"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}
    return Composition.of(compiled(gateway("github"), backend("github", auth=auth), *aliases))


def foreign(*backends: MCPBackend) -> Composition:
    entry = {"name": "github", "namespace": "tools"}
    return Composition.of(compiled(gateway(entry), *backends, FOREIGN))


@pytest.mark.parametrize(
    ("declared", "compositions", "found"),
    [
        (one(), {MAIN: composed(one())}, [(MAIN, Stand.ACTS, None)]),
        (one(), {MAIN: composed(one(), alias("a-first", "github", "x", "find_repo"))}, [(MAIN, Stand.LOST, "a-first")]),
        (one(), {MAIN: without_backend(one())}, [(MAIN, Stand.NO_BACKEND, None)]),
        (one(), {MAIN: at_fault(one())}, [(MAIN, Stand.NOT_SERVED, None)]),
        (FOREIGN, {MAIN: foreign()}, [(MAIN, Stand.NO_BACKEND, None)]),
        (FOREIGN, {MAIN: foreign(backend("github", "tools"))}, [(MAIN, Stand.NO_BACKEND, None)]),
        (one(), {MAIN: composed(one(), on="jira")}, []),
        (named("main"), {MAIN: composed(one(), on="jira")}, [(MAIN, Stand.NOT_INCLUDED, None)]),
        (
            named("gone", "main"),
            {MAIN: composed(named("main"))},
            [(GONE, Stand.NOT_FOUND, None), (MAIN, Stand.ACTS, None)],
        ),
        (one(), {}, None),
        (named("main"), {}, None),
        (named("gone"), {}, [(GONE, Stand.NOT_FOUND, None)]),
    ],
)
def test_how_an_alias_stands_is_read_off_compiled_gateways(
    declared: MCPToolAlias,
    compositions: dict[Key, Composition],
    found: list[tuple[Key, Stand, str | None]] | None,
) -> None:
    """Nothing is said while a gateway that matters has not been compiled."""
    result = standings(declared, {MAIN}, compositions.get)
    shown = result and [(each.gateway, each.stand, each.winner and each.winner.name) for each in result]
    assert (list(shown) if shown is not None else None) == found


def answered(*names: str, **more: Any) -> Reach:
    answer = Answer("Modern", "2026-07-28", True, "s", "1", len(names), "d", names)
    return Reach(ProbeReason.ANSWERED, replace(answer, **more))


@pytest.mark.parametrize(
    ("reach", "found"),
    [
        (answered("search", "other"), Listed.YES),
        (answered("other"), Listed.NO),
        (answered(), Listed.NO),
        (answered("other", complete=False), Listed.UNKNOWN),
        (answered("search", complete=False), Listed.YES),
        (answered("search", withheld=frozenset({"search"})), Listed.WITHHELD),
        (answered(tools=7), Listed.AS_BEFORE),
        (replace(answered("other"), reason=ProbeReason.TIMED_OUT), Listed.UNKNOWN),
        (Reach(ProbeReason.CALLER_NEEDED), Listed.UNKNOWN),
        (Reach(), Listed.UNKNOWN),
        (None, Listed.UNKNOWN),
    ],
)
def test_whether_a_tool_is_listed_is_known_of_a_whole_list_alone(reach: Reach | None, found: Listed) -> None:
    """Of a backend that answers now."""
    assert listed("search", reach) is found


NO_TOOL = "backend agents/github lists no tool search, as far as its spec.tools lets them pass; the name waits for it"
WITHHELD = "backend agents/github has tool search, which is withheld as its pins say; the name waits for it"


@pytest.mark.parametrize(("tool", "told"), [(Listed.NO, NO_TOOL), (Listed.WITHHELD, WITHHELD)])
def test_a_tool_that_is_not_listed_is_a_caveat(tool: Listed, told: str) -> None:
    """The alias is ready: the tool may come. Whoever looks at it is told that it has not; the next process says the same."""
    assessment = assess_alias(held(one()), [ACTS], tool)
    assert in_short(assessment) == [
        "Accepted=True ToolNotListed",
        "ResolvedRefs=True ResolvedRefs",
        "Ready=True ToolNotListed",
    ]
    assert message(assessment, "Accepted") == f"spec.tool: {told}"
    assert message(assessment, "Ready") == f"has its name wherever it acts; {told}"
    assert reading(assessment) == "Current"
    stored = assessment.status(GENERATION, {}, NOW)
    assert assess_alias(held(one(), stored), [ACTS], Listed.AS_BEFORE) == assessment


@pytest.mark.parametrize("tool", [Listed.YES, Listed.UNKNOWN, Listed.AS_BEFORE])
def test_of_a_tool_that_is_there_or_not_known_nothing_is_said(tool: Listed) -> None:
    """Nor, where an earlier process said nothing, by the next one."""
    found = assess_alias(held(one()), [ACTS], tool)
    assert [in_short(found)[0], in_short(found)[-1]] == ["Accepted=True Accepted", "Ready=True Ready"]


@pytest.mark.parametrize("stand", [Stand.NO_BACKEND, Stand.NOT_SERVED, Stand.NOT_INCLUDED])
def test_what_a_backend_lists_is_not_said_to_whom_it_is_not_served(stand: Stand) -> None:
    """Whoever may write an alias might otherwise ask for the tools of any backend, one by one."""
    assert in_short(assess_alias(held(FOREIGN), [Standing(MAIN, stand)], Listed.NO))[0] == "Accepted=True Accepted"


def test_whether_a_backend_of_elsewhere_exists_is_not_said() -> None:
    """In the words that the gateway's owner is given."""
    assessment = assess_alias(held(FOREIGN), [Standing(MAIN, Stand.NO_BACKEND)])
    assert message(assessment, "Ready") == (
        "spec.backendRef: there is no MCPBackend tools/github that admits namespace agents (spec.allowedNamespaces of the "
        "backend), as gateway agents/main includes it; the alias takes effect when there is one"
    )


def test_a_compiled_gateway_is_kept_in_few_words() -> None:
    """A thousand configs of five hundred backends do not fit into memory."""
    result: CompiledGateway = compiled(gateway("github", "gone"), backend("github"), one())
    kept = Composition.of(result)
    assert (kept.backends, kept.resolved, kept.aliases) == (2, 1, {Key("agents", "find"): None})
    assert [str(each.reason) for each in kept.reports] == ["BackendNotFound"]
    assert (kept.at_fault, kept.idle) == ({}, {})
