"""Switchyard's control side: resources in, config for sidecars out."""
