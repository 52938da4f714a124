"""Who is told when a list changes."""

import asyncio
from collections.abc import Collection

import pytest
import pytest_asyncio

from fakes.board import Board
from fakes.clock import Clock
from switchyard_sidecar.access.caller import ANONYMOUS, Caller
from switchyard_sidecar.downstream.hub import BATCH, LONGEST_ALARM_S, Hub, Subscriber
from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.protocol.errors import McpError, Overloaded
from switchyard_sidecar.protocol.versions import Era

KEEP_ALIVE_S = 20.0


class Recorder(Subscriber):
    """A subscriber whose peer takes what it likes."""

    __slots__ = ("busy", "heard")

    def __init__(
        self,
        era: Era = Era.MODERN,
        *,
        wants: bool = True,
        caller: Caller = ANONYMOUS,
        told: bytes | None = None,
        ends_at: float = float("inf"),
    ) -> None:
        super().__init__(era, wants=wants, caller=caller, told=told, ends_at=ends_at)
        self.busy = False
        self.heard: list[str] = []

    @property
    def ready(self) -> bool:
        return not self.busy

    def tell(self) -> None:
        self.heard.append("changed")

    def comment(self) -> None:
        self.heard.append("comment")

    def end(self) -> None:
        self.busy = True
        self.heard.append("end")

    def drop(self) -> None:
        self.heard.append("drop")


@pytest.fixture
def board() -> Board:
    return Board(b"one")


@pytest_asyncio.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def hub(board: Board) -> Hub:
    return Hub(lambda _: board, lambda: None, Pace(streams=3 * BATCH, keep_alive_s=KEEP_ALIVE_S))


def publish(hub: Hub, board: Board, modern: bytes, legacy: bytes | None = None) -> None:
    board.show(modern, legacy)
    hub.publish()


def joined(hub: Hub, subscriber: Recorder) -> Recorder:
    hub.join(subscriber)
    return subscriber


async def turn(times: int = 1) -> None:
    """Let the loop have this many turns."""
    for _ in range(times):
        await asyncio.sleep(0)


def forget(hub: Hub, subscribers: Collection[Recorder]) -> None:
    for subscriber in subscribers:
        hub.leave(subscriber)


async def test_subscriber_is_told_once_of_one_change(hub: Hub, board: Board) -> None:
    """One change, one notification, then silence; and none for what it knew when it came."""
    subscriber = joined(hub, Recorder())
    await turn()
    assert subscriber.heard == []
    publish(hub, board, b"two")
    await turn(3)
    assert subscriber.heard == ["changed"]
    assert hub.told_total == 1
    hub.leave(subscriber)


async def test_storm_of_changes_is_told_once_to_whoever_is_not_ready(hub: Hub, board: Board) -> None:
    """There is no queue: one notification follows when the peer has caught up, and the last change is never lost."""
    subscriber = joined(hub, Recorder())
    subscriber.busy = True
    for number in range(200):
        publish(hub, board, b"%d" % number)
        await turn()
    assert subscriber.heard == []
    subscriber.busy = False
    hub.look(subscriber)
    hub.look(subscriber)
    assert subscriber.heard == ["changed"]
    publish(hub, board, b"last")
    await turn()
    assert subscriber.heard == ["changed", "changed"]
    hub.leave(subscriber)


async def test_change_that_is_undone_tells_nobody(hub: Hub, board: Board) -> None:
    """What counts is what the subscriber was last told."""
    subscriber = joined(hub, Recorder())
    subscriber.busy = True
    publish(hub, board, b"two")
    await turn()
    publish(hub, board, b"one")
    subscriber.busy = False
    hub.look(subscriber)
    await turn()
    assert subscriber.heard == []
    hub.leave(subscriber)


async def test_change_of_the_other_eras_view_tells_nobody(hub: Hub, board: Board) -> None:
    """A tool that only modern clients see is no news for a legacy one."""
    modern, legacy = joined(hub, Recorder()), joined(hub, Recorder(Era.LEGACY))
    publish(hub, board, b"two", legacy=b"one")
    await turn()
    assert (modern.heard, legacy.heard) == (["changed"], [])
    forget(hub, [modern, legacy])


async def test_stream_that_asked_for_nothing_is_told_nothing(hub: Hub, board: Board) -> None:
    """It stays open all the same."""
    subscriber = joined(hub, Recorder(wants=False))
    publish(hub, board, b"two")
    await turn()
    assert (subscriber.heard, hub.told_total, len(hub)) == ([], 0, 1)
    hub.leave(subscriber)


async def test_stream_that_follows_another_of_its_session_is_told_what_it_missed(hub: Hub) -> None:
    """A change between two GET streams is not lost, and needs no further change to be told."""
    subscriber = joined(hub, Recorder(Era.LEGACY, told=b"zero"))
    assert subscriber.heard == ["changed"]
    hub.leave(subscriber)


