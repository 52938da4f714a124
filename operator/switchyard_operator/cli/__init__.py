"""The `switchyard` command."""
