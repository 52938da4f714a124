"""Health, metrics and status, on a port of their own."""
