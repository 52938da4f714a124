"""Why a backend did not give what it was asked for.

A ``reason`` is short, one of a fixed set, and holds nothing that the backend wrote: it goes into status, logs and the
degraded note of a list. What a backend says itself (a JSON-RPC error) travels as
:class:`~switchyard_sidecar.protocol.errors.McpError`, to the caller alone.
"""

import math
from typing import Final

from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError

CONNECTION_REFUSED: Final = "connection refused"
CONNECTION_TIMED_OUT: Final = "connection timed out"
NAME_NOT_RESOLVED: Final = "name not resolved"
NO_CONNECTION: Final = "no connection"
ADDRESS_NOT_ADMITTED: Final = "address not admitted"
CERTIFICATE_NOT_TRUSTED: Final = "certificate not trusted"
TLS_FAILED: Final = "TLS handshake failed"
CONNECTION_LOST: Final = "connection lost"
NO_ANSWER_IN_TIME: Final = "no answer in time"
NOT_DISCOVERED: Final = "no answer to server/discover in time"
NO_ANSWER: Final = "ended without an answer"
NOT_HTTP: Final = "answer is not HTTP"
NOT_JSON_RPC: Final = "answer is not JSON-RPC"
NOT_A_LIST: Final = "answer holds no list of tools"
TOO_LARGE: Final = "answer too large"
REDIRECTED: Final = "redirected elsewhere"
SESSION_LOST: Final = "session unknown to the backend"
NO_COMMON_VERSION: Final = "no common protocol version"
NO_ENDPOINT: Final = "no endpoint event"
FOREIGN_ENDPOINT: Final = "endpoint event names another origin"
BAD_SESSION_ID: Final = "invalid session id"
BAD_CREDENTIAL: Final = "credential unusable"
BAD_CERTIFICATE: Final = "CA or client certificate unusable"
BAD_URL: Final = "request cannot be made"
HEADER_MISMATCH_PERSISTS: Final = "rejects its own mirrored headers"
VERSION_REFUSED: Final = "refuses the protocol version"
BUSY: Final = "too many calls at once"
TOO_MANY_SESSIONS: Final = "too many sessions in use"
AT_REST: Final = "failed several times in a row; not tried again yet"
NO_FILES: Final = "the gateway has too many files and connections open"
CALL_IDLE: Final = "call timed out: no message for too long"
CALL_OVERDUE: Final = "call timed out: absolute limit"
CLOSED: Final = "backend withdrawn"

_OVERLOADS: Final = frozenset({BUSY, TOO_MANY_SESSIONS, NO_FILES})
_FROM_A_PROXY: Final = frozenset({502, 503, 504})
"""What stands before a backend answers so when the backend does not."""

AMBIGUOUS: Final = frozenset({401, 403, 407, 408, 429})
"""Statuses that, like 5xx, may come from whatever stands before the backend: they say nothing of the backend itself."""


_DENIALS: Final = frozenset({"HTTP 401", "HTTP 403"})


def is_denial(error: "Fault | McpError") -> bool:
    """Whether whoever answered would not have what was presented (RFC 9110, sections 15.5.2 and 15.5.4)."""
    return reason_of(error) in _DENIALS


def is_ambiguous(status: int) -> bool:
    """Whether an HTTP status says nothing of the backend itself."""
    return status in AMBIGUOUS or status >= 500


class Fault(Exception):  # noqa: N818 - faults are states of a backend, not errors of ours
    """The backend did not give what it was asked for. ``reason`` says why, in one of our own phrases."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unreachable(Fault):
    """No connection came about: nothing was sent."""


class Disconnected(Fault):
    """The connection ended before the answer did. What was sent may have been acted upon."""


class Unanswered(Disconnected):
    """What was read came to its proper end, and held no answer."""

    def __init__(self) -> None:
        super().__init__(NO_ANSWER)


class Silent(Fault):
    """Connected, but no answer within the time given."""


class Malformed(Fault):
    """An answer that is no answer: not HTTP, not JSON-RPC, or without what it must hold."""


class TooLarge(Fault):
    """An answer exceeded its limit of bytes and was given up."""

    def __init__(self) -> None:
        super().__init__(TOO_LARGE)


class SessionLost(Fault):
    """The backend does not know the session (any more); it has not acted on the request."""

    def __init__(self) -> None:
        super().__init__(SESSION_LOST)


class NoStream(Fault):
    """The backend offers no change stream here. That is normal, and not asked again on this connection."""

    def __init__(self) -> None:
        super().__init__("no change stream")


class Refused(Fault):
    """An HTTP status that is no success; ``error`` is the JSON-RPC error of the body, if there is one."""

    def __init__(self, status: int, error: McpError | None = None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.error = error


class AtRest(Fault):
    """The call was not sent: the backend has failed others, and is tried again after ``wait_s`` seconds."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(AT_REST)
        self.wait_s = wait_s


class BackendUnavailable(McpError):  # noqa: N818 - it is what the caller is told
    """What a caller is told when its call did not get through to a backend or the answer did not get back.

    ``wait_s``: seconds after which it may be worth trying again, where that is known.
    """

    def __init__(self, backend: str, reason: str, wait_s: float | None = None) -> None:
        status = 503 if reason in _OVERLOADS else None  # the gateway's own state, and worth trying again soon
        data: dict[str, object] = {"backend": backend}
        if wait_s is not None:
            data["retryAfterMs"] = math.ceil(wait_s * 1000)
        super().__init__(errors.INTERNAL_ERROR, f"Backend unavailable: {reason}", data, status=status)
        self.reason = reason

    @property
    def is_refusal(self) -> bool:
        """Whether the call was not sent at all, by a limit of ours."""
        return self.reason in _OVERLOADS or self.reason == AT_REST


def reason_of(error: Fault | McpError) -> str:
    """What status and logs say of a failure; never the backend's own words."""
    return error.reason if isinstance(error, Fault) else f"JSON-RPC error {error.code}"


def casts_doubt(error: Fault | McpError) -> bool:
    """Whether a call failed as if the backend were down, or had become another: its list is then worth a look."""
    if isinstance(error, Refused):
        return error.error is None or error.error.code not in {errors.INVALID_PARAMS, errors.MISSING_CLIENT_CAPABILITY}
    return isinstance(error, (Unreachable, Disconnected, Malformed)) or is_outage(error)


def is_outage(error: Fault | McpError) -> bool:
    """Whether a call failed as it would if nothing were there to answer; a slow tool may look the same."""
    if isinstance(error, Refused):
        return error.error is None and error.status in _FROM_A_PROXY
    if isinstance(error, Silent):
        return error.reason != CALL_OVERDUE  # that one has said something all the time
    return isinstance(error, (Unreachable, Disconnected)) and not isinstance(error, Unanswered)


def is_answer(error: Fault | McpError) -> bool:
    """Whether a call failed by something that the backend said, whatever it was."""
    answered = (McpError, Refused, Malformed, TooLarge, SessionLost, Unanswered)
    return isinstance(error, answered) and not is_outage(error)


def is_changed(error: Fault | McpError) -> bool:
    """Whether a list failed with an answer that another backend gives than it was, rather than by an outage."""
    if isinstance(error, Refused):
        return not is_ambiguous(error.status)
    return not isinstance(error, (Unreachable, Disconnected, Silent))
