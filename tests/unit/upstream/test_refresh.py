"""When a list is read again: the rules, one after the other, with a clock made of numbers."""

import pytest

from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.refresh import NOW, Refresh

PACE = Pace(poll_floor_s=5, later_look_s=1, gap_s=0.125, gap_max_s=1)


def read(refresh: Refresh, began: float, ended: float, *, changed: bool = True, ttl_s: float = 60) -> None:
    """One good read."""
    refresh.began(began)
    refresh.brought(ended, ttl_s=ttl_s, changed=changed)


@pytest.fixture
def refresh() -> Refresh:
    """A list that was read from 100 to 101, an age ago; no jitter."""
    made = Refresh(PACE, lambda: 0.0)
    read(made, 100, 101)
    return made


def test_nothing_is_due_while_nobody_asks(refresh: Refresh) -> None:
    """Without a subscriber an idle gateway leaves its backends alone."""
    assert refresh.due() is None
    assert not refresh.stale


def test_list_is_stale_before_the_first_read() -> None:
    """What came from elsewhere, a seed, is not to be believed."""
    assert Refresh(PACE, lambda: 0.0).stale


def test_asking_makes_a_read_due_at_once(refresh: Refresh) -> None:
    """A client waits."""
    refresh.asked()
    assert refresh.due() == NOW
    read(refresh, 200, 201)
    assert refresh.due() is None


def test_asking_during_a_read_joins_it(refresh: Refresh) -> None:
    """Single flight: no further read follows."""
    refresh.began(200)
    refresh.asked()
    refresh.brought(201, ttl_s=60, changed=True)
    assert refresh.due() is None


def test_notification_makes_the_list_stale_and_a_read_due(refresh: Refresh) -> None:
    """It stays stale until a read that began later has ended."""
    refresh.notified()
    stale = [refresh.stale]
    assert refresh.due() == 101.125  # long ago, at a time of 200
    refresh.began(200)
    stale.append(refresh.stale)
    refresh.brought(201, ttl_s=60, changed=True)
    stale.append(refresh.stale)
    assert stale == [True, True, False]
    assert refresh.due() is None


def test_burst_during_a_read_causes_exactly_one_more(refresh: Refresh) -> None:
    """Two hundred notifications in one read: one trailing read, and never none."""
    refresh.notified()
    refresh.began(200)
    for _ in range(200):
        refresh.notified()
    refresh.brought(201, ttl_s=60, changed=True)
    assert refresh.stale
    assert refresh.due() == 201.125
    read(refresh, 201.125, 202)
    assert refresh.due() is None


def test_notification_that_brought_nothing_is_followed_by_one_later_look(refresh: Refresh) -> None:
    """Some servers notify before their list has changed."""
    refresh.notified()
    read(refresh, 200, 201, changed=False)
    assert refresh.due() == 202
    assert not refresh.stale
    read(refresh, 202, 203, changed=False)
    assert refresh.due() is None


def test_no_later_look_after_what_brought_something(refresh: Refresh) -> None:
    """The notification has been answered for."""
    refresh.notified()
    read(refresh, 200, 201, changed=True)
    assert refresh.due() is None


def test_later_look_is_dropped_when_another_read_brings_the_change(refresh: Refresh) -> None:
    """Whatever it would have found was found."""
    refresh.notified()
    read(refresh, 200, 201, changed=False)
    refresh.asked()
    read(refresh, 201.5, 201.75, changed=True)
    assert refresh.due() is None


def test_doubt_causes_a_read_but_neither_staleness_nor_a_later_look(refresh: Refresh) -> None:
    """A stream that was opened or lost has announced nothing."""
    refresh.doubted()
    assert not refresh.stale
    assert refresh.due() == 101.125
    read(refresh, 200, 201, changed=False)
    assert refresh.due() is None


def test_server_that_notifies_when_listed_is_read_ever_more_seldom(refresh: Refresh) -> None:
    """Each read of such a server causes a notification; the distance doubles up to its bound, instead of a loop."""
    now = 200.0
    gaps = []
    refresh.notified()
    for _ in range(6):
        refresh.began(now)
        refresh.notified()
        refresh.brought(now, ttl_s=60, changed=False)
        due = refresh.due()
        assert due is not None
        gaps.append(due - now)
        now = due
    assert gaps == [0.25, 0.5, 1, 1, 1, 1]


def test_a_change_makes_notifications_prompt_again(refresh: Refresh) -> None:
    """The distance is for notifications that bring nothing."""
    for now in (200, 210, 220):
        refresh.notified()
        read(refresh, now, now + 1, changed=False)
    refresh.notified()
    read(refresh, 230, 231, changed=True)
    refresh.notified()
    assert refresh.due() == 231.125


@pytest.mark.parametrize(("ttl_s", "due"), [(0, 206), (1, 206), (5, 206), (60, 261)])
def test_list_is_polled_while_anyone_subscribes(ttl_s: float, due: float) -> None:
    """Each ttl, but not more often than the floor."""
    refresh = Refresh(PACE, lambda: 0.0)
    refresh.interested = True
    read(refresh, 200, 201, ttl_s=ttl_s)
    assert refresh.due() == due
    refresh.interested = False
    assert refresh.due() is None


def test_polls_come_later_by_jitter_never_earlier() -> None:
    """A list is not read while it is fresh."""
    refresh = Refresh(PACE, lambda: 1.0)
    refresh.interested = True
    read(refresh, 200, 200, ttl_s=100)
    assert refresh.due() == pytest.approx(310)


def test_failed_read_leaves_the_list_stale_and_a_read_wanted(refresh: Refresh) -> None:
    """A notification that led to a failed read is not forgotten: the next good one still gets its later look."""
    refresh.notified()
    refresh.began(200)
    refresh.failed()
    stale = [refresh.stale]
    assert refresh.due() is not None
    read(refresh, 210, 211, changed=False)
    stale.append(refresh.stale)
    assert stale == [True, False]
    assert refresh.due() == 212
