"""How many of a gateway's backends do not answer the operator."""

from collections.abc import Callable, Collection

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.members import members
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.conditions import Truth
from switchyard_operator.controller.status.probed import Reach


def not_answering(
    gateway: MCPGateway, objects: Objects, left_out: Collection[Key], reach: Callable[[Key], Reach | None]
) -> int:
    """The backends that are served, and of which it is believed that they cannot be reached. Where nobody knows, nothing is believed."""
    served = (member.key for member in members(gateway, objects)[0] if member.key not in left_out)
    return sum(found is not None and found.condition.status is Truth.FALSE for found in map(reach, served))
