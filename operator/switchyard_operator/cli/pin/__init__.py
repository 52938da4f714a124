"""``switchyard pin``: the digests of what backends list now, written into their manifests for people to review."""
