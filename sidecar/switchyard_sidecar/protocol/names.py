"""The protocol's own words, written once for both sides of the gateway: headers, media types, notifications.

Sources: 2026-07-28 ``basic/transports/streamable-http``, ``basic/patterns``; 2025-11-25 ``basic/transports``.
"""

from typing import Final

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
SESSION_HEADER: Final = "Mcp-Session-Id"
"""Legacy revisions alone."""

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CANCELLED: Final = "notifications/cancelled"
LOG_MESSAGE: Final = "notifications/message"
PROGRESS: Final = "notifications/progress"
TOOLS_CHANGED: Final = "notifications/tools/list_changed"
