"""What one caller may have at once."""

import pytest

from switchyard_sidecar.access.caller import ANONYMOUS
from switchyard_sidecar.downstream.quota import Quota
from switchyard_sidecar.protocol.errors import CallerOverloaded


def test_a_caller_has_as_many_as_it_may_and_others_theirs() -> None:
    """What is given back may be had again."""
    quota = Quota("calls under way", 2)
    for _ in range(2):
        quota.check("a")
        quota.take("a")
    with pytest.raises(CallerOverloaded, match="Too many calls under way of one caller") as refusal:
        quota.check("a")
    assert refusal.value.status == 429
    quota.check("b")
    quota.give_back("a")
    quota.check("a")


def test_nobody_in_particular_has_no_limit() -> None:
    """All who present nothing are one principal: agents in a pod must not take turns because of each other."""
    quota = Quota("calls under way", 1)
    for _ in range(100):
        quota.check(ANONYMOUS.principal)
        quota.take(ANONYMOUS.principal)


def test_another_limit_holds_at_once_and_takes_nothing_away() -> None:
    """A config that allows less lets nobody in before there is room by its own count."""
    quota = Quota("calls under way", 3)
    for _ in range(3):
        quota.take("a")
    quota.most = 2
    quota.give_back("a")
    with pytest.raises(CallerOverloaded):
        quota.check("a")
    quota.give_back("a")
    quota.check("a")


def test_callers_who_have_nothing_are_not_remembered() -> None:
    """Whoever invents principals fills no memory."""
    quota = Quota("calls under way", 1)
    for number in range(1000):
        quota.check(f"caller {number}")
        quota.take(f"caller {number}")
        quota.give_back(f"caller {number}")
    assert not quota._held
