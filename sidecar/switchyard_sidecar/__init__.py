"""The Switchyard sidecar: a config directory in, one MCP endpoint out."""

__version__ = "0.1.0"
