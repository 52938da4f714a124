"""What is measured, one module a scenario. Each checks its answers, and gives one table."""

from collections.abc import Callable
from typing import Final

from bench.scenarios import calls, cold, scale, streams, warm
from bench.servers import Lab
from bench.table import Table

SCENARIOS: Final[dict[str, Callable[[Lab], Table]]] = {
    "warm": warm.run,
    "calls": calls.run,
    "scale": scale.run,
    "streams": streams.run,
    "cold": cold.run,
}
