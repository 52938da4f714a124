"""What is known of one backend's tools at one moment: the value that ``upstream`` publishes and ``catalog`` merges."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from switchyard_sidecar.catalog.definition import Rejection, ToolDefinition
from switchyard_sidecar.protocol.versions import Era


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One backend's complete list, as far as it is known. Immutable; a newer fetch makes a new one."""

    backend: str
    """``namespace/name``."""
    tools: tuple[ToolDefinition, ...]
    """In the backend's own order, names unique (of duplicates the first wins)."""
    rejected: tuple[Rejection, ...]
    """Entries left out, and why."""
    digest: bytes
    """SHA-256 over the names' order-independent canonical definitions: equal digests, equal lists."""
    ttl_ms: int
    """Effective time to live from ``fetched_at``, already bounded by the backend's ``cache``."""
    scope: Literal["public", "private"]
    """What the backend said of its pages; absent, unknown or differing counts as private."""
    era: Era
    version: str
    """The protocol version spoken with the backend."""
    fetched_at: float
    """Monotonic seconds at which the walk that brought it began."""
    complete: bool
    """Whether the walk reached the end. An incomplete walk has changed and added, never removed."""


def make(
    *,
    backend: str,
    tools: Iterable[ToolDefinition],
    rejected: Iterable[Rejection],
    ttl_ms: int,
    scope: Literal["public", "private"],
    era: Era,
    version: str,
    fetched_at: float,
    complete: bool,
    max_tools: int,
    previous: Snapshot | None = None,
) -> Snapshot:
    """The snapshot after one walk that met ``tools`` and ``rejected``, in this order.

    Of a definition that is canonically what it was, the old object stays, bytes and all; of a list that is, the old tuple:
    whoever keeps something made of them sees by identity that it is still good. After an incomplete walk the tools of
    ``previous`` that it did not meet stay too; for them there is room first if ``max_tools`` does not suffice.
    """
    refused = list(rejected)
    met: dict[str, ToolDefinition] = {}
    for tool in tools:
        if tool.name in met:
            refused.append(Rejection(tool.name, "the backend lists another tool of this name before it"))
        else:
            met[tool.name] = tool
    known = {tool.name: tool for tool in previous.tools} if previous is not None else {}
    met = {name: _unchanged(tool, known.get(name)) for name, tool in met.items()}
    union = met if complete else known | met
    kept = tuple(islice(union.values(), max_tools))
    refused.extend(
        Rejection(tool.name, f"there are more than the {max_tools} tools allowed")
        for tool in islice(union.values(), max_tools, None)
    )
    digest = digest_of(kept)
    if previous is not None and previous.digest == digest:
        kept = previous.tools
    return Snapshot(backend, kept, tuple(refused), digest, ttl_ms, scope, era, version, fetched_at, complete)


def digest_of(tools: Iterable[ToolDefinition]) -> bytes:
    """SHA-256 over the definitions' digests, whatever their order. A definition's digest covers its name."""
    return hashlib.sha256(b"".join(sorted(tool.digest for tool in tools))).digest()


def _unchanged(tool: ToolDefinition, known: ToolDefinition | None) -> ToolDefinition:
    return known if known is not None and known.digest == tool.digest else tool
