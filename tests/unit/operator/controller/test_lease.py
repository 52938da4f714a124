"""Who may write, as each replica sees it by its own clock, and as it is."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.lease import Leadership

KEY = Key("switchyard", "operator")
WALL = datetime(2026, 7, 28, 12, 0, 0, 250, tzinfo=UTC)


@dataclass
class Clock:
    """A monotonic clock that somebody turns."""

    time: float = 1000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Lease:
    """The Lease at the API server, which changes only for those who have read its present version."""

    raw: dict[str, Any] | None = None
    version: int = 0

    def read(self) -> dict[str, Any] | None:
        return self.raw

    def write(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The new Lease; ``None`` for 409."""
        expected = body["metadata"].get("resourceVersion")
        if expected != (None if self.raw is None else self.raw["metadata"]["resourceVersion"]):
            return None
        self.version += 1
        self.raw = body | {"metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        return self.raw


def turn(replica: Leadership, lease: Lease) -> bool:
    """One round without hindrance. Returns whether the replica wrote."""
    replica.saw(lease.read())
    body = replica.bid(WALL)
    answer = lease.write(body) if body is not None else None
    if answer is not None:
        replica.won(answer)
    return answer is not None


def test_the_first_makes_the_lease_and_the_second_waits() -> None:
    """It says who holds it, for how long and since when."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, clock), Leadership("two", KEY, clock)
    assert turn(one, lease)
    assert not turn(two, lease)
    assert lease.raw == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": "switchyard", "name": "operator", "resourceVersion": "1"},
        "spec": {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-07-28T12:00:00.000250Z",
            "renewTime": "2026-07-28T12:00:00.000250Z",
            "leaseTransitions": 0,
        },
    }
    assert (one.may_write(), two.may_write()) == (True, False)
    assert (one.term, two.term) == (0, None)


@pytest.mark.parametrize(("after_s", "may_write"), [(0, True), (9.99, True), (10, False), (60, False)])
def test_the_right_to_write_lasts_two_thirds_of_the_duration(after_s: float, may_write: bool) -> None:
    """Since the last renewal was sent."""
    clock, lease = Clock(), Lease()
    one = Leadership("one", KEY, clock)
    turn(one, lease)
    clock.time += after_s
    assert one.may_write() is may_write


def test_it_counts_from_sending_not_from_the_answer() -> None:
    """The answer may take long."""
    clock, lease = Clock(), Lease()
    one = Leadership("one", KEY, clock)
    one.saw(None)
    body = one.bid(WALL)
    assert body is not None
    answer = lease.write(body)
    assert answer is not None
    clock.time += 9
    one.won(answer)
    assert one.may_write()
    clock.time += 1
    assert not one.may_write()


@pytest.mark.parametrize(("after_s", "takes_over"), [(14.9, False), (15, True)])
def test_a_record_that_nobody_renews_is_over_after_its_duration(after_s: float, takes_over: bool) -> None:
    """As seen by the other's own clock, since it first saw it, whatever times stand in it."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, Clock(5.0)), Leadership("two", KEY, clock)
    turn(one, lease)
    turn(two, lease)
    clock.time += after_s
    assert turn(two, lease) is takes_over
    assert two.term == (1 if takes_over else None)


def test_a_renewed_record_begins_anew() -> None:
    """Whoever sees it change waits for the whole duration again."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, clock), Leadership("two", KEY, clock)
    turn(one, lease)
    turn(two, lease)
    clock.time += 14
    turn(one, lease)
    turn(two, lease)
    clock.time += 14
    assert not turn(two, lease)


def test_a_holder_with_a_longer_duration_is_waited_for() -> None:
    """It may be configured otherwise, or of another release."""
    clock, lease = Clock(), Lease()
    turn(Leadership("one", KEY, clock, duration_s=60), lease)
    two = Leadership("two", KEY, clock)
    turn(two, lease)
    clock.time += 59
    assert not turn(two, lease)
    clock.time += 1
    assert turn(two, lease)


def test_whoever_acts_on_what_it_saw_long_ago_gets_a_conflict() -> None:
    """It was stopped after it had seen the record; the holder has renewed it since."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, clock), Leadership("two", KEY, clock)
    turn(one, lease)
    turn(two, lease)
    clock.time += 12
    turn(one, lease)
    clock.time += 4
    body = two.bid(WALL)  # it has not read again
    assert body is not None
    assert lease.write(body) is None
    assert (one.may_write(), two.may_write()) == (True, False)


def test_an_attempt_without_an_answer_gives_no_right() -> None:
    """It is in force, as the next look shows; the right begins when a renewal succeeds."""
    clock, lease = Clock(), Lease()
    one = Leadership("one", KEY, clock)
    one.saw(None)
    body = one.bid(WALL)
    assert body is not None
    lease.write(body)
    one.saw(lease.read())
    assert (one.may_write(), one.term) == (False, None)
    assert turn(one, lease)
    assert (one.may_write(), one.term) == (True, 0)


def test_seeing_another_holder_ends_the_right_at_once() -> None:
    """However little time has passed."""
    clock, lease = Clock(), Lease()
    one = Leadership("one", KEY, clock)
    turn(one, lease)
    assert lease.raw is not None
    one.saw(lease.raw | {"spec": {**lease.raw["spec"], "holderIdentity": "two"}})
    assert (one.may_write(), one.term) == (False, None)


def test_whoever_resigns_lets_another_begin_at_once() -> None:
    """And may not write from then on."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, clock), Leadership("two", KEY, clock)
    turn(one, lease)
    turn(two, lease)
    assert two.resign(WALL) is None
    body = one.resign(WALL)
    assert body is not None
    assert not one.may_write()
    lease.write(body)
    assert turn(two, lease)
    assert (two.may_write(), two.term) == (True, 1)


def test_each_term_has_a_number_of_its_own() -> None:
    """Whoever leads, loses and leads again can tell, however little it has seen of the time between."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, clock), Leadership("two", KEY, clock)
    turn(one, lease)
    terms = [one.term]
    turn(two, lease)
    clock.time += 15
    turn(two, lease)
    body = two.resign(WALL)
    assert body is not None
    lease.write(body)
    turn(one, lease)
    terms.append(one.term)
    turn(one, lease)
    terms.append(one.term)
    assert terms == [0, 2, 2]


def test_what_others_wrote_into_the_lease_stays() -> None:
    """Labels and annotations are not ours to drop. Until it is known who wrote, it counts as renewed."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, clock), Leadership("two", KEY, clock)
    turn(one, lease)
    turn(two, lease)
    clock.time += 10
    assert lease.raw is not None
    lease.write(lease.raw | {"metadata": {**lease.raw["metadata"], "labels": {"x": "y"}}})
    turn(two, lease)
    clock.time += 14
    assert not turn(two, lease)
    clock.time += 1
    assert turn(two, lease)
    assert lease.raw["metadata"]["labels"] == {"x": "y"}


def test_a_holder_whose_clock_stands_still_is_alive_all_the_same() -> None:
    """The times in the record are for people."""
    clock, lease = Clock(), Lease()
    one, two = Leadership("one", KEY, clock), Leadership("two", KEY, clock)
    for _ in range(6):
        turn(one, lease)
        assert not turn(two, lease)
        clock.time += 5


@dataclass
class Process:
    """A replica that is stopped and goes on at any moment: between reading, deciding, sending and hearing the answer."""

    name: str
    offset: float
    """Its clock against the real one."""
    lease: Lease
    real: Clock
    replica: Leadership = field(init=False)
    rounds: Any = field(init=False)

    def __post_init__(self) -> None:
        self.replica = Leadership(self.name, KEY, lambda: self.real() + self.offset)
        self.rounds = self._run()

    def _run(self) -> Any:
        while True:
            seen = self.lease.read()
            yield  # the answer is on its way
            self.replica.saw(seen)
            yield  # stopped before deciding
            body = self.replica.bid(WALL)
            yield  # the request is on its way
            if body is None:
                continue
            answer = self.lease.write(body)
            lost = yield  # so is the answer, or it never comes
            if answer is not None and not lost:
                self.replica.won(answer)
            yield

    def step(self, *, lost: bool) -> None:
        """Go on to where it may be stopped next."""
        try:
            self.rounds.send(lost)
        except TypeError:
            next(self.rounds)


PASSED_S = st.sampled_from([0.0, 0.1, 3.0, 7.5, 9.9, 15.0, 40.0])
MOMENTS = st.lists(
    st.tuples(st.sampled_from([0, 1]), PASSED_S, st.sampled_from([1, 2, 5, 10]), st.booleans()),
    min_size=10,
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(MOMENTS, st.floats(-1e6, 1e6))
def test_there_are_never_two_who_may_write(moments: list[tuple[int, float, int, bool]], offset: float) -> None:
    """However long each is stopped, wherever it is stopped, whatever its clock says, whichever answers are lost."""
    lease, real = Lease(), Clock()
    processes = [Process("one", 0.0, lease, real), Process("two", offset, lease, real)]
    terms: list[tuple[str, int | None]] = []
    for which, passed, steps, lost in moments:
        real.time += passed
        for _ in range(steps):
            processes[which].step(lost=lost)
            able = [each for each in processes if each.replica.may_write()]
            assert len(able) <= 1
            terms += [(each.name, each.replica.term) for each in able]
    assert len({term for _, term in terms}) == len(set(terms)), "two had the same term"


def test_one_of_two_always_leads_in_the_end() -> None:
    """Nothing blocks the way for good: when the holder is gone, the other begins within two durations."""
    lease, real = Lease(), Clock()
    one, two = (Process(name, 0.0, lease, real) for name in ("one", "two"))
    for _ in range(8):
        one.step(lost=False)
    assert one.replica.may_write()
    for _ in range(6):
        real.time += 5
        for _ in range(5):
            two.step(lost=False)
    assert two.replica.may_write()
