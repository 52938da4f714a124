"""What Prometheus is told. Labels are fixed words and the names of resources, never of users' objects."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from switchyard_sidecar import __version__

LAG_PROBE_S: Final = 1.0


class Metrics:
    """What happens, and what was found. Other present values are read when they are asked for: see :class:`Gauges`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.work = Counter(
            "switchyard_operator_work", "Pieces of work done, by how they ended.", ["task", "result"], registry=registry
        )
        self.work_seconds = Histogram(
            "switchyard_operator_work_seconds", "How long a piece of work took.", ["task"], registry=registry
        )
        self.writes = Counter(
            "switchyard_operator_writes", "Requests that change something.", ["resource", "result"], registry=registry
        )
        self.watches = Counter(
            "switchyard_operator_watch_connections",
            "Watches that the API server has begun.",
            ["resource"],
            registry=registry,
        )
        self.watch_lists = Counter(
            "switchyard_operator_watch_lists",
            "Lists with which a watch begins, or begins anew where history was lost.",
            ["resource"],
            registry=registry,
        )
        self.lists = Counter(
            "switchyard_operator_lists", "Complete lists beside the watches.", ["resource"], registry=registry
        )
        self.missed = Counter(
            "switchyard_operator_missed_changes",
            "Changes that a list brought before the watch did. A few are ordinary.",
            ["resource"],
            registry=registry,
        )
        self.crd_outdated = Gauge(
            "switchyard_operator_crd_outdated",
            "1 where the installed definition lacks what this release knows.",
            ["name"],
            registry=registry,
        )


Reading = tuple[str, str, Callable[[], float]]
"""A gauge: name, meaning, value."""


class Gauges(Collector):
    """Present values, and the build."""

    def __init__(self, readings: Iterable[Reading], objects: Callable[[], dict[str, int]]) -> None:
        self._readings = tuple(readings)
        self._objects = objects

    def collect(self) -> Iterable[Metric]:
        """Yield every metric family."""
        yield InfoMetricFamily("switchyard_operator_build", "Version of the operator.", {"version": __version__})
        for name, meaning, value in self._readings:
            yield GaugeMetricFamily(name, meaning, value())
        objects = GaugeMetricFamily(
            "switchyard_operator_objects", "Objects that are known of each watched resource.", labels=["resource"]
        )
        for resource, count in self._objects().items():
            objects.add_metric([resource], count)
        yield objects


class LoopLag:
    """How late the event loop is: the longest lateness since it was last read."""

    def __init__(self) -> None:
        self._longest_s = 0.0

    async def measure(self) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_PROBE_S
            await asyncio.sleep(LAG_PROBE_S)
            self._longest_s = max(self._longest_s, loop.time() - due)

    def read(self) -> float:
        """Seconds; begins anew."""
        longest_s, self._longest_s = self._longest_s, 0.0
        return longest_s
