"""What is counted of requests and calls, in the official Prometheus client's own objects.

Label values come from fixed sets and from declared resources, never from what a client or a backend sends.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.versions import Era

METHODS: Final = frozenset(
    {
        "initialize",
        "logging/setLevel",
        "notifications/cancelled",
        "notifications/initialized",
        "ping",
        "server/discover",
        "subscriptions/listen",
        "tools/call",
        "tools/list",
    }
)
"""Methods counted by name; any other is ``other``."""
CODES: Final = frozenset(
    {
        errors.PARSE_ERROR,
        errors.INVALID_REQUEST,
        errors.METHOD_NOT_FOUND,
        errors.INVALID_PARAMS,
        errors.INTERNAL_ERROR,
        errors.HEADER_MISMATCH,
        errors.MISSING_CLIENT_CAPABILITY,
        errors.UNSUPPORTED_VERSION,
    }
)
"""Error codes counted by number; any other, which only a backend can have chosen, is ``other``."""

_LONG_LIVED: Final = frozenset({"subscriptions/listen"})
_BUCKETS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Traffic:
    """Counters of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "switchyard_requests",
            "MCP messages answered, by method, the caller's era and the JSON-RPC error code (0: none).",
            ("method", "era", "code"),
            registry=registry,
        )
        self.request_seconds = Histogram(
            "switchyard_request_duration_seconds",
            "Time from a message's arrival to its answer; change streams are not timed.",
            ("method", "era"),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._calls = Counter(
            "switchyard_calls",
            "Tool calls, by backend and outcome; refused: not sent, by a limit or since the backend is down.",
            ("backend", "outcome"),
            registry=registry,
        )
        self.call_seconds = Histogram(
            "switchyard_call_duration_seconds",
            "Time a backend took for a call.",
            ("backend",),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._denied = Counter(
            "switchyard_requests_denied",
            "Requests of callers that were not let in, by what was wrong with what they presented.",
            ("reason",),
            registry=registry,
        )
        self._counters: dict[tuple[str, Era, str], Counter] = {}
        self._timers: dict[tuple[str, Era], Histogram] = {}
        self._call_counters: dict[tuple[str, str], Counter] = {}
        self._call_timers: dict[str, Histogram] = {}

    def answered(self, method: str, era: Era, code: int, seconds: float) -> None:
        """Count one message; ``code`` is that of its error, or 0."""
        if method not in METHODS:
            method = "other"
        key = (method, era, str(code) if not code or code in CODES else "other")
        if (counter := self._counters.get(key)) is None:
            counter = self._counters[key] = self._requests.labels(*key)
        counter.inc()
        if method in _LONG_LIVED:
            return
        if (timer := self._timers.get((method, era))) is None:
            timer = self._timers[method, era] = self.request_seconds.labels(method, era.value)
        timer.observe(seconds)

    def denied(self, reason: str) -> None:
        """Count one request that was not let in; ``reason`` is of a fixed set."""
        self._denied.labels(reason).inc()

    def called(self, backend: str, outcome: str, seconds: float) -> None:
        """Count one call; ``outcome``: ``result``, ``error``, ``cancelled``, or ``refused`` when a limit kept it from being sent."""
        key = (backend, outcome)
        if (counter := self._call_counters.get(key)) is None:
            counter = self._call_counters[key] = self._calls.labels(*key)
        counter.inc()
        if (timer := self._call_timers.get(backend)) is None:
            timer = self._call_timers[backend] = self.call_seconds.labels(backend)
        timer.observe(seconds)
