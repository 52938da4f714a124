"""Legacy sessions that need no shared store.

A session id describes itself: version negotiated, when it began, a random identity, who asked, signed with a key that
every replica reads from the config directory (current and previous, so that keys can be rotated). What is remembered
beside it is convenience and may be lost: an asked log level, what a stream was last told. Ending a session is remembered
here until it would have expired. Source: 2025-11-25 ``basic/transports``, "Session Management".
"""

import base64
import binascii
import hashlib
import hmac
import struct
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from switchyard_sidecar.protocol import errors, versions
from switchyard_sidecar.protocol.errors import McpError

if TYPE_CHECKING:
    from switchyard_sidecar.downstream.hub import Subscriber

LIFETIME_S: Final = 24 * 3600
"""A session older than this is unknown; its client makes a new one."""
SKEW_S: Final = 60
"""The clocks of two replicas may differ by this much: one may see a session that has not begun yet."""
REMEMBERED: Final = 10_000
"""Sessions whose state is kept, and ended sessions remembered, before the oldest is forgotten."""

_FORMAT: Final = 1
_HEAD: Final = struct.Struct(">BBQ16s8s")  # format, version index, seconds, identity, principal digest
_TAG_BYTES: Final = 16
_VERSIONS: Final = versions.LEGACY_VERSIONS


@dataclass(frozen=True, slots=True)
class Session:
    """What a valid session id says."""

    identity: str
    version: str
    began_at: int
    """Unix seconds."""

    def left_s(self, now: int) -> int:
        """Seconds until it expires; none or less when it has. ``now``: Unix seconds."""
        return self.began_at + LIFETIME_S - SKEW_S - now


@dataclass(slots=True)
class SessionState:
    """What is remembered of a session on this replica."""

    log_level: str | None = None
    told: bytes | None = None
    """Digest of the list its last stream was told of, so that a change between two streams is not lost."""
    stream: "Subscriber | None" = None
    """The newest GET stream; it gets the messages."""


@dataclass(slots=True)
class Sessions:
    """Makes, checks and ends sessions. ``keys``: the signing key first, then older ones still accepted."""

    keys: tuple[bytes, ...]
    _states: OrderedDict[str, SessionState] = field(default_factory=OrderedDict)
    _ended: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def create(self, version: str, *, principal: str, identity: bytes, now: int) -> str:
        """Make a session id: visible ASCII. ``identity`` is 16 random bytes, ``now`` Unix seconds."""
        payload = _HEAD.pack(_FORMAT, _VERSIONS.index(version), now, identity, _digest(principal))
        return _encode(payload + _tag(self.keys[0], payload))

    def open(self, text: str, *, principal: str, now: int) -> Session:
        """Read a session id.

        Raises:
            McpError: with HTTP status 404 when it is unknown, expired, ended or another caller's. The client then
                initializes anew.
        """
        raw = _decode(text)
        payload, tag = raw[:-_TAG_BYTES], raw[-_TAG_BYTES:]
        if len(payload) != _HEAD.size or not any(hmac.compare_digest(tag, _tag(key, payload)) for key in self.keys):
            raise _unknown()
        form, version, began_at, identity, owner = _HEAD.unpack(payload)
        name = identity.hex()
        known = form == _FORMAT and version < len(_VERSIONS) and name not in self._ended
        if not known or owner != _digest(principal):
            raise _unknown()
        session = Session(name, _VERSIONS[version], began_at)
        if began_at > now + SKEW_S or session.left_s(now) <= 0:
            raise _unknown()
        return session

    def state(self, session: Session) -> SessionState:
        """What is remembered of a session; of an unknown one, a fresh state that is remembered from now on."""
        state = self._states.pop(session.identity, None) or SessionState()
        self._states[session.identity] = state
        if len(self._states) > REMEMBERED:
            self._states.popitem(last=False)
        return state

    def end(self, session: Session) -> SessionState | None:
        """Forget a session: its id is unknown from now on."""
        self._ended[session.identity] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
        return self._states.pop(session.identity, None)


def _tag(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, b"switchyard session" + payload, "sha256")[:_TAG_BYTES]


def _digest(principal: str) -> bytes:
    return hashlib.sha256(principal.encode()).digest()[:8]


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _unknown() from None


def _unknown() -> McpError:
    return McpError(errors.INVALID_REQUEST, "Session not found; initialize again", status=404)
