"""Changes as people make them, one after the other, and how long each takes to reach the last config that it concerns."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final

from apiserver.client import ALIASES, BACKENDS, GATEWAYS, SECRETS, Client, Object, Resource
from bench.operator.declared import (
    BACKENDS_OF_TEAM,
    GATEWAYS_OF_TEAM,
    Cluster,
    alias,
    backend,
    credential,
    gateway,
    namespace,
    token,
)
from bench.operator.seen import Configs, Gateway

DISTANCE_S: Final = 1.0
"""From the beginning of one change to that of the next, which waits for the one before it too."""


@dataclass(frozen=True)
class Change:
    """A change of one object."""

    kind: str
    resource: Resource
    name: tuple[str, str]
    patch: Object
    touches: frozenset[Gateway]
    """The gateways whose configs it changes."""


@dataclass(frozen=True)
class Took:
    """How long one change took, from the request's beginning until the config had come back over a watch."""

    kind: str
    seconds: tuple[float, ...]
    """Of each config."""


def changes(cluster: Cluster, count: int) -> Iterator[Change]:
    """So many, of each kind in turn, all over the cluster."""
    for number, kind in enumerate(islice(cycle(("gateway", "alias", "backend", "Secret")), count)):
        team, mark = number * 7 % cluster.teams, f"change {number}"
        at, of = namespace(team), number // 4
        users = frozenset(cluster.users(team))
        member = of % BACKENDS_OF_TEAM
        match kind:
            case "gateway":
                name = gateway(of % GATEWAYS_OF_TEAM)
                yield Change(kind, GATEWAYS, (at, name), {"spec": {"instructions": mark}}, frozenset({(at, name)}))
            case "alias":
                touched = frozenset((at, gateway(each)) for each in range(GATEWAYS_OF_TEAM))
                yield Change(kind, ALIASES, (at, alias(member)), {"spec": {"title": mark}}, touched)
            case "backend":
                headers = {"headers": [{"name": "X-Team", "value": mark}]}
                yield Change(kind, BACKENDS, (at, backend(member)), {"spec": headers}, users)
            case _:
                yield Change(kind, SECRETS, (at, credential(member)), {"data": token(mark.replace(" ", "-"))}, users)


async def make(client: Client, configs: Configs, todo: Iterator[Change]) -> list[Took]:
    """Make the changes."""
    took: list[Took] = []
    for change in todo:
        began = time.monotonic()
        await client.patch(change.resource, *change.name, change.patch)
        took.append(Took(change.kind, tuple(await configs.all_since(change.touches, began))))
        await asyncio.sleep(began + DISTANCE_S - time.monotonic())
    return took
