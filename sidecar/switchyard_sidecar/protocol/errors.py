"""JSON-RPC errors as MCP uses them, and the HTTP status each one travels with.

An error is raised as :class:`McpError` wherever it is found and becomes bytes in one place
(:func:`switchyard_sidecar.protocol.jsonrpc.error_response`). Sources: 2026-07-28 ``basic`` (error codes) and
``basic/transports/streamable-http``; 2025-11-25 ``basic/transports``.
"""

from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

RECOGNISED_MODERN: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})
"""Codes that only a modern server answers with."""

LEGACY_RESOURCE_NOT_FOUND: Final = -32002
LEGACY_URL_ELICITATION: Final = -32042
FORBIDDEN_IN_MODERN: Final = frozenset({LEGACY_RESOURCE_NOT_FOUND, LEGACY_URL_ELICITATION})
"""Codes of earlier revisions that a modern server must not emit."""

_MODERN_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}


class McpError(Exception):
    """A JSON-RPC error to answer with. ``data`` is any JSON value; ``status`` overrides the HTTP status the code implies."""

    def __init__(self, code: int, message: str, data: Any = None, *, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.status = status

    def modern_status(self) -> int:
        """HTTP status for a modern caller: by the code, never by what a backend answered."""
        return self.status or _MODERN_STATUS.get(self.code, 200)

    def legacy_status(self) -> int:
        """HTTP status for a legacy caller: a well-formed request is answered with 200, whatever the error.

        What is not well formed is refused before its era is known.
        """
        return self.status or 200


class Overloaded(McpError):  # noqa: N818 - a state of the gateway, not a fault of the request
    """A limit of the gateway itself is reached: HTTP status 503, worth trying again soon."""

    def __init__(self, what: str) -> None:
        super().__init__(INTERNAL_ERROR, f"{what}; try again later", status=503)


class CallerOverloaded(Overloaded):
    """A limit of one caller is reached: HTTP status 429 (RFC 6585, section 4), worth trying again soon."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.status = 429
