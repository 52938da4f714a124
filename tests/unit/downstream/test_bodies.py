"""Who holds how much of the budget for request bodies, and who gives way."""

from contextlib import ExitStack

from switchyard_sidecar.downstream.bodies import SMALL_BYTES, Budget, Share

KIB = 1024
TOTAL = 1024 * KIB
FOR_LARGE_ONES = 768 * KIB


def shares(budget: Budget, stack: ExitStack, count: int) -> list[Share]:
    """So many bodies that begin to arrive, one after the other."""
    return [stack.enter_context(budget.share()) for _ in range(count)]


def test_largest_gives_way() -> None:
    """Not whoever comes last: a large body never keeps a lesser one out."""
    budget = Budget(TOTAL)
    with ExitStack() as stack:
        large, middle, other = shares(budget, stack, 3)
        assert budget.grow(large, 500 * KIB) == []
        assert budget.grow(middle, 200 * KIB) == []
        assert budget.grow(other, 100 * KIB) == [large]
        assert (large.gave_way, large.size, budget.held) == (True, 0, 300 * KIB)


def test_body_that_would_be_the_largest_gives_way_itself() -> None:
    """It is refused at the first byte for which there is no room, and the others go on."""
    budget = Budget(TOTAL)
    with ExitStack() as stack:
        one, other = shares(budget, stack, 2)
        assert budget.grow(one, 400 * KIB) == []
        assert budget.grow(other, 300 * KIB) == []
        assert budget.grow(other, 200 * KIB) == [other]
        assert (one.gave_way, budget.held) == (False, 400 * KIB)


def test_oldest_of_equals_gives_way() -> None:
    """It has stalled the longest."""
    budget = Budget(TOTAL)
    with ExitStack() as stack:
        oldest, newer, newest = shares(budget, stack, 3)
        assert budget.grow(newer, 256 * KIB) == []
        assert budget.grow(oldest, 256 * KIB) == []
        assert budget.grow(newest, 256 * KIB) == []
        assert budget.grow(newest, 0) == []
        assert budget.held == FOR_LARGE_ONES
        late = stack.enter_context(budget.share())
        assert budget.grow(late, 100 * KIB) == [oldest]


def test_quarter_is_for_small_bodies_alone() -> None:
    """Calls under way keep their large arguments, and cannot give way."""
    budget = Budget(TOTAL)
    with ExitStack() as stack:
        called, large, *small = shares(budget, stack, 7)
        assert budget.grow(called, FOR_LARGE_ONES) == []
        budget.arrived(called)
        for each in small[:4]:
            assert budget.grow(each, SMALL_BYTES) == []
        assert budget.held == TOTAL
        assert budget.grow(large, SMALL_BYTES + 1) == [large]
        assert budget.grow(small[4], SMALL_BYTES) == [small[0]]
        assert (called.gave_way, budget.held) == (False, TOTAL)


def test_small_body_counts_no_more_once_it_has_arrived_and_a_large_one_until_it_was_answered() -> None:
    """What a change stream was asked for with is not held for as long as the stream is open."""
    budget = Budget(TOTAL)
    with budget.share() as small:
        budget.grow(small, SMALL_BYTES)
        assert budget.held == SMALL_BYTES
        budget.arrived(small)
        assert budget.held == 0
    with budget.share() as large:
        budget.grow(large, SMALL_BYTES + 1)
        budget.arrived(large)
        assert budget.held == SMALL_BYTES + 1
    assert budget.held == 0


def test_whatever_ends_a_body_gives_its_bytes_back() -> None:
    """Also one that gave way before."""
    budget = Budget(TOTAL)
    with ExitStack() as stack:
        gone, stays = shares(budget, stack, 2)
        budget.grow(gone, 500 * KIB)
        assert budget.grow(stays, 300 * KIB) == [gone]
    assert budget.held == 0
