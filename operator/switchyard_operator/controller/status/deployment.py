"""What is said of a gateway in mode ``Deployment`` beside what is said of every gateway: whether it is in place, and answers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from switchyard_operator.controller.observed import DeploymentState
from switchyard_operator.controller.status.conditions import AVAILABLE, Condition, Progress, Truth

_AVAILABLE: Final = "Available"
_PROGRESSING: Final = "Progressing"
_REPLICA_FAILURE: Final = "ReplicaFailure"
"""Types of conditions of Deployments (apps/v1, ``DeploymentConditionType``)."""
_COMPLETE: Final = "NewReplicaSetAvailable"
"""The reason of ``Progressing`` once a rollout has been completed (kubernetes, ``pkg/controller/deployment/util``)."""


class Placed(StrEnum):
    """How far bringing a gateway's Deployment in place came. The values but the first are reasons of ``Programmed``."""

    DEPLOYED = "Deployed"
    IMAGE_UNKNOWN = "ImageUnknown"
    """Nobody says of which image it is."""
    NOT_PERMITTED = "NotPermitted"
    """The operator is not permitted to have Deployments."""
    NAME_CONFLICT = "NameConflict"
    """An object of its name is not this gateway's, and not touched."""
    BEING_DELETED = "BeingDeleted"
    """An object of it is on its way out, and will be made anew."""
    WRITE_FAILED = "WriteFailed"
    """The API server did not take it. It is tried again."""


class AvailableReason(StrEnum):
    """Reasons of ``Available``."""

    AVAILABLE = "Available"
    PROGRESSING = "Progressing"
    REPLICA_FAILURE = "ReplicaFailure"
    PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
    UNAVAILABLE = "Unavailable"


@dataclass(frozen=True, slots=True)
class Placing:
    """The end of an attempt to bring a gateway's Deployment in place."""

    result: Placed
    message: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A gateway's Deployment: whether it is in place, and how far it has come."""

    placing: Placing
    state: DeploymentState | None = None
    """``None``: not seen yet."""

    @property
    def is_placed(self) -> bool:
        """Whether it is in place."""
        return self.placing.result is Placed.DEPLOYED

    @property
    def is_tried_again(self) -> bool:
        """Whether it may come into place without anybody's doing."""
        return self.placing.result in {Placed.BEING_DELETED, Placed.WRITE_FAILED}

    def available(self) -> Condition:
        """Whether it answers: the Deployment's own opinion."""
        reason, message = self._available()
        known = {AvailableReason.AVAILABLE: Truth.TRUE, AvailableReason.PROGRESSING: Truth.UNKNOWN}
        return Condition(AVAILABLE, known.get(reason, Truth.FALSE), reason.value, message)

    def _available(self) -> tuple[AvailableReason, str]:
        if self.state is None:
            return AvailableReason.PROGRESSING, "its replicas have not started yet"
        counted = f"{self.state.available} of {self.state.wanted} replicas are available"
        if self.state.said(_AVAILABLE).status == Truth.TRUE:
            return AvailableReason.AVAILABLE, counted
        failure, progressing = self.state.said(_REPLICA_FAILURE), self.state.said(_PROGRESSING)
        if failure.status == Truth.TRUE:
            return AvailableReason.REPLICA_FAILURE, f"{counted}: {failure.message}"
        if progressing.status == Truth.FALSE:
            return AvailableReason.PROGRESS_DEADLINE_EXCEEDED, f"{counted}: {progressing.message}; see its pods"
        if progressing.reason == _COMPLETE:
            return AvailableReason.UNAVAILABLE, f"{counted}; see its pods"
        return AvailableReason.PROGRESSING, counted

    def progress(self) -> Progress:
        """What may still come: replicas that start, or are replaced."""
        state = self.state
        if state is None:
            return Progress.WAITING
        if state.said(_PROGRESSING).status == Truth.FALSE:
            return Progress.STUCK
        is_whole = state.wanted == state.total == state.updated == state.available
        is_done = state.current and is_whole and state.said(_AVAILABLE).status == Truth.TRUE
        return Progress.DONE if is_done else Progress.WAITING

    def under_way(self) -> str:
        """How far a replacement of replicas has come, in words."""
        return "" if self.state is None else f"{self.state.updated} of {self.state.wanted} replicas are up to date"
