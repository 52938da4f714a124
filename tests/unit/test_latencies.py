"""What ``/status`` says of how long things take."""

from prometheus_client import CollectorRegistry, Histogram

from switchyard_sidecar.admin.latencies import summary


def test_median_and_worst_are_told_for_each_set_of_labels() -> None:
    """As the upper bounds of their buckets; beyond the last bucket nothing is known."""
    histogram = Histogram("h", "h", ("backend",), buckets=(0.001, 0.01, 0.1), registry=CollectorRegistry())
    for _ in range(98):
        histogram.labels("one").observe(0.0005)
    histogram.labels("one").observe(0.05)
    histogram.labels("one").observe(0.06)
    histogram.labels("two").observe(7.0)
    assert summary(histogram) == [
        {"backend": "one", "count": 100, "p50Ms": 1.0, "p99Ms": 100.0},
        {"backend": "two", "count": 1, "p50Ms": None, "p99Ms": None},
    ]


def test_nothing_is_told_of_what_has_not_happened() -> None:
    """No labels, no entry."""
    assert summary(Histogram("h", "h", ("backend",), registry=CollectorRegistry())) == []
