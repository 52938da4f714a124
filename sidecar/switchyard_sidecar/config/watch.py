"""Follow a config directory: each change of its content, its disappearance, its return.

Polling, since it is the one thing that works for a projected volume, a bind mount and a laptop's directory alike. It costs
one ``readlink`` (or a few ``stat``) four times a second; files are read only when that shows something new. All file access
happens in a thread.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from switchyard_sidecar.config.load import DATA_LINK, ConfigError, ConfigMissing, Loaded, load
from switchyard_sidecar.config.model import CONFIG_FILE

POLL_S: Final = 0.25
"""How often the directory is looked at."""
WITHDRAWN_AFTER_S: Final = 10.0
"""How long a config must be gone before it counts as withdrawn and not as being replaced."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The config was there, and has been gone for :data:`WITHDRAWN_AFTER_S`."""


Observed = Loaded | ConfigError | Withdrawn


async def watch(
    directory: Path,
    *,
    known: Observed | None = None,
    withdrawn_after_s: float = WITHDRAWN_AFTER_S,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[Observed]:
    """Yield what the directory holds, at first and whenever that changes; for ever.

    A config that never was there yields nothing until it appears. A file that is rewritten with the same content, and a
    config that is back before it counts as withdrawn, yield nothing. ``known`` is what was seen before, and is not yielded
    again. ``now`` is in monotonic seconds.
    """
    signature: object = None
    last = known
    present: Loaded | ConfigError | None = None
    gone_since: float | None = None
    while True:
        looked = await asyncio.to_thread(_signature, directory)
        if looked != signature:
            signature = looked
            present = await asyncio.to_thread(look, directory)
        if present is not None:
            gone_since = None
            if not _same(present, last):
                last = present
                yield present
        elif last is not None and not isinstance(last, Withdrawn):
            gone_since = now() if gone_since is None else gone_since
            if now() - gone_since >= withdrawn_after_s:
                last = Withdrawn()
                yield last
        await sleep(POLL_S)


def _signature(directory: Path) -> object:
    """What changes when a file changes; ``None`` when nothing is there."""
    link = directory / DATA_LINK
    try:
        return link.readlink(), link.lstat().st_mtime_ns
    except OSError:
        pass
    try:
        with os.scandir(directory) as entries:
            return sorted(_seen(entry) for entry in entries if entry.name.startswith((CONFIG_FILE, "cred_")))
    except OSError:
        return None


def _seen(entry: "os.DirEntry[str]") -> tuple[str | int, ...]:
    try:
        stat = entry.stat()
    except OSError:  # a link to nowhere, or gone since: it must not hide what happens to the other files
        return (entry.name,)
    return entry.name, stat.st_ino, stat.st_size, stat.st_mtime_ns


def look(directory: Path) -> Loaded | ConfigError | None:
    """What the directory holds now; ``None``: no config."""
    try:
        return load(directory)
    except ConfigMissing:
        return None
    except ConfigError as error:
        return error


def _same(one: Observed | None, other: Observed | None) -> bool:
    if isinstance(one, ConfigError) and isinstance(other, ConfigError):
        return str(one) == str(other)
    return one == other
