"""What is known of one backend's tools at one moment: the value that ``upstream`` publishes and ``catalog`` merges."""

from dataclasses import dataclass
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
