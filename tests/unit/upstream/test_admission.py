"""How callers share what one backend may be asked at once."""

from collections.abc import Sequence

import pytest

from switchyard_sidecar.access.caller import ANONYMOUS
from switchyard_sidecar.upstream.admission import Share

NOBODY = ANONYMOUS.principal


def taken(share: Share, principal: str) -> int:
    """How many more this caller gets."""
    count = 0
    while share.has_room(principal):
        share.take(principal)
        count += 1
    return count


@pytest.mark.parametrize(
    ("callers", "expected"),
    [
        pytest.param(["a"], [192], id="one alone: three quarters"),
        pytest.param(["a", "b", "c", "d", "e"], [192, 48, 12, 3, 1], id="each leaves something to the next"),
        pytest.param([NOBODY], [256], id="who is nobody in particular: all"),
        pytest.param(["a", NOBODY, "b"], [192, 64, 0], id="all is all"),
    ],
)
def test_no_caller_takes_all(callers: Sequence[str], expected: Sequence[int]) -> None:
    """One after another takes what it gets, and gives nothing back."""
    share = Share(256)
    assert [taken(share, caller) for caller in callers] == expected


@pytest.mark.parametrize("most", [1, 2, 3])
def test_small_share_is_of_use_to_everyone(most: int) -> None:
    """A caller who has nothing gets the last place too."""
    share = Share(most)
    assert taken(share, "a") >= 1
    share = Share(most)
    for number in range(most):
        assert share.has_room(f"caller {number}")
        share.take(f"caller {number}")
    assert not share.has_room("late")


def test_what_is_given_back_can_be_had_again() -> None:
    """By the same caller, and by others."""
    share = Share(4)
    assert taken(share, "a") == 3
    assert taken(share, "b") == 1
    share.give_back("b")
    assert share.has_room("c")
    assert not share.has_room("a")
    for _ in range(3):
        share.give_back("a")
    assert taken(share, "a") == 3
