"""A change stream that has left the HTTP server: a socket, and the few bytes that are ever written to it.

Theory of operation:

1. The server reads the request as any other. When the answer begins, its connection is handed over, and whatever the server
   kept for requests (task, parser, timers) ends. So an open stream costs little, and no task.
2. The connection carries nothing after the stream: the head says ``Connection: close``, and what a client sends all the same
   is read and dropped (RFC 9112, section 9.6). It is read on since that is how its departure is noticed.
3. Any byte the kernel does not take at once makes the stream not ready, until the peer has taken all. So at most what is
   written in one go waits in memory.
4. A peer that takes nothing of it for as long as it may is dropped, also when the stream is ending.
"""

import asyncio
from collections.abc import Callable
from math import inf

from switchyard_sidecar.access.caller import ANONYMOUS, Caller
from switchyard_sidecar.downstream.http import LAST_CHUNK, drop_when_overdue, framed
from switchyard_sidecar.downstream.hub import Hub, Subscriber
from switchyard_sidecar.protocol import sse
from switchyard_sidecar.protocol.versions import Era


class DetachedStream(Subscriber, asyncio.Protocol):
    """One stream of events. It is of no use before :meth:`begin`."""

    __slots__ = ("_changed", "_chunked", "_hub", "_last", "_on_lost", "_overdue", "_transport")

    def __init__(
        self,
        hub: Hub,
        era: Era,
        *,
        chunked: bool,
        changed: bytes | None,
        last: bytes | None = None,
        caller: Caller = ANONYMOUS,
        told: bytes | None = None,
        ends_at: float = inf,
        on_lost: Callable[["DetachedStream"], None] | None = None,
    ) -> None:
        """``changed``: the message that tells of a change, if that was asked for. ``last``: the one that ends it, if any.

        ``on_lost`` is called when the connection is gone.
        """
        super().__init__(era, wants=changed is not None, caller=caller, told=told, ends_at=ends_at)
        self._hub = hub
        self._chunked = chunked
        self._changed = b"" if changed is None else framed(sse.encode(changed), chunked=chunked)
        self._last = b"" if last is None else framed(sse.encode(last), chunked=chunked)
        self._on_lost = on_lost
        self._overdue: asyncio.TimerHandle | None = None

    def begin(self, first: bytes, transport: asyncio.Transport) -> None:
        """Take the connection over, write ``first``, and be told from now on."""
        self._transport = transport
        transport.set_protocol(self)
        transport.set_write_buffer_limits(high=1)  # rule 3; of 0, asyncio's TLS makes an endless pause
        transport.write(first)
        self._hub.join(self)

    @property
    def lags(self) -> bool:
        """Whether its peer has not yet taken all that was written to it."""
        return self._overdue is not None

    @property
    def ready(self) -> bool:
        """Whether more may be written."""
        return self._overdue is None and not self._transport.is_closing()

    def tell(self) -> None:
        """Write that the list changed."""
        self._transport.write(self._changed)

    def comment(self) -> None:
        """Write a keep-alive."""
        self._transport.write(framed(sse.COMMENT, chunked=self._chunked))

    def end(self) -> None:
        """Write the last message and the end of the body, then close."""
        if not self._transport.is_closing():
            self._transport.write(self._last + LAST_CHUNK if self._chunked else self._last)
            self._transport.close()
            if self.lags:
                self.pause_writing()  # there is more to take than before

    def drop(self) -> None:
        """Close at once; what was not taken is lost."""
        self._transport.abort()

    def pause_writing(self) -> None:
        """The peer lags: see rules 3 and 4."""
        self._caught_up()
        self._overdue = drop_when_overdue(self._transport, self._hub.pace.write_s, self.pause_writing)

    def resume_writing(self) -> None:
        """The peer has taken everything, and may have missed something meanwhile."""
        self._caught_up()
        self._hub.look(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why does not matter
        """Either side has closed it."""
        if self._on_lost is not None:
            self._on_lost(self)
        self._caught_up()
        self._hub.leave(self)

    def _caught_up(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
