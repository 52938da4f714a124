"""Cursors of our own pages: keyset cursors that any replica can make and read.

A cursor names the last tool of the page before it, not a place in one replica's list: it stays valid while lists change,
and a walk meets every tool that stays in the list exactly once. It also says which scope the pages before it had, since
all pages of one list must have the same. Nothing in it is secret; the checksum only tells our cursors from damaged ones.
"""

import base64
import zlib
from dataclasses import dataclass

from switchyard_sidecar.protocol.errors import INVALID_PARAMS, McpError

_VERSION = b"\x01"


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a cursor says."""

    last: str
    """The exposed name after which the next page begins."""
    scope: str
    """The ``cacheScope`` of the pages before."""


def encode(last: str, scope: str) -> str:
    """The one text (URL-safe base64) for this place. ``scope`` contains no NUL."""
    body = _VERSION + scope.encode() + b"\0" + last.encode()
    return base64.urlsafe_b64encode(zlib.crc32(body).to_bytes(4, "big") + body).decode().rstrip("=")


def decode(text: str) -> Cursor:
    """Read a cursor back. Anything that :func:`encode` cannot have made raises :class:`McpError` (-32602)."""
    try:
        octets = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        scope, _, last = octets[5:].decode().partition("\0")
    except ValueError:
        raise _malformed() from None
    # Only one text stands for each place: comparing it checks version, checksum, alphabet and padding at once.
    if encode(last, scope) != text:
        raise _malformed()
    return Cursor(last, scope)


def _malformed() -> McpError:
    return McpError(INVALID_PARAMS, "Invalid cursor")
