"""Waits after failures."""

import pytest

from switchyard_sidecar.upstream.backoff import Backoff

BACKOFF = Backoff(base_s=0.5, cap_s=30)


@pytest.mark.parametrize(
    ("failures", "bound"),
    [(0, 0), (1, 0.5), (2, 1), (3, 2), (4, 4), (7, 30), (8, 30), (10_000, 30)],
)
def test_bound_doubles_up_to_the_cap(failures: int, bound: float) -> None:
    """However often a backend fails, it is tried again within the cap."""
    assert BACKOFF.bound_s(failures) == bound


@pytest.mark.parametrize(("random", "delay"), [(0.0, 0.0), (0.25, 0.5), (1.0, 2.0)])
def test_wait_is_drawn_from_the_whole_interval(random: float, delay: float) -> None:
    """Full jitter: from nothing to the bound."""
    assert BACKOFF.delay_s(3, lambda: random) == delay


def test_what_the_peer_asks_for_is_the_least() -> None:
    """A stream's ``retry`` is honoured, up to the cap."""
    assert BACKOFF.delay_s(1, lambda: 0.5, at_least_s=3) == 3
    assert BACKOFF.delay_s(7, lambda: 0.5, at_least_s=3) == 15
    assert BACKOFF.delay_s(1, lambda: 0.5, at_least_s=3600) == 30
