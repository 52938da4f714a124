"""Names that a person would take for one another, as far as files know names: prefixes, aliases, and tools that they name. Pure.

Looks are a matter of the sidecar, so that its own rules are asked (:mod:`switchyard_sidecar.catalog.lookalikes`). Names that are chosen in
these files are worth a warning. Tools' own names are their server's, and were agreed to with their digests: a note.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.cli.lint.advice import Advice, Subject, note
from switchyard_operator.cli.looks import described
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Severity
from switchyard_sidecar.catalog import lookalikes, naming
from switchyard_sidecar.catalog.filters import passes
from switchyard_sidecar.catalog.naming import Plan
from switchyard_sidecar.config.model import GatewayConfig, ToolFilter

Place: TypeAlias = tuple[MCPBackend | MCPToolAlias, FieldPath]


def tools_alike(objects: Objects) -> Iterator[Advice]:
    """Of each backend: the tools that are pinned, or given an alias, and not left out by the backend itself."""
    aliased = defaultdict[Key, dict[str, Place]](dict)
    for alias in objects.aliases.values():
        ref = alias.spec.backend_ref
        aliased[Key(ref.namespace or alias.key.namespace, ref.name)][alias.spec.tool] = alias, ("spec", "tool")
    for backend in objects.backends.values():
        places = _places(backend, aliased[backend.key])
        for found in lookalikes.among(places):
            about, path = places[found.names[-1]]
            message = f"{described(found)}: see whether it is meant, or leave it out with spec.tools of {backend.key}"
            yield note(about, path, Subject.LOOK_ALIKE, message)


def names_alike(config: GatewayConfig, entries: Mapping[str, FieldPath]) -> Iterator[Advice]:
    """Of a gateway: what the names of its backends begin with, and its aliases beside all names that it is known to show.

    ``entries`` are the fields by which it includes its backends.
    """
    plan = naming.plan(config)
    leads = {each.space.lead: each.space.backend for each in plan.backends}
    for found in lookalikes.among(leads):
        backend = leads[found.names[-1]]
        message = f"what tools of {backend} begin with, {described(found)}: give one of them another prefix"
        about = Ref("MCPGateway", config.namespace, config.name)
        yield Advice(Severity.WARNING, about, entries[backend], Subject.LOOK_ALIKE, message)
    for found in lookalikes.among({*plan.reserved, *_pinned(config, plan)}):
        aliases = [plan.reserved[name] for name in found.names if name in plan.reserved]
        if aliases:
            about = Ref("MCPToolAlias", aliases[-1].namespace, aliases[-1].name)
            message = f"of the names of one gateway, {described(found)}: choose another alias"
            yield Advice(Severity.WARNING, about, ("spec", "alias"), Subject.LOOK_ALIKE, message)


def _places(backend: MCPBackend, aliased: Mapping[str, Place]) -> dict[str, Place]:
    """By tool that is named and not left out: where."""
    filters = [ToolFilter(include=backend.spec.tools.include, exclude=backend.spec.tools.exclude)]
    pinned: dict[str, Place] = {
        pin.tool: (backend, ("spec", "pinning", "digests", index, "tool"))
        for index, pin in enumerate(backend.spec.pinning.digests)
    }
    return {tool: place for tool, place in {**aliased, **pinned}.items() if passes(filters, tool)}


def _pinned(config: GatewayConfig, plan: Plan) -> set[str]:
    """What pinned tools are called in the gateway, if its backends have these tools and no others."""
    shown: set[str] = set()
    for backend, its_naming in zip(config.backends, plan.backends, strict=True):
        tools = [pin.tool for pin in backend.pinning.digests if passes(backend.filters, pin.tool)]
        shown |= {exposure.name for exposure in naming.expose(its_naming, tools, shown)[0]}
    return shown
