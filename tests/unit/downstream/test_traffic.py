"""What is counted of requests and calls."""

from prometheus_client import CollectorRegistry

from switchyard_sidecar.downstream.traffic import Traffic
from switchyard_sidecar.protocol.versions import Era


def counted(registry: CollectorRegistry, **labels: str) -> float | None:
    """The counter of requests with these labels."""
    return registry.get_sample_value("switchyard_requests_total", labels)


def test_messages_are_counted_by_method_era_and_code() -> None:
    """Errors of the protocol by their number, success as 0."""
    registry = CollectorRegistry()
    traffic = Traffic(registry)
    traffic.answered("tools/list", Era.MODERN, 0, 0.1)
    traffic.answered("tools/list", Era.MODERN, 0, 0.1)
    traffic.answered("tools/list", Era.LEGACY, -32602, 0.1)
    assert counted(registry, method="tools/list", era="modern", code="0") == 2
    assert counted(registry, method="tools/list", era="legacy", code="-32602") == 1


def test_neither_clients_nor_backends_can_make_a_series() -> None:
    """Whatever methods are asked for and codes are answered with, the number of series is bounded."""
    registry = CollectorRegistry()
    traffic = Traffic(registry)
    for number in range(1000):
        traffic.answered(f"method/{number}", Era.MODERN, number + 1, 0.1)
    assert counted(registry, method="other", era="modern", code="other") == 1000
