"""One look at a backend, the way a session goes: find its era, read its list to the end, say good-bye."""

import asyncio
import itertools
from collections.abc import Mapping

from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.upstream.connect import connect
from switchyard_sidecar.upstream.errands import Errands
from switchyard_sidecar.upstream.fetch import read_list
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.peer import Peer
from switchyard_sidecar.upstream.wire import Wire, about


async def glance(
    config: Backend, credentials: Mapping[str, bytes], http: HttpPool, tasks: asyncio.TaskGroup, pace: Pace
) -> tuple[Peer, Snapshot]:
    """Who answers, and its list. ``tasks`` takes what is still to be sent when all is known.

    Raises:
        McpError: the backend refused with an error of its own.
        Fault: it cannot be reached, or understood.
    """
    endpoint = await http.endpoint(config, credentials)
    errands = Errands(tasks, pace.farewell_s)
    subject = about(config.id)
    wire = Wire(subject, http, endpoint, pace, errands, _unheard, itertools.count(1))
    peer = await connect(config, wire, patience_s=pace.probe_s)
    try:
        return peer, await read_list(peer, config, pace, http.turns, None, asyncio.get_running_loop().time(), subject)
    finally:
        await peer.close()


def _unheard() -> None:
    """A change during a look is seen by the next one."""
