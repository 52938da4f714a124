"""What is said of an MCPBackend: of itself alone, whoever uses it or not."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.backends import findings
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.assessment import Assessment, accepted, outlook, ready_if, resolved
from switchyard_operator.controller.status.conditions import Condition, Truth, concluded
from switchyard_operator.controller.status.pinned import not_compared
from switchyard_operator.controller.status.probed import ProbeReason, Reach


def assess_backend(item: Item[MCPBackend], objects: Objects, reach: Reach, hidden: Collection[Key] = ()) -> Assessment:
    """The backend's status. ``Ready`` = accepted and resolved; that it does not answer is in its message, and changes nothing else.

    ``hidden`` are Secrets that are known to exist without the label by which they are seen.
    """
    reports = [] if item.model is None else list(_reports(item.model, objects, hidden))
    parts = (accepted(item.faults, reports), resolved(item.faults, reports))
    ready = ready_if(parts, "is accepted, and all its references resolve")
    seen = _seen(reach, ready)
    if seen.condition.status is Truth.FALSE:
        ready = replace(ready, message=f"{ready.message}; not reachable: {seen.condition.message}")
    return Assessment(
        concluded((*parts, seen.condition, *_listed(item.model, seen)), ready, outlook(item.faults, reports)),
        seen.facts,
    )


def _listed(backend: MCPBackend | None, seen: Reach) -> Iterator[Condition]:
    """What is said of the tools that it lists."""
    answer = seen.answer
    if backend is not None and backend.spec.pinning.mode != "None":
        # Whether or not a probe has found out so far that it would need one.
        reason = ProbeReason.CALLER_NEEDED if backend.spec.auth.type == "Forward" else seen.reason
        yield not_compared(reason) if answer is None or answer.pinned is None else answer.pinned
    if answer is not None and answer.alike is not None:
        yield answer.alike


def _seen(reach: Reach, ready: Condition) -> Reach:
    """What is believed, as far as it is about the backend as it is now: the next probe may be a moment behind."""
    if ready.status is not Truth.TRUE:
        return Reach(ProbeReason.NOT_RESOLVED)
    return Reach() if reach.reason is ProbeReason.NOT_RESOLVED else reach


def _reports(backend: MCPBackend, objects: Objects, hidden: Collection[Key]) -> Iterator[Report]:
    yield from findings(backend, objects, cluster=True, hidden=hidden)
    if backend.spec.allowed_namespaces.from_ == "Selector" and not objects.namespaces:
        message = "the operator may not read namespaces, so that no other namespace is admitted by its labels"
        path = ("spec", "allowedNamespaces", "selector")
        yield Report(Severity.WARNING, Ref("MCPBackend", *backend.key), path, Reason.NAMESPACE_UNKNOWN, message)
