"""How long a list may be believed, and by whom it may be shared."""

from collections.abc import Iterable

import pytest

from switchyard_sidecar.catalog import freshness
from switchyard_sidecar.config.model import Cache
from switchyard_sidecar.protocol.versions import Era


@pytest.mark.parametrize(
    ("era", "said", "cache", "ttl_ms"),
    [
        pytest.param(Era.MODERN, 5_000, Cache(), 5_000, id="what the backend says"),
        pytest.param(Era.MODERN, 0, Cache(), 0, id="zero"),
        pytest.param(Era.MODERN, None, Cache(), 0, id="absent is zero"),
        pytest.param(Era.MODERN, -1, Cache(), 0, id="negative is zero"),
        pytest.param(Era.MODERN, 10**17, Cache(), 600_000, id="no more than the most"),
        pytest.param(Era.MODERN, 1_000, Cache(min_ttl_ms=2_000), 2_000, id="no less than the least"),
        pytest.param(Era.MODERN, None, Cache(min_ttl_ms=2_000), 2_000, id="absent, no less than the least"),
        pytest.param(Era.LEGACY, None, Cache(), 30_000, id="legacy"),
        pytest.param(Era.LEGACY, 5, Cache(), 30_000, id="legacy cannot say"),
        pytest.param(Era.LEGACY, None, Cache(default_ttl_ms=7), 7, id="legacy as configured"),
        pytest.param(Era.LEGACY, None, Cache(max_ttl_ms=10_000), 10_000, id="legacy, no more than the most"),
    ],
)
def test_a_page_is_believed_as_it_says_within_what_is_allowed(
    era: Era, said: int | None, cache: Cache, ttl_ms: int
) -> None:
    """The config's bounds win over the backend, and stand in for a backend that cannot say."""
    assert freshness.effective_ttl_ms(said, era, cache) == ttl_ms


@pytest.mark.parametrize(
    ("scopes", "scope"),
    [
        (["public"], "public"),
        (["public", "public"], "public"),
        (["public", "private"], "private"),
        (["public", None], "private"),
        (["public", ""], "private"),
        (["Public"], "private"),
        ([None], "private"),
        ([], "private"),
    ],
)
def test_only_what_is_public_throughout_is_public(scopes: Iterable[str | None], scope: str) -> None:
    """One part that is private, silent or unintelligible makes the whole private."""
    assert freshness.scope_of(scopes) == scope


@pytest.mark.parametrize(("now", "left_ms"), [(100.0, 5_000), (101.5, 3_500), (105.0, 0), (200.0, 0)])
def test_time_to_live_runs_down_from_the_fetch(now: float, left_ms: int) -> None:
    """What is handed down is what is left, never less than nothing."""
    assert freshness.remaining_ttl_ms(5_000, fetched_at=100.0, now=now) == left_ms


@pytest.mark.parametrize(
    ("answered", "failing", "remaining_ms", "next_attempt_ms", "contribution_ms"),
    [
        pytest.param(True, False, 12_000, None, 12_000, id="well"),
        pytest.param(True, False, 0, None, 0, id="stale"),
        pytest.param(False, False, 0, None, 0, id="a first answer is awaited"),
        pytest.param(True, True, 0, 60_000, 5_000, id="in back-off"),
        pytest.param(True, True, 0, 1_200, 1_200, id="in back-off, soon asked again"),
        pytest.param(True, True, 0, -3, 0, id="its next attempt is due"),
        pytest.param(False, True, 0, 60_000, 5_000, id="never answered and failing"),
        pytest.param(False, True, 0, None, 5_000, id="cannot be asked"),
    ],
)
def test_each_backend_contributes_what_it_can_promise(
    answered: bool, failing: bool, remaining_ms: int, next_attempt_ms: int | None, contribution_ms: int
) -> None:
    """A failing backend lets clients look again when it may be back, and at most 5 s later."""
    assert contribution_ms == freshness.contribution_ms(
        answered=answered, failing=failing, remaining_ms=remaining_ms, next_attempt_ms=next_attempt_ms
    )
