"""Which aliases act on a gateway, in order of precedence, and what is to be said of those that do not."""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Final

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key, Ref
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
        spec, target = alias.spec, _target(alias)
        if target not in included:
            if spec.gateway_refs is not None:
                message = f"gateway {gateway.key} does not include backend {target}; the alias has no effect there"
                path: FieldPath = ("spec", "backendRef")
                reports.append(_on(alias, Severity.ERROR, path, Reason.BACKEND_NOT_FOUND, message))
            continue
        winner = winners.setdefault(spec.alias, alias)
        if winner is not alias:
            message = (
                f'"{spec.alias}" on gateway {gateway.key} belongs to {Ref("MCPToolAlias", *winner.key)}, which comes first '
                "(older, then by namespace and name); this tool keeps its ordinary name"
            )
            reports.append(_on(alias, Severity.ERROR, ("spec", "alias"), Reason.ALIAS_CONFLICT, message))
        compiled.append(
            config.Alias(
                namespace=alias.key.namespace,
                name=alias.key.name,
                backend=str(target),
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
                    path: FieldPath = ("spec", "gatewayRefs", index, "name")
                    message = f"there is no MCPGateway {key}"
                    yield _on(alias, Severity.ERROR, path, Reason.GATEWAY_NOT_FOUND, message)
        elif not any(key.namespace == alias.key.namespace and _target(alias) in included[key] for key in included):
            message = f"no gateway of namespace {alias.key.namespace} includes backend {_target(alias)}; the alias has no effect"
            yield _on(alias, Severity.ERROR, ("spec", "backendRef"), Reason.NO_GATEWAY, message)


def _precedence(alias: MCPToolAlias) -> tuple[datetime, Key]:
    return alias.metadata.creation_timestamp or _NEVER_CREATED, alias.key


def _acts_on(alias: MCPToolAlias, gateway: MCPGateway) -> bool:
    if alias.key.namespace != gateway.key.namespace:
        return False
    refs = alias.spec.gateway_refs
    return refs is None or any(ref.name == gateway.key.name for ref in refs)


def _target(alias: MCPToolAlias) -> Key:
    return Key(alias.spec.backend_ref.namespace or alias.key.namespace, alias.spec.backend_ref.name)


def _on(alias: MCPToolAlias, severity: Severity, path: FieldPath, reason: Reason, message: str) -> Report:
    return Report(severity, Ref("MCPToolAlias", *alias.key), path, reason, message)
