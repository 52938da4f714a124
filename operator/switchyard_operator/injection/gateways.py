"""The MCPGateways of the cluster, followed as the operator does: watched, and listed beside that."""

import asyncio
from collections.abc import Collection, Iterator
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.access import Access
from switchyard_operator.controller.discovery import kinds_served
from switchyard_operator.controller.intake import Intake
from switchyard_operator.controller.kube import Kube
from switchyard_operator.controller.listing import Lister
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.resources import GATEWAYS, streams
from switchyard_operator.controller.store import Store
from switchyard_operator.controller.vigilance import Vigilance
from switchyard_operator.controller.watching import Watching


class Gateways:
    """All gateways, or those of some namespaces, as far as they are known by now."""

    def __init__(self, access: Access, kube: Kube, namespaces: Collection[str], registry: CollectorRegistry) -> None:
        self._access = access
        self._kube = kube
        self._namespaces = tuple(namespaces)
        self._streams = tuple(streams([GATEWAYS], namespaces))
        self._store = Store([(each.resource, each.namespace) for each in self._streams])
        self._metrics = Metrics(registry)
        self._vigilance: Vigilance | None = None
        self.listed: Final = asyncio.Event()
        """Set once all of them have been seen."""

    def get(self, key: Key) -> MCPGateway | None:
        """The gateway of this key, if there is a valid one."""
        item = self._store.gateways.get(key)
        return None if item is None else item.model

    async def run(self) -> None:
        """Follow them until cancelled, from when the kind is served.

        Raises:
            ExceptionGroup: it cannot go on, and has to be started anew.
        """
        await kinds_served(self._kube)
        self._vigilance = Vigilance.over(self._streams, asyncio.get_running_loop().time())
        intake = Intake(self._store, self._vigilance, self._metrics, lambda _: None, self._note_listed)
        turn = asyncio.Lock()
        intake.listers = {
            stream: Lister(self._kube, stream, "", partial(intake.begin, stream), turn) for stream in self._streams
        }
        watching = Watching(self._access, {GATEWAYS: ""}, self._namespaces, intake.hand)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(intake.run(), name="intake")
            tasks.create_task(watching.run(), name="watching")
            for stream, lister in intake.listers.items():
                tasks.create_task(lister.run(), name=f"lists of {stream}")

    def faults(self) -> Iterator[str]:
        """Why this process should be started anew."""
        if self._vigilance is not None:
            yield from self._vigilance.faults(asyncio.get_running_loop().time())

    def _note_listed(self) -> None:
        if self._store.complete:
            self.listed.set()
