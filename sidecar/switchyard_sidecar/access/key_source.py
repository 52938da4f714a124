"""Where the keys of one issuer come from: the config, or the issuer itself, which is asked again and again.

What always holds of keys that are followed:

1. **No valid caller is lost while the issuer is away.** The last good keys stay, for ``Pace.outlive_s``. An answer that is no key set
   is no answer.
2. **No valid caller is lost when keys change.** A token with an unknown key waits for a read that began after it came. All who
   wait share it, and there is no more than one in ``Pace.gap_s``, whoever sends whatever.
3. **No good token is called bad because nobody can tell.** Before the first good answer, and for unknown keys while the last read
   failed, the refusal is 503 (:class:`~switchyard_sidecar.access.refusals.KeysUnavailable`), at once.
4. **A key that is withdrawn opens nothing any more** once the set was read again, at the latest after ``Pace.refresh_s``.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from switchyard_sidecar.access.refusals import KeySetError, KeysUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from switchyard_sidecar.access.keys import Key, KeySet
    from switchyard_sidecar.access.pace import Pace

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """How it stands with the keys of one issuer."""

    issuer: str
    followed: bool
    """Whether they are read from the issuer, and not from the config."""
    keys: int | None
    """How many are usable; ``None``: they have never been read, or are not believed any more."""
    read_at: float | None
    """Unix seconds of the last good read."""
    last_error: str | None
    """Why the last read failed; ``None`` when it did not, or there was none."""


class KeySource(ABC):
    """The keys of one issuer. ``on_change`` is called when they are others than before."""

    def __init__(self, issuer: str, algorithms: Collection[str], on_change: Callable[[], None]) -> None:
        self._issuer = issuer
        self._algorithms = algorithms
        self._on_change = on_change
        self._keys: KeySet | None = None
        self._failure: str | None = None
        self._read_at: float | None = None

    @property
    def marks(self) -> Collection[str]:
        """Of all keys that are good now."""
        return self._keys.marks if self._keys else ()

    @property
    def health(self) -> Health:
        """What to tell people."""
        keys = None if self._keys is None else len(self._keys.marks)
        return Health(self._issuer, isinstance(self, FollowedKeys), keys, self._read_at, self._failure)

    @abstractmethod
    async def find(self, key_id: str | None, algorithm: str) -> tuple[Key, ...]:
        """The keys that a token which says this of itself may be signed with.

        Raises:
            KeysUnavailable: nobody can tell now.
        """

    @abstractmethod
    async def run(self) -> None:
        """Do what the source does by itself, for as long as it is of use."""

    async def _read(self, text: bytes | str) -> KeySet:
        """Read a key set off the loop: it may be large, and the first one takes the import of cryptography."""
        return await asyncio.to_thread(_key_set, text, self._algorithms)


class GivenKeys(KeySource):
    """Keys that stand in the config."""

    def __init__(self, issuer: str, text: str, algorithms: Collection[str], on_change: Callable[[], None]) -> None:
        super().__init__(issuer, algorithms, on_change)
        self._text = text
        self._ready = asyncio.Event()

    async def find(self, key_id: str | None, algorithm: str) -> tuple[Key, ...]:
        """See :meth:`KeySource.find`."""
        await self._ready.wait()
        if self._keys is None:
            raise KeysUnavailable
        return self._keys.find(key_id, algorithm)

    async def run(self) -> None:
        """Read them once."""
        try:
            self._keys = await self._read(self._text)
            self._read_at = time.time()
        except KeySetError as error:
            self._failure = str(error)
            log.warning("keys_not_read", issuer=self._issuer, reason=self._failure, known=0)
        finally:  # also when another config takes its place: who waits for it must not do so for ever
            self._ready.set()
        self._on_change()


class FollowedKeys(KeySource):
    """Keys that an issuer publishes. ``fetch`` brings the key set, and raises :class:`KeySetError` when it cannot."""

    def __init__(
        self,
        issuer: str,
        fetch: Callable[[], Awaitable[bytes]],
        algorithms: Collection[str],
        pace: Pace,
        on_change: Callable[[], None],
    ) -> None:
        super().__init__(issuer, algorithms, on_change)
        self._fetch = fetch
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._good_at = -math.inf
        """When the last good read ended, by the loop's clock."""
        self._began_at = -math.inf
        """When the last read began, by the loop's clock."""
        self._asked = asyncio.Event()
        self._next: asyncio.Future[None] = self._loop.create_future()
        """The end of the read that is under way, or else of the next one."""
        self._waiting = 0

    async def find(self, key_id: str | None, algorithm: str) -> tuple[Key, ...]:
        """See :meth:`KeySource.find`."""
        if self._keys is not None and (found := self._keys.find(key_id, algorithm)):
            return found
        if self._waiting >= self._pace.waiting:
            raise KeysUnavailable
        self._waiting += 1
        try:
            async with asyncio.timeout(self._pace.patience_s):
                return await self._find_in_next(key_id, algorithm, self._loop.time())
        except TimeoutError:
            raise KeysUnavailable from None
        finally:
            self._waiting -= 1

    async def _find_in_next(self, key_id: str | None, algorithm: str, asked_at: float) -> tuple[Key, ...]:
        while self._failure is None:
            self._asked.set()
            await asyncio.shield(self._next)
            if self._keys is not None and self._failure is None:
                found = self._keys.find(key_id, algorithm)
                if found or self._began_at >= asked_at:
                    return found
        raise KeysUnavailable

    async def run(self) -> None:
        """Read them again and again, until cancelled."""
        try:
            while True:
                await self._read_once()
                await self._rest()
        finally:
            self._failure = "it is not followed any more"  # so that who waits need not do so for as long as it may
            self._end_read()

    async def _rest(self) -> None:
        wait_s = self._pace.refresh_s if self._failure is None else self._pace.retry_s * (0.5 + random.random())  # noqa: S311
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._asked.wait()
        await asyncio.sleep(self._began_at + self._pace.gap_s - self._loop.time())

    async def _read_once(self) -> None:
        self._began_at = self._loop.time()
        try:
            async with asyncio.timeout(self._pace.read_s):
                text = await self._fetch()
            self._take(await self._read(text))
        except KeySetError as error:
            self._fail(str(error))
        except TimeoutError:
            self._fail("no answer in time")
        except Exception:  # a fault of ours must not end the sidecar, nor let anyone in
            log.exception("keys_read_failed", issuer=self._issuer)
            self._fail("internal error")
        self._asked.clear()
        self._end_read()

    def _end_read(self) -> None:
        ended, self._next = self._next, self._loop.create_future()
        ended.set_result(None)

    def _take(self, keys: KeySet) -> None:
        changed = self._keys is None or keys.marks != self._keys.marks
        if changed or self._failure is not None:
            log.info("keys_read", issuer=self._issuer, keys=len(keys.marks), changed=changed)
        self._keys, self._failure = keys, None
        self._good_at, self._read_at = self._loop.time(), time.time()
        if changed:
            self._on_change()

    def _fail(self, reason: str) -> None:
        if reason != self._failure:
            log.warning("keys_not_read", issuer=self._issuer, reason=reason, known=len(self.marks))
        self._failure = reason
        if self._keys is not None and self._loop.time() - self._good_at >= self._pace.outlive_s:
            log.error("keys_given_up", issuer=self._issuer, reason=reason)
            self._keys = None
            self._on_change()


def _key_set(text: bytes | str, algorithms: Collection[str]) -> KeySet:
    from switchyard_sidecar.access.keys import KeySet  # noqa: PLC0415 - see there

    return KeySet.of(text, algorithms)
