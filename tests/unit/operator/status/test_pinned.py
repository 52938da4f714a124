"""What the status of a backend says of its pins, and that it says nothing of the backend's own words."""

from dataclasses import replace

import pytest

from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.backend import assess_backend
from switchyard_operator.controller.status.conditions import MESSAGE_BYTES, Condition, Truth, bounded
from switchyard_operator.controller.status.events import notices
from switchyard_operator.controller.status.pinned import not_compared, pinned
from switchyard_operator.controller.status.probed import Answer, Probe, ProbeReason, Reach
from switchyard_sidecar.catalog.pins import Comparison
from unit.operator.declared import backend
from unit.operator.status.situations import held, in_short

REMEDY = "; see what changed, then `switchyard pin --write`"
WITHHELD = "; tools that are not as pinned, or not pinned, are withheld"


def found(enforced: bool = False, agreed: int = 0, **names: tuple[str, ...]) -> Comparison:
    return Comparison(enforced, agreed, *(names.get(each, ()) for each in ("drifted", "unpinned", "missing")))


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        (found(agreed=2), "True Agreed: 2 tools as pinned, and no other"),
        (found(agreed=1), "True Agreed: 1 tool as pinned, and no other"),
        (found(drifted=("a", "b")), f"False Drifted: not as pinned: a, b{REMEDY}"),
        (found(enforced=True, drifted=("a",)), f"False Drifted: not as pinned: a{WITHHELD}{REMEDY}"),
        (found(unpinned=("evil\nname",)), f"False NotPinned: without a digest: 1 tool{REMEDY}"),
        (found(missing=("gone",)), f"False Missing: pinned and not there: gone{REMEDY}"),
        (
            found(drifted=tuple("abcdefg"), unpinned=("x", "y"), missing=("z",)),
            f"False Drifted: not as pinned: a, b, c, d, e and 2 more; without a digest: 2 tools; pinned and not there: z{REMEDY}",
        ),
    ],
)
def test_what_differs_is_said_the_worst_first(comparison: Comparison, said: str) -> None:
    """With at most five names, all of them the resource's own."""
    condition = pinned(comparison)
    assert f"{condition.status} {condition.reason}: {condition.message}" == said


def test_the_longest_names_find_room() -> None:
    """A message is cut, and never refused by the API server."""
    condition = pinned(found(drifted=tuple(letter * 512 for letter in "abcdef")))
    assert len(bounded(condition.message).encode()) <= MESSAGE_BYTES


ANSWER = Answer("Modern", "2026-07-28", True, "gh", "1", 3, "ab12", pinned=pinned(found(drifted=("a",))))


@pytest.mark.parametrize(
    ("mode", "reach", "said"),
    [
        ("Warn", Reach(ProbeReason.ANSWERED, ANSWER), ["Pinned=False Drifted"]),
        ("Enforce", Reach(ProbeReason.TIMED_OUT, ANSWER, 3), ["Pinned=False Drifted"]),
        ("Warn", Reach(), ["Pinned=Unknown NotProbed"]),
        ("Warn", Reach(ProbeReason.CALLER_NEEDED), ["Pinned=Unknown CallerNeeded"]),
        ("Enforce", Reach(ProbeReason.ADDRESS_NOT_PROBED), ["Pinned=Unknown AddressNotProbed"]),
        ("Warn", Reach(ProbeReason.TIMED_OUT, None, 3), ["Pinned=Unknown TimedOut"]),
        ("None", Reach(ProbeReason.CALLER_NEEDED), []),
        ("None", Reach(ProbeReason.ANSWERED, ANSWER), []),
    ],
)
def test_it_is_said_while_it_is_asked_for(mode: str, reach: Reach, said: list[str]) -> None:
    """Also of a backend that does not answer any more: sidecars go on with what they have. Never silent; never part of `Ready`."""
    assessed = assess_backend(held(backend("gh", pinning={"mode": mode})), Objects(), reach)
    assert [f"{each.type}={each.status} {each.reason}" for each in assessed.conditions if each.type == "Pinned"] == said
    ready = assessed.conditions[-1]
    assert (ready.type, ready.status, ready.reason) == ("Ready", Truth.TRUE, "Ready")
    assert ready.message.startswith("is accepted, and all its references resolve")


@pytest.mark.parametrize("reach", [Reach(), Reach(ProbeReason.CALLER_NEEDED)])
def test_what_is_listed_to_callers_alone_is_known_to_be_unknown(reach: Reach) -> None:
    """From the start, and where nothing is probed at all."""
    pinned_for_callers = backend("gh", auth={"type": "Forward"}, pinning={"mode": "Enforce"})
    assert "Pinned=Unknown CallerNeeded" in in_short(assess_backend(held(pinned_for_callers), Objects(), reach))


@pytest.mark.parametrize(
    ("reason", "where"),
    [
        (
            ProbeReason.CALLER_NEEDED,
            "switchyard_backend_callers_as_pinned among its metrics, and pins_differ in its log",
        ),
        (ProbeReason.ADDRESS_NOT_PROBED, "switchyard_backend_pins among its metrics, and backends in its /status"),
        (ProbeReason.NOT_PROBED, "the backend has listed no tools to the operator yet"),
    ],
)
def test_where_nobody_looks_it_is_said_who_does(reason: ProbeReason, where: str) -> None:
    """The operator has no caller's token, and does not connect everywhere: only a sidecar compares then."""
    assert where in not_compared(reason).message
    assert list(notices([not_compared(reason)], [])) == []


def test_that_nobody_knew_is_not_remembered_as_an_answer() -> None:
    """A backend that was pinned before it answered is compared when it does."""
    answered = Reach().after(Probe(ProbeReason.ANSWERED, replace(ANSWER, pinned=None)))
    unknown = not_compared(ProbeReason.NOT_PROBED)
    stored = [
        {"type": each.type, "status": each.status.value, "reason": each.reason, "message": each.message}
        for each in (answered.condition, unknown)
    ]
    recalled = Reach.recalled({**answered.facts, "conditions": stored})
    assert recalled.answer is not None
    assert recalled.answer.pinned is None


def test_the_next_process_says_the_same() -> None:
    """A restart of the operator changes no status, though the digests that were compared are known to nobody any more."""
    reach = Reach().after(Probe(ProbeReason.ANSWERED, ANSWER))
    pins = ANSWER.pinned
    assert pins is not None
    stored = [
        {"type": each.type, "status": each.status.value, "reason": each.reason, "message": each.message}
        for each in (reach.condition, pins)
    ]
    recalled = Reach.recalled({**reach.facts, "conditions": stored})
    assert recalled.answer is not None
    assert recalled.answer.pinned == pins


def test_drift_is_an_event_and_so_is_its_end() -> None:
    """A warning once, and a word when all is as agreed again; a backend that agrees from the start goes without saying."""
    agreed, drifted = pinned(found(agreed=1)), pinned(found(drifted=("a",)))

    def said(now: Condition, *before: Condition) -> list[tuple[str, str, str]]:
        stored = [{"type": each.type, "status": each.status.value, "reason": each.reason} for each in before]
        return [(each.type, each.reason, each.action) for each in notices([now], stored)]

    assert said(drifted, agreed) == said(drifted) == [("Warning", "Drifted", "ComparePins")]
    assert said(agreed, drifted) == [("Normal", "Agreed", "ComparePins")]
    assert said(drifted, drifted) == said(agreed) == []
