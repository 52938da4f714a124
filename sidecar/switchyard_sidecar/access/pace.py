"""Every limit on following issuers' keys that is not in the config, by name.

The defaults are the product. Tests of real sockets pass shorter times; nothing else does.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds, sizes in bytes."""

    refresh_s: float = 300.0
    """A key set is read again after this long, so a key that is withdrawn opens nothing any more after as long."""
    gap_s: float = 10.0
    """Least time between the beginnings of two reads, however many tokens with unknown keys come."""
    retry_s: float = 10.0
    """After a read that failed the next one comes after half of this to one and a half, at random."""
    read_s: float = 5.0
    """One read, from connecting to the last byte."""
    patience_s: float = 20.0
    """A request waits this long for a key that may be new: for the gap and two reads."""
    waiting: int = 1_000
    """Requests that wait so, of one issuer; one more is refused with 503."""
    outlive_s: float = 6 * 3600.0
    """The last good keys are believed this long after they were read, while they cannot be read again."""
    remembered: int = 4_096
    """Callers whose tokens' signatures are not checked again. Each is its claims, as long as a token at most (some KiB)."""
    bytes: int = 256 * 1024
    """One key set."""
