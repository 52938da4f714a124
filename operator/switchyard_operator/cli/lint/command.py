"""The command: files in, findings on standard output, exit code out."""

import argparse

from switchyard_operator.cli.lint.before import before
from switchyard_operator.cli.lint.findings import findings
from switchyard_operator.cli.lint.formats import FORMATS
from switchyard_operator.cli.unusable import UnusableInput
from switchyard_operator.compile.reports import Severity
from switchyard_operator.manifests.load import load
from switchyard_operator.manifests.sources import Sources


def run(arguments: argparse.Namespace) -> int:
    """Print what is found. Exit code 1 when something of it is an error, or with ``--strict`` a warning.

    Raises :class:`UnusableInput` when there is nothing to look at: a file that is named and cannot be read.
    """
    sources = list(Sources.of(arguments.files).read())
    if unreadable := [f"error: {each.name}: {each.fault}" for each in sources if each.fault is not None]:
        raise UnusableInput(unreadable)
    old = None if arguments.against is None else load(before(arguments.against, arguments.files)).objects
    found = findings(load(sources), old)
    for line in FORMATS[arguments.format](found):
        print(line)  # noqa: T201
    failing = {Severity.ERROR, Severity.WARNING} if arguments.strict else {Severity.ERROR}
    return 1 if any(each.severity in failing for each in found) else 0
