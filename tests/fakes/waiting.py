"""Wait for conditions, not for time."""

import asyncio
from collections.abc import Awaitable, Callable

PATIENCE_S = 5.0
"""How long a condition may take before a test fails; nothing that works comes near it."""


class Pulse:
    """Wakes whoever waits for a condition over something that changes in this process."""

    def __init__(self) -> None:
        self._beat = asyncio.Event()

    def beat(self) -> None:
        """Say that something changed."""
        self._beat.set()
        self._beat = asyncio.Event()

    async def until(self, condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        """Return when the condition holds; ``TimeoutError`` when it does not come to hold in time."""
        async with asyncio.timeout(within_s):
            while not condition():
                await self._beat.wait()


async def eventually(condition: Callable[[], Awaitable[bool]], within_s: float = PATIENCE_S) -> None:
    """Ask again and again, for what cannot tell of its changes; ``TimeoutError`` when it does not come to hold."""
    async with asyncio.timeout(within_s):
        while not await condition():
            await asyncio.sleep(0.01)