async def test_view_is_followed_as_long_as_streams_are_open(board: Board) -> None:
    """Backends are looked at by themselves only while anyone listens; the last who leaves is waited for."""
    last = []
    hub = Hub(lambda _: board, lambda: last.append(board.followers), Pace())
    both = [joined(hub, Recorder()), joined(hub, Recorder(Era.LEGACY))]
    assert board.followers == 2
    forget(hub, both)
    assert (board.followers, last) == (0, [0])


async def test_each_is_told_of_what_its_own_caller_sees() -> None:
    """A change of one view is no news to whoever sees another; changes of many in one turn are looked at once."""
    boards = {name: Board(b"one") for name in ("alice", "bob")}
    hub = Hub(lambda caller: boards[caller.principal], lambda: None, Pace())
    alice, bob = (joined(hub, Recorder(caller=Caller(name))) for name in boards)
    publish(hub, boards["alice"], b"two")
    await turn()
    assert (alice.heard, bob.heard) == (["changed"], [])
    publish(hub, boards["alice"], b"three")
    publish(hub, boards["bob"], b"two")
    await turn()
    assert (alice.heard, bob.heard) == (["changed"] * 2, ["changed"])
    forget(hub, [alice, bob])


async def test_new_config_decides_anew_who_sees_what() -> None:
    """A stream goes on with another view, and hears of it if that differs; where there is no room for one, it ends."""
    shown = {"same": Board(b"one"), "other": Board(b"one"), "none": Board(b"one")}
    former = dict(shown)

    def outlook_of(caller: Caller) -> Board:
        if caller.principal not in shown:
            raise Overloaded("no room")
        return shown[caller.principal]

    hub = Hub(outlook_of, lambda: None, Pace())
    same, other, none = (joined(hub, Recorder(caller=Caller(name))) for name in shown)
    shown["same"], shown["other"] = Board(b"one"), Board(b"two")
    del shown["none"]
    for each in former.values():
        each.retired = True
    hub.publish()
    await turn()
    assert (same.heard, other.heard, none.heard) == ([], ["changed"], ["end"])
    late = joined(hub, Recorder(caller=Caller("none")))
    assert late.heard == ["end"]
    assert [each.followers for each in (*former.values(), *shown.values())] == [0, 0, 0, 1, 1]
    with pytest.raises(Overloaded):
        hub.check_room(Caller("none"))
    forget(hub, [same, other, none, late])
    assert [each.followers for each in shown.values()] == [0, 0]


async def test_all_streams_end_when_told_to_and_others_may_open(hub: Hub) -> None:
    """For what is known of their callers is not enough any more."""
    before = joined(hub, Recorder())
    hub.end_all()
    await turn()
    after = joined(hub, Recorder())
    await turn()
    assert (before.heard, after.heard) == (["end"], [])
    forget(hub, [before, after])


async def test_one_more_than_there_is_room_for_is_refused(hub: Hub) -> None:
    """Overload is said with 503."""
    many = [joined(hub, Recorder()) for _ in range(3 * BATCH - 1)]
    hub.check_room(ANONYMOUS)
    many.append(joined(hub, Recorder()))
    with pytest.raises(McpError) as refused:
        hub.check_room(ANONYMOUS)
    assert refused.value.status == 503
    forget(hub, many)


async def test_many_are_told_in_batches_between_which_the_loop_has_its_turn(hub: Hub, board: Board) -> None:
    """However many listen, no turn of the loop is longer than a batch; nor does whoever publishes pay for it."""
    many = [joined(hub, Recorder()) for _ in range(2 * BATCH + 1)]
    publish(hub, board, b"two")
    told = []
    for _ in range(4):
        told.append(hub.told_total)
        await turn()
    assert told == [0, BATCH, 2 * BATCH, 2 * BATCH + 1]
    assert all(each.heard == ["changed"] for each in many)
    forget(hub, many)


async def test_change_during_a_change_is_told_first_to_who_has_waited_longest(hub: Hub, board: Board) -> None:
    """Changes that follow each other quickly starve nobody, and nobody hears of one twice."""
    many = [joined(hub, Recorder()) for _ in range(2 * BATCH)]
    publish(hub, board, b"two")
    await turn()
    publish(hub, board, b"three")
    await turn()
    assert all(each.heard == ["changed"] for each in many)
    await turn()
    assert all(each.heard == ["changed"] * 2 for each in many[:BATCH])
    assert all(each.heard == ["changed"] for each in many[BATCH:])
    forget(hub, many)


async def test_who_left_while_a_change_is_told_is_passed_over(hub: Hub, board: Board) -> None:
    """Nothing is done to a stream that is gone."""
    many = [joined(hub, Recorder()) for _ in range(2 * BATCH)]
    publish(hub, board, b"two")
    await turn()
    gone = many.pop()
    hub.leave(gone)
    await turn(2)
    assert (gone.heard, hub.told_total) == ([], 2 * BATCH - 1)
    forget(hub, many)


