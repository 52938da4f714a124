"""How long to wait after failures in a row: exponential, with full jitter.

Full jitter (a wait drawn evenly from zero to the bound) spreads a thousand sidecars over the whole interval when a backend
they share comes back. Source: AWS Architecture Blog, "Exponential Backoff And Jitter".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_MAX_DOUBLINGS: Final = 30
"""Beyond this no bound grows that anyone has set; it keeps the power a small number."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """The bound doubles with each failure, from ``base_s`` to ``cap_s`` seconds."""

    base_s: float
    cap_s: float

    def bound_s(self, failures: int) -> float:
        """The longest wait after this many failures in a row; 0 after none."""
        if failures <= 0:
            return 0.0
        return float(min(self.cap_s, self.base_s * 2 ** min(failures - 1, _MAX_DOUBLINGS)))

    def delay_s(self, failures: int, random: Callable[[], float], *, at_least_s: float = 0.0) -> float:
        """Seconds to wait. ``random`` gives numbers from 0 to 1; ``at_least_s`` is what the peer asks for, up to the cap."""
        return max(random() * self.bound_s(failures), min(at_least_s, self.cap_s))
