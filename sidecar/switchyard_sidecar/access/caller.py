"""Who sent a request, as everything after the door sees it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller, for as long as its token is worth something. Nothing but ``token`` is a secret."""

    principal: str
    """Whose state this is: equal for two requests exactly if they may share some. A fixed word or a digest, never a token."""
    claims: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """What whoever vouches for the caller says of it (RFC 7519, section 4); empty where nobody does."""
    expires_at: float = math.inf
    """Unix seconds from which on its token is worth nothing, leeway included."""
    audiences: frozenset[str] = frozenset()
    """For whom its token is meant (``aud``)."""
    token: str | None = field(default=None, repr=False)
    """The bearer token as it was presented. Only for a backend that gets the caller's own token."""


ANONYMOUS: Final = Caller("anonymous")
"""Whoever reaches a gateway that asks nobody who they are."""
