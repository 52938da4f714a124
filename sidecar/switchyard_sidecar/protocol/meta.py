"""Reserved keys of ``_meta``. Source: 2026-07-28 ``basic``, "General fields"."""

from typing import Final

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
PROGRESS_TOKEN: Final = "progressToken"  # noqa: S105 - not a secret
TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")
"""W3C trace context, carried on from caller to backend."""

BACKENDS: Final = "dev.switchyard/backends"
"""Ours: which backends a list could not be refreshed from, present only while there are any."""

PINNING: Final = "dev.switchyard/pinning"
"""Ours: which tools are listed although their definition is not the pinned one; present only while there are any."""

CONFIG: Final = "dev.switchyard/config"
"""Ours: why nothing is listed, present only while the gateway has no config."""

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""RFC 5424 severities, least severe first."""
