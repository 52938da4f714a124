"""Who may write: one replica at a time, by a Lease (coordination.k8s.io/v1). Decisions only; :mod:`.election` reads and writes.

How it holds, with nobody's wall clock compared with anybody else's:

1. A holder may write until two thirds of the duration after it *sent* the last renewal that was answered with success.
2. Another replica takes over when it has seen the same version for a whole duration, by its own monotonic clock. It cannot have
   seen it before it was sent, so that the holder stopped writing a third of the duration earlier: time for a write that was on
   its way.
3. Every change of the record is bound to the resource version that was read. Whoever was stopped for a while in between, and
   acts on what it saw long ago, gets a conflict; so does the slower of two who take over at once.
4. Whether an attempt succeeded that was not answered is not known, so that it gives no right to write.

A process that is stopped between the question :meth:`Leadership.may_write` and the write itself may still be late: that is why
children are written bound to the version that was looked at (:mod:`.plan`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.resources import LEASES

DURATION_S: Final = 15.0
"""How long a record stands that nobody renews."""
_RELEASED_S: Final = 1
"""The duration in a record that was given up, for clients that go by it (client-go does the same)."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a Lease says, as far as anything depends on it."""

    holder: str
    """Empty: nobody's."""
    duration_s: float
    acquired: str
    transitions: int

    @classmethod
    def of(cls, lease: Mapping[str, Any]) -> "Record":
        """The record in an object of the API server."""
        spec = lease.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration_s=spec.get("leaseDurationSeconds") or 0,
            acquired=spec.get("acquireTime") or "",
            transitions=spec.get("leaseTransitions") or 0,
        )


class Leadership:
    """One replica's part in the election for the Lease ``key``.

    Each round: :meth:`saw` what was read; create or replace what :meth:`bid` gives, if anything, and tell the answer to :meth:`won`;
    come back after :attr:`renew_s`. What fails is read again in the next round. ``now`` is a monotonic clock in seconds, which has
    to go on while the process is stopped.
    """

    def __init__(
        self,
        identity: str,
        key: Key,
        now: Callable[[], float],
        *,
        duration_s: float = DURATION_S,
    ) -> None:
        self.identity: Final = identity
        self.renew_s: Final = duration_s / 3
        """After which time to read again, whether we hold the lease or not."""
        self._key = key
        self._now = now
        self._duration_s = duration_s
        self._record: Record | None = None
        self._metadata: Mapping[str, Any] = {}
        self._seen_at = now()
        """When the Lease was first seen as it is."""
        self._sent_at = now()
        self._renewed_at: float | None = None
        """When the last renewal was sent that is known to have succeeded; ``None`` when the lease is not ours."""

    @property
    def term(self) -> int | None:
        """A number of its own for each time that the lease becomes ours, while it is; whether we may write is another question."""
        return self._record.transitions if self._record is not None and self._renewed_at is not None else None

    def may_write(self) -> bool:
        """Whether a write may start now."""
        return self._renewed_at is not None and self._now() - self._renewed_at < self._duration_s * 2 / 3

    def saw(self, lease: Mapping[str, Any] | None) -> None:
        """The Lease as it was just read; ``None`` when there is none."""
        record = None if lease is None else Record.of(lease)
        metadata = {} if lease is None else lease["metadata"]
        # By its version, not by the times in it: a holder whose clock stands still renews it all the same.
        if metadata.get("resourceVersion") != self._metadata.get("resourceVersion"):
            self._seen_at = self._now()
        self._record, self._metadata = record, metadata
        if record is None or record.holder != self.identity:
            self._renewed_at = None

    def bid(self, wall: datetime) -> dict[str, Any] | None:
        """The Lease to write now, or ``None`` when it is not our turn. It counts as sent from here on.

        With a ``resourceVersion`` it is to be replaced, without one to be created. ``wall`` is the time of day, for people.
        """
        record = self._record
        if record is not None and record.holder not in {"", self.identity} and not self._is_over(record):
            return None
        self._sent_at = self._now()
        if record is not None and record.holder == self.identity:
            acquired, transitions = record.acquired, record.transitions
        else:
            acquired, transitions = _micro_time(wall), record.transitions + 1 if record is not None else 0
        return self._lease(
            {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": round(self._duration_s),
                "acquireTime": acquired,
                "renewTime": _micro_time(wall),
                "leaseTransitions": transitions,
            }
        )

    def won(self, lease: Mapping[str, Any]) -> None:
        """The API server's answer to the bid: it is written."""
        self.saw(lease)
        if self._record is not None and self._record.holder == self.identity:
            self._renewed_at = self._sent_at

    def resign(self, wall: datetime) -> dict[str, Any] | None:
        """The Lease that lets another replica begin at once, if ours is to give; no write may be on its way any more."""
        if self._record is None or self._renewed_at is None:
            return None
        self._renewed_at = None
        return self._lease(
            {
                "holderIdentity": "",
                "leaseDurationSeconds": _RELEASED_S,
                "acquireTime": self._record.acquired,
                "renewTime": _micro_time(wall),
                "leaseTransitions": self._record.transitions,
            }
        )

    def _is_over(self, record: Record) -> bool:
        # The holder's own duration counts where it is longer: it may be of another release.
        return self._now() - self._seen_at >= max(self._duration_s, record.duration_s)

    def _lease(self, spec: dict[str, Any]) -> dict[str, Any]:
        metadata = {**self._metadata, "namespace": self._key.namespace, "name": self._key.name}
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}


def _micro_time(wall: datetime) -> str:
    """As Kubernetes writes ``MicroTime``."""
    return wall.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
