"""Who is told when a list changes."""

import pytest

from switchyard_sidecar.downstream.hub import Hub
from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.protocol.versions import Era


@pytest.fixture
def interest() -> list[bool]:
    return []


@pytest.fixture
def hub(interest: list[bool]) -> Hub:
    hub = Hub(interest.append, Pace())
    publish(hub, b"one")
    return hub


def publish(hub: Hub, modern: bytes, legacy: bytes | None = None) -> None:
    hub.publish({Era.MODERN: modern, Era.LEGACY: modern if legacy is None else legacy})


async def test_subscriber_is_told_once_of_one_change(hub: Hub) -> None:
    """One change, one notification, then silence."""
    with hub.subscribed(Era.MODERN) as subscriber:
        publish(hub, b"two")
        assert await subscriber.wait()
        assert hub.take(subscriber)
        assert not hub.take(subscriber)


async def test_storm_of_changes_is_told_once(hub: Hub) -> None:
    """There is one slot a subscriber, not a queue, and the last change is never lost."""
    with hub.subscribed(Era.MODERN) as subscriber:
        for number in range(200):
            publish(hub, b"%d" % number)
        assert hub.take(subscriber)
        assert not hub.take(subscriber)
        publish(hub, b"last")
        assert hub.take(subscriber)


async def test_change_that_is_undone_tells_nobody(hub: Hub) -> None:
    """What counts is what the subscriber was last told."""
    with hub.subscribed(Era.MODERN) as subscriber:
        publish(hub, b"two")
        publish(hub, b"one")
        assert not hub.take(subscriber)


async def test_change_of_the_other_eras_view_tells_nobody(hub: Hub) -> None:
    """A tool that only modern clients see is no news for a legacy one."""
    with hub.subscribed(Era.LEGACY) as subscriber:
        publish(hub, b"two", legacy=b"one")
        assert not hub.take(subscriber)


async def test_stream_that_follows_another_of_its_session_is_told_what_it_missed(hub: Hub) -> None:
    """A change between two GET streams is not lost."""
    with hub.subscribed(Era.LEGACY, told=b"zero") as subscriber:
        assert await subscriber.wait()
        assert hub.take(subscriber)


def test_interest_is_said_when_the_first_comes_and_the_last_leaves(hub: Hub, interest: list[bool]) -> None:
    """Backends are looked at by themselves only while anyone listens."""
    with hub.subscribed(Era.MODERN), hub.subscribed(Era.LEGACY):
        assert interest == [True]
    assert interest == [True, False]


async def test_end_reaches_every_stream(hub: Hub) -> None:
    """Shutdown gives each its graceful end, also one that is asked for meanwhile."""
    with hub.subscribed(Era.MODERN) as one, hub.subscribed(Era.LEGACY) as two:
        hub.end_all()
        assert await one.wait()
        assert await two.wait()
        assert one.ending
        assert two.ending
    with hub.subscribed(Era.MODERN) as late:
        assert late.ending
