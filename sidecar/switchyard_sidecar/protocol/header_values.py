"""Values of ``Mcp-Name`` and ``Mcp-Param-*``: any text, in a header that carries visible ASCII.

What a header cannot carry safely travels as ``=?base64?...?=`` around the base64 of its UTF-8. Source: 2026-07-28
``basic/transports/streamable-http``, "Value Encoding".
"""

import base64
import binascii
import re
from typing import Final

from switchyard_sidecar.protocol.errors import HEADER_MISMATCH, INVALID_PARAMS, McpError

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="
_OWS: Final = " \t"
_PLAIN: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?")
"""What is sent as it is: printable ASCII without outer blanks. A tab inside would be legal but is a control character to
some receivers."""
_ALLOWED: Final = re.compile(r"[\x20-\x7e\t]*")
"""What RFC 9110 lets a field value consist of, as the specification quotes it."""


def encode(value: str) -> str:
    """The header value that carries ``value``.

    Raises :class:`McpError` (-32602) for a text with lone surrogates, which no UTF-8 can carry.
    """
    looks_encoded = value.startswith(_PREFIX) and value.endswith(_SUFFIX)
    if _PLAIN.fullmatch(value) and not looks_encoded:
        return value
    try:
        octets = value.encode()
    except UnicodeEncodeError:
        raise McpError(INVALID_PARAMS, "A value to be mirrored into a header is not valid Unicode") from None
    return f"{_PREFIX}{base64.b64encode(octets).decode()}{_SUFFIX}"


def decode(value: str) -> str:
    """The text that a received header value carries; blanks around it are the transport's, not its own.

    Only the exact, lower-case marks make a value encoded; all else is literal. Raises :class:`McpError` (-32020) for a
    character that no header may carry, for malformed base64 and for bytes that are not UTF-8.
    """
    value = value.strip(_OWS)
    if not _ALLOWED.fullmatch(value):
        raise McpError(HEADER_MISMATCH, "Header mismatch: a header value contains invalid characters")
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX) and len(value) >= len(_PREFIX + _SUFFIX)):
        return value
    try:
        return base64.b64decode(value[len(_PREFIX) : -len(_SUFFIX)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise McpError(HEADER_MISMATCH, "Header mismatch: an encoded header value is not base64 of UTF-8") from None
