"""References that lead nowhere: which object they name, and which one was probably meant.

Only where manifests are files may this be said: all that is suggested here can be read there. In a cluster it would tell who may
not know it what exists in other namespaces.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from switchyard_operator.api.explain import nearest
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.objects import Objects, Table
from switchyard_operator.compile.reports import Reason, Report
from switchyard_operator.manifests.load import Manifests

_SOUGHT: Final[Mapping[Reason, str]] = {
    Reason.BACKEND_NOT_FOUND: "MCPBackend",
    Reason.NO_GATEWAY: "MCPBackend",
    Reason.GATEWAY_NOT_FOUND: "MCPGateway",
    Reason.SECRET_NOT_FOUND: "Secret",
    Reason.CONFIG_MAP_NOT_FOUND: "ConfigMap",
}
"""Reports of a reference that leads nowhere, with the kind of what it names. Their field is the reference, or its name."""


def sought(report: Report, manifests: Manifests) -> Ref | None:
    """The object that the report's field names and that is not found there; ``None`` when the report is about something else."""
    kind = _SOUGHT.get(report.reason)
    if kind is None:
        return None
    named: Any = reduce(lambda value, step: value[step], report.field, manifests.origins[report.object].value)
    if isinstance(named, str):
        return Ref(kind, report.object.namespace, named)
    return Ref(kind, named.get("namespace") or report.object.namespace, named["name"])


def others(ref: Ref, objects: Objects) -> list[str]:
    """The names of the objects that the files hold of that kind in that namespace."""
    return sorted(key.name for key in _table(ref.kind, objects).within(ref.namespace))


def completed(report: Report, manifests: Manifests) -> Report:
    """The report with the object that was probably meant, if there is one."""
    ref = sought(report, manifests)
    meant = None if ref is None else _meant(ref, manifests.objects)
    return report if meant is None else replace(report, message=f"{report.message}; did you mean {meant}?")


def _meant(ref: Ref, objects: Objects) -> str | None:
    table = _table(ref.kind, objects)
    if Key(ref.namespace, ref.name) in table:
        return None  # it is there, and cannot be used for another reason
    near = nearest(ref.name, others(ref, objects))
    if near is None and ref.kind == "MCPBackend":  # the one kind that may be referred to from another namespace
        return next((str(key) for key in sorted(table) if key.name == ref.name), None)
    return near


def _table(kind: str, objects: Objects) -> Table[Any]:
    tables: dict[str, Table[Any]] = {
        "MCPBackend": objects.backends,
        "MCPGateway": objects.gateways,
        "Secret": objects.secrets,
        "ConfigMap": objects.config_maps,
    }
    return tables[kind]
