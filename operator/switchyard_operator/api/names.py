"""Names: of objects, namespaces, keys, labels and tools."""

from typing import Annotated

from switchyard_operator.api.scalars import Text

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_WORDS = "lower-case letters, digits and '-', beginning and ending with a letter or digit"
_SUBDOMAIN_WORDS = "lower-case letters, digits, '-' and '.', each part beginning and ending with a letter or digit"

DnsLabel = Annotated[str, Text(_LABEL, 63, _LABEL_WORDS)]
"""A namespace or Service name (RFC 1123 label)."""

ObjectName = Annotated[str, Text(_SUBDOMAIN, 253, _SUBDOMAIN_WORDS)]
"""A Secret, ConfigMap or alias name (RFC 1123 subdomain)."""

BackendName = Annotated[str, Text(_SUBDOMAIN, 63, _SUBDOMAIN_WORDS)]
"""An MCPBackend's name: short, since it becomes a prefix of tool names."""

GatewayName = Annotated[str, Text(_LABEL, 40, _LABEL_WORDS)]
"""An MCPGateway's name: short, since names of children and label values are made of it."""

DataKey = Annotated[str, Text(r"[-._a-zA-Z0-9]+", 253, "letters, digits, '-', '_' and '.'")]
"""A key of a Secret or ConfigMap."""

_LABEL_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"

LabelKey = Annotated[str, Text(rf"({_SUBDOMAIN}/)?{_LABEL_NAME}", 317, "a label key such as team or example.com/team")]
LabelValue = Annotated[
    str,
    Text(rf"({_LABEL_NAME})?", 63, "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"),
]

BackendToolName = Annotated[str, Text(r"[^\x00-\x1f\x7f]+", 512, "a tool's name without control characters, not empty")]
"""A tool as its backend calls it. Not bound to what MCP recommends: the backend may differ."""

ExposedName = Annotated[str, Text(r"[A-Za-z0-9_.-]+", 128, "letters, digits, '_', '-' and '.', and not empty")]
"""A tool name chosen here. MCP recommends these characters and at most 128 of them (2026-07-28, ``server/tools``)."""

Glob = Annotated[str, Text(r"[^\x00-\x1f\x7f]+", 256, "a pattern such as *, read_* or get?, not empty")]
"""A pattern on a backend's own tool names: ``*`` any characters, ``?`` one, ``[abc]`` one of these."""

Identifier = Annotated[str, Text(r"[!-~]+", 512, "visible ASCII without blanks, such as https://mcp.example")]
"""An issuer or audience of tokens (``StringOrURI``, RFC 7519 section 2), compared to the letter."""
