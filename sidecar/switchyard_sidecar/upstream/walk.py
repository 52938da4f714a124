"""Reading all pages of a list: a state machine that says what to ask for next.

Whoever drives it sends each :class:`Ask` and reports what came back, until there is a :class:`Walked`. The rules:

1. The list ends where a page names no next cursor. An empty string *is* a cursor, and is sent.
2. A cursor that was sent before is not sent again; the walk ends there and is incomplete.
3. Where the empty cursor brings the first page again, the backend meant "no more" by it (servers before 2026-07-28 do): the
   walk is complete, and the repeated page is dropped. Otherwise nothing could ever vanish from such a backend's list.
4. The limits of pages, tools and bytes end a walk, which is then incomplete.
5. A refused cursor (-32602) restarts the walk from the first page, a bounded number of times; after that the walk ends
   where it is. An unknown method (-32601) on the first page is a healthy backend without tools.
6. Every other failure belongs to the caller: such a walk brings nothing.

Source: 2026-07-28 ``server/utilities/pagination`` and ``server/utilities/caching``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from switchyard_sidecar.config.model import Limits
from switchyard_sidecar.protocol import errors

MAX_RESTARTS: Final = 2
"""How often a refused cursor restarts one walk."""


class Cut(StrEnum):
    """Why a walk is incomplete."""

    REPEATED_CURSOR = "a cursor came twice"
    REFUSED_CURSOR = "the backend refused its own cursor"
    PAGES = "more pages than limits.pages"
    TOOLS = "more tools than limits.tools"
    BYTES = "more bytes than limits.bytes"


@dataclass(frozen=True, slots=True)
class Ask:
    """Send ``tools/list``, with this cursor unless it is None, and read at most ``max_bytes`` of the answer."""

    cursor: str | None
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Walked:
    """The walk is over. ``entries`` are the raw tools in order; ``cut`` is None when the end of the list was reached."""

    entries: tuple[bytes, ...]
    cut: Cut | None = None


Step = Ask | Walked


class Walk:
    """One walk. Starts with :attr:`first`; each report returns the next step."""

    def __init__(self, limits: Limits) -> None:
        self.first: Final = Ask(None, limits.bytes)
        """The first step."""
        self._limits = limits
        self._restarts = 0
        self._begin()

    def _begin(self) -> None:
        self._asked: str | None = None
        self._sent: set[str] = set()
        self._entries: list[bytes] = []
        self._first_page = 0  # entries on it
        self._pages = 0
        self._bytes_left = self._limits.bytes

    @property
    def pages(self) -> int:
        """Pages read since the walk last began anew."""
        return self._pages

    def page(self, entries: Sequence[bytes], next_cursor: str | None, size_bytes: int) -> Step:
        """A page came, of so many bytes."""
        self._bytes_left -= size_bytes
        self._pages += 1
        if self._asked == "" and self._first_page == len(entries) and [*entries] == self._entries[: self._first_page]:
            return Walked(tuple(self._entries))
        if self._pages == 1:
            self._first_page = len(entries)
        self._entries.extend(entries)
        if len(self._entries) > self._limits.tools:
            del self._entries[self._limits.tools :]
            return self._cut(Cut.TOOLS)
        if next_cursor is None:
            return Walked(tuple(self._entries))
        if next_cursor in self._sent:
            return self._cut(Cut.REPEATED_CURSOR)
        if self._pages >= self._limits.pages:
            return self._cut(Cut.PAGES)
        if self._bytes_left <= 0:
            return self._cut(Cut.BYTES)
        self._sent.add(next_cursor)
        self._asked = next_cursor
        return Ask(next_cursor, self._bytes_left)

    def too_large(self) -> Walked | None:
        """The page exceeded its bytes and was not read. None on the first page: there is nothing to keep, so it is a failure."""
        return self._cut(Cut.BYTES) if self._pages else None

    def refused(self, code: int) -> Step | None:
        """The page was answered with this JSON-RPC error. None: the error is the walk's failure."""
        if code == errors.METHOD_NOT_FOUND and not self._pages:
            return Walked(())
        if code != errors.INVALID_PARAMS or not self._pages:
            return None
        if self._restarts == MAX_RESTARTS:
            return self._cut(Cut.REFUSED_CURSOR)
        self._restarts += 1
        self._begin()
        return self.first

    def _cut(self, cut: Cut) -> Walked:
        return Walked(tuple(self._entries), cut)
