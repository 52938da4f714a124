"""Every limit of the upstream client that is not in a backend's own configuration, by name.

The defaults are the product. Tests of real sockets pass shorter times; nothing else does.
"""

from dataclasses import dataclass
from typing import Final

from switchyard_sidecar.upstream.backoff import Backoff

MIB: Final = 1024 * 1024
_BETWEEN_ATTEMPTS: Final = Backoff(base_s=0.5, cap_s=30.0)
_BETWEEN_STREAMS: Final = Backoff(base_s=0.5, cap_s=60.0)


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds, sizes in bytes."""

    probe_s: float = 2.0
    """Wait for the first ``server/discover``, beyond connecting. Doubled with each failed attempt, since a backend that is
    modern and slow would never be found out otherwise."""
    probe_max_s: float = 30.0
    """What that doubling ends at."""
    answer_s: float = 30.0
    """Wait for ``initialize`` and for each page of a list. A client waits only for the backend's own ``list`` timeout; the
    read goes on without it."""
    walk_s: float = 300.0
    """All pages of one read."""
    acknowledge_s: float = 5.0
    """Wait for a change stream to open, and for a modern one to acknowledge."""
    call_stream_s: float = 0.25
    """The first call of a session waits this long for the session's own stream to open; some servers open none, and some
    send nothing until they have something to say."""
    endpoint_s: float = 5.0
    """Wait for the ``endpoint`` event of HTTP+SSE."""
    farewell_s: float = 2.0
    """Each small message for which no answer is needed: DELETE, ``notifications/cancelled``, answers to the server."""
    backoff: Backoff = _BETWEEN_ATTEMPTS
    """Between attempts at a failing backend."""
    stream_backoff: Backoff = _BETWEEN_STREAMS
    """Between attempts at opening a change stream."""
    steady_s: float = 30.0
    """A change stream that lived this long was well: its next loss counts as the first."""
    poll_floor_s: float = 5.0
    """While anyone subscribes, a list is not read more often than this for its age alone. Also how long a list with ttl 0
    counts as fresh while a change stream is open."""
    later_look_s: float = 1.0
    """After a notification that brought nothing new, the one later look: some servers notify first and change then."""
    grace_s: float = 1.0
    """How long the announcement of a change that was read already may take before the change counts as not announced."""
    gap_s: float = 0.1
    """Least time between reads caused by notifications; doubled for each in a row that brings nothing new, so that a server
    which notifies whenever it is listed costs little."""
    gap_max_s: float = 15.0
    """What that doubling ends at."""
    slice_s: float = 0.005
    """How long a large list is worked on before the loop gets its turn."""
    session_idle_s: float = 300.0
    """An upstream session used for calls is ended after this long without one."""
    sessions: int = 256
    """Upstream sessions for calls, of one backend."""
    lanes: int = 256
    """Callers at once whose own tokens go to backends. Each costs a session and a change stream with each such backend."""
    lanes_of_one: int = 16
    """Of these, those of one caller whose tokens entitle to different things, so that one caller cannot take them from all others."""
    lane_idle_s: float = 300.0
    """The sessions of such a caller are ended after this long without a request of its, a call or an open stream."""
    calls: int = 256
    """Calls in flight, of one backend: an eighth of all that the endpoint takes, so that one which hangs leaves room."""
    outages: int = 3
    """Calls in a row that met an outage, after which calls are refused at once for a while (``backoff``)."""
    call_probe_s: float = 5.0
    """How long a call that is let through to see whether the backend is back keeps the next such call back."""
    call_bytes: int = 32 * MIB
    """One message of a call."""
    stream_event_bytes: int = MIB
    """One message of a change stream."""
