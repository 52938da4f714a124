"""Limits on waiting, as faults."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.faults import Silent


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[asyncio.Timeout]:
    """Raise :class:`Silent` when the block takes longer. The block may move the limit, or lift it."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield limit
    except TimeoutError:
        raise Silent(faults.NO_ANSWER_IN_TIME) from None
