"""What is said of a backend."""

from dataclasses import replace
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.objects import Namespace, Objects
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.backend import assess_backend
from switchyard_operator.controller.status.probed import Answer, Probe, ProbeReason, Reach
from unit.operator.declared import backend, secret
from unit.operator.status.situations import GENERATION, NOW, held, in_short, invalid, message, reading

ANSWER = Answer("Modern", "2026-07-28", True, "GitHub", "1.2", 40, "ab12")
ANSWERED = Reach().after(Probe(ProbeReason.ANSWERED, ANSWER))
DEAD = replace(ANSWERED, reason=ProbeReason.TIMED_OUT, failures=3)
LABELLED = {"switchyard.dev/credential": "true"}
BEARER = {"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}
SELECTOR = {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}


def assess(item: Item[Any], *others: Any, reach: Reach = ANSWERED) -> Assessment:
    model = [] if item.model is None else [item.model]
    return assess_backend(item, Objects.of([*model, *others]), reach)


def test_a_backend_that_is_well() -> None:
    """The whole status, as it is stored."""
    assert assess(held(backend("github"))).status(GENERATION, {}, NOW) == {
        "observedGeneration": 3,
        "protocol": {"era": "Modern", "version": "2026-07-28", "listChanged": True},
        "serverInfo": {"name": "GitHub", "version": "1.2"},
        "tools": {"count": 40, "digest": "ab12"},
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
                "type": "Reachable",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-07-28T12:00:00Z",
                "reason": "Answered",
                "message": "answers the operator",
            },
            {
                "type": "Ready",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-07-28T12:00:00Z",
                "reason": "Ready",
                "message": "is accepted, and all its references resolve",
            },
        ],
    }


@pytest.mark.parametrize(
    ("spec", "others", "reach", "conditions", "read"),
    [
        pytest.param(
            {},
            [],
            Reach(),
            [
                "Accepted=True Accepted",
                "ResolvedRefs=True ResolvedRefs",
                "Reachable=Unknown NotProbed",
                "Ready=True Ready",
            ],
            "Current",
            id="not probed yet",
        ),
        pytest.param(
            {},
            [],
            Reach(ProbeReason.NOT_RESOLVED),
            [
                "Accepted=True Accepted",
                "ResolvedRefs=True ResolvedRefs",
                "Reachable=Unknown NotProbed",
                "Ready=True Ready",
            ],
            "Current",
            id="resolved a moment ago",
        ),
        pytest.param(
            {},
            [],
            DEAD,
            [
                "Accepted=True Accepted",
                "ResolvedRefs=True ResolvedRefs",
                "Reachable=False TimedOut",
                "Ready=True Ready",
            ],
            "Current",
            id="an outage elsewhere blocks no rollout",
        ),
        pytest.param(
            {"auth": BEARER},
            [],
            ANSWERED,
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False SecretNotFound",
                "Reachable=Unknown NotResolved",
                "Reconciling=True SecretNotFound",
                "Ready=False SecretNotFound",
            ],
            "InProgress",
            id="a Secret that may still come",
        ),
        pytest.param(
            {"auth": BEARER},
            [secret("gh", labels=LABELLED, token=b"t\n")],
            ANSWERED,
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False InvalidCredential",
                "Reachable=Unknown NotResolved",
                "Stalled=True InvalidCredential",
                "Ready=False InvalidCredential",
            ],
            "Failed",
            id="a credential that somebody must correct",
        ),
        pytest.param(
            {"auth": BEARER},
            [secret("gh", labels={"switchyard.dev/credential": "yes"}, token=b"t")],
            ANSWERED,
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False SecretNotLabelled",
                "Reachable=Unknown NotResolved",
                "Stalled=True SecretNotLabelled",
                "Ready=False SecretNotLabelled",
            ],
            "Failed",
            id="a Secret that its owner does not let us see",
        ),
        pytest.param(
            {"auth": BEARER, "tls": {"caRef": {"name": "ca"}}},
            [secret("gh", labels=LABELLED, token=b"t\n")],
            ANSWERED,
            [
                "Accepted=True Accepted",
                "ResolvedRefs=False InvalidCredential",
                "Reachable=Unknown NotResolved",
                "Stalled=True InvalidCredential",
                "Ready=False InvalidCredential",
            ],
            "Failed",
            id="what must be corrected goes before what may come",
        ),
        pytest.param(
            {"auth": {"type": "Forward"}},
            [],
            Reach(ProbeReason.CALLER_NEEDED),
            [
                "Accepted=True Accepted",
                "ResolvedRefs=True ResolvedRefs",
                "Reachable=Unknown CallerNeeded",
                "Ready=True Ready",
            ],
            "Current",
            id="only callers can ask it",
        ),
        pytest.param(
            {"allowedNamespaces": SELECTOR},
            [],
            ANSWERED,
            [
                "Accepted=True NamespaceUnknown",
                "ResolvedRefs=True ResolvedRefs",
                "Reachable=True Answered",
                "Ready=True Ready",
            ],
            "Current",
            id="a selector of namespaces that may not be read",
        ),
        pytest.param(
            {"allowedNamespaces": SELECTOR},
            [Namespace("agents", {})],
            ANSWERED,
            ["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs", "Reachable=True Answered", "Ready=True Ready"],
            "Current",
            id="a selector of namespaces that are known",
        ),
    ],
)
def test_situations(spec: dict[str, Any], others: list[Any], reach: Reach, conditions: list[str], read: str) -> None:
    """What is said in each, and what Flux and Helm make of it."""
    assessment = assess(held(backend("github", **spec)), *others, reach=reach)
    assert in_short(assessment) == conditions
    assert reading(assessment) == read


