"""Findings for people, for programs, and for GitHub's view of a pull request. Pure."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from switchyard_operator.cli.lint.findings import Finding
from switchyard_operator.compile.reports import Severity
from switchyard_operator.manifests.faults import one_line

Format: TypeAlias = Callable[[Sequence[Finding]], Iterator[str]]

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def text(findings: Sequence[Finding]) -> Iterator[str]:
    """A line for each, as the other commands say them, and one that counts them."""
    for each in findings:
        yield one_line(f"{each.severity.lower()}: {f'{each.place}: ' if each.place else ''}{each.said}")
    counts = Counter(each.severity for each in findings)
    yield ", ".join(f"{counts[each]} {each.lower()}{'' if counts[each] == 1 else 's'}" for each in Severity)


def as_json(findings: Sequence[Finding]) -> Iterator[str]:
    """One array. ``file``, ``line`` and ``column`` are null where they are not known; lines and columns count from 1."""
    yield json.dumps(
        [
            {
                "severity": each.severity.lower(),
                "file": each.place and each.place.file,
                "line": each.place and (each.place.line or None),
                "column": each.place and (each.place.column or None),
                "object": each.object,
                "field": each.field,
                "reason": each.reason,
                "message": each.message,
            }
            for each in findings
        ],
        indent=2,
        ensure_ascii=False,
    )


def github(findings: Sequence[Finding]) -> Iterator[str]:
    """Workflow commands that GitHub Actions shows beside the lines of a pull request.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    for each in findings:
        properties = {"title": each.reason}
        if each.place is not None:
            properties |= {"file": each.place.file}
            if each.place.line:
                properties |= {"line": str(each.place.line), "col": str(each.place.column)}
        said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        yield f"::{_COMMANDS[each.severity]} {said}::{_data(each.said)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


FORMATS: Final[Mapping[str, Format]] = {"text": text, "json": as_json, "github": github}
