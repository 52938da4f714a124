"""The webhook's certificates: an authority of our own, and what it signs."""
