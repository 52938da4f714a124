"""How many tools a gateway lists, as far as the operator's own looks at its backends tell."""

from collections.abc import Callable, Collection

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.api.tool_filter import ToolFilter
from switchyard_operator.compile.members import members
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.probed import Answer
from switchyard_sidecar.catalog.filters import passes
from switchyard_sidecar.config import model as config


def tools_listed(
    gateway: MCPGateway, objects: Objects, left_out: Collection[Key], answer: Callable[[Key], Answer | None]
) -> int | None:
    """The tools of all backends that are not left out, as they last answered, but for those that the gateway filters away or pins withhold.

    ``None``: no backend has answered, or some of its tools are not to be counted and all are known by number alone, as they are from
    the status that an earlier process left.
    """
    answers = [
        (found, member.entry.tools)
        for member in members(gateway, objects)[0]
        if member.key not in left_out and (found := answer(member.key)) is not None
    ]
    counts = [_passing(found, tools) for found, tools in answers]
    known = [each for each in counts if each is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _passing(answer: Answer, tools: ToolFilter | None) -> int | None:
    if answer.withheld is None:
        return None
    if tools is None or tools == ToolFilter():
        return answer.tools - len(answer.withheld)
    if not answer.is_named:
        return None
    filters = [config.ToolFilter(include=tools.include, exclude=tools.exclude)]
    return sum(name not in answer.withheld and passes(filters, name) for name in answer.names)
