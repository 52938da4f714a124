"""Gauges of the present state, read when Prometheus asks. Counters of requests and calls are the endpoint's own."""

import asyncio
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from switchyard_sidecar import __version__
from switchyard_sidecar.admin.state import State


class StateCollector(Collector):
    """Turns :class:`State` into metrics. Labels are names of declared resources and fixed words only."""

    def __init__(self, state: State, registry: CollectorRegistry) -> None:
        self._state = state
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield every metric family."""
        state = self._state
        yield InfoMetricFamily("switchyard_build", "Version of the sidecar.", {"version": __version__})
        yield GaugeMetricFamily("switchyard_config_generation", "Configs applied since the start.", state.generation)
        yield GaugeMetricFamily(
            "switchyard_config_refused",
            "1 while the directory's content is invalid and not served.",
            state.refusal is not None,
        )
        tools = GaugeMetricFamily(
            "switchyard_tools", "Tools in the federated list, by the reader's era.", labels=["era"]
        )
        tools.add_metric(["modern"], len(state.gateway.shared.catalog.modern.names))
        tools.add_metric(["legacy"], len(state.gateway.shared.catalog.legacy.names))
        yield tools
        size = GaugeMetricFamily(
            "switchyard_list_bytes",
            "Size of the definitions in the federated list, all pages together, by the reader's era.",
            labels=["era"],
        )
        size.add_metric(["modern"], sum(map(len, state.gateway.shared.catalog.modern.entries)))
        size.add_metric(["legacy"], sum(map(len, state.gateway.shared.catalog.legacy.entries)))
        yield size
        yield GaugeMetricFamily(
            "switchyard_tools_left_out", "Tools left out of a list.", len(state.gateway.shared.catalog.left_out)
        )
        yield GaugeMetricFamily(
            "switchyard_names_look_alike",
            "Groups of exposed names that a person would take for one another, and odd names.",
            len(state.gateway.shared.catalog.lookalikes),
        )
        yield GaugeMetricFamily("switchyard_lanes", "Callers whose own tokens go to backends.", state.gateway.lanes)
        yield GaugeMetricFamily("switchyard_connections", "Connections of clients.", state.accepting.open)
        yield CounterMetricFamily(
            "switchyard_connections_refused",
            "Connections answered with 503, or closed, since there were too many.",
            state.accepting.refused_total,
        )
        yield GaugeMetricFamily(
            "switchyard_body_bytes",
            "Request bodies that are large or arrive slowly, all together; the largest are refused where this is too much.",
            state.bodies.held,
        )
        yield GaugeMetricFamily("switchyard_subscribers", "Open change streams.", len(state.service.hub))
        yield CounterMetricFamily("switchyard_list_changed", "Change notifications sent.", state.service.hub.told_total)
        yield CounterMetricFamily(
            "switchyard_lists_repeated",
            "Lists answered without a second look, to a request that was answered before.",
            state.service.express.answered,
        )
        yield GaugeMetricFamily("switchyard_calls_running", "Calls under way.", state.service.calls_running)
        yield GaugeMetricFamily(
            "switchyard_tasks",
            "Tasks of the event loop: they come and go with backends, streams, calls and connections.",
            len(asyncio.all_tasks()),
        )
        yield from self._issuers()
        yield from self._backends()

    def _issuers(self) -> Iterator[Metric]:
        keys = GaugeMetricFamily(
            "switchyard_issuer_keys", "Usable keys of an issuer; none where they are not known.", labels=["issuer"]
        )
        up = GaugeMetricFamily(
            "switchyard_issuer_keys_up", "1 while the last read of an issuer's keys succeeded.", labels=["issuer"]
        )
        age = GaugeMetricFamily(
            "switchyard_issuer_keys_age_seconds", "Time since an issuer's keys were last read.", labels=["issuer"]
        )
        for each in self._state.authenticator.health:
            keys.add_metric([each.issuer], each.keys or 0)
            up.add_metric([each.issuer], each.keys is not None and each.last_error is None)
            if each.read_at is not None:
                age.add_metric([each.issuer], max(0.0, time.time() - each.read_at))
        yield from (keys, up, age)

    def _backends(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "switchyard_backend_up", "1 while the last fetch of the list succeeded.", labels=["backend", "era"]
        )
        tools = GaugeMetricFamily(
            "switchyard_backend_tools", "Tools of the backend's last good list.", labels=["backend"]
        )
        running = GaugeMetricFamily(
            "switchyard_backend_calls_running", "Calls under way at the backend.", labels=["backend"]
        )
        held_back = GaugeMetricFamily(
            "switchyard_backend_calls_held_back",
            "1 while calls are refused at once, or let through one at a time, after outages in a row.",
            labels=["backend"],
        )
        silent = CounterMetricFamily(
            "switchyard_backend_silent_changes",
            "Changes of its list that the backend did not announce although its change stream was open.",
            labels=["backend"],
        )
        pins = GaugeMetricFamily(
            "switchyard_backend_pins",
            "Tools beside the pinned digests, where they are compared: agreed, drifted, unpinned or missing.",
            labels=["backend", "state"],
        )
        for name, found in self._state.gateway.shared.catalog.pins.items():
            pins.add_metric([name, "agreed"], found.agreed)
            pins.add_metric([name, "drifted"], len(found.drifted))
            pins.add_metric([name, "unpinned"], len(found.unpinned))
            pins.add_metric([name, "missing"], len(found.missing))
        for name, session in self._state.gateway.sessions.items():
            status = session.status
            running.add_metric([name], status.calls_running)
            silent.add_metric([name], status.counters.silent_changes)
            held_back.add_metric([name], status.circuit != "closed")
            up.add_metric([name, status.era or "unknown"], status.last_error is None and status.tools is not None)
            tools.add_metric([name], status.tools or 0)
        callers = GaugeMetricFamily(
            "switchyard_backend_callers",
            "Callers whose own tokens go to the backend, by the state of their session: connecting, ready or failing.",
            labels=["backend", "state"],
        )
        for name, each in self._state.gateway.forwarded.items():
            running.add_metric([name], each.calls_running)
            for state in ("connecting", "ready", "failing"):
                callers.add_metric([name, state], getattr(each, state))
        as_pinned = GaugeMetricFamily(
            "switchyard_backend_callers_as_pinned",
            "Callers whose own tokens go to the backend, by what it lists to them beside its pins: agreed or differing.",
            labels=["backend", "state"],
        )
        for name, counts in self._state.gateway.callers_as_pinned.items():
            for state, count in counts.items():
                as_pinned.add_metric([name, state], count)
        for name in self._state.gateway.unresolved:
            up.add_metric([name, "unknown"], 0)
        yield from (up, tools, running, held_back, silent, pins, callers, as_pinned)
