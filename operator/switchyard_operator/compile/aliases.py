"""Which aliases act on a gateway, in order of precedence, and what is to be said of those that do not."""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Final

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.grants import not_found
from switchyard_operator.compile.members import members
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_sidecar.config import model as config

_NEVER_CREATED: Final = datetime.max.replace(tzinfo=UTC)
"""Stands for the age of an object from a file: younger than anything in a cluster."""


def aliases(
    gateway: MCPGateway, included: Collection[Key], objects: Objects
) -> tuple[tuple[config.Alias, ...], tuple[Report, ...]]:
    """The gateway's aliases, the first of two for one name being the one that counts."""
    compiled: list[config.Alias] = []
    reports: list[Report] = []
    winners: dict[str, MCPToolAlias] = {}
    for alias in sorted(objects.aliases.within(gateway.key.namespace).values(), key=_precedence):
        if not _acts_on(alias, gateway):
            continue
        spec, wanted = alias.spec, target(alias)
        if wanted not in included:
            if spec.gateway_refs is not None:
                reports.append(not_included(alias, gateway.key))
            continue
        winner = winners.setdefault(spec.alias, alias)
        if winner is not alias:
            reports.append(lost(alias, gateway.key, winner.key))
        compiled.append(
            config.Alias(
                namespace=alias.key.namespace,
                name=alias.key.name,
                backend=str(wanted),
                tool=spec.tool,
                alias=spec.alias,
                title=spec.title,
                description=spec.description,
                keep_original=spec.keep_original,
            )
        )
    return tuple(compiled), tuple(reports)


def idle_aliases(objects: Objects) -> Iterator[Report]:
    """Aliases that name a gateway which does not exist, or act on none at all."""
    included = {key: {member.key for member in members(each, objects)[0]} for key, each in objects.gateways.items()}
    for alias in sorted(objects.aliases.values(), key=_precedence):
        if alias.spec.gateway_refs is not None:
            for index, ref in enumerate(alias.spec.gateway_refs):
                key = Key(alias.key.namespace, ref.name)
                if key not in objects.gateways:
                    yield gateway_not_found(alias, index, key)
        elif not any(target(alias) in included[key] for key in objects.gateways.within(alias.key.namespace)):
            yield no_gateway(alias)


def target(alias: MCPToolAlias) -> Key:
    """The backend whose tool is meant."""
    return Key(alias.spec.backend_ref.namespace or alias.key.namespace, alias.spec.backend_ref.name)


def lost(alias: MCPToolAlias, gateway: Key, winner: Key) -> Report:
    """Says that another alias has the name on that gateway."""
    message = (
        f'"{alias.spec.alias}" on gateway {gateway} belongs to {Ref("MCPToolAlias", *winner)}, which comes first '
        "(older, then by namespace and name); this tool keeps its ordinary name"
    )
    return _on(alias, ("spec", "alias"), Reason.ALIAS_CONFLICT, message)


def not_included(alias: MCPToolAlias, gateway: Key) -> Report:
    """Says that a gateway which the alias names does not include its backend."""
    message = f"gateway {gateway} does not include backend {target(alias)}; the alias has no effect there"
    return _on(alias, ("spec", "backendRef"), Reason.BACKEND_NOT_FOUND, message)


def no_backend(alias: MCPToolAlias, gateway: Key) -> Report:
    """Says that a gateway includes a backend that does not exist, or that it may not use: which of the two is not said."""
    message = not_found(target(alias), gateway.namespace)
    message += f", as gateway {gateway} includes it; the alias takes effect when there is one"
    return _on(alias, ("spec", "backendRef"), Reason.BACKEND_NOT_FOUND, message)


def not_served(alias: MCPToolAlias, gateway: Key) -> Report:
    """Says that a gateway includes the backend, and has to leave it out."""
    message = f"gateway {gateway} leaves backend {target(alias)} out, and says why; the alias takes effect there when it is served"
    return _on(alias, ("spec", "backendRef"), Reason.BACKEND_NOT_RESOLVED, message)


def gateway_not_found(alias: MCPToolAlias, index: int, gateway: Key) -> Report:
    """Says that the gateway of ``spec.gatewayRefs[index]`` does not exist."""
    path: FieldPath = ("spec", "gatewayRefs", index, "name")
    return _on(alias, path, Reason.GATEWAY_NOT_FOUND, f"there is no MCPGateway {gateway}")


def no_gateway(alias: MCPToolAlias) -> Report:
    """Says that an alias which names no gateway acts on none."""
    message = f"no gateway of namespace {alias.key.namespace} includes backend {target(alias)}; the alias has no effect"
    return _on(alias, ("spec", "backendRef"), Reason.NO_GATEWAY, message)


def not_listed(alias: MCPToolAlias, *, withheld: bool) -> Report:
    """Says that the backend has no such tool in its list, or that its pins have it withheld."""
    tool, backend = alias.spec.tool, target(alias)
    if withheld:
        message = f"backend {backend} has tool {tool}, which is withheld as its pins say; the name waits for it"
    else:
        message = (
            f"backend {backend} lists no tool {tool}, as far as its spec.tools lets them pass; the name waits for it"
        )
    return _on(alias, ("spec", "tool"), Reason.TOOL_NOT_LISTED, message, Severity.WARNING)


def _precedence(alias: MCPToolAlias) -> tuple[datetime, Key]:
    return alias.metadata.creation_timestamp or _NEVER_CREATED, alias.key


def _acts_on(alias: MCPToolAlias, gateway: MCPGateway) -> bool:
    refs = alias.spec.gateway_refs
    return refs is None or any(ref.name == gateway.key.name for ref in refs)


def _on(
    alias: MCPToolAlias, path: FieldPath, reason: Reason, message: str, severity: Severity = Severity.ERROR
) -> Report:
    return Report(severity, Ref("MCPToolAlias", *alias.key), path, reason, message)
