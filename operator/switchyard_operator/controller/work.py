"""What there is to do, named so that doing it twice is doing it once."""

from enum import IntEnum
from typing import NamedTuple

from switchyard_operator.api.resource import Key


class Task(IntEnum):
    """Kinds of work; of two that are due, the lesser comes first."""

    CONFIG = 0
    """Compile a gateway and bring its children in line."""
    DEPLOYMENT = 1
    """Bring in line what a gateway in mode ``Deployment`` consists of, or remove it."""
    GATEWAY_STATUS = 2
    BACKEND_STATUS = 3
    ALIAS_STATUS = 4


class Work(NamedTuple):
    """One task on one object. Everything it needs is looked up when it is done, nothing is carried along."""

    task: Task
    key: Key

    def __str__(self) -> str:
        return f"{self.task.name.lower()} {self.key}"
