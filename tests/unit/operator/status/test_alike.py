"""What the status of a backend says of tools whose names look alike, and that it repeats none of these names."""

import pytest

from switchyard_operator.api.status import Condition as Stored
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.alike import alike
from switchyard_operator.controller.status.backend import assess_backend
from switchyard_operator.controller.status.conditions import MESSAGE_BYTES, Truth
from switchyard_operator.controller.status.events import notices
from switchyard_operator.controller.status.probed import Answer, Probe, ProbeReason, Reach
from switchyard_sidecar.catalog import lookalikes
from unit.operator.declared import backend
from unit.operator.status.situations import NOW, held, in_short

SMUGGLED = ("paypal", "p\u0430ypal", "pay\u200bpal", "list_1", "list_l", "getUser", "getuser")


@pytest.mark.parametrize(
    ("names", "reason", "said"),
    [
        (("getUser", "getuser", "PUT", "put"), "SameButCase", "2 groups of names differ in case alone"),
        (("list_1", "list_l"), "SameShape", "1 group of names looks the same"),
        (("sear\u0441h",), "MixedScripts", "1 name mixes scripts within a word"),
        (("a\u202e", "b\u202e"), "InvisibleCharacters", "2 names have characters that are not shown"),
        (
            SMUGGLED,
            "InvisibleCharacters",
            (
                "1 name has characters that are not shown; 1 name mixes scripts within a word; "
                "2 groups of names look the same; 1 group of names differs in case alone"
            ),
        ),
    ],
)
def test_what_looks_alike_is_counted_the_worst_first(names: tuple[str, ...], reason: str, said: str) -> None:
    """With where to read which, and in no words of the backend."""
    found = alike(lookalikes.among(names))
    assert found is not None
    assert (found.type, found.status, found.reason) == ("NamesLookAlike", Truth.TRUE, reason)
    assert found.message.startswith(f"of its tools, {said}; `switchyard pin` and the sidecar's log")
    assert found.message.isascii()
    assert not any(name in found.message for name in names)


def test_names_that_are_told_apart_at_sight_are_not_mentioned() -> None:
    """Nearly all backends have no such condition."""
    assert alike(lookalikes.among(["search", "search_code", "get_user"])) is None


def test_however_many_names_there_are_the_message_is_short() -> None:
    """No entry a tool."""
    found = alike(
        lookalikes.among([f"{word}{number}" for number in range(5000) for word in ("tool", "Tool", "t\u200b")])
    )
    assert found is not None
    assert len(found.message.encode()) < MESSAGE_BYTES


FOUND = alike(lookalikes.among(SMUGGLED))
ANSWER = Answer("Modern", "2026-07-28", True, "gh", "1", 3, "ab12", alike=FOUND)


def test_it_is_said_of_the_backend_beside_what_decides() -> None:
    """Also of one that does not answer any more. It is no part of `Ready`, and nothing to wait for."""
    for reach in (Reach(ProbeReason.ANSWERED, ANSWER), Reach(ProbeReason.TIMED_OUT, ANSWER, 3)):
        assessed = in_short(assess_backend(held(backend("gh")), Objects(), reach))
        assert assessed[-2:] == ["NamesLookAlike=True InvisibleCharacters", "Ready=True Ready"]
        assert not {"Stalled", "Reconciling"} & {each.partition("=")[0] for each in assessed}
    assert not any("Alike" in each for each in in_short(assess_backend(held(backend("gh")), Objects(), Reach())))


def test_the_api_server_takes_the_condition_and_the_next_process_says_the_same() -> None:
    """A restart of the operator, which knows no names until it has looked, changes no status."""
    reach = Reach().after(Probe(ProbeReason.ANSWERED, ANSWER))
    item = held(backend("gh"))
    status = assess_backend(item, Objects(), reach).status(item.generation, {}, NOW)
    assert [Stored.model_validate(each).type for each in status["conditions"]].count("NamesLookAlike") == 1
    recalled = Reach.recalled(status)
    assert recalled.answer is not None
    assert recalled.answer.alike == FOUND


def test_it_is_an_event_once_and_again_when_it_is_worse() -> None:
    """A warning, as drift is."""
    case, hidden = (alike(lookalikes.among(names)) for names in (("a", "A"), ("a\u200b",)))
    assert case is not None
    assert hidden is not None
    stored = [{"type": case.type, "status": case.status.value, "reason": case.reason}]
    assert [(each.type, each.reason, each.action) for each in notices([case], [])] == [
        ("Warning", "SameButCase", "CompareNames")
    ]
    assert list(notices([case], stored)) == []
    assert [each.reason for each in notices([hidden], stored)] == ["InvisibleCharacters"]
