"""So many a second, and no more."""

import asyncio
from typing import Final


class Pacer:
    """Spaces out what happens: ``await turn()`` before each. Turns that are not taken are not saved up."""

    def __init__(self, per_second: float) -> None:
        self._distance_s: Final = 1.0 / per_second
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next turn; who comes first goes first."""
        now = asyncio.get_running_loop().time()
        mine = max(self._next, now)
        self._next = mine + self._distance_s
        if mine > now:
            await asyncio.sleep(mine - now)
