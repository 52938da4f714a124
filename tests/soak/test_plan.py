"""Plans are data: made from a seed alone, and fit to be carried out."""

import itertools

import pytest

from soak import plan
from soak.plan import CALM_S, CAST, LULL_S, Kind, Player, Role
from soak.test_soak import SEED

PLANS = pytest.mark.parametrize("seed", range(20))


def test_a_seed_decides_the_whole_plan() -> None:
    """What was seen once can be made to happen again."""
    assert plan.make(7, 600.0) == plan.make(7, 600.0)
    assert plan.make(7, 600.0) != plan.make(8, 600.0)


@PLANS
def test_events_are_in_order_and_leave_the_end_calm(seed: int) -> None:
    """Each event begins and ends before the time in which everything has to settle."""
    events = plan.make(seed, 120.0)
    assert [event.at_s for event in events] == sorted(event.at_s for event in events)
    assert all(event.at_s + event.for_s <= 120.0 - CALM_S for event in events)


@PLANS
def test_faults_of_one_backend_do_not_overlap(seed: int) -> None:
    """A backend has one illness at a time, and is well in between."""
    for player in CAST:
        faults = [event for event in plan.make(seed, 600.0) if event.target == player.name and event.for_s]
        assert all(second.at_s - (first.at_s + first.for_s) > 5.0 for first, second in itertools.pairwise(faults))


@PLANS
def test_well_backends_never_fail(seed: int) -> None:
    """What is measured at the well backends is the gateway's doing."""
    well = {player.name for player in CAST if player.role is Role.WELL}
    assert {event.kind for event in plan.make(seed, 600.0) if event.target in well} == {
        Kind.GROW,
        Kind.SHRINK,
        Kind.EDIT,
    }


@PLANS
def test_lulls_are_lulls(seed: int) -> None:
    """Nothing that could be told of happens in a lull."""
    events = plan.make(seed, 600.0)
    lulls = [event for event in events if event.kind is Kind.LULL]
    assert len(lulls) > 5
    for event in events:
        if event.kind not in {Kind.LULL, Kind.STORM}:
            assert not any(lull.at_s <= event.at_s <= lull.at_s + LULL_S for lull in lulls)


@PLANS
def test_the_sidecar_is_restarted_early_alone(seed: int) -> None:
    """The last of its processes lives long enough to show what it leaks."""
    restarts = [event.at_s for event in plan.make(seed, 600.0) if event.kind in {Kind.TERMINATE, Kind.KILL}]
    assert len(restarts) > 5
    assert max(restarts) < 200.0


def test_real_servers_die_and_hang() -> None:
    """Nothing else can be done to them from outside."""
    real = Player("python-2", Role.REAL, "modern")
    assert {event.kind for event in plan.make(1, 600.0, [real]) if event.target == "python-2"} == {Kind.DIE, Kind.HANG}


def test_the_minute_in_the_test_run_has_everything_in_it() -> None:
    """The short soak's seed was chosen so."""
    assert {event.kind for event in plan.make(SEED, 60.0)} == set(Kind)
