"""Time that passes when a test says so."""

import asyncio

import pytest


class Clock:
    """Stands in for the clock of the running loop: its timers fall due as this one is advanced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._now = loop.time()
        monkeypatch.setattr(loop, "time", lambda: self._now)

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everything run that is due by then."""
        self._now += seconds
        for _ in range(3):  # a timer is found due in one turn and runs in it; what it causes runs in the next ones
            await asyncio.sleep(0)
