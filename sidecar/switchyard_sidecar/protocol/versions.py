"""Protocol versions, and the two eras they fall into.

Modern: every request carries its version (2026-07-28). Legacy: a session is made by ``initialize`` (2025-11-25 and earlier).
Source: 2026-07-28 ``basic/versioning``.
"""

from enum import StrEnum
from typing import Final


class Era(StrEnum):
    """Which of the two shapes of the protocol a peer speaks."""

    MODERN = "modern"
    LEGACY = "legacy"


LATEST_MODERN: Final = "2026-07-28"
MODERN_VERSIONS: Final = (LATEST_MODERN,)
"""Modern versions served and spoken, newest first."""

LATEST_LEGACY: Final = "2025-11-25"
LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Legacy versions served downstream, newest first. Another one asked for in ``initialize`` is answered with the newest."""

UPSTREAM_LEGACY_VERSIONS: Final = (*LEGACY_VERSIONS, "2024-11-05")
"""Legacy versions a backend may answer ``initialize`` with."""

ASSUMED_WITHOUT_HEADER: Final = "2025-03-26"
"""What a legacy request without ``MCP-Protocol-Version`` speaks (2025-11-25 ``basic/transports``)."""
