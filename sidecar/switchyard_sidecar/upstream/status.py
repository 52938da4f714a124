"""What one backend's session shows of itself: for ``/status``, metrics and logs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream.breaker import State as Circuit
from switchyard_sidecar.upstream.peer import ServerInfo

State = Literal["connecting", "ready", "failing"]
StreamState = Literal["none", "opening", "open", "lost"]


@dataclass(slots=True)
class Counters:
    """What has happened since the session began."""

    reads: int = 0
    """Lists read to the end."""
    failures: int = 0
    """Attempts that failed."""
    notifications: int = 0
    """Changes that the backend announced."""
    silent_changes: int = 0
    """Changes of its list that it did not announce although its change stream was open."""
    streams: int = 0
    """Change streams that were opened."""
    calls: int = 0
    """Calls relayed, with whatever outcome."""
    faults: int = 0
    """Calls that did not get through, or whose answer did not get back."""
    refused: int = 0
    """Of these, calls that were not sent: too many at once, or after outages in a row."""


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """One moment of one backend. Times are Unix seconds."""

    state: State
    era: Era | None
    """None before it is known."""
    version: str | None
    server_info: ServerInfo
    """What the backend calls itself; not to be relied on."""
    tools: int | None
    """How many its last good list has; None before the first."""
    complete: bool | None
    """Whether that list was read to its end; None before the first."""
    stream: StreamState
    """Its change stream; ``none``: it offers none."""
    last_error: str | None
    """Why it is failing; None when it is not."""
    last_success_at: float | None
    next_attempt_at: float | None
    """When a failing backend is tried again, or was, if that attempt is under way; None while it is not failing."""
    circuit: Circuit
    """Whether calls are sent; ``open``: they are refused, after outages in a row; ``half-open``: one is let through."""
    calls_running: int
    call_sessions: int
    """Sessions held for calls with a legacy backend."""
    counters: Counters


@dataclass(frozen=True, slots=True)
class CallersStatus:
    """One moment of the sessions of all callers with a backend that gets their own tokens: numbers that single out none."""

    connecting: int
    ready: int
    failing: int
    """Callers by the state of their session."""
    calls_running: int
    call_sessions: int
    counters: Counters
    """Of the sessions that there are."""

    @classmethod
    def of(cls, sessions: Sequence[BackendStatus]) -> "CallersStatus":
        """All of these together."""
        states = Counter(each.state for each in sessions)
        return cls(
            connecting=states["connecting"],
            ready=states["ready"],
            failing=states["failing"],
            calls_running=sum(each.calls_running for each in sessions),
            call_sessions=sum(each.call_sessions for each in sessions),
            counters=Counters(*(sum(getattr(each.counters, of.name) for each in sessions) for of in fields(Counters))),
        )
