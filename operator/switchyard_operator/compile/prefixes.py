"""What stands before each backend's tool names. Depends on what is declared alone, never on which backends resolve.

Default prefixes that would coincide (``a/github`` and ``b/github``) all get a hash of their backend, not only the later
ones: reordering the gateway must not let one backend's names silently mean another's.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.gateway_naming import Naming
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.members import Member
from switchyard_operator.compile.reports import Reason, Report, Severity

_HASH_DIGITS = 8


def prefixes(gateway: MCPGateway, members: Sequence[Member]) -> tuple[str | None, ...]:
    """Each member's prefix: ``""`` for none, ``None`` for bare names that are never cut."""
    naming, entries = gateway.spec.naming, gateway.spec.backends
    alone = len(entries) == 1 and entries[0].name is not None
    wanted = naming.strategy == "Always" or (naming.strategy == "Auto" and not alone)
    plain = Counter(_plain(member.key, naming) for member in members if member.entry.prefix is None)

    def prefix(member: Member) -> str | None:
        if member.entry.prefix is not None:
            return member.entry.prefix
        if not wanted:
            return None if alone else ""
        name = _plain(member.key, naming)
        if plain[name] == 1 and len(name) <= naming.longest_prefix:
            return name
        return _hashed(name, member.key, naming)

    return tuple(prefix(member) for member in members)


def shared_names(gateway: MCPGateway, members: Sequence[Member], chosen: Sequence[str | None]) -> Iterator[Report]:
    """A warning for each group of backends whose tools may come to the same name: equal prefixes, or none at all."""
    groups = defaultdict[str | None, list[Member]](list)
    for member, prefix in zip(members, chosen, strict=True):
        groups[prefix].append(member)
    for prefix, group in groups.items():
        names = ", ".join(str(member.key) for member in group)
        if prefix and len(group) > 1:
            message = f'{names} share the prefix "{prefix}"'
        elif prefix == "" and len(members) > 1:
            message = f"{names} without a prefix may have tools named like those of the others"
        else:
            continue
        message += ": of two equal names the later backend's gets a hash, and its tools wait for the earlier's answer"
        yield Report(Severity.WARNING, Ref("MCPGateway", *gateway.key), group[-1].field, Reason.SHARED_NAMES, message)


def _joint(naming: Naming) -> str:
    """The character that a default prefix may contain: the one that the separator is not made of."""
    return "_" if "-" in naming.separator else "-"


def _plain(key: Key, naming: Naming) -> str:
    return key.name.translate(str.maketrans(".-", _joint(naming) * 2))


def _hashed(name: str, key: Key, naming: Naming) -> str:
    digest = hashlib.sha256(str(key).encode()).hexdigest()[:_HASH_DIGITS]
    room = naming.longest_prefix - _HASH_DIGITS - 1
    return name[:room].rstrip("-_") + _joint(naming) + digest
