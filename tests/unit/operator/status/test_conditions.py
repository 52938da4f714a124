"""Conditions and their times."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.conditions import (
    Condition,
    Progress,
    Truth,
    bounded,
    concluded,
    dated,
    joined,
)
from switchyard_operator.controller.status.writer import differs, flips
from unit.operator.status.situations import NOW, reading

BEFORE = "2026-01-01T00:00:00Z"


def stored(kind: str, status: str, since: str = BEFORE) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": "Old", "message": "old", "lastTransitionTime": since}


@pytest.mark.parametrize(
    ("status", "since"),
    [(Truth.TRUE, BEFORE), (Truth.FALSE, "2026-07-28T12:00:00Z"), (Truth.UNKNOWN, "2026-07-28T12:00:00Z")],
)
def test_the_transition_time_moves_only_when_the_status_does(status: Truth, since: str) -> None:
    """Another reason or message leaves it alone."""
    (found,) = dated([Condition("Ready", status, "New", "new")], 7, [stored("Ready", "True")], NOW)
    assert found == {
        "type": "Ready",
        "status": status.value,
        "observedGeneration": 7,
        "lastTransitionTime": since,
        "reason": "New",
        "message": "new",
    }


def test_times_are_written_in_utc_to_the_second() -> None:
    """As the API server writes them, so that what is stored compares equal."""
    local = NOW.astimezone(tz=None).replace(microsecond=123456)
    (found,) = dated([Condition("Ready", Truth.TRUE, "Ready")], 1, [], local)
    assert found["lastTransitionTime"] == "2026-07-28T12:00:00Z"


@pytest.mark.parametrize(
    ("progress", "types"),
    [
        (Progress.DONE, ["Accepted", "Ready"]),
        (Progress.WAITING, ["Accepted", "Reconciling", "Ready"]),
        (Progress.STUCK, ["Accepted", "Stalled", "Ready"]),
    ],
)
def test_reconciling_and_stalled_are_there_only_while_true(progress: Progress, types: list[str]) -> None:
    """With the words of Ready, which is last."""
    parts = [Condition("Accepted", Truth.TRUE, "Accepted")]
    found = concluded(parts, Condition("Ready", Truth.FALSE, "Because", "of this"), progress)
    assert [each.type for each in found] == types
    assert {(each.reason, each.message) for each in found[1:]} == {("Because", "of this")}


@pytest.mark.parametrize(
    ("text", "limit", "result"),
    [
        ("short", 10, "short"),
        ("0123456789", 10, "0123456789"),
        ("0123456789a", 10, "0123456..."),
        ("ééééé", 10, "ééééé"),
        ("éééééé", 10, "ééé..."),
        ("two\nlines\x00\x1b[0m", 100, "two lines  [0m"),
        ("\ud800", 10, " "),
    ],
)
def test_a_message_is_one_line_within_its_limit(text: str, limit: int, result: str) -> None:
    """Counted in bytes; no character is cut in two."""
    assert bounded(text, limit) == result


@pytest.mark.parametrize(
    ("messages", "result"),
    [
        ([], ""),
        (["one"], "one"),
        (["one", "two"], "one; two"),
        (["one", "one"], "one"),
        (["0123456789", "0123456789a", "b"], "0123456789; and 2 more"),
        (["012345", "0123456", "b", "c"], "012345; 0123456; b; c"),
        (["012345", "0123456", "b", "c" * 20], "012345; 0123456; b; and 1 more"),
        (["x" * 50], "x" * 29 + "..."),
        (["x" * 50, "y"], "x" * 17 + "...; y"),
        (["x" * 50, "y" * 50], "x" * 17 + "...; and 1 more"),
    ],
)
def test_what_finds_no_room_is_counted(messages: list[str], result: str) -> None:
    """Here there is room for 32 bytes."""
    assert joined(messages, 32) == result


@given(st.lists(st.text(min_size=10, max_size=80), max_size=20), st.integers(32, 200))
def test_joined_messages_keep_the_limit(messages: list[str], limit: int) -> None:
    """Whatever they are."""
    assert len(joined(messages, limit).encode()) <= limit


TRUTHS = st.sampled_from(list(Truth))
WORDS = st.sampled_from(["One", "Two", "Three"])


@st.composite
def assessments(draw: st.DrawFn) -> Assessment:
    """Any parts, with a conclusion as the statuses draw it: done exactly when ready."""
    parts = [Condition(kind, draw(TRUTHS), draw(WORDS), draw(WORDS)) for kind in ("Accepted", "ResolvedRefs")]
    progress = draw(st.sampled_from(list(Progress)))
    truth = Truth.TRUE if progress is Progress.DONE else draw(st.sampled_from([Truth.FALSE, Truth.UNKNOWN]))
    facts = {"tools": {"count": draw(st.integers(0, 2))}}
    return Assessment(concluded(parts, Condition("Ready", truth, draw(WORDS)), progress), facts)


@given(st.lists(assessments(), min_size=1, max_size=12))
def test_a_second_look_writes_nothing_and_times_never_go_back(history: list[Assessment]) -> None:
    """Whatever comes after what: each condition has the time of its own last flip."""
    status: dict[str, Any] = {}
    flipped: dict[str, tuple[str, datetime]] = {}
    for index, each in enumerate(history):
        now = NOW + timedelta(seconds=index)
        status = each.status(1, status, now)
        again = each.status(1, status, now + timedelta(days=1))
        assert not differs(again, status)
        assert not flips(again, status)
        truths = {condition.type: condition.status.value for condition in each.conditions}
        flipped = {
            kind: flipped[kind] if kind in flipped and flipped[kind][0] == truth else (truth, now)
            for kind, truth in truths.items()
        }
        assert {condition["type"]: condition["lastTransitionTime"] for condition in status["conditions"]} == {
            kind: since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for kind, (_, since) in flipped.items()
        }


@given(assessments())
def test_kstatus_reads_what_was_concluded(assessment: Assessment) -> None:
    """Ready is Current, waiting is InProgress, stuck is Failed."""
    kinds = {each.type for each in assessment.conditions}
    expected = "Failed" if "Stalled" in kinds else "InProgress" if "Reconciling" in kinds else "Current"
    assert reading(assessment) == expected


@pytest.mark.parametrize(
    ("status", "different", "flip"),
    [
        ({"conditions": [stored("Ready", "True")]}, False, False),
        ({"conditions": [stored("Ready", "True"), stored("OfSomebodyElse", "True")]}, False, False),
        ({"conditions": [stored("Ready", "True"), stored("Stalled", "True")]}, True, True),
        ({"conditions": [stored("Ready", "True") | {"message": "new"}]}, True, False),
        ({"conditions": [stored("Ready", "True")], "tools": {"count": 1}}, True, False),
        ({"conditions": [stored("Ready", "False")]}, True, True),
        ({}, True, True),
    ],
)
def test_what_counts_as_a_difference_and_as_a_flip(status: dict[str, Any], different: bool, flip: bool) -> None:
    """Against one condition that is true."""
    desired = {"conditions": [stored("Ready", "True")]}
    assert (differs(desired, status), flips(desired, status)) == (different, flip)
