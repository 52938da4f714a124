"""How ``switchyard run`` speaks on standard error: lines for people, or the same as structured logs."""

import logging
import sys
from collections.abc import Iterable
from typing import Final, Literal

import structlog

from switchyard_operator.api.fields import dotted
from switchyard_operator.cli.absent import completed
from switchyard_operator.cli.inputs import describe, describe_unused
from switchyard_operator.compile.reports import Report, Severity
from switchyard_operator.manifests.load import Manifests

log = structlog.get_logger(__name__)

_LEVELS: Final = {Severity.ERROR: logging.ERROR, Severity.WARNING: logging.WARNING, Severity.NOTE: logging.INFO}


class Voice:
    """Says things in the form that was chosen for logs."""

    def __init__(self, form: Literal["console", "json"]) -> None:
        self._structured = form == "json"

    def report(self, report: Report, manifests: Manifests) -> None:
        """Say a finding of compiling."""
        if not self._structured:
            print(describe(report, manifests), file=sys.stderr)  # noqa: T201
            return
        place = manifests.place(report.object, report.field)
        log.log(
            _LEVELS[report.severity],
            "manifest_report",
            object=str(report.object),
            field=dotted(report.field),
            reason=report.reason,
            detail=completed(report, manifests).message,
            place=place and str(place),
        )

    def unused(self, manifests: Manifests) -> None:
        """Say which objects are none of Switchyard's business."""
        if self._structured:
            log.info("manifests_unused", kinds=dict(manifests.unused))
            return
        for line in describe_unused(manifests):
            print(line, file=sys.stderr)  # noqa: T201

    def usable_again(self) -> None:
        """Say that the manifests are served again, after they were refused."""
        if self._structured:
            log.info("manifests_usable_again")
        else:
            print("the files are valid again, and served", file=sys.stderr)  # noqa: T201

    def refused(self, lines: Iterable[str]) -> None:
        """Say why changed manifests are not taken over."""
        if self._structured:
            log.error("manifests_refused", faults=list(lines))
            return
        for line in (*lines, "error: these changes are not served; what runs goes on"):
            print(line, file=sys.stderr)  # noqa: T201
