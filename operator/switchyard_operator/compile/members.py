"""Which backends a gateway consists of, in which order. Existing or not: what is named keeps its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import BackendEntry, MCPGateway
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Reason, Report, Severity

SELECTOR_LIMIT: Final = 100
"""The most backends that one selector brings in."""


@dataclass(frozen=True, slots=True)
class Member:
    """One backend of a gateway, named by an entry or found by its selector."""

    key: Key
    entry: BackendEntry
    field: FieldPath
    """The entry's place: ``spec.backends[i]``."""


def members(gateway: MCPGateway, objects: Objects) -> tuple[tuple[Member, ...], tuple[Report, ...]]:
    """The gateway's backends in order, each once, and what is to be said about the entries."""
    reports: list[Report] = []
    found: dict[Key, Member] = {}
    for index, entry in enumerate(gateway.spec.backends):
        field: FieldPath = ("spec", "backends", index)
        keys = tuple(_keys(entry, gateway, objects))
        if len(keys) > SELECTOR_LIMIT:
            message = (
                f"selects {len(keys)} backends; only the first {SELECTOR_LIMIT} by name are served: "
                "narrow the selector or use several"
            )
            reports.append(_about(gateway, field, Severity.ERROR, Reason.SELECTOR_TOO_BROAD, message))
        for key in keys[:SELECTOR_LIMIT]:
            if key not in found:
                found[key] = Member(key, entry, field)
            elif entry.selector is None:
                message = f"{key} is already part of this gateway, by an entry above; this one has no effect"
                reports.append(_about(gateway, field, Severity.WARNING, Reason.DUPLICATE_BACKEND, message))
    return tuple(found.values()), tuple(reports)


def _keys(entry: BackendEntry, gateway: MCPGateway, objects: Objects) -> Iterator[Key]:
    namespace = gateway.metadata.namespace
    if entry.selector is None:
        yield Key(entry.namespace or namespace, entry.name or "")
        return
    for key, backend in sorted(objects.backends.within(namespace).items()):
        if entry.selector.matches(backend.metadata.labels):
            yield key


def _about(gateway: MCPGateway, field: FieldPath, severity: Severity, reason: Reason, message: str) -> Report:
    return Report(severity, Ref("MCPGateway", *gateway.key), field, reason, message)
