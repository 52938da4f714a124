"""What the commands have in common: which files, which gateway, and what to say when they cannot be used."""

import argparse
from collections.abc import Iterable

from switchyard_operator.api.resource import DEFAULT_NAMESPACE, Key
from switchyard_operator.compile.reports import Report
from switchyard_operator.manifests.load import Manifests, load
from switchyard_operator.manifests.sources import Sources


class UnusableInput(Exception):  # noqa: N818 - the name says it
    """The input cannot be used: one line for each thing to correct. Ends a command with exit code 2."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments by which manifests and a gateway are named."""
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        required=True,
        metavar="PATH",
        dest="files",
        help="a file with manifests, a folder (*.yaml, *.yml, *.json, also below), or - for standard input; repeatable",
    )
    parser.add_argument("--gateway", type=_key, metavar="NS/NAME", help="the gateway, when the files declare several")


def _key(text: str) -> Key:
    namespace, _, name = text.rpartition("/")
    if not name or "/" in namespace:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAMESPACE/NAME")
    return Key(namespace or DEFAULT_NAMESPACE, name)


def read(sources: Sources) -> Manifests:
    """All that the sources declare. Raises :class:`UnusableInput` with every fault."""
    manifests = load(sources.read())
    if manifests.faults:
        raise UnusableInput(f"error: {fault}" for fault in manifests.faults)
    return manifests


def choose_gateway(manifests: Manifests, wanted: Key | None) -> Key:
    """The gateway asked for, or the only one. Raises :class:`UnusableInput`."""
    declared = sorted(manifests.objects.gateways)
    names = ", ".join(map(str, declared))
    if not declared:
        raise UnusableInput(["error: there is no MCPGateway in these files; declare one, or name more files with -f"])
    if wanted is None and len(declared) > 1:
        raise UnusableInput([f"error: there are several gateways: choose one with --gateway, of {names}"])
    if wanted is not None and wanted not in declared:
        raise UnusableInput([f"error: there is no MCPGateway {wanted} in these files; there is {names}"])
    return wanted or declared[0]


def describe(report: Report, manifests: Manifests) -> str:
    """A report as a line for people, with the place where its field stands."""
    place = manifests.place(report.object, report.field)
    return f"{report.severity.lower()}: {f'{place}: ' if place else ''}{report}"


def unused(manifests: Manifests) -> list[str]:
    """A line about objects of kinds that are none of Switchyard's business, if there are any."""
    if not manifests.unused:
        return []
    kinds = ", ".join(f"{count} {kind}" for kind, count in manifests.unused.items())
    return [f"note: not used here: {kinds}"]
