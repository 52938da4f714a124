"""How long a list may be believed, and by whom it may be shared: pure functions of numbers.

Times are milliseconds; instants are monotonic seconds. Source: 2026-07-28 ``server/utilities/caching``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from switchyard_sidecar.protocol.versions import Era

if TYPE_CHECKING:
    from collections.abc import Iterable

    from switchyard_sidecar.config.model import Cache

Scope = Literal["public", "private"]

WATCHED_MS: Final = 5_000
"""How long a list with ttl 0 counts as fresh while an acknowledged change stream of its backend is open."""
UNREACHABLE_MS: Final = 5_000
"""The most that a backend which cannot be asked now contributes to a result's time to live."""


def effective_ttl_ms(ttl_ms: int | None, era: Era, cache: Cache) -> int:
    """How long one page is believed: what the backend says, within what the config allows.

    A legacy backend says nothing (a ``ttlMs`` of its own means nothing in its revision); of a modern one, an absent or
    negative ``ttlMs`` counts as 0.
    """
    said = cache.default_ttl_ms if era is Era.LEGACY else max(ttl_ms or 0, 0)
    return min(max(said, cache.min_ttl_ms), cache.max_ttl_ms)


def scope_of(scopes: Iterable[str | None]) -> Scope:
    """The scope of a whole made of parts with these: public only if there are parts and every one says so."""
    said = set(scopes)
    return "public" if said == {"public"} else "private"


def remaining_ttl_ms(ttl_ms: int, fetched_at: float, now: float) -> int:
    """What is left of a time to live; 0 when it has run out."""
    return max(0, int(ttl_ms - (now - fetched_at) * 1000))


def fresh_until(ttl_ms: int, fetched_at: float, *, watched: bool) -> float:
    """The instant from which a list must be fetched again before it is served.

    ``watched``: a change stream is open and acknowledged, so a list with ttl 0 need not be fetched for every request. What
    is handed down of it stays 0 all the same (:func:`remaining_ttl_ms`).
    """
    lasts = WATCHED_MS if watched and ttl_ms == 0 else ttl_ms
    return fetched_at + lasts / 1000


def contribution_ms(*, answered: bool, failing: bool, remaining_ms: int, next_attempt_ms: int | None) -> int:
    """What one backend contributes to the time to live of a result that its tools are (or will be) in.

    Args:
        answered: it has a list.
        failing: its last attempt failed, and it is not waited for.
        remaining_ms: what is left of its list's time to live.
        next_attempt_ms: the time until it is asked again; ``None``: not as long as the config is what it is.
    """
    if failing:
        return UNREACHABLE_MS if next_attempt_ms is None else min(UNREACHABLE_MS, max(next_attempt_ms, 0))
    return remaining_ms if answered else 0
