"""A change stream and a peer that does not keep up: what is written when, and when the peer is given up.

The transport is one of whose buffer the test decides. With real sockets, how much the kernel takes decides it.
"""

import asyncio

import pytest
import pytest_asyncio

from fakes.board import Board
from fakes.clock import Clock
from switchyard_sidecar.downstream.detached import DetachedStream
from switchyard_sidecar.downstream.hub import Hub
from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.downstream.sessions import SessionState
from switchyard_sidecar.downstream.streams import remember
from switchyard_sidecar.protocol.versions import Era

WRITE_S = 10.0


class Peer(asyncio.Transport):
    """The other end. ``stalled``: it takes nothing of what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = b""
        self.untaken = b""
        self.stalled = False
        self.lost = asyncio.Event()
        self._closing = False
        self._paused = False
        self._high = 2**16

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high
        assert low is None
        self._high = high

    def get_write_buffer_size(self) -> int:
        return len(self.untaken)

    def is_closing(self) -> bool:
        return self._closing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.stalled:
            self.taken += data
            return
        self.untaken += bytes(data)
        if not self._paused and len(self.untaken) > self._high:
            self._paused = True
            self._protocol.pause_writing()

    def take(self, size: int) -> None:
        """Take some of what waits."""
        self.taken += self.untaken[:size]
        self.untaken = self.untaken[size:]
        if not self.untaken and self._paused:
            self.stalled = self._paused = False
            self._protocol.resume_writing()
            if self._closing:
                self.abort()

    def close(self) -> None:
        self._closing = True
        if not self.untaken:
            self.abort()

    def abort(self) -> None:
        self._closing = True
        if not self.lost.is_set():
            self.lost.set()
            self._protocol.connection_lost(None)


@pytest_asyncio.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def board() -> Board:
    return Board(b"0")


@pytest.fixture
def hub(board: Board) -> Hub:
    return Hub(lambda _: board, lambda: None, Pace(write_s=WRITE_S, keep_alive_s=1000))


def stream_to(hub: Hub, peer: Peer, state: SessionState | None = None) -> DetachedStream:
    """A stream that was acknowledged."""
    stream = DetachedStream(
        hub,
        Era.MODERN,
        chunked=False,
        changed=b"changed",
        last=b"last",
        on_lost=(lambda lost: remember(state, lost)) if state else None,
    )
    if state is not None:
        state.stream = stream
    stream.begin(b"first", peer)
    return stream


async def change(hub: Hub, board: Board, digest: bytes) -> None:
    """Publish, and let the loop have its turn."""
    board.show(digest)
    hub.publish()
    await asyncio.sleep(0)


async def test_lagging_peer_is_written_nothing_until_it_has_taken_everything(hub: Hub, board: Board) -> None:
    """Then it is told once, however much it missed; so at most one notification waits in memory."""
    peer = Peer()
    stream = stream_to(hub, peer)
    peer.stalled = True
    for number in range(1, 6):
        await change(hub, board, b"%d" % number)
    stream_waits = peer.untaken
    assert stream_waits == b"data: changed\n\n"
    peer.take(len(stream_waits))
    assert peer.taken == b"first" + b"data: changed\n\n" * 2
    assert stream.ready
    peer.abort()


async def test_peer_that_takes_nothing_for_its_time_is_dropped(hub: Hub, board: Board, clock: Clock) -> None:
    """No sooner, and only that one."""
    peer, other = Peer(), Peer()
    stream_to(hub, peer)
    stream_to(hub, other)
    peer.stalled = True
    await change(hub, board, b"1")
    await clock.advance(WRITE_S - 0.1)
    assert not peer.lost.is_set()
    await clock.advance(0.2)
    assert peer.lost.is_set()
    assert (len(hub), other.lost.is_set()) == (1, False)
    other.abort()


async def test_peer_that_takes_a_little_each_time_is_kept(hub: Hub, board: Board, clock: Clock) -> None:
    """However slow its line."""
    peer = Peer()
    stream = stream_to(hub, peer)
    peer.stalled = True
    await change(hub, board, b"1")
    for _ in range(10):
        peer.take(1)
        await clock.advance(WRITE_S)
    assert peer.taken == b"firstdata: chan"
    peer.take(1000)
    assert stream.ready
    await clock.advance(WRITE_S * 2)
    assert not peer.lost.is_set()
    assert peer.taken == b"firstdata: changed\n\n"
    peer.abort()


async def test_peer_that_lags_at_the_end_has_its_time_for_the_rest(hub: Hub, board: Board, clock: Clock) -> None:
    """There is more to take than before, which must not look as if nothing had been taken; then it is dropped like any."""
    peer = Peer()
    stream = stream_to(hub, peer)
    peer.stalled = True
    await change(hub, board, b"1")
    await clock.advance(WRITE_S / 2)
    stream.end()
    peer.take(1)
    await clock.advance(WRITE_S)
    await clock.advance(WRITE_S - 0.1)
    assert not peer.lost.is_set()
    await clock.advance(0.2)
    assert peer.lost.is_set()
    assert len(hub) == 0


async def test_peer_that_takes_the_rest_at_the_end_gets_it_all(hub: Hub, board: Board) -> None:
    """A stream that is ending is told no more."""
    peer = Peer()
    stream = stream_to(hub, peer)
    peer.stalled = True
    await change(hub, board, b"1")
    stream.end()
    await change(hub, board, b"2")
    peer.take(1000)
    assert peer.lost.is_set()
    assert peer.taken == b"firstdata: changed\n\ndata: last\n\n"
    assert len(hub) == 0


async def test_end_is_written_once(hub: Hub) -> None:
    """Ended for several reasons, it ends once."""
    peer = Peer()
    stream = stream_to(hub, peer)
    stream.end()
    stream.end()
    hub.serve(())
    await asyncio.sleep(0)
    assert peer.taken == b"firstdata: last\n\n"
    assert len(hub) == 0


@pytest.mark.parametrize(("stalled", "remembered"), [(False, b"1"), (True, None)], ids=["arrived", "did not arrive"])
async def test_what_did_not_reach_a_sessions_stream_is_told_on_its_next(
    hub: Hub, board: Board, stalled: bool, remembered: bytes | None
) -> None:
    """What was still on its way when the connection broke counts as not told."""
    peer, state = Peer(), SessionState()
    stream_to(hub, peer, state)
    peer.stalled = stalled
    await change(hub, board, b"1")
    peer.abort()
    assert (state.told, state.stream) == (remembered, None)


async def test_stream_that_was_replaced_leaves_its_session_alone(hub: Hub) -> None:
    """The newest stream decides what the session was told."""
    old, new, state = Peer(), Peer(), SessionState()
    stream_to(hub, old, state)
    newest = stream_to(hub, new, state)
    old.abort()
    assert state.stream is newest
    new.abort()
