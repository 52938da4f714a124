"""What is kept in memory of a compiled gateway for the statuses, when its config has been written and let go."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.api.status import MAX_CONFLICTS
from switchyard_operator.compile import CompiledGateway
from switchyard_operator.compile.authentication import admits_nobody
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_sidecar.config import model as config

_CONFLICTS: Final = frozenset({Reason.ALIAS_CONFLICT, Reason.SHARED_NAMES})
_TOLD_OF_GATEWAYS: Final = frozenset(
    {Reason.BACKEND_NOT_FOUND, Reason.CREDENTIALS_WITHHELD, Reason.FORWARD_WITHOUT_AUDIENCE}
)
"""Reasons for which a backend is left out and a report says so of the gateway."""


@dataclass(frozen=True, slots=True)
class Composition:
    """What compiling made of a gateway, as far as statuses tell of it."""

    reports: tuple[Report, ...] = ()
    """About the gateway itself."""
    at_fault: Mapping[Key, str] = field(default_factory=dict)
    """Why backends are left out of which no report tells, since the fault is their own."""
    closed: bool = False
    """Nobody is let in, since nothing of ``spec.auth`` resolves."""
    backends: int = 0
    left_out: frozenset[Key] = frozenset()
    """Of these, backends that are not served."""
    aliases: Mapping[Key, Key | None] = field(default_factory=dict)
    """The aliases that are meant for the gateway and whose backend it includes, each with the one that has its name; ``None``:
    it has it itself."""
    idle: Mapping[Key, str] = field(default_factory=dict)
    """Of these, aliases whose backend is left out, and why it is."""
    conflicts: tuple[Report, ...] = ()
    """The first claims of more than one object to one name, whatever object they are reported on."""

    @property
    def resolved(self) -> int:
        """How many backends are served."""
        return self.backends - len(self.left_out)

    @classmethod
    def of(cls, compiled: CompiledGateway) -> "Composition":
        """What to keep of a compiled gateway."""
        declared = compiled.config
        why = {
            Key(each.namespace, each.name): each.unresolved for each in declared.backends if each.unresolved is not None
        }
        idle = {str(key): reason for key, reason in why.items()}
        gateway = Ref("MCPGateway", declared.namespace, declared.name)
        return cls(
            reports=tuple(each for each in compiled.reports if each.object == gateway),
            at_fault={key: reason for key, reason in why.items() if reason not in _TOLD_OF_GATEWAYS},
            closed=admits_nobody(declared.authentication),
            backends=len(declared.backends),
            left_out=frozenset(why),
            aliases=_standings(declared.aliases),
            idle={
                Key(each.namespace, each.name): idle[each.backend] for each in declared.aliases if each.backend in idle
            },
            conflicts=tuple(islice((each for each in compiled.reports if each.reason in _CONFLICTS), MAX_CONFLICTS)),
        )


def left_out(gateway: Key, at_fault: Mapping[Key, str]) -> Iterator[Report]:
    """Says of which backends the cause is told in their own status."""
    for key, reason in at_fault.items():
        message = f"backend {key} is left out ({reason}); its status says more"
        yield Report(
            Severity.ERROR, Ref("MCPGateway", *gateway), ("spec", "backends"), Reason.BACKEND_NOT_RESOLVED, message
        )


def _standings(aliases: tuple[config.Alias, ...]) -> dict[Key, Key | None]:
    """Each alias with the one that has its name. They come in order of precedence."""
    winners: dict[str, Key] = {}
    standings: dict[Key, Key | None] = {}
    for each in aliases:
        key = Key(each.namespace, each.name)
        winner = winners.setdefault(each.alias, key)
        standings[key] = None if winner == key else winner
    return standings
