"""Objects as the store holds them, and their statuses in short."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.explain import Explained
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment
from unit.operator import kstatus

NOW = datetime(2026, 7, 28, 12, 0, 0, tzinfo=UTC)
GENERATION = 3
FAULTS = (
    Explained(("spec", "url"), "must be an absolute http or https URL", '"ftp://token@x"'),
    Explained(("spec", "headers", 0, "name"), "is required", ""),
)


def held(
    model: MCPBackend | MCPToolAlias | MCPGateway, status: Mapping[str, Any] | None = None, generation: int = GENERATION
) -> Item[Any]:
    """A valid object in the store."""
    return Item(model.key, "uid-1", "100", generation, deleting=False, model=model, status=status or {})


def invalid(name: str = "main") -> Item[Any]:
    """An object that has bypassed its schema."""
    return Item(Key("agents", name), "uid-1", "100", GENERATION, deleting=False, model=None, faults=FAULTS)


def in_short(assessment: Assessment) -> list[str]:
    """The conditions as ``Ready=True Degraded``."""
    return [f"{each.type}={each.status} {each.reason}" for each in assessment.conditions]


def reading(assessment: Assessment) -> kstatus.Reading:
    """What kstatus makes of it."""
    status = assessment.status(GENERATION, {}, NOW)
    return kstatus.read({"metadata": {"generation": GENERATION}, "status": status})


def message(assessment: Assessment, kind: str) -> str:
    """What one condition says."""
    (found,) = (each.message for each in assessment.conditions if each.type == kind)
    return found
