"""What is measured, one module a scenario. Each checks its answers, and gives one table."""

from collections.abc import Callable
from typing import Final

from bench.scenarios import access, calls, cold, operator, scale, streams, warm
from bench.servers import Lab
from bench.table import Table

SCENARIOS: Final[dict[str, Callable[[Lab], Table]]] = {
    "warm": warm.run,
    "access": access.run,
    "calls": calls.run,
    "scale": scale.run,
    "streams": streams.run,
    "cold": cold.run,
    "operator": operator.run,
}
ON_DEMAND: Final = frozenset({"operator"})
"""Those that are run only when they are named: an API server has to be at hand, and they take long."""
