"""Which backends the operator looks at."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.backends import Section, own_section
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.probing.prober import Prober
from switchyard_operator.controller.status.probed import Probe, ProbeReason, Reach
from switchyard_sidecar.config.model import Backend
from unit.operator.declared import backend

KEY = Key("agents", "a")


@pytest.mark.parametrize(
    ("auth", "looks", "reason"),
    [
        ({"type": "None"}, 1, ProbeReason.TIMED_OUT),
        ({"type": "Forward"}, 0, ProbeReason.CALLER_NEEDED),
        ({"type": "Forward", "audiences": ["b"]}, 0, ProbeReason.CALLER_NEEDED),
    ],
)
async def test_a_backend_that_wants_callers_tokens_is_not_looked_at(
    auth: dict[str, Any], looks: int, reason: ProbeReason
) -> None:
    """The operator has no caller, and what it could see without one says nothing of what callers see."""
    looked: list[str] = []
    found = asyncio.Event()
    leading = asyncio.Event()
    leading.set()

    async def look(config: Backend, _: Mapping[str, bytes]) -> Probe:
        looked.append(config.url)
        return Probe(ProbeReason.TIMED_OUT)

    def section(key: Key) -> tuple[str, Section]:
        return "uid", own_section(key, Objects.of([backend("a", auth=auth)]))

    prober = Prober(look, section, lambda _: Reach(failures=2), lambda _: found.set(), leading)
    prober.changed(KEY)
    running = asyncio.create_task(prober.run())
    await found.wait()
    running.cancel()
    await asyncio.wait([running])
    assert (len(looked), prober.reaches["uid"].reason) == (looks, reason)
