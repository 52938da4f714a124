"""What MCP says, as pure functions over data: no I/O, nothing of ours imported."""
