"""Counterparts for the conformance tests."""

from integration.matrix.conftest import counterparts

__all__ = ["counterparts"]
