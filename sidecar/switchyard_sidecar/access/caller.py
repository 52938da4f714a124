"""Who sent a request, as everything after the door sees it."""

import hashlib
import json
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
    voucher: str = field(default="", repr=False)
    """What the caller was let in by, of :attr:`~switchyard_sidecar.access.authenticator.Authenticator.vouchers`."""


ANONYMOUS: Final = Caller("anonymous")
"""Whoever reaches a gateway that asks nobody who they are."""


def digest_of(*words: str) -> str:
    """A digest of these words, the same wherever it is made: what is known by no secret needs none."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()
