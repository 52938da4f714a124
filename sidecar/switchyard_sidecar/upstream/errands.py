"""Tasks of one backend that live beside its main one, owned by its task group: none outlives the session, none is lost.

An errand is a small message that nobody waits for: an answer to the server, a cancellation, the end of a session. It is
bounded in time and in number, and its failure means nothing.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.faults import Fault

MAX_ERRANDS: Final = 64
"""At once, for one backend. Further ones are dropped: a backend that asks faster than it takes answers gets fewer."""


class Errands:
    """The tasks of one backend's session, for as long as ``group`` is open."""

    def __init__(self, group: asyncio.TaskGroup, limit_s: float) -> None:
        self._group = group
        self._limit_s = limit_s
        self._running = 0

    def send(self, errand: Coroutine[Any, Any, None], name: str) -> None:
        """Do it beside, if there is room."""
        if self._running >= MAX_ERRANDS:
            errand.close()
            return
        self._running += 1
        if self.keep(self._bounded(errand), name) is None:
            errand.close()
            self._running -= 1

    def keep(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        """Start a task that lives until it is done or cancelled; it must contain its own faults. None: we are closing."""
        try:
            return self._group.create_task(work, name=name)
        except RuntimeError:  # the group takes no more tasks
            work.close()
            return None

    async def _bounded(self, errand: Coroutine[Any, Any, None]) -> None:
        try:
            async with asyncio.timeout(self._limit_s):
                await errand
        except (Fault, McpError, TimeoutError):
            pass
        finally:
            self._running -= 1
