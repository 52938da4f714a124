"""How findings are written."""

import json

from switchyard_operator.cli.lint.findings import Finding
from switchyard_operator.cli.lint.formats import as_json, github, text
from switchyard_operator.compile import Severity
from switchyard_operator.manifests.faults import Place

FOUND = Finding(
    Severity.ERROR,
    Place("a,b/c:d.yaml", 5, 19),
    "MCPGateway agents/main",
    "spec.backends[0]",
    "BackendNotFound",
    "100% missing:\nreally",
)
WHOLE_FILE = Finding(Severity.WARNING, Place("a.yaml"), "", "", "Invalid", "is not text in UTF-8 (byte 0)")
NOWHERE = Finding(Severity.NOTE, None, "MCPGateway agents/main", "", "TooLarge", "is large")
ALL = (FOUND, WHOLE_FILE, NOWHERE)


def test_text_is_a_line_for_each_and_one_that_counts() -> None:
    """With as much of the place as there is."""
    assert list(text(ALL)) == [
        "error: a,b/c:d.yaml:5:19: MCPGateway agents/main: spec.backends[0]: 100% missing: really [BackendNotFound]",
        "warning: a.yaml: is not text in UTF-8 (byte 0) [Invalid]",
        "note: MCPGateway agents/main: is large [TooLarge]",
        "1 error, 1 warning, 1 note",
    ]
    assert list(text([])) == ["0 errors, 0 warnings, 0 notes"]


def test_json_is_one_array() -> None:
    """What is not known is null."""
    (whole,) = as_json(ALL)
    first, second, third = json.loads(whole)
    assert first == {
        "severity": "error",
        "file": "a,b/c:d.yaml",
        "line": 5,
        "column": 19,
        "object": "MCPGateway agents/main",
        "field": "spec.backends[0]",
        "reason": "BackendNotFound",
        "message": "100% missing:\nreally",
    }
    assert (second["file"], second["line"], second["column"]) == ("a.yaml", None, None)
    assert (third["file"], third["line"], third["column"]) == (None, None, None)
    assert list(as_json([])) == ["[]"]


def test_annotations_are_escaped_as_github_reads_them() -> None:
    """In properties more than in messages; a file's name or a value may contain anything."""
    assert list(github(ALL)) == [
        (
            "::error title=BackendNotFound,file=a%2Cb/c%3Ad.yaml,line=5,col=19::"
            "MCPGateway agents/main: spec.backends[0]: 100%25 missing: really [BackendNotFound]"
        ),
        "::warning title=Invalid,file=a.yaml::is not text in UTF-8 (byte 0) [Invalid]",
        "::notice title=TooLarge::MCPGateway agents/main: is large [TooLarge]",
    ]


def test_text_moves_no_terminal() -> None:
    """A pull request may have files with anything in them, and in their names."""
    hostile = Finding(Severity.ERROR, Place("a\x1b[2J\n.yaml"), "MCPGateway a\u202eb", "", "Invalid", "is no \x9b31m")
    first, *_ = text([hostile])
    assert first == r"error: a\x1b[2J\n.yaml: MCPGateway a b: is no  31m [Invalid]"