async def test_silent_streams_get_comments_and_others_none(hub: Hub, board: Board, clock: Clock) -> None:
    """A notification is as good as a comment; a peer that lags gets neither, and stands in nobody's way."""
    lagging, silent, talking = (joined(hub, Recorder(era)) for era in (Era.MODERN, Era.MODERN, Era.LEGACY))
    lagging.busy = True
    for number in range(1, 8):
        await clock.advance(KEEP_ALIVE_S / 2)
        publish(hub, board, b"one", legacy=b"%d" % number)
        await turn()
    assert silent.heard == ["comment"] * 3
    assert talking.heard == ["changed"] * 7
    assert lagging.heard == []
    lagging.busy = False
    await clock.advance(KEEP_ALIVE_S)
    assert lagging.heard == ["comment"]
    forget(hub, [silent, lagging, talking])


async def test_comments_that_are_due_together_come_in_batches(hub: Hub, clock: Clock) -> None:
    """They are spread over turns of the loop, and each silent stream has had its own before any has another."""
    many = [joined(hub, Recorder()) for _ in range(2 * BATCH + 1)]
    await clock.advance(KEEP_ALIVE_S - 0.1)
    assert not any(each.heard for each in many)
    advancing = asyncio.create_task(clock.advance(0.2))
    turns = []
    while not all(each.heard for each in many):
        before = sum(len(each.heard) for each in many)
        await turn()
        turns.append(sum(len(each.heard) for each in many) - before)
    await advancing
    assert [each for each in turns if each] == [BATCH, BATCH, 1]
    assert all(each.heard == ["comment"] for each in many)
    forget(hub, many)


async def test_nothing_is_left_to_do_when_nobody_listens(hub: Hub, clock: Clock) -> None:
    """The one timer of all keep-alives ends with the last stream, and begins again with the next."""
    hub.leave(joined(hub, Recorder()))
    assert hub._keep_alive is None
    await clock.advance(KEEP_ALIVE_S * 0.9)
    subscriber = joined(hub, Recorder())
    await clock.advance(KEEP_ALIVE_S * 0.9)
    assert subscriber.heard == []
    await clock.advance(KEEP_ALIVE_S * 0.2)
    assert subscriber.heard == ["comment"]
    hub.leave(subscriber)


async def test_shutdown_ends_every_stream(hub: Hub) -> None:
    """Also one that does not read, and one that is asked for meanwhile."""
    streams = [joined(hub, Recorder()), joined(hub, Recorder(Era.LEGACY))]
    streams[0].busy = True
    hub.serve(())
    await turn()
    streams.append(joined(hub, Recorder()))
    assert [each.heard for each in streams] == [["end"]] * 3
    hub.drop_all()
    assert [each.heard for each in streams] == [["end", "drop"]] * 3
    forget(hub, streams)


async def test_era_that_is_no_longer_served_ends_its_streams_although_a_change_is_told(hub: Hub, board: Board) -> None:
    """The other era's go on, and hear of the change."""
    modern, legacy = joined(hub, Recorder()), joined(hub, Recorder(Era.LEGACY))
    hub.serve({Era.MODERN})
    publish(hub, board, b"two", legacy=b"one")
    await turn()
    assert (modern.heard, legacy.heard) == (["changed"], ["end"])
    forget(hub, [modern, legacy])


async def test_stream_ends_with_its_session(hub: Hub, board: Board, clock: Clock) -> None:
    """When its time is over, though nothing happens then, or all sessions end; a stream without one has no such time."""
    now = asyncio.get_running_loop().time()
    short, long, without = (
        joined(hub, Recorder(Era.LEGACY, ends_at=ends_at)) for ends_at in (now + 30, now + 3600, float("inf"))
    )
    await clock.advance(29)
    assert "end" not in short.heard
    await clock.advance(1.001)
    assert short.heard == ["comment", "end"]
    forget(hub, [short])
    publish(hub, board, b"two")
    await turn()
    assert long.heard == without.heard == ["comment", "changed"]
    hub.end_sessions()
    await turn()
    assert long.heard == ["comment", "changed", "end"]
    assert without.heard == ["comment", "changed"]
    forget(hub, [long, without])


async def test_stream_far_from_its_end_is_looked_at_in_time(hub: Hub, clock: Clock) -> None:
    """An end that no timer reaches is reached by several."""
    late = joined(hub, Recorder(wants=False, ends_at=asyncio.get_running_loop().time() + 2.5 * LONGEST_ALARM_S))
    for hours in (1, 1):
        await clock.advance(hours * LONGEST_ALARM_S + 0.001)
        assert "end" not in late.heard
    await clock.advance(LONGEST_ALARM_S / 2)
    assert late.heard[-1] == "end"
    forget(hub, [late])


async def test_stream_ends_when_nothing_vouches_for_its_caller_any_more(hub: Hub, board: Board) -> None:
    """One that is open, and one that opens after that; others go on. It ends although there is a change to tell."""
    gone, stays = (Recorder(caller=Caller(name, voucher=name)) for name in ("gone", "stays"))
    hub.admit({"gone", "stays"})
    joined(hub, gone), joined(hub, stays)
    hub.admit({"stays"})
    publish(hub, board, b"two")
    await turn()
    late = joined(hub, Recorder(caller=Caller("gone", voucher="gone")))
    assert gone.heard == late.heard == ["end"]
    assert stays.heard == ["changed"]
    forget(hub, [gone, stays, late])
