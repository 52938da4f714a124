"""The judge writes down what is wrong, and excuses what has a cause."""

import pytest

from soak.facts import CALL_RECOVERY_S, SLACK_S, Config, Definition, History, Listing
from soak.judge import Judge, Subscriber
from soak.plan import Kind

T = 1_000.0


class Clock:
    """A time that the test sets."""

    now = T

    def __call__(self) -> float:
        return self.now


def judge(clock: Clock | None = None) -> Judge:
    """A judge of one well backend ``x`` with a tool ``a`` that has always been there."""
    made = Judge(clock or Clock())
    made.model.backends["x"] = History("x", bound_s=5.0)
    made.model.configured(Config(0.0, ("x",)))
    made.model.loaded(1.0)
    made.model.version("x", 0.0, {"a": Definition(b"{", b"}")})
    made.model.read("x", 1.0, 0)
    return made


def invariants(found: Judge) -> list[str]:
    """What was violated."""
    return [violation.invariant for violation in found.violations]


@pytest.mark.parametrize(
    ("calls", "violated"),
    [
        pytest.param([("x", "a", "x/a/1", "s", "one")], [], id="right"),
        pytest.param([("x", "a", "y/a/1", "s", "one")], ["no call to the wrong backend"], id="another backend's"),
        pytest.param([("x", "a", "x/b/1", "s", "one")], ["no call to the wrong backend"], id="another tool's"),
        pytest.param([("x", "a", "x/a/1", "s", "one")] * 2, ["no call is made twice"], id="twice"),
        pytest.param(
            [("x", "a", "x/a/1", "s", "one"), ("x", "a", "x/a/2", "s", "two")],
            ["no caller meets another's state"],
            id="on another's session",
        ),
    ],
)
def test_a_call_comes_to_its_own_backend_once(calls: list[tuple[str, str, str, str, str]], violated: list[str]) -> None:
    """The token says what the caller meant."""
    found = judge()
    for call in calls:
        found.executed(*call)
    assert invariants(found) == violated


def test_a_refusal_of_a_well_backend_is_a_violation() -> None:
    """Nothing in the plan explains it."""
    found = judge()
    found.refused("x__a", "x/a/1", T - 1, "-32603")
    assert invariants(found) == ["a call of a well backend succeeds"]


def test_a_refusal_is_excused_by_an_illness_until_soon_after_it() -> None:
    """And not for ever."""
    clock = Clock()
    found = judge(clock)
    illness = found.falls_ill("x", Kind.DIE, recovery_s=30.0)
    clock.now += 5
    found.is_well(illness)
    found.refused("x__a", "x/a/1", clock.now + 1, "-32603")
    assert invariants(found) == []
    found.refused("x__a", "x/a/2", clock.now + CALL_RECOVERY_S + 1, "-32603")
    assert len(found.violations) == 1


def test_a_refusal_is_excused_if_the_tool_has_gone() -> None:
    """The caller's list was of before."""
    found = judge()
    found.model.version("x", T - 1, {"b": Definition(b"{", b"}")})
    found.refused("x__a", "x/a/1", T, "-32602")
    assert invariants(found) == []


def test_who_is_told_without_a_cause_is_told_wrongly() -> None:
    """A read that brought something new is a cause, for one notification."""
    clock = Clock()
    found = judge(clock)
    subscriber = Subscriber("s", "modern", T - 50)
    found.told(subscriber)
    assert invariants(found) == ["nobody is told when nothing changed", "each change is told once"]
    found = judge(clock)
    subscriber = Subscriber("s", "modern", T - 50)
    found.read("x", found.version("x", {"b": Definition(b"{", b"}")}))
    found.told(subscriber)
    assert invariants(found) == []
    found.told(subscriber)
    assert invariants(found) == ["each change is told once"]


def test_who_listens_and_was_not_told_is_found_out() -> None:
    """What it has listed is held against what is there now."""
    clock = Clock()
    found = judge(clock)
    subscriber = Subscriber("s", "modern", T - 50)
    definition = Definition(b"{", b"}")
    subscriber.listing = Listing("modern", T - 50, T - 50, (("x__a", definition.named("x__a")),))
    found.opened(subscriber)
    found.look()
    assert invariants(found) == []
    found.version("x", {"b": definition})
    clock.now += 5.0 + SLACK_S + 3.0
    found.look()
    assert invariants(found) == ["who listens learns the last state"]


def test_a_process_that_waits_for_a_cpu_is_excused_and_the_time_is_counted() -> None:
    """The machine is to blame, and the report says for how long."""
    clock = Clock()
    found = judge(clock)
    found.lags(3.0)
    found.refused("x__a", "x/a/1", T, "-32603")
    assert invariants(found) == []
    while found.model.lag_s > 0.1:
        clock.now += 0.25
        found.lags(0.0)
    assert found.counts["seconds starved"] > 5
    found.refused("x__a", "x/a/2", clock.now + 60, "-32603")
    assert len(found.violations) == 1


def test_a_session_is_known_until_its_key_is_the_third() -> None:
    """A key that was written at the same moment may not have been in use yet."""
    found = judge()
    found.rekeyed = [T, T + 30]
    found.forgot(T + 10)
    assert invariants(found) == ["sessions outlive the process"]
    found.forgot(T + 0.5)
    assert len(found.violations) == 1
