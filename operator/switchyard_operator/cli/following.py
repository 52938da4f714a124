"""Notice that manifests have changed, by looking: it works for every editor, file system and mount."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from switchyard_operator.manifests.sources import Fingerprint, Sources

POLL_S: Final = 0.5
SETTLE_S: Final = 0.05
"""How long files must stay the same before they are read: an editor may empty a file before it writes it."""
_SETTLE_ROUNDS: Final = 40
"""After that many rounds they are read even though they go on changing."""


async def changes(sources: Sources, seen: Fingerprint) -> AsyncIterator[None]:
    """Yield whenever a file has changed, come or gone, compared with ``seen`` and then with the time before."""
    while True:
        await asyncio.sleep(POLL_S)
        now = await asyncio.to_thread(sources.fingerprint)
        if now == seen:
            continue
        for _ in range(_SETTLE_ROUNDS):
            await asyncio.sleep(SETTLE_S)
            before, now = now, await asyncio.to_thread(sources.fingerprint)
            if before == now:
                break
        seen = now
        yield
