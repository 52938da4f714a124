"""Every limit of the endpoint that is not in the config, by name.

The defaults are the product. Tests of real sockets pass smaller ones; nothing else does.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds, sizes in bytes."""

    idle_s: float = 120.0
    """A connection without a request is closed after this long, also one that was never asked anything."""
    body_s: float = 30.0
    """A client may take this long to send its body."""
    bodies_bytes: int = 32 * 1024 * 1024
    """Request bodies in memory, all together; beyond it the largest that still arrive are refused with 503."""
    write_s: float = 10.0
    """A client that takes none of what is written to it for this long is dropped."""
    quiet_s: float = 10.0
    """A call's answer that takes longer than this becomes an event stream, and is commented on this often."""
    keep_alive_s: float = 20.0
    """A comment is sent on a change stream that was silent this long: proxies cut silent ones at 30 to 60 s."""
    drain_s: float = 10.0
    """At the end, calls under way are waited for this long; less than a pod's default 30 s of grace."""
    close_s: float = 1.0
    """After that, answers that are being written are waited for this long."""
    remembered: int = 2_048
    """List requests that are remembered once answered, of at most 4 KiB each, and answered without a second look
    afterwards; 0: none is."""
    connections: int = 30_000
    """Open connections, if the system allows as many; for one more a quiet one is closed, or it is refused with 503."""
    streams: int = 20_000
    """Open change streams; one more is refused with 503."""
    subscription_id_bytes: int = 1024
    """The longest id of a subscription: it is kept as long as the stream is open, some times over."""
    calls: int = 2_000
    """Calls under way; one more is refused with 503."""
