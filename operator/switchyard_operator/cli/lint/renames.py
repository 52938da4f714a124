"""What clients see under another name than before: the fields of two versions of a gateway, compared. Pure.

Names are a matter of the sidecar, so that its own rules are asked (:mod:`switchyard_sidecar.catalog.naming`) about all tools that a
backend may have, known or not.
"""

from collections.abc import Iterator, Mapping

from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.resource import Ref
from switchyard_operator.cli.lint.advice import Advice, Subject
from switchyard_operator.compile.reports import Severity
from switchyard_sidecar.catalog.naming import NameSpace
from switchyard_sidecar.config.model import Alias, GatewayConfig


def renamed(before: GatewayConfig, after: GatewayConfig, entries: Mapping[str, FieldPath]) -> Iterator[Advice]:
    """What the change does to names. ``entries`` are the fields by which the gateway includes its backends now.

    A backend or a tool that comes or goes renames nothing. An alias is there to rename: that is worth a note, not a warning.
    """
    gateway = Ref("MCPGateway", after.namespace, after.name)
    old, new = _name_spaces(before), _name_spaces(after)
    for backend, was in old.items():
        now = new.get(backend)
        if now is not None and now != was:
            message = f"tools of {backend} are renamed: {_change(was, now)}"
            yield Advice(Severity.WARNING, gateway, entries[backend], Subject.RENAMED_TOOLS, message)
    aliased = {(each.backend, each.tool): each for each in (*before.aliases, *after.aliases)}
    for (backend, tool), alias in aliased.items():
        if backend not in old or backend not in new:
            continue
        # The backend's own change has been told of: names are compared as if its rules were the same.
        names = [_names(config, new[backend], tool) for config in (before, after)]
        if lost := names[0] - names[1]:
            message = f'"{tool}" of {backend} is not called {_listed(lost)} any more, but {_listed(names[1])}'
            there = alias in after.aliases
            about = Ref("MCPToolAlias", alias.namespace, alias.name) if there else gateway
            yield Advice(Severity.NOTE, about, ("spec", "alias") if there else (), Subject.RENAMED_TOOLS, message)


def _name_spaces(config: GatewayConfig) -> dict[str, NameSpace]:
    return {each.id: NameSpace.of(each, config.naming) for each in config.backends}


def _change(was: NameSpace, now: NameSpace) -> str:
    if was.lead != now.lead:
        return f"{was.lead}* is now {now.lead}*"
    return "other names are too long or have characters to replace (naming.maxLength, naming.charset)"


def _names(config: GatewayConfig, rules: NameSpace, tool: str) -> set[str]:
    """What the tool is called in a gateway."""
    owners: dict[str, Alias] = {}
    for alias in config.aliases:  # in order of precedence
        owners.setdefault(alias.alias, alias)
    own = [each for each in owners.values() if (each.backend, each.tool) == (rules.backend, tool)]
    ordinary = {rules.ordinary(tool)} if all(each.keep_original for each in own) else set()
    return ordinary | {each.alias for each in own}


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
