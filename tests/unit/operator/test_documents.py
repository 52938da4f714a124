"""YAML text to values with places."""

import pytest

from switchyard_operator.api.fields import FieldPath
from switchyard_operator.manifests.documents import Document, documents
from switchyard_operator.manifests.faults import Fault, Place


def read(text: str | bytes, file: str = "a.yaml") -> tuple[list[object], list[str]]:
    """The values of the documents, and the faults as text."""
    found = list(documents(file, text if isinstance(text, bytes) else text.encode()))
    return [each.value for each in found if isinstance(each, Document)], [
        str(each) for each in found if not isinstance(each, Document)
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("# nothing\n---\n---\n", []),
        ("a: 1\n---\nb: x\n", [{"a": 1}, {"b": "x"}]),
        ("\ufeffa: x", [{"a": "x"}]),
        ("a: [yes, Off, true]", [{"a": [True, False, True]}]),
        ("type: None", [{"type": "None"}]),
        ("a: ~\nb: null\nc:", [{"a": None, "b": None, "c": None}]),
        ("a: 2026-07-28\nb: 2026-07-28T00:00:00Z", [{"a": "2026-07-28", "b": "2026-07-28T00:00:00Z"}]),
        ("a: 0x10\nb: 1.5\nc: '1'", [{"a": 16, "b": 1.5, "c": "1"}]),
        ("a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}", [{"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1, "l": 2}}]),
        ("c: {<<: [{k: 1}, {k: 2, m: 3}], m: 4}", [{"c": {"k": 1, "m": 4}}]),
    ],
)
def test_values_are_those_of_yaml_1_1(text: str, values: list[object]) -> None:
    """As `kubectl` reads them, but a timestamp stays text."""
    assert read(text) == (values, [])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", 'a.yaml:3:1: "a" is given twice in one mapping, first in line 1'),
        ("1: x", "a.yaml:1:1: 1 is not a string, and a field's name must be one: put it in quotes"),
        ("on: x", "a.yaml:1:1: on is not a string, and a field's name must be one: put it in quotes"),
        ("? [a]\n: x", "a.yaml:1:3: this is not a string, and a field's name must be one: put it in quotes"),
        ("a: !secret x", "a.yaml:1:4: the tag !secret is not understood; remove it"),
        ("a: !!python/object:os.system x", "a.yaml:1:4: the tag tag:yaml.org,2002:python/object:os.system is not understood; remove it"),
        ("a: &a [*a]", "a.yaml:1:4: an anchor that contains itself cannot be read"),
        ("a: {<<: 1}", "a.yaml:1:9: '<<' merges mappings only"),
        ("a: 0b", None),
        ("a: " + "9" * 5000, "a.yaml:1:4: cannot be read as what it looks like: put it in quotes"),
        ('a: "\\ud83d"', "a.yaml:1:4: contains half of a surrogate pair, which is no character"),
        ("a: [1, 2", "a.yaml:1:9: is not well-formed YAML: while parsing a flow sequence, expected ',' or ']', but got '<stream end>'"),
        ("a:\n\tb: 1", "a.yaml:2:1: is not well-formed YAML: while scanning for the next token, found character '\\t' that cannot start any token; indent with spaces, not tabs"),
        ("a: b: c", "a.yaml:1:5: is not well-formed YAML: mapping values are not allowed here"),
        (b"a: \xff", "a.yaml: is not text in UTF-8 (byte 3)"),
        ("a: \x01", "a.yaml:1:4: contains a control character that YAML does not allow"),
        ("a: " + "[" * 20_000, "a.yaml: is nested too deeply"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(text: str | bytes, fault: str | None) -> None:
    """Lines and columns count from 1; no excerpt of the file is shown, since it may hold a secret."""
    assert read(text)[1] == ([fault] if fault else [])


def test_a_syntax_error_does_not_hide_the_faults_before_it() -> None:
    """What stands in earlier documents is reported too."""
    values, faults = read("a: 1\n---\nb: 1\nb: 2\n---\nc: [")
    assert values == [{"a": 1}]
    assert [fault.split(": ")[0] for fault in faults] == ["a.yaml:4:1", "a.yaml:6:5"]


def test_json_may_be_indented_with_tabs_and_escape_as_json_does() -> None:
    """A tab is white space there, and characters beyond U+FFFF are two escapes."""
    assert read('{\n\t"a": "\\ud83d\\ude00",\n\t"b": "x\\ty"}', "a.json") == ([{"a": "😀", "b": "x\ty"}], [])


@pytest.mark.parametrize("levels", [60, 10_000])
def test_anchors_that_stand_for_too_much_are_refused(levels: int) -> None:
    """Sixty levels of doubling are 2**60 values to whoever reads them one by one. It is said where it becomes too much, once."""
    lines = ["l0: &l0 [x]", *(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]" for n in range(1, levels))]
    values, faults = read("\n".join(lines))
    too_much = "a.yaml:15:6: is repeated until anchors stand for more than 100000 values: write out what is meant"
    assert (values, faults) == ([], [too_much])


def test_anchors_that_stand_for_much_are_read() -> None:
    """As somebody might use them: one text in thousands of places."""
    values, faults = read("a: &a {b: c, d: [e]}\nall: [" + ", ".join(["*a"] * 10_000) + "]")
    assert faults == []
    assert values == [{"a": {"b": "c", "d": ["e"]}, "all": [{"b": "c", "d": ["e"]}] * 10_000}]


@pytest.mark.parametrize("number", ["0x" + "f" * 257, "1:" * 200 + "1", "9" * 400])
def test_a_number_beyond_all_bounds_is_refused(number: str) -> None:
    """Python would not even say what it is."""
    assert read(f"a: {number}") == ([], ["a.yaml:1:4: is a larger number than anything can mean: put it in quotes"])


def test_what_is_said_of_a_file_moves_no_terminal() -> None:
    """It is one line, whatever stands there."""
    fault = Fault(Place("a\x1b.yaml", 1, 2), "must be \u202eb", "MCPBackend ns/a", ("spec", "x\n"), '"\x1b[2J\r\n"')
    assert str(fault) == r'a\x1b.yaml:1:2: MCPBackend ns/a: spec["x\n"]: "\x1b[2J\r\n": must be \u202eb'


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), "a.yaml:2:1"),
        (("spec",), "a.yaml:3:1"),
        (("spec", "backends"), "a.yaml:4:3"),
        (("spec", "backends", 1), "a.yaml:6:5"),
        (("spec", "backends", 1, "prefix"), "a.yaml:6:15"),
        (("spec", "backends", 1, "tools", "include", 0), "a.yaml:6:5"),
        (("spec", "backends", 7), "a.yaml:4:3"),
        (("nothing",), "a.yaml:2:1"),
    ],
)
def test_a_field_is_found_by_its_path(path: FieldPath, place: str) -> None:
    """Where its name stands; where its nearest parent stands, when it is not there."""
    text = "# first\nkind: MCPGateway\nspec:\n  backends:\n  - name: a\n  - {name: b, prefix: jr}\n"
    document = next(iter(documents("a.yaml", text.encode())))
    assert isinstance(document, Document)
    assert str(document.place(path)) == place
