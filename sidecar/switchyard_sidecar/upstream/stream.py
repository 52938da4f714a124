"""Keeping a peer's change stream: open it, and open it again when it ends, for as long as the connection lasts."""

import asyncio
from collections.abc import Callable

import structlog

from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.faults import Fault, NoStream, SessionLost, reason_of
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.peer import Peer
from switchyard_sidecar.upstream.status import StreamState
from switchyard_sidecar.upstream.wire import About

log = structlog.get_logger(__name__)


def _nothing() -> None:
    """For callbacks that nobody wants."""


class ChangeStream:
    """The change stream of one session with a backend. ``about``: for log lines. The three callbacks must not block."""

    def __init__(
        self,
        about: About,
        pace: Pace,
        random: Callable[[], float],
        *,
        changed: Callable[[], None] = _nothing,
        doubted: Callable[[], None] = _nothing,
        moved: Callable[[], None] = _nothing,
    ) -> None:
        self.state: StreamState = "none"
        self.opened_total = 0
        self._about = about
        self._pace = pace
        self._random = random
        self._changed = changed
        """The backend says that its tools have changed."""
        self._doubted = doubted
        """Changes may have gone unseen until now."""
        self._moved = moved
        """:attr:`state` is another."""
        self._opened_at = 0.0

    async def follow(self, peer: Peer) -> None:
        """Keep the stream until cancelled, or until the peer says that it has none, or its session is gone."""
        loop = asyncio.get_running_loop()
        losses = 0
        self._move("opening")
        try:
            while True:
                opened_before, asked_s = self.opened_total, 0.0
                try:
                    asked_s = await peer.listen(self._opened, self._changed)
                except NoStream:
                    return
                except SessionLost:  # nor will another attempt find it
                    self._doubted()
                    return
                except (Fault, McpError) as error:
                    log.info("change_stream_lost", **self._about, reason=reason_of(error))
                was_open = self.opened_total > opened_before
                lived_s = loop.time() - self._opened_at if was_open else 0.0
                losses = 1 if lived_s >= self._pace.steady_s else losses + 1
                self._move("lost")
                if not was_open:
                    self._doubted()
                await asyncio.sleep(self._pace.stream_backoff.delay_s(losses, self._random, at_least_s=asked_s))
        finally:
            self._move("none")

    def _opened(self) -> None:
        self._opened_at = asyncio.get_running_loop().time()
        self.opened_total += 1
        self._move("open")
        self._doubted()

    def _move(self, state: StreamState) -> None:
        if state != self.state:
            self.state = state
            self._moved()
