"""Everything that is to be said about manifests before they are merged, each with its place. Pure.

Nothing is judged here that the operator judges: mistakes of form are the loader's, findings are compiling's, in a cluster. Three things
are added: advice, what a change renames, and a look at what files can know. Files are a part of a cluster, so that:

1. What is missing is an error where the files hold other objects of its kind and namespace, among which it would stand. Where they
   hold none it is a warning, or a note for Secrets and ConfigMaps, which are rarely kept with the rest.
2. What may stand in a file or an object that cannot be read is not called missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from switchyard_operator.api.fields import FieldPath, dotted
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.cli.absent import completed, others, sought
from switchyard_operator.cli.lint.advice import Advice, Subject, advice
from switchyard_operator.cli.lint.alike import names_alike, tools_alike
from switchyard_operator.cli.lint.guards import guards
from switchyard_operator.cli.lint.renames import renamed
from switchyard_operator.compile import (
    CompiledGateway,
    Objects,
    Reason,
    Report,
    Severity,
    compile_gateway,
)
from switchyard_operator.compile.aliases import idle_aliases
from switchyard_operator.compile.authentication import MADE_BY_THE_OPERATOR
from switchyard_operator.compile.backends import findings as of_backend
from switchyard_operator.compile.children import TooLarge, config_map, secret
from switchyard_operator.compile.grants import labels_unknown
from switchyard_operator.compile.members import members
from switchyard_operator.compile.rendering import render
from switchyard_operator.manifests.faults import Fault, Place
from switchyard_operator.manifests.load import Manifests

_KEPT_ELSEWHERE: Final = frozenset({"Secret", "ConfigMap"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. Contains no secret."""

    severity: Severity
    place: Place | None
    """``None``: of an object that is not from these files."""
    object: str
    """Kind, namespace and name as far as they are known."""
    field: str
    """Such as ``spec.backends[1].prefix``; empty: the object as a whole."""
    reason: str
    """A :class:`Reason` or a :class:`Subject`."""
    message: str

    @property
    def said(self) -> str:
        """Object, field, message and reason, on one line whatever the files contain."""
        said = ": ".join(filter(None, (self.object, self.field, self.message))) + f" [{self.reason}]"
        return "".join(each if each.isprintable() else " " for each in said)


def findings(manifests: Manifests, before: Objects | None = None) -> list[Finding]:
    """All findings in the order of files and lines. ``before`` is the old version to compare names with."""
    faulty = frozenset(fault.object for fault in manifests.faults)
    reports = [each for each in dict.fromkeys(_reports(manifests.objects)) if not _excused(each, faulty, manifests)]
    found = [_of_fault(fault) for fault in manifests.faults]
    found += [_of(_weighed(completed(each, manifests), manifests), manifests) for each in reports]
    found += [_of(each, manifests) for each in dict.fromkeys(_advice(manifests.objects, before))]
    return sorted(found, key=lambda each: each.place or Place("~"))


def _reports(objects: Objects) -> Iterator[Report]:
    """What the operator would find, in backends that no gateway uses as well."""
    for backend in objects.backends.values():
        yield from of_backend(backend, objects, cluster=True)
    for key in objects.gateways:
        compiled = _compiled(objects, key)
        yield from compiled.reports
    yield from idle_aliases(objects)


def _advice(objects: Objects, before: Objects | None) -> Iterator[Advice]:
    yield from advice(objects)
    yield from guards(objects)
    yield from tools_alike(objects)
    for key, gateway in objects.gateways.items():
        now = _compiled(objects, key)
        entries = {str(member.key): member.field for member in members(gateway, objects)[0]}
        yield from _too_large(key, now)
        yield from names_alike(now.config, entries)
        if before is not None and key in before.gateways:
            was = _compiled(before, key)
            yield from renamed(was.config, now.config, entries)


def _compiled(objects: Objects, key: Key) -> CompiledGateway:
    return compile_gateway(objects, key, revision_key=None, cluster=True, service_accounts=MADE_BY_THE_OPERATOR)


def _too_large(key: Key, compiled: CompiledGateway) -> Iterator[Advice]:
    try:
        config_map(key, render(compiled.config))
        secret(key, compiled.credentials)
    except TooLarge as error:
        yield Advice(Severity.ERROR, Ref("MCPGateway", *key), (), Subject.TOO_LARGE, str(error))


def _weighed(report: Report, manifests: Manifests) -> Report:
    """The report, less severe where the files cannot know."""
    objects, missed = manifests.objects, sought(report, manifests)
    if missed is None:
        return report
    backend = objects.backends.get(Key(missed.namespace, missed.name)) if missed.kind == "MCPBackend" else None
    if backend is not None and labels_unknown(backend, report.object.namespace, objects):
        return replace(report, severity=Severity.WARNING)
    if report.reason is Reason.NO_GATEWAY:  # the field names the backend; what is missed is a gateway that includes it
        missed = Ref("MCPGateway", report.object.namespace, "")
    if others(missed, objects):
        return report
    severity = Severity.NOTE if missed.kind in _KEPT_ELSEWHERE else Severity.WARNING
    held = f"these files hold no {missed.kind} of namespace {missed.namespace}"
    return replace(report, severity=severity, message=f"{report.message}; {held}")


def _excused(report: Report, faulty: frozenset[str], manifests: Manifests) -> bool:
    """Whether what the report misses may be in what cannot be read; ``faulty`` are the objects with faults, ``""`` for whole files."""
    missed = sought(report, manifests)
    if missed is None:
        return False
    if report.reason is Reason.NO_GATEWAY and any(
        each.startswith(f"MCPGateway {report.object.namespace}/") for each in faulty
    ):
        return True
    return not faulty.isdisjoint({"", str(missed)})


def _of(report: Report | Advice, manifests: Manifests) -> Finding:
    field: FieldPath = report.field
    return Finding(
        report.severity,
        manifests.place(report.object, field),
        str(report.object),
        dotted(field),
        report.reason.value,
        report.message,
    )


def _of_fault(fault: Fault) -> Finding:
    message = f"{fault.value}: {fault.message}" if fault.value else fault.message
    return Finding(Severity.ERROR, fault.place, fault.object, dotted(fault.field), Subject.INVALID.value, message)
