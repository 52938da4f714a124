"""What a pod decides about its sidecar, by annotations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from switchyard_operator.api import pods
from switchyard_operator.api.explain import nearest
from switchyard_operator.api.resource import GROUP

_GROUP: Final = f"{GROUP}/"
_WRITTEN_BY_US: Final = frozenset({pods.CONFIG_FORMAT, pods.CONFIG_HASH})
_ALLOWED: Final[Mapping[str, str]] = {
    pods.ENVIRONMENT: "Enabled or Disabled",
    pods.POSITION: "First or Last",
    pods.PORT: "a port from 1 to 65535",
    pods.ADMIN_PORT: "a port from 1 to 65535",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What a pod decides for itself."""

    port: int | None = None
    """The sidecar's MCP port; ``None``: the gateway's."""
    admin_port: int | None = None
    """The sidecar's admin port; ``None``: the gateway's."""
    environment: bool = True
    """Whether its containers are told the URL."""
    first: bool = True
    """Whether the sidecar starts before the other init containers."""


def options_of(annotations: Mapping[str, str]) -> tuple[Options, tuple[str, ...]]:
    """What the annotations decide, and what is wrong with them: a wrong value counts as not given."""
    chosen, faults = Options(), list(_unknown(annotations))
    for name in sorted(_ALLOWED.keys() & annotations.keys()):
        value = annotations[name]
        match name, value:
            case (pods.ENVIRONMENT, "Enabled" | "Disabled"):
                chosen = replace(chosen, environment=value == "Enabled")
            case (pods.POSITION, "First" | "Last"):
                chosen = replace(chosen, first=value == "First")
            case (pods.PORT, _) if (port := port_in(value)) is not None:
                chosen = replace(chosen, port=port)
            case (pods.ADMIN_PORT, _) if (port := port_in(value)) is not None:
                chosen = replace(chosen, admin_port=port)
            case _:
                faults.append(f'annotation {name} is ignored: must be {_ALLOWED[name]}, not "{value[:40]}"')
    return chosen, tuple(faults)


def port_in(text: str) -> int | None:
    """The port that a text of somebody else's says, if it says one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= 65535 else None


def _unknown(annotations: Mapping[str, str]) -> Iterator[str]:
    """Complaints about annotations of our group that mean nothing."""
    known = {option.removeprefix(_GROUP): option for option in sorted(_ALLOWED)}
    for name in sorted(annotations):
        if name.startswith(_GROUP) and name not in _ALLOWED.keys() | _WRITTEN_BY_US:
            near = nearest(name.removeprefix(_GROUP), [*known])
            yield f"annotation {name[:80]} means nothing" + (f"; did you mean {known[near]}?" if near else "")
