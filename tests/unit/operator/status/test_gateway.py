"""What is said of a gateway."""

from typing import Any

import pytest

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.gateway import PodCounts, Writing, Written, assess_gateway
from unit.operator.declared import alias, backend, compiled, gateway
from unit.operator.status.situations import GENERATION, NOW, held, in_short, invalid, message, reading

WELL = Writing(Written.PROGRAMMED, "the config is written", "c0ffee")
BEARER = {"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}
ISSUER = {"issuer": "https://login.example", "audiences": ["a"], "jwksURL": "https://login.example/keys"}
KEYLESS = {"issuer": "urn:a", "audiences": ["a"], "jwks": '{"keys":[]}'}
TOKENS = [{"name": "ci", "secretKeyRef": {"name": "ci", "key": "token"}}]
VALID, RESOLVED, PROGRAMMED = "Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs", "Programmed=True Programmed"


def assess(declared: MCPGateway, *others: Any, writing: Writing | None = WELL, **more: Any) -> Assessment:
    composed = Composition.of(compiled(declared, *others, cluster=True))
    return assess_gateway(held(declared), composed, writing, **({"pods": PodCounts(), "tools": None} | more))


def test_a_gateway_that_is_well() -> None:
    """The whole status, as it is stored."""
    found = assess(gateway("github"), backend("github"), pods=PodCounts(5, 3, 1), tools=40)
    assert found.status(GENERATION, {}, NOW) == {
        "observedGeneration": 3,
        "backends": {"total": 1, "resolved": 1},
        "pods": {"attached": 5, "current": 3, "unknown": 1},
        "tools": {"count": 40},
        "configHash": "c0ffee",
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-07-28T12:00:00Z",
                "reason": "Accepted",
                "message": "is valid",
            },
            {
                "type": "ResolvedRefs",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-07-28T12:00:00Z",
                "reason": "ResolvedRefs",
                "message": "all references resolve",
            },
            {
                "type": "Programmed",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-07-28T12:00:00Z",
                "reason": "Programmed",
                "message": "the config is written",
            },
            {
                "type": "Ready",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-07-28T12:00:00Z",
                "reason": "Ready",
                "message": "serves 1 of 1 backends",
            },
        ],
    }


