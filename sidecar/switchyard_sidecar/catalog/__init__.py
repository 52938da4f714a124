"""From snapshots to one list: pure, immutable, deterministic."""
