"""What the commands have in common: reading manifests, choosing a gateway, and describing what was found."""

from switchyard_operator.api.resource import Key
from switchyard_operator.cli.absent import completed
from switchyard_operator.cli.unusable import UnusableInput
from switchyard_operator.compile.reports import Report
from switchyard_operator.manifests.faults import one_line
from switchyard_operator.manifests.load import Manifests, load
from switchyard_operator.manifests.sources import Sources


def read(sources: Sources) -> Manifests:
    """All that the sources declare. Raises :class:`UnusableInput` with every fault."""
    manifests = load(sources.read())
    if manifests.faults:
        raise UnusableInput(f"error: {fault}" for fault in manifests.faults)
    return manifests


def gateways(manifests: Manifests, wanted: Key | None) -> list[Key]:
    """The gateway that is wanted, or all of them in order. Raises :class:`UnusableInput` when there is none."""
    declared = sorted(manifests.objects.gateways)
    if not declared:
        raise UnusableInput(["error: there is no MCPGateway in these files; declare one, or name more files with -f"])
    if wanted is None:
        return declared
    if wanted not in declared:
        raise UnusableInput([f"error: there is no MCPGateway {wanted} in these files; there is {_names(declared)}"])
    return [wanted]


def only_gateway(manifests: Manifests, wanted: Key | None) -> Key:
    """As :func:`gateways`, when one is needed; several to choose from cannot be used either."""
    chosen, *others = found = gateways(manifests, wanted)
    if others:
        raise UnusableInput([f"error: there are several gateways: choose one with --gateway, of {_names(found)}"])
    return chosen


def describe(report: Report, manifests: Manifests) -> str:
    """A report as a line for people, with the place where its field stands and, where a name leads nowhere, the nearest one."""
    place = manifests.place(report.object, report.field)
    return one_line(f"{report.severity.lower()}: {f'{place}: ' if place else ''}{completed(report, manifests)}")


def describe_unused(manifests: Manifests) -> list[str]:
    """A line about objects of kinds that are none of Switchyard's business, if there are any."""
    if not manifests.unused:
        return []
    kinds = ", ".join(f"{count} {kind}" for kind, count in manifests.unused.items())
    return [one_line(f"note: not used here: {kinds}")]


def _names(keys: list[Key]) -> str:
    return ", ".join(map(str, keys))
