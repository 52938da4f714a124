"""Finding out how a backend wants to be spoken to, and getting on speaking terms with it.

``server/discover`` first, unless the era is pinned; what its answer means is :mod:`switchyard_sidecar.upstream.era`'s to
say. Then, if need be, ``initialize``; then, if that is refused as an HTTP+SSE server refuses it, HTTP+SSE.
"""

from switchyard_sidecar.config.model import Backend, Era, Transport
from switchyard_sidecar.protocol import errors, versions
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream import era, faults
from switchyard_sidecar.upstream.era import Modern, NoAnswer, NoConnection, Offer, TryLegacy, Undecided
from switchyard_sidecar.upstream.faults import Fault, Refused, Silent, Unreachable
from switchyard_sidecar.upstream.legacy import LegacySession
from switchyard_sidecar.upstream.modern import ModernPeer, discover
from switchyard_sidecar.upstream.sse_transport import HttpSse
from switchyard_sidecar.upstream.streamable import StreamableHttp
from switchyard_sidecar.upstream.wire import Wire


async def connect(config: Backend, wire: Wire, *, patience_s: float) -> ModernPeer | LegacySession:
    """A peer that is ready to list tools. ``patience_s``: how long to wait for the answer to ``server/discover``.

    Raises:
        McpError: the backend refused with an error of its own.
        Fault: it cannot be reached, or understood.
    """
    if config.transport is Transport.SSE:
        return await opened(unopened_session(config, wire, http_sse=True))
    if config.protocol is Era.LEGACY:
        return await opened(unopened_session(config, wire, http_sse=False))
    if config.protocol is Era.MODERN:
        return await _pinned(wire, patience_s)
    return await _detected(config, wire, patience_s)


async def _pinned(wire: Wire, patience_s: float) -> ModernPeer:
    """A backend that is modern because the config says so: what it answers to ``server/discover`` only informs."""
    peer = ModernPeer(wire, versions.LATEST_MODERN)
    outcome = await discover(peer, limit_s=patience_s)
    if isinstance(outcome, NoConnection):
        raise Unreachable(outcome.reason)
    return peer


async def _detected(config: Backend, wire: Wire, patience_s: float) -> ModernPeer | LegacySession:
    peer = ModernPeer(wire, versions.LATEST_MODERN)
    offered: frozenset[str] = frozenset()
    while True:
        outcome = await discover(peer, limit_s=patience_s)
        match era.decide(outcome, asked=peer.version, offered=offered):
            case Modern(version):
                peer.version = version
                return peer
            case Offer(version):
                offered |= {version}
                peer = ModernPeer(wire, version)
            case Undecided(reason):
                raise Fault(reason)
            case TryLegacy():
                try:
                    return await _legacy(config, wire)
                except (Fault, McpError) as error:
                    if isinstance(outcome, NoAnswer) and faults.is_answer(error):
                        # A modern server that is slow refuses initialize, which is not what is wrong with it.
                        raise Silent(f"{faults.NOT_DISCOVERED}; initialize: {faults.reason_of(error)}") from None
                    raise


async def _legacy(config: Backend, wire: Wire) -> LegacySession:
    try:
        return await opened(unopened_session(config, wire, http_sse=False))
    except Refused as refusal:
        is_modern = refusal.error is not None and refusal.error.code in errors.RECOGNISED_MODERN
        if is_modern or not era.may_be_http_sse(refusal.status):
            raise
        try:
            return await opened(unopened_session(config, wire, http_sse=True))
        except (Fault, McpError):
            raise refusal from None  # what the configured URL said to an ordinary request tells more


def unopened_session(config: Backend, wire: Wire, *, http_sse: bool) -> LegacySession:
    """A session that was not opened: a pattern for others of its kind, or to be opened itself."""
    return LegacySession(wire, HttpSse(wire, config.limits.bytes) if http_sse else StreamableHttp(wire))


async def opened(session: LegacySession) -> LegacySession:
    """Open a session; one that was only half opened is ended."""
    try:
        await session.open()
    except BaseException:
        await session.close()
        raise
    return session
