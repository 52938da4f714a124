"""What a person wants to know of a histogram: how many, and how long at the median and at worst. Pure."""

from collections import defaultdict
from typing import Any, Final

from prometheus_client import Histogram

_QUANTILES: Final = {"p50Ms": 0.5, "p99Ms": 0.99}


def summary(histogram: Histogram) -> list[dict[str, Any]]:
    """One entry for each set of labels: the labels, ``count``, and quantiles in ms.

    A quantile is the upper bound of the bucket it falls into, as much as a histogram knows; ``None`` above the last one.
    """
    buckets: defaultdict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = defaultdict(list)
    (family,) = histogram.collect()
    for sample in family.samples:
        if sample.name.endswith("_bucket"):
            labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
            buckets[labels].append((float(sample.labels["le"]), sample.value))
    return [
        {**dict(labels), "count": int(cumulative[-1][1])}
        | {name: _quantile(cumulative, share) for name, share in _QUANTILES.items()}
        for labels, cumulative in buckets.items()
    ]


def _quantile(cumulative: list[tuple[float, float]], share: float) -> float | None:
    """``cumulative``: upper bounds in seconds, ascending to infinity, each with how many samples lie below it."""
    *bounded, (_, total) = cumulative
    return next((round(bound * 1000, 3) for bound, count in bounded if total and count >= share * total), None)
