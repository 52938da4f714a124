"""The election on the API server: reads and writes the Lease as :mod:`.lease` decides."""

import asyncio
import secrets
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

import structlog

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.kube import ApiError, Kube, KubeError
from switchyard_operator.controller.lease import Leadership
from switchyard_operator.controller.resources import LEASES

_ROUNDS_OF_WAITING: Final = 15
"""How often, in one duration, whoever does not lead looks at the Lease: with 15 s, each second."""
_RESIGN_S: Final = 2.0
"""The most that is waited for the Lease to be given back. It runs out by itself."""

_log = structlog.get_logger()


class NotLeading(Exception):  # noqa: N818 - the name says it
    """A write must not start now: another replica may lead."""


class Election:
    """One replica in the election. ``gained`` is called each time that it begins to lead."""

    def __init__(self, kube: Kube, lease: Key, duration_s: float, gained: Callable[[], None]) -> None:
        identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
        self._kube = kube
        self._lease = lease
        self._leadership = Leadership(identity, lease, _now, duration_s=duration_s)
        self._waiting_s = duration_s / _ROUNDS_OF_WAITING
        self._gained = gained
        self._term: int | None = None
        self.leading: Final = asyncio.Event()
        """Set while the Lease is ours. Whether a write may start is what :meth:`check` says."""

    def check(self) -> None:
        """To be called right before each write.

        Raises:
            NotLeading: it must not start.
        """
        if not self._leadership.may_write():
            raise NotLeading

    async def run(self) -> None:
        """Take part until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._leadership.renew_s):
                    await self._round()
                renewed = self._leadership.term is not None
            except (KubeError, TimeoutError) as error:
                renewed = False
                if not (isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT):  # another was faster
                    _log.warning("lease_not_reached", lease=str(self._lease), error=str(error) or "no answer in time")
            self._tell()
            await asyncio.sleep(self._leadership.renew_s if renewed else self._waiting_s)

    async def resign(self) -> None:
        """Let another replica begin at once. No write may be on its way any more."""
        given_back = self._leadership.resign(_wall())
        self._tell()
        if given_back is None:
            return
        try:
            async with asyncio.timeout(_RESIGN_S):
                await self._kube.replace(LEASES, given_back)
        except (KubeError, TimeoutError) as error:
            _log.warning("lease_not_given_back", lease=str(self._lease), error=str(error) or "no answer in time")

    async def _round(self) -> None:
        self._leadership.saw(await self._kube.get(LEASES, *self._lease))
        bid = self._leadership.bid(_wall())
        if bid is not None:
            self._leadership.won(await self._write(bid))

    async def _write(self, lease: dict[str, Any]) -> dict[str, Any]:
        known = "resourceVersion" in lease["metadata"]
        return await (self._kube.replace(LEASES, lease) if known else self._kube.create(LEASES, lease))

    def _tell(self) -> None:
        term, before = self._leadership.term, self._term
        self._term = term
        if term == before:
            return
        if term is None:
            self.leading.clear()
            _log.info("leads_no_more", lease=str(self._lease))
            return
        self.leading.set()
        _log.info("leads", lease=str(self._lease), identity=self._leadership.identity, term=term)
        self._gained()


def _now() -> float:
    """Goes on while the process is stopped, and while the machine is."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _wall() -> datetime:
    return datetime.now(UTC)