@pytest.mark.parametrize(
    ("declared", "writing", "conditions", "read"),
    [
        pytest.param(gateway(), WELL, [VALID, RESOLVED, PROGRAMMED, "Ready=True Ready"], "Current", id="no backend"),
        pytest.param(
            gateway("github", "gone"),
            WELL,
            [VALID, "ResolvedRefs=False BackendNotFound", PROGRAMMED, "Ready=True Degraded"],
            "Current",
            id="one of two is missing",
        ),
        pytest.param(
            gateway("github", "locked"),
            WELL,
            [VALID, "ResolvedRefs=False BackendNotResolved", PROGRAMMED, "Ready=True Degraded"],
            "Current",
            id="one of two has no Secret",
        ),
        pytest.param(
            gateway("gone"),
            WELL,
            [
                VALID,
                "ResolvedRefs=False BackendNotFound",
                PROGRAMMED,
                "Reconciling=True BackendNotFound",
                "Ready=False BackendNotFound",
            ],
            "InProgress",
            id="nothing is served",
        ),
        pytest.param(
            gateway("github", "gone", failurePolicy="Strict"),
            WELL,
            [
                VALID,
                "ResolvedRefs=False BackendNotFound",
                PROGRAMMED,
                "Reconciling=True BackendNotFound",
                "Ready=False BackendNotFound",
            ],
            "InProgress",
            id="all or nothing, one missing",
        ),
        pytest.param(
            gateway("github", {"name": "foreign", "namespace": "tools"}, failurePolicy="Strict"),
            WELL,
            [
                VALID,
                "ResolvedRefs=False CredentialsWithheld",
                PROGRAMMED,
                "Stalled=True CredentialsWithheld",
                "Ready=False CredentialsWithheld",
            ],
            "Failed",
            id="all or nothing, one kept back",
        ),
        pytest.param(
            gateway("github", replicas=2),
            WELL,
            ["Accepted=True WithoutEffect", RESOLVED, PROGRAMMED, "Ready=True Ready"],
            "Current",
            id="something without effect",
        ),
        pytest.param(
            gateway("github", {"name": "plain", "prefix": ""}),
            WELL,
            ["Accepted=True SharedNames", RESOLVED, PROGRAMMED, "Ready=True Ready"],
            "Current",
            id="shared names",
        ),
        pytest.param(
            gateway("github", auth={"tokens": TOKENS}),
            WELL,
            [
                VALID,
                "ResolvedRefs=False SecretNotFound",
                "Programmed=False NobodyAdmitted",
                "Reconciling=True NobodyAdmitted",
                "Ready=False NobodyAdmitted",
            ],
            "InProgress",
            id="nobody is let in until a Secret comes",
        ),
        pytest.param(
            gateway("github", auth={"kubernetes": {"audiences": ["a"]}}),
            WELL,
            [
                VALID,
                "ResolvedRefs=False IssuerUnknown",
                "Programmed=False NobodyAdmitted",
                "Stalled=True NobodyAdmitted",
                "Ready=False NobodyAdmitted",
            ],
            "Failed",
            id="nobody is let in until somebody permits it",
        ),
        pytest.param(
            gateway("github", auth={"jwt": [KEYLESS]}),
            WELL,
            [
                VALID,
                "ResolvedRefs=False NoUsableKey",
                "Programmed=False NobodyAdmitted",
                "Stalled=True NobodyAdmitted",
                "Ready=False NobodyAdmitted",
            ],
            "Failed",
            id="nobody is let in until somebody gives a key",
        ),
        pytest.param(
            gateway("github", auth={"jwt": [ISSUER, KEYLESS]}),
            WELL,
            [VALID, "ResolvedRefs=False NoUsableKey", PROGRAMMED, "Ready=True Degraded"],
            "Current",
            id="one of two issuers has no key",
        ),
        pytest.param(
            gateway("github", auth={"jwt": [ISSUER], "tokens": TOKENS}),
            WELL,
            [VALID, "ResolvedRefs=False SecretNotFound", PROGRAMMED, "Ready=True Degraded"],
            "Current",
            id="some are let in",
        ),
        pytest.param(
            gateway("github", auth={"jwt": [ISSUER]}),
            WELL,
            [VALID, RESOLVED, PROGRAMMED, "Ready=True Ready"],
            "Current",
            id="guarded",
        ),
        pytest.param(
            gateway("github", mode="Deployment", service={"type": "LoadBalancer"}),
            WELL,
            ["Accepted=True OpenToEveryone", RESOLVED, PROGRAMMED, "Ready=True Ready"],
            "Current",
            id="open to the world",
        ),
        pytest.param(
            gateway("github", mode="Deployment", service={"type": "LoadBalancer"}, auth={"jwt": [ISSUER]}),
            WELL,
            [VALID, RESOLVED, PROGRAMMED, "Ready=True Ready"],
            "Current",
            id="reached by the world, and guarded",
        ),
        pytest.param(
            gateway("github", "gone"),
            Writing(Written.NAME_CONFLICT, "ConfigMap agents/switchyard-main belongs to somebody else"),
            [
                VALID,
                "ResolvedRefs=False BackendNotFound",
                "Programmed=False NameConflict",
                "Stalled=True NameConflict",
                "Ready=False NameConflict",
            ],
            "Failed",
            id="a stranger's object has the name",
        ),
        pytest.param(
            gateway("github"),
            Writing(Written.TOO_LARGE, "the config comes to 9999999 bytes", "01d"),
            [
                VALID,
                RESOLVED,
                "Programmed=False TooLarge",
                "Stalled=True TooLarge",
                "Ready=False TooLarge",
            ],
            "Failed",
            id="too large",
        ),
        pytest.param(
            gateway("github"),
            Writing(Written.WRITE_FAILED, "the API server refuses to write the ConfigMap (Forbidden)"),
            [
                VALID,
                RESOLVED,
                "Programmed=False WriteFailed",
                "Reconciling=True WriteFailed",
                "Ready=False WriteFailed",
            ],
            "InProgress",
            id="the API server does not take it",
        ),
        pytest.param(
            gateway("github"),
            Writing(Written.BEING_DELETED, "the ConfigMap is being deleted"),
            [
                VALID,
                RESOLVED,
                "Programmed=False BeingDeleted",
                "Reconciling=True BeingDeleted",
                "Ready=False BeingDeleted",
            ],
            "InProgress",
            id="a child on its way out",
        ),
    ],
)
def test_situations(declared: MCPGateway, writing: Writing | None, conditions: list[str], read: str) -> None:
    """What is said in each, and what Flux and Helm make of it."""
    others = [
        backend("github"),
        backend("plain"),
        backend("locked", auth=BEARER),
        backend("foreign", "tools", auth=BEARER, allowedNamespaces={"from": "All"}),
    ]
    assessment = assess(declared, *others, writing=writing)
    assert in_short(assessment) == conditions
    assert reading(assessment) == read


