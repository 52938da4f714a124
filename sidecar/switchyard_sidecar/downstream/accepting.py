"""How many connections there may be at once, and what happens to one more.

A process may have only so many files, and every connection is one. If clients took them all, none would be left for backends
and for the config, and the system would close further connections without a word. So there is a bound of our own, below
that. When it is reached:

1. Connections on which nothing is asked give way, those that have been quiet the longest first: a client opens another when
   it needs one.
2. If all are in use, the new one is answered 503 with ``Retry-After``, whatever it asks, and closed.
3. Only some of these are answered at a time; any further one is closed at once.
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from switchyard_sidecar.downstream.endpoint import RETRY_AFTER_S
from switchyard_sidecar.downstream.http import LINGER_S, Server, reply_head
from switchyard_sidecar.protocol import jsonrpc
from switchyard_sidecar.protocol.errors import Overloaded

ANSWERED_AT_ONCE: Final = 32
"""Refusals that are being written. More clients than that learn by a closed connection."""
_PART: Final = 1 / 64
"""Of all connections, as many give way at a time: to find the quietest takes a look at each."""
_LOOK_S: Final = 0.05
"""After a look that found none quiet, the next one waits for so long."""


class Accepting:
    """Makes a protocol for each connection: the server's, or one that refuses.

    ``most``: connections at once, of which ``streams`` says how many have left the server as change streams.
    """

    def __init__(self, server: Server, most: int, streams: Callable[[], int]) -> None:
        self._server = server
        self._most = most
        self._streams = streams
        self._loop = asyncio.get_running_loop()
        self._just_accepted = 0  # in this turn of the loop: the server does not know of them yet
        self._giving_way = 0  # connections that were told to close, and whose places are not taken yet
        self._look_at = 0.0
        self.refusing = 0
        """Refusals that are being written."""
        self.refused_total = 0
        """Connections refused so far."""

    @property
    def open(self) -> int:
        """Connections that are served."""
        return self._server.open_connections + self._streams() + self._just_accepted

    def __call__(self) -> asyncio.Protocol:
        """Accept a connection."""
        if self.open < self._most:
            self._giving_way = 0
        elif not self._has_made_room():
            self.refused_total += 1
            return _Refusal(self) if self.refusing < ANSWERED_AT_ONCE else _Closed()
        if not self._just_accepted:
            self._loop.call_soon(self._known)
        self._just_accepted += 1
        return self._server()

    def _known(self) -> None:
        self._just_accepted = 0

    def _has_made_room(self) -> bool:
        if not self._giving_way and (now := self._loop.time()) >= self._look_at:
            self._giving_way = self._server.close_quiet(max(1, int(self._most * _PART)))
            self._look_at = now if self._giving_way else now + _LOOK_S
        if not self._giving_way:
            return False
        self._giving_way -= 1
        return True


class _Refusal(asyncio.Protocol):
    """Says that there are too many: once something is asked, since a client may take no answer before, and only so long."""

    def __init__(self, accepting: Accepting) -> None:
        self._accepting = accepting
        self._accepting.refusing += 1
        self._has_answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._limit = asyncio.get_running_loop().call_later(LINGER_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:  # noqa: ARG002 - whatever it is, read so that the answer arrives
        if not self._has_answered:
            self._has_answered = True
            body = jsonrpc.error_response(None, Overloaded("Too many connections"))
            fields = (("Retry-After", str(RETRY_AFTER_S)),)
            self._transport.write(reply_head(503, len(body), fields, keep_alive=False) + body)
            self._transport.write_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why does not matter
        self._accepting.refusing -= 1
        self._limit.cancel()


class _Closed(asyncio.Protocol):
    """Closes its connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).abort()
