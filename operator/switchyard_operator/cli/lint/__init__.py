"""``switchyard lint``: what is wrong with manifests, or may be, for pull requests."""