def test_an_invalid_gateway_says_so_and_keeps_what_was_written() -> None:
    """Nothing was compiled."""
    assessment = assess_gateway(invalid(), Composition(), None, PodCounts(2, 2, 0), None)
    assert in_short(assessment) == [
        "Accepted=False Invalid",
        "ResolvedRefs=Unknown Invalid",
        "Programmed=Unknown NotWritten",
        "Stalled=True Invalid",
        "Ready=False Invalid",
    ]
    assert assessment.facts["pods"] == {"attached": 2, "current": 2, "unknown": 0}


def test_a_degraded_gateway_says_what_is_missing() -> None:
    """For what is at fault with a backend itself, its own status is the place."""
    declared = gateway("github", "gone", "locked")
    assessment = assess(declared, backend("github"), backend("locked", auth=BEARER))
    assert message(assessment, "Ready") == (
        "serves 1 of 3 backends; spec.backends[1]: there is no MCPBackend agents/gone; "
        "spec.backends: backend agents/locked is left out (SecretNotFound); its status says more"
    )


@pytest.mark.parametrize(
    ("silent", "told"),
    [
        (0, "serves 2 of 2 backends"),
        (1, "serves 2 of 2 backends, 1 of which does not answer the operator"),
        (2, "serves 2 of 2 backends, 2 of which do not answer the operator"),
    ],
)
def test_a_ready_gateway_says_how_many_backends_do_not_answer(silent: int, told: str) -> None:
    """They are served all the same: an outage elsewhere blocks no rollout."""
    assessment = assess(gateway("github", "jira"), backend("github"), backend("jira"), silent=silent)
    assert message(assessment, "Ready") == told
    assert in_short(assessment) == [VALID, RESOLVED, PROGRAMMED, "Ready=True Ready"]
    assert reading(assessment) == "Current"


def test_conflicts_are_named_on_the_gateway_too() -> None:
    """Whoever owns the gateway need not own the alias."""
    older = alias("older", "github", "a", "find", created="2026-01-01T00:00:00Z")
    younger = alias("younger", "github", "b", "find", created="2026-02-01T00:00:00Z")
    assert assess(gateway("github"), backend("github"), older, younger).facts["conflicts"] == [
        {
            "reason": "AliasConflict",
            "message": (
                'MCPToolAlias agents/younger: "find" on gateway agents/main belongs to MCPToolAlias agents/older, which comes '
                "first (older, then by namespace and name); this tool keeps its ordinary name"
            ),
        }
    ]


def test_of_many_conflicts_sixteen_are_named() -> None:
    """A status stays small."""
    others = [alias(f"a{index:02}", "github", "t", "find") for index in range(40)]
    assert len(assess(gateway("github"), backend("github"), *others).facts["conflicts"]) == 16


def test_of_many_missing_backends_some_are_named_and_the_rest_counted() -> None:
    """A message stays within what an event can carry."""
    declared = gateway("github", *(f"gone-{index}" for index in range(300)))
    told = message(assess(declared, backend("github")), "ResolvedRefs")
    assert len(told.encode()) <= 1024
    assert told.startswith("spec.backends[1]: there is no MCPBackend agents/gone-0; ")
    assert told.endswith("more")


def test_what_is_not_known_now_stays_as_it_was_told() -> None:
    """A hash while nothing can be written, a count of tools while nobody counts, counts of pods before they were asked."""
    stored = {"configHash": "01d", "tools": {"count": 7}, "pods": {"attached": 5, "current": 4, "unknown": 1}}
    composed = Composition.of(compiled(gateway()))
    denied = Writing(Written.WRITE_FAILED, "the API server refuses")
    assert assess_gateway(held(gateway(), stored), composed, denied, None, None).facts.items() >= stored.items()
