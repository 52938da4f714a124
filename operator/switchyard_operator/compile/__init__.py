"""From resources to sidecar config, credentials and statuses: pure."""
