"""The list as clients of one era see it: entries in order, a digest of all that shows, and pages.

Cursors are keyset cursors: they name the last line of the page before, so they stay good while the list changes, and a walk
meets every line that stays exactly once. A line's place is its group and its name. Ordered by name there is one group,
called ``""``; ordered by backend there is one for each backend, called by its id. Source: 2026-07-28
``server/utilities/pagination``; the scope of pages: ``server/utilities/caching``.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import msgspec

from switchyard_sidecar.catalog.freshness import Scope
from switchyard_sidecar.protocol import cursor as cursors
from switchyard_sidecar.protocol.errors import INVALID_PARAMS, McpError


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One tool as clients of an era see it."""

    name: str
    """The exposed one."""
    text: bytes
    """The definition, ready to be sent."""
    mark: bytes
    """What of it counts in the list's digest."""


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of the list."""

    body: bytes = field(repr=False)
    """The entries joined by commas, without brackets."""
    next_cursor: str | None
    scope: Scope
    """The ``cacheScope`` of this page: that of the pages before it, so that all pages of one walk have the same."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Immutable. What can be made beforehand is: an unpaged list is one finished body."""

    names: tuple[str, ...] = field(repr=False)
    """Exposed names, in list order."""
    entries: tuple[bytes, ...] = field(repr=False)
    """Definitions, in the same order."""
    digest: bytes
    """SHA-256: differs when anything differs that a client of this era can see."""
    scope: Scope
    page_size: int
    """Entries a page; 0: all."""
    groups: Mapping[str, tuple[int, int]] = field(repr=False)
    """Where each group stands in ``names``; within a group they are in code point order."""
    first: Page = field(repr=False)
    """The answer to a request without a cursor."""

    @classmethod
    def of(cls, groups: Sequence[tuple[str, Sequence[Entry]]], scope: Scope, page_size: int) -> "Projection":
        """The list made of these groups of entries, each in code point order of its names."""
        entries = list(chain.from_iterable(members for _, members in groups))
        places: dict[str, tuple[int, int]] = {}
        start = 0
        for group, members in groups:
            places[group] = start, start + len(members)
            start += len(members)
        names = tuple(entry.name for entry in entries)
        texts = tuple(entry.text for entry in entries)
        digest = hashlib.sha256(b"".join([entry.mark for entry in entries])).digest()
        first = _cut(names, texts, places, 0, page_size, scope)
        return cls(names, texts, digest, scope, page_size, places, first)

    def page(self, cursor: str | None) -> Page:
        """The page after ``cursor``, or the first one.

        Raises:
            McpError: -32602 for a cursor that is none of ours; that names a backend which is gone from a list ordered by
                backend; or whose walk began when the list was public while it is private now.
        """
        if cursor is None:
            return self.first
        place = cursors.decode(cursor)
        if place.scope not in {"private", self.scope}:
            raise McpError(INVALID_PARAMS, "Invalid cursor: the list is private now; start anew")
        scope: Scope = "public" if place.scope == "public" else "private"
        group, _, name = place.last.partition("\0")
        if group not in self.groups:
            raise McpError(INVALID_PARAMS, "Invalid cursor: the list is ordered differently now; start anew")
        start, end = self.groups[group]
        start = bisect_right(self.names, name, start, end)
        return _cut(self.names, self.entries, self.groups, start, self.page_size, scope)


def _cut(
    names: Sequence[str],
    entries: Sequence[bytes],
    groups: Mapping[str, tuple[int, int]],
    start: int,
    page_size: int,
    scope: Scope,
) -> Page:
    end = start + page_size if page_size else len(names)
    body = b",".join(entries[start:end])
    if end >= len(names):
        return Page(body, None, scope)
    group = next(group for group, (first, after) in groups.items() if first < end <= after)
    return Page(body, cursors.encode(f"{group}\0{names[end - 1]}", scope), scope)
