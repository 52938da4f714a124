"""Why a caller is not let in, in the words of RFC 6750 and of this gateway, and never in those of a token."""

from collections.abc import Iterable
from typing import Final, Literal

from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError

Code = Literal["invalid_request", "invalid_token", "insufficient_scope"]
"""What may be wrong with a token or with how it was sent (RFC 6750, section 3.1)."""

_STATUS: Final[dict[Code, int]] = {"invalid_request": 400, "invalid_token": 401, "insufficient_scope": 403}


class Denied(McpError):  # noqa: N818 - it says what became of the request
    """A request that is not let in; the answer carries a challenge."""

    def __init__(self, error: Code | None, message: str, scopes: Iterable[str] = ()) -> None:
        """``error``: ``None`` where nothing was presented. ``scopes``: those that are needed, if that is what is wrong."""
        super().__init__(errors.INVALID_REQUEST, message, status=401 if error is None else _STATUS[error])
        self.error = error
        self.scopes = tuple(scopes)


class KeysUnavailable(McpError):  # noqa: N818 - a state of an issuer, not a fault of the request
    """Nobody can tell now whether a token is good: HTTP status 503, and not 401, upon which clients drop good tokens."""

    def __init__(self) -> None:
        super().__init__(errors.INTERNAL_ERROR, "The issuer's keys cannot be read now; try again later", status=503)


class KeySetError(Exception):
    """A key set could not be read. The text is ours, and short."""


def nothing_presented() -> Denied:
    """The refusal of a request without a token."""
    return Denied(None, "A bearer token is required")


def malformed_request(what: str) -> Denied:
    """The refusal of a request whose token is where none may be, or of which it is not clear which one it is."""
    return Denied("invalid_request", what)


def invalid_token(why: str) -> Denied:
    """The refusal of a token."""
    return Denied("invalid_token", why)


def insufficient_scope(required: Iterable[str], missing: Iterable[str]) -> Denied:
    """The refusal of a token that is good but for what it entitles to."""
    return Denied("insufficient_scope", f"The token lacks scope {' '.join(missing)}", required)
