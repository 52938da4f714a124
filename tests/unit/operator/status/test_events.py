"""What is said in events, and how often."""

from typing import Any

import pytest

from switchyard_operator.controller.resources import BACKENDS
from switchyard_operator.controller.status.conditions import Condition, Truth
from switchyard_operator.controller.status.events import Notice, event, notices
from unit.operator.declared import backend
from unit.operator.status.situations import NOW, held

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN


def stored(kind: str, status: Truth, reason: str) -> dict[str, Any]:
    return {"type": kind, "status": status.value, "reason": reason}


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ([], Condition("Accepted", T, "Accepted"), []),
        ([], Condition("Accepted", F, "Invalid"), ["Warning Invalid"]),
        ([], Condition("Accepted", T, "SharedNames"), ["Warning SharedNames"]),
        ([stored("Accepted", T, "SharedNames")], Condition("Accepted", T, "SharedNames"), []),
        ([stored("Accepted", T, "SharedNames")], Condition("Accepted", T, "Accepted"), []),
        ([stored("Accepted", F, "Invalid")], Condition("Accepted", T, "Accepted"), ["Normal Accepted"]),
        ([stored("ResolvedRefs", T, "ResolvedRefs")], Condition("ResolvedRefs", F, "Gone"), ["Warning Gone"]),
        ([stored("ResolvedRefs", F, "Gone")], Condition("ResolvedRefs", F, "Gone"), []),
        ([stored("ResolvedRefs", F, "Gone")], Condition("ResolvedRefs", F, "Bad"), ["Warning Bad"]),
        ([stored("ResolvedRefs", F, "Gone")], Condition("ResolvedRefs", U, "Invalid"), []),
        ([stored("Programmed", U, "Pending")], Condition("Programmed", T, "Programmed"), []),
        ([], Condition("Programmed", F, "NameConflict"), ["Warning NameConflict"]),
        ([stored("Reachable", T, "Answered")], Condition("Reachable", F, "TimedOut"), ["Warning TimedOut"]),
        ([stored("Reachable", F, "TimedOut")], Condition("Reachable", T, "Answered"), ["Normal Answered"]),
        ([stored("Ready", T, "Ready")], Condition("Ready", F, "Gone"), []),
        ([], Condition("Stalled", T, "Gone"), []),
    ],
)
def test_what_a_person_should_notice(before: list[dict[str, Any]], now: Condition, said: list[str]) -> None:
    """What ceases to hold, why else it does not, and that it holds again; sums of others are not said twice."""
    assert [f"{each.type} {each.reason}" for each in notices([now], before)] == said


def test_an_event_as_it_is_created() -> None:
    """Its name is made of uid, reason and generation, so that the API server lets it be said once."""
    notice = Notice("Warning", "SecretNotFound", "ResolveRefs", "spec.auth.secretKeyRef: there is no Secret agents/gh")
    assert event(BACKENDS, held(backend("github")), notice, "switchyard-operator-7d9f", NOW) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "uid-1.secretnotfound.3", "namespace": "agents"},
        "eventTime": "2026-07-28T12:00:00.000000Z",
        "type": "Warning",
        "reason": "SecretNotFound",
        "action": "ResolveRefs",
        "note": "spec.auth.secretKeyRef: there is no Secret agents/gh",
        "regarding": {
            "apiVersion": "switchyard.dev/v1alpha1",
            "kind": "MCPBackend",
            "namespace": "agents",
            "name": "github",
            "uid": "uid-1",
        },
        "reportingController": "switchyard.dev/operator",
        "reportingInstance": "switchyard-operator-7d9f",
    }


def test_a_note_and_an_instance_keep_the_limits_of_the_api() -> None:
    """1024 bytes and 128 characters (events.k8s.io/v1)."""
    body = event(BACKENDS, held(backend("github")), Notice("Normal", "R", "A", "é" * 1024), "i" * 200, NOW)
    assert len(body["note"].encode()) <= 1024
    assert len(body["reportingInstance"]) == 128