def test_an_object_that_has_bypassed_its_schema_is_said_to_be_invalid_without_its_values() -> None:
    """Anything may stand anywhere in it, a token too."""
    assessment = assess(invalid())
    assert in_short(assessment) == [
        "Accepted=False Invalid",
        "ResolvedRefs=Unknown Invalid",
        "Reachable=Unknown NotResolved",
        "Stalled=True Invalid",
        "Ready=False Invalid",
    ]
    assert message(assessment, "Ready") == (
        "spec.url: must be an absolute http or https URL; spec.headers[0].name: is required"
    )
    assert reading(assessment) == "Failed"


def test_a_message_names_the_field_and_what_to_do() -> None:
    """In a cluster a Secret without the label is not seen, so that both are said at once."""
    assessment = assess(held(backend("github", auth=BEARER)))
    assert message(assessment, "ResolvedRefs") == (
        'spec.auth.secretKeyRef: there is no Secret agents/gh with the label switchyard.dev/credential: "true"; '
        "the backend is left out"
    )


def test_a_secret_that_is_there_and_may_not_be_seen_is_a_slip() -> None:
    """Waiting does not help; with one that is absent it may."""
    item = held(backend("github", auth=BEARER))
    assessment = assess_backend(item, Objects(), Reach(), {Key("agents", "gh")})
    assert in_short(assessment)[1] == "ResolvedRefs=False SecretNotLabelled"
    assert message(assessment, "ResolvedRefs") == (
        'spec.auth.secretKeyRef: Secret agents/gh lacks the label switchyard.dev/credential: "true"; the backend is left out'
    )
    assert reading(assessment) == "Failed"


@pytest.mark.parametrize(
    ("reach", "told"),
    [
        (DEAD, "is accepted, and all its references resolve; not reachable: does not answer the operator in time"),
        (ANSWERED, "is accepted, and all its references resolve"),
        (Reach(), "is accepted, and all its references resolve"),
        (Reach(ProbeReason.CALLER_NEEDED), "is accepted, and all its references resolve"),
    ],
)
def test_a_ready_backend_that_does_not_answer_says_so(reach: Reach, told: str) -> None:
    """In the message that `kubectl get -o wide` shows; what nobody knows is no failure."""
    assert message(assess(held(backend("github")), reach=reach), "Ready") == told


def test_of_a_backend_that_is_not_ready_the_message_says_why_alone() -> None:
    """What was seen of it is about another backend than it is to be."""
    assert "reachable" not in message(assess(held(backend("github", auth=BEARER)), reach=DEAD), "Ready")


def test_a_backend_that_no_longer_answers_keeps_what_it_last_said() -> None:
    """It is what sidecars go on serving."""
    assert assess(held(backend("github")), reach=DEAD).facts == assess(held(backend("github"))).facts


def test_what_is_left_out_says_nothing_of_a_server() -> None:
    """Nobody is served its tools."""
    assert assess(held(backend("github", auth=BEARER))).facts == {}
