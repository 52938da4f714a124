"""Lists of our own beside the watches: what a watch missed is found, and what is gone is noticed to be gone.

A stream is listed whenever kopf lists it, since of what vanished before that no event comes any more, and now and then, in case
that a watch does not bring what it should.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from random import uniform
from typing import Any, Final, Protocol

import structlog

from switchyard_operator.controller.kube import ApiError, Kube, KubeError, Page
from switchyard_operator.controller.resources import Stream

PERIOD_S: Final = 600.0
"""The mean distance of lists that nobody asked for."""
_JITTER: Final = 0.2
_FIRST_BACKOFF_S: Final = 0.5
_LONGEST_BACKOFF_S: Final = 15.0
_EXPIRED: Final = 410

_log = structlog.get_logger()


class Intake(Protocol):
    """Takes in one list."""

    def add(self, raws: list[dict[str, Any]]) -> None:
        """A page of objects."""

    def done(self, resource_version: str) -> None:
        """All that there is, as of this version, has been added."""


class Lister:
    """Lists one stream. ``begin`` is called for each list; one that cannot be finished is dropped for another.

    Listers that share ``turn`` list one after the other.
    """

    def __init__(
        self,
        kube: Kube,
        stream: Stream,
        selector: str,
        begin: Callable[[], Intake],
        turn: asyncio.Lock,
        *,
        period_s: float = PERIOD_S,
    ) -> None:
        self._kube = kube
        self._stream = stream
        self._selector = selector
        self._begin = begin
        self._turn = turn
        self._period_s = period_s
        self._wanted = asyncio.Event()

    def want(self) -> None:
        """Ask for a list that begins after now."""
        self._wanted.set()

    async def run(self) -> None:
        """List when asked to, and from then on periodically too, until cancelled."""
        await self._wanted.wait()
        while True:
            async with self._turn:
                self._wanted.clear()
                await self._list()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._period_s * uniform(1 - _JITTER, 1 + _JITTER)):  # noqa: S311 - spreads load
                    await self._wanted.wait()

    async def _list(self) -> None:
        while True:
            intake = self._begin()
            try:
                async for page in self._pages():
                    intake.add(page.items)
            except _ExpiredError:
                continue  # what was listed so far may be gone; only a whole list says what is not there
            intake.done(page.resource_version)
            return

    async def _pages(self) -> AsyncIterator[Page]:
        page = await self._page("")
        yield page
        while page.following:
            page = await self._page(page.following)
            yield page

    async def _page(self, following: str) -> Page:
        """One page, however long it takes to get it."""
        backoff_s = _FIRST_BACKOFF_S
        while True:
            asked_s = 0.0
            try:
                return await self._kube.page(self._stream.resource, self._stream.namespace, self._selector, following)
            except KubeError as error:
                if isinstance(error, ApiError):
                    if error.status == _EXPIRED:
                        raise _ExpiredError from error
                    asked_s = error.retry_after_s or 0.0
                _log.warning("list_failed", stream=str(self._stream), error=str(error))
            await asyncio.sleep(max(asked_s, backoff_s * uniform(0.5, 1.0)))  # noqa: S311
            backoff_s = min(2 * backoff_s, _LONGEST_BACKOFF_S)


class _ExpiredError(Exception):
    """The rest of a list can no longer be had."""
