"""One look at a backend: the way a sidecar goes, once, to the end of its list, and good-bye.

It is the sidecar's own client that looks, so what is found out is what sidecars will find. A connection pool is made for each look and
closed after it: nothing of one backend, nor of one of its credentials, is used for another.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from switchyard_operator.controller.status.alike import alike
from switchyard_operator.controller.status.pinned import pinned
from switchyard_operator.controller.status.probed import Answer, Probe, ProbeReason
from switchyard_sidecar.catalog import lookalikes, pins
from switchyard_sidecar.catalog.filters import passes
from switchyard_sidecar.catalog.snapshot import Snapshot, digest_of
from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.advice import status_of
from switchyard_sidecar.upstream.faults import Fault, Malformed, Silent, TooLarge
from switchyard_sidecar.upstream.glance import glance
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.peer import Peer

LOOK_S: Final = 30.0
"""The most that one look may take."""
PACE: Final = Pace(probe_s=5.0, answer_s=10.0, walk_s=20.0)
"""More patient than a sidecar with a client waiting: a look is not repeated before long."""

_REASONS: Final[Mapping[str, ProbeReason]] = {
    faults.ADDRESS_NOT_ADMITTED: ProbeReason.ADDRESS_NOT_PROBED,
    faults.NAME_NOT_RESOLVED: ProbeReason.NAME_NOT_RESOLVED,
    faults.CERTIFICATE_NOT_TRUSTED: ProbeReason.TLS_FAILED,
    faults.TLS_FAILED: ProbeReason.TLS_FAILED,
    faults.CONNECTION_TIMED_OUT: ProbeReason.TIMED_OUT,
    faults.NO_ANSWER_IN_TIME: ProbeReason.TIMED_OUT,
    faults.REDIRECTED: ProbeReason.REDIRECTED,
    faults.NO_COMMON_VERSION: ProbeReason.NO_COMMON_VERSION,
    faults.VERSION_REFUSED: ProbeReason.NO_COMMON_VERSION,
}
_STATUSES: Final[Mapping[int, ProbeReason]] = {
    **dict.fromkeys(range(300, 400), ProbeReason.REDIRECTED),
    **dict.fromkeys((401, 403), ProbeReason.UNAUTHORIZED),
    **dict.fromkeys((429, 503), ProbeReason.OVERLOADED),
    **dict.fromkeys((404, 405, 410), ProbeReason.NOT_MCP),
}
"""Those statuses that say more than that there was an error; the last ones, that something else is there."""


async def look(
    config: Backend, credentials: Mapping[str, bytes], admits: Callable[[str], bool], pace: Pace = PACE
) -> Probe:
    """Look at a backend once. Never fails: what goes wrong is what was found out. ``admits``: addresses to connect to."""
    try:
        async with asyncio.timeout(LOOK_S), HttpPool(admits) as http, asyncio.TaskGroup() as tasks:
            try:
                peer, snapshot = await glance(config, credentials, http, tasks, pace)
            except (Fault, McpError) as error:
                return Probe(reason_for(error), http=status_of(error))
            # In a thread, so that a list of many thousand tools holds up no other work.
            return Probe(ProbeReason.ANSWERED, await asyncio.to_thread(_answer, config, peer, snapshot))
    except TimeoutError:
        return Probe(ProbeReason.TIMED_OUT)


def _answer(config: Backend, peer: Peer, snapshot: Snapshot) -> Answer:
    tools = [tool for tool in snapshot.tools if passes(config.filters, tool.name)]
    compared = pins.compare(config.pinning, tools, snapshot)
    withheld = frozenset((*compared.drifted, *compared.unpinned) if compared is not None and compared.enforced else ())
    return Answer(
        era="Modern" if peer.era is Era.MODERN else "Legacy",
        version=peer.version,
        list_changed=peer.announces,
        server_name=peer.server.name,
        server_version=peer.server.version,
        tools=len(tools),
        digest=digest_of(tools).hex(),
        pinned=None if compared is None else pinned(compared),
        alike=alike(lookalikes.among(tool.name for tool in tools if tool.name not in withheld)),
        names=tuple(tool.name for tool in tools),
        withheld=withheld,
        complete=snapshot.complete,
    )


def reason_for(error: Fault | McpError) -> ProbeReason:
    """What a failure comes to: one of the few words that a status may say."""
    if isinstance(error, Fault) and error.reason in _REASONS:
        return _REASONS[error.reason]
    if (status := status_of(error)) is not None:
        return _STATUSES.get(status, ProbeReason.HTTP_ERROR)
    match error:
        case TooLarge():
            return ProbeReason.LIST_TOO_LARGE
        case Silent():
            return ProbeReason.TIMED_OUT
        case Malformed() | McpError():
            return ProbeReason.NOT_MCP
        case _:
            return ProbeReason.CONNECTION_FAILED
