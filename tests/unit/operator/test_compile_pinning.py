"""Pins on their way from a resource to a sidecar."""

from typing import Any

import pytest

from switchyard_sidecar.config.model import Pin, Pinning
from unit.operator.declared import backend, compiled, gateway

DIGESTS = [{"tool": "search", "sha256": "ab" * 32}, {"tool": "get", "sha256": "cd" * 32}]
PINS = (Pin(tool="search", sha256="ab" * 32), Pin(tool="get", sha256="cd" * 32))


@pytest.mark.parametrize(
    ("spec", "expected", "requires"),
    [
        ({}, Pinning(), ()),
        ({"mode": "None", "digests": DIGESTS}, Pinning(), ()),
        ({"mode": "Warn", "digests": DIGESTS}, Pinning(mode="Warn", digests=PINS), ("backends.pinning",)),
        ({"mode": "Enforce", "digests": DIGESTS}, Pinning(mode="Enforce", digests=PINS), ("backends.pinning",)),
        ({"mode": "Enforce"}, Pinning(mode="Enforce"), ("backends.pinning",)),
    ],
)
def test_pins_reach_the_sidecar_where_they_have_an_effect(
    spec: dict[str, Any], expected: Pinning, requires: tuple[str, ...]
) -> None:
    """A sidecar that does not know them must not list what they withhold: it refuses a file that requires them."""
    result = compiled(gateway("a", "b"), backend("a", pinning=spec), backend("b"))
    assert (result.config.backends[0].pinning, result.config.backends[1].pinning) == (expected, Pinning())
    assert (result.config.requires, result.reports) == (requires, ())
