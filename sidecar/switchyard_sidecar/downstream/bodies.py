"""Request bodies within one budget of bytes, so that clients which send much, or ever so slowly, cannot fill the memory.

What always holds:

1. A small body that came with its head, as nearly all do, is not counted and costs nothing: it is answered at once.
2. Every other body is counted as it arrives, whatever length it announces. A small one is counted no more once it has
   arrived; a large one until its request was answered and its calls have ended, since a call keeps its arguments.
3. When the budget is used up, whoever holds most of those still arriving gives way, of equals the oldest, and is told so at
   once. So nobody gains by sending more or by stalling, and large bodies never keep small ones out.
4. A quarter of the budget is for small bodies alone: calls under way cannot give way.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError, Overloaded

BODY_BYTES: Final = 4 * 1024 * 1024
"""Largest accepted request body."""
SMALL_BYTES: Final = 64 * 1024
"""Up to this a body is small."""
_FOR_SMALL_ONES: Final = 1 / 4
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""For clients that wait with a large body until they are told to send it (RFC 9110, 10.1.1)."""


class Share:
    """What one body holds of a :class:`Budget`."""

    __slots__ = ("gave_way", "holders", "size")

    def __init__(self) -> None:
        self.holders = 1
        """How many need it: the request, and calls that may outlive it."""
        self.size = 0
        """Bytes that have arrived."""
        self.gave_way = False
        """Whether it holds nothing any more, because others needed it."""


class Budget:
    """Who holds how many of ``total`` bytes. Pure: whoever gives way finds out by :attr:`Share.gave_way`."""

    def __init__(self, total: int) -> None:
        self.held = 0
        self._total = total
        self._for_large_ones = total - int(total * _FOR_SMALL_ONES)
        self._arriving: dict[Share, None] = {}  # oldest first

    @contextmanager
    def share(self) -> Iterator[Share]:
        """A share that begins empty and is given back with the block, or with the last who holds it beside."""
        share = Share()
        self._arriving[share] = None
        try:
            yield share
        finally:
            self._arriving.pop(share, None)
            self.let_go(share)

    def let_go(self, share: Share) -> None:
        """One holder less."""
        share.holders -= 1
        if not share.holders:
            self._give_back(share)

    def grow(self, share: Share, size: int) -> list[Share]:
        """So many more bytes of a body have arrived; return who gives way for them, which may be that body itself."""
        share.size += size
        self.held += size
        room = self._total if share.size <= SMALL_BYTES else self._for_large_ones
        yielding = []
        while self.held > room and not share.gave_way:
            largest = max(self._arriving, key=lambda each: each.size)
            del self._arriving[largest]
            self._give_back(largest)
            largest.gave_way = True
            yielding.append(largest)
        return yielding

    def arrived(self, share: Share) -> None:
        """A body has arrived whole: it gives way no more, and a small one counts no more."""
        del self._arriving[share]
        if share.size <= SMALL_BYTES:
            self._give_back(share)

    def _give_back(self, share: Share) -> None:
        self.held -= share.size
        share.size = 0


class Held:
    """What a body holds of the budget, for a call that may outlive the request which brought it."""

    __slots__ = ("_budget", "_share")

    def __init__(self, budget: Budget, share: Share) -> None:
        self._budget = budget
        self._share = share

    def until(self, call: "asyncio.Task[Any]") -> None:
        """Hold it until this call has ended, too."""
        self._share.holders += 1
        call.add_done_callback(lambda _: self._budget.let_go(self._share))


HELD: Final = web.RequestKey("held", Held)
"""Where a request keeps what its body holds, if it counts."""


class Bodies:
    """Reads the bodies of one endpoint's requests."""

    def __init__(self, pace: Pace) -> None:
        self._limit_s = pace.body_s
        self._budget = Budget(pace.bodies_bytes)
        self._limits: dict[Share, asyncio.Timeout] = {}

    @property
    def held(self) -> int:
        """Bytes that count against the budget now."""
        return self._budget.held

    @asynccontextmanager
    async def held_whole(self, request: web.BaseRequest) -> AsyncIterator[bytes]:
        """The body, which counts until the block ends, and what :data:`HELD` was told of.

        Raises:
            McpError: HTTP status 413 (too large), 408 (too slow), 400 (cut off or garbled) or 503 (the budget is used up).
        """
        if (request.content_length or 0) > BODY_BYTES:
            raise _too_large()
        with self._budget.share() as share:
            body = await self._arrived(request, share)
            self._budget.arrived(share)
            request[HELD] = Held(self._budget, share)
            yield body

    async def _arrived(self, request: web.BaseRequest, share: Share) -> bytes:
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(_CONTINUE)
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._limit_s) as limit:
                self._limits[share] = limit
                while part := await request.content.readany():
                    self._count(share, len(part))
                    if share.size > BODY_BYTES:
                        raise _too_large()
                    parts.append(part)
                if share.gave_way:  # since its last part was read
                    raise _no_room()
        except TimeoutError:
            if share.gave_way:
                raise _no_room() from None
            message = f"The body did not arrive within {self._limit_s:g} s"
            raise McpError(errors.INVALID_REQUEST, message, status=408) from None
        except (HttpProcessingError, web.RequestPayloadError):
            raise McpError(errors.INVALID_REQUEST, "The body is not framed as HTTP says", status=400) from None
        finally:
            del self._limits[share]
        return b"".join(parts)

    def _count(self, share: Share, size: int) -> None:
        if not share.gave_way:
            for each in self._budget.grow(share, size):
                limit = self._limits[each]
                if each is not share and not limit.expired():
                    limit.reschedule(0)  # it waits for more, and need not
        if share.gave_way:
            raise _no_room()


def is_small_and_here(request: web.BaseRequest) -> bool:
    """Whether a body came with its head and is small: it may be read at once, and need not be counted."""
    return request.content.is_eof() and request.content.total_bytes <= SMALL_BYTES


def _too_large() -> McpError:
    return McpError(errors.INVALID_REQUEST, f"The body exceeds {BODY_BYTES} bytes", status=413)


def _no_room() -> Overloaded:
    return Overloaded("Too many large requests at once")
