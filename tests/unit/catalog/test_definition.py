"""One definition: what is accepted, what is refused, and that the rest stays byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from switchyard_sidecar.catalog.definition import MAX_DEPTH, Rejection, ToolDefinition, parse_tool
from switchyard_sidecar.protocol.mirrored_params import MirroredParam
from switchyard_sidecar.protocol.versions import Era
from unit.catalog.samples import MAX_BYTES, accepted, tool

EXAMPLES = Path(__file__).parents[2] / "data" / "mcp-examples-2026-07-28" / "Tool"


def refused(raw: bytes, max_bytes: int = MAX_BYTES) -> Rejection:
    """The rejection of a text that must not be acceptable."""
    rejection = parse_tool(raw, max_bytes=max_bytes)
    assert isinstance(rejection, Rejection), rejection
    return rejection


def with_schema(schema: str) -> bytes:
    """A tool ``t`` with this text as its ``inputSchema``."""
    return b'{"name":"t","inputSchema":' + schema.encode() + b"}"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_the_specifications_examples_are_carried_byte_for_byte(path: Path) -> None:
    """Every official example is accepted, and only its name's value changes when it is exposed under another."""
    raw = path.read_bytes().strip()
    definition = accepted(raw)
    name = json.dumps(definition.name).encode()
    assert definition.rendered(definition.name) == raw
    assert definition.rendered("gh__" + definition.name) == raw.replace(name, b'"gh__' + name[1:], 1)


def test_there_are_examples() -> None:
    """The test above is not vacuous."""
    assert len(list(EXAMPLES.glob("*.json"))) == 6


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(
            '{"type":"object","properties":{"item":{"$ref":"#/definitions/Item"}},"definitions":{"Item":{"type":"string"}}}',
            id="definitions stay definitions",
        ),
        pytest.param(
            '{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"enum":["fit","raw"]}},"additionalProperties":false}',
            id="$defs and additionalProperties",
        ),
        pytest.param(
            '{"type":"object","properties":{"data":{"type":"array","items":{"type":"object","properties":{"model":true}}}}}',
            id="a boolean schema below items",
        ),
        pytest.param(
            '{"type":"object","properties":{"a":true,"b":false},"not":false,"$defs":{"c":true}}', id="booleans"
        ),
        pytest.param(
            '{"type":"object","anyOf":[{"required":["body"]},{"required":["reaction"]}],"dependentSchemas":{"a":{}}}',
            id="composition at the root",
        ),
        pytest.param(
            '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["b"]}}',
            id="draft-07",
        ),
        pytest.param(
            '{"type":"object","properties":{"a":{"type":"integer","maximum":9223372036854775807},"b":{"maximum":18446744073709551615},'
            '"c":{"maximum":340282366920938463463374607431768211455}}}',
            id="integers beyond 64 bits",
        ),
        pytest.param(
            '{"type":"object","properties":{"a":{"minimum":1.0,"maximum":1e400,"multipleOf":1E-400}}}',
            id="numbers as written",
        ),
        pytest.param('{"type":"object","properties":{"a":{"maximum":' + "9" * 10_000 + "}}}", id="ten thousand digits"),
        pytest.param('{"type":"object","$ref":"http://192.0.2.1/canary.json"}', id="a remote reference, not followed"),
        pytest.param(
            '{"type":"object","$anchor":"a","$dynamicRef":"#a","if":{},"then":true,"else":false}', id="2020-12"
        ),
        pytest.param("{}", id="no type"),
        pytest.param('{"type":"object","properties":{"a":{"x":1,"x":2}}}', id="an inner key twice"),
        pytest.param('{ "type" : "object",\n\t"title":"\\u00e9\\/" }', id="white space and escapes"),
    ],
)
def test_any_schema_is_carried_as_it_is(schema: str) -> None:
    """No keyword, digit, escape or white space of a schema is touched."""
    raw = with_schema(schema)
    assert accepted(raw).rendered("gh__t") == b'{"name":"gh__t","inputSchema":' + schema.encode() + b"}"


def test_all_other_members_are_carried_as_they_are() -> None:
    """Known or unknown, from this revision or an older one: members are not chosen, only the name is."""
    rest = (
        b'"title":"X","annotations":{"readOnlyHint":true},"icons":[{"src":"data:,"}],"_meta":{"vendor/k":1},'
        b'"execution":{"taskSupport":"optional"},"inputSchema":{"type":"object"},"x-unknown":[null,1.0]}'
    )
    assert accepted(b'{"name":"x",' + rest).rendered("y") == b'{"name":"y",' + rest


@pytest.mark.parametrize(
    ("raw", "tool_name", "reason"),
    [
        pytest.param(b"null", "", "not a JSON object", id="null"),
        pytest.param(b'"t"', "", "not a JSON object", id="a string"),
        pytest.param(b"[]", "", "not a JSON object", id="an array"),
        pytest.param(b"{}", "", "no name", id="no members"),
        pytest.param(b'{"inputSchema":{}}', "", "no name", id="no name"),
        pytest.param(b'{"name":"","inputSchema":{}}', "", "no name", id="empty name"),
        pytest.param(b'{"name":1,"inputSchema":{}}', "", "no name", id="name is a number"),
        pytest.param(b'{"name":null,"inputSchema":{}}', "", "no name", id="name is null"),
        pytest.param(b'{"name":"t"}', "t", "inputSchema", id="no inputSchema"),
        pytest.param(with_schema("null"), "t", "inputSchema", id="inputSchema is null"),
        pytest.param(with_schema("true"), "t", "inputSchema", id="inputSchema is a boolean"),
        pytest.param(with_schema("[]"), "t", "inputSchema", id="inputSchema is an array"),
        pytest.param(b'{"name":"t","name":"u","inputSchema":{}}', "t", "twice", id="two names"),
        pytest.param(b'{"name":"t","inputSchema":{},"inputSchema":{}}', "t", "twice", id="two input schemas"),
        pytest.param(b'{"name":"t","n\\u0061me":"u","inputSchema":{}}', "t", "twice", id="two names, one escaped"),
        pytest.param(with_schema('{"default":NaN}'), "t", "NaN", id="NaN"),
        pytest.param(with_schema('{"maximum":-Infinity}'), "t", "-Infinity", id="infinity"),
        pytest.param(with_schema('{"title":"\\ud800"}'), "t", "surrogate", id="lone surrogate"),
        pytest.param(b'{"name":"\\ud800","inputSchema":{}}', "", "surrogate", id="lone surrogate in the name"),
        pytest.param(b'{"name":"t","title":"\xff","inputSchema":{}}', "t", "UTF-8", id="no UTF-8"),
        pytest.param(with_schema('{"maximum":01}'), "t", "not valid JSON", id="malformed number"),
        pytest.param(b'{"name":"t","title":"a\nb","inputSchema":{}}', "t", "not valid JSON", id="control character"),
        pytest.param(with_schema('{"not":' * 10_000 + "{}" + "}" * 10_000), "t", "levels", id="ten thousand levels"),
    ],
)
def test_what_would_cost_a_client_the_list_is_refused_alone(raw: bytes, tool_name: str, reason: str) -> None:
    """A definition that conforming clients choke on is refused, with its name if that can be read, and why."""
    rejection = refused(raw)
    assert rejection.tool == tool_name
    assert reason in rejection.reason


def test_the_limit_of_nesting_is_exact() -> None:
    """The same nesting is accepted or refused wherever it stands, and whatever the stack is like."""
    below = MAX_DEPTH - 2  # the definition and the innermost {} are levels too
    accepted(with_schema('{"not":' * below + "{}" + "}" * below))
    assert "levels" in refused(with_schema('{"not":' * (below + 1) + "{}" + "}" * (below + 1))).reason


def test_the_limit_of_size_is_exact() -> None:
    """A definition may be as large as the limit, and no larger."""
    raw = with_schema("{}")
    assert isinstance(parse_tool(raw, max_bytes=len(raw)), ToolDefinition)
    assert refused(raw, max_bytes=len(raw) - 1) == Rejection(
        "", f"its {len(raw)} bytes are more than the {len(raw) - 1} allowed"
    )


def test_a_reported_name_is_bounded() -> None:
    """A refused tool's name goes into logs and status, so it is cut."""
    assert len(refused(b'{"name":"' + b"x" * 100_000 + b'"}').tool) == 200


@pytest.mark.parametrize(
    ("raw", "rendered"),
    [
        pytest.param(b'{"name":"a","inputSchema":{}}', b'{"name":"b","inputSchema":{}}', id="first"),
        pytest.param(b'{"inputSchema":{},"name":"a"}', b'{"inputSchema":{},"name":"b"}', id="last"),
        pytest.param(
            b'{ "inputSchema" : {} ,\n "name"\t:\r\n "a" }',
            b'{ "inputSchema" : {} ,\n "name"\t:\r\n "b" }',
            id="spaced",
        ),
        pytest.param(
            b'{"inputSchema":{"name":"a"},"title":"\\"name\\":\\"a\\"","name":"a"}',
            b'{"inputSchema":{"name":"a"},"title":"\\"name\\":\\"a\\"","name":"b"}',
            id="look-alikes stay",
        ),
        pytest.param(b'{"n\\u0061me":"a","inputSchema":{}}', b'{"n\\u0061me":"b","inputSchema":{}}', id="escaped key"),
        pytest.param(b'{"name":"\\u0061","inputSchema":{}}', b'{"name":"b","inputSchema":{}}', id="escaped value"),
        pytest.param(
            '{"title":"é😀","name":"a","inputSchema":{}}'.encode(),
            '{"title":"é😀","name":"b","inputSchema":{}}'.encode(),
            id="after non-ASCII",
        ),
    ],
)
def test_only_the_names_value_changes(raw: bytes, rendered: bytes) -> None:
    """The name is found by its decoded key, and nothing else that looks like it is touched."""
    definition = accepted(raw)
    assert definition.name == "a"
    assert definition.rendered("b") == rendered
    assert definition.rendered("a") is definition.raw


@pytest.mark.parametrize(
    ("raw", "title", "description", "era", "rendered"),
    [
        pytest.param(
            b'{"title":"T","name":"a","description":"D","inputSchema":{}}', "X", "Y", Era.MODERN,
            b'{"title":"X","name":"b","description":"Y","inputSchema":{}}', id="in place",
        ),
        pytest.param(
            b'{"name":"a", "inputSchema":{} }', "X", "Y", Era.MODERN,
            b'{"name":"b", "inputSchema":{},"title":"X","description":"Y" }', id="absent ones last",
        ),
        pytest.param(
            b'{"name":"a","description":"D","inputSchema":{}}', "X", None, Era.MODERN,
            b'{"name":"b","description":"D","inputSchema":{},"title":"X"}', id="one of two",
        ),
        pytest.param(
            b'{"name":"a","t\\u0069tle":"T","inputSchema":{}}', "X", None, Era.MODERN,
            b'{"name":"b","t\\u0069tle":"X","inputSchema":{}}', id="by the decoded key",
        ),
        pytest.param(
            b'{"name":"a","title":null,"inputSchema":{}}', "", None, Era.MODERN,
            b'{"name":"b","title":"","inputSchema":{}}', id="an empty override is one",
        ),
        pytest.param(
            b'{"name":"a","title":{"x":[1]},"inputSchema":{}}', 'q"\\\n\u00e9', None, Era.MODERN,
            '{"name":"b","title":"q\\"\\\\\\né","inputSchema":{}}'.encode(), id="escaped as JSON needs it",
        ),
        pytest.param(
            b'{"name":"a","outputSchema":[1],"inputSchema":{}}', None, None, Era.LEGACY,
            b'{"name":"b","inputSchema":{}}', id="dropped from the middle",
        ),
        pytest.param(
            b'{ "outputSchema":[1], "name":"a","inputSchema":{}}', None, None, Era.LEGACY,
            b'{ "name":"b","inputSchema":{}}', id="dropped from the front",
        ),
        pytest.param(
            b'{"name":"a","inputSchema":{} , "outputSchema":[1] }', None, None, Era.LEGACY,
            b'{"name":"b","inputSchema":{} }', id="dropped from the end",
        ),
        pytest.param(
            b'{"name":"a","inputSchema":{},"outputSchema":[1]}', "X", None, Era.LEGACY,
            b'{"name":"b","inputSchema":{},"title":"X"}', id="dropped and appended",
        ),
        pytest.param(
            b'{"name":"a","inputSchema":{"outputSchema":1}}', None, None, Era.LEGACY,
            b'{"name":"b","inputSchema":{"outputSchema":1}}', id="inner look-alikes stay",
        ),
        pytest.param(
            b'{"name":"a","inputSchema":{"properties":{"x": true ,"y":{"z":true},"n":false},"type":"object"}}', "X", None, Era.LEGACY,
            b'{"name":"b","inputSchema":{"properties":{"x": {} ,"y":{"z":true},"n":{"not":{}}},"type":"object"},"title":"X"}', id="boolean properties as objects",
        ),
        pytest.param(
            b'{"name":"a","inputSchema":{"properties":{"x": true}},"outputSchema":{"type":"object","properties":{"r":true}}}', None, None, Era.LEGACY,
            b'{"name":"b","inputSchema":{"properties":{"x": {}}},"outputSchema":{"type":"object","properties":{"r":{}}}}', id="in the output too",
        ),
        pytest.param(
            b'{"name":"a","inputSchema":{"properties":{"x":true}}}', None, None, Era.MODERN,
            b'{"name":"b","inputSchema":{"properties":{"x":true}}}', id="2020-12 as it is for modern clients",
        ),
    ],
)  # fmt: skip
def test_overrides_keep_their_place_and_the_legacy_view_leaves_no_trace(
    raw: bytes, title: str | None, description: str | None, era: Era, rendered: bytes
) -> None:
    """What changes is spliced into the bytes as received; the result is valid JSON."""
    text = accepted(raw).rendered("b", title, description, era=era)
    assert text == rendered
    json.loads(text)


@pytest.mark.parametrize(
    ("schema", "legible"),
    [
        (None, True),
        ({"type": "object"}, True),
        ({"type": "object", "anyOf": [{}]}, True),
        ({"type": "array"}, False),
        ({"type": ["null", "array"]}, False),
        ({"type": ["object"]}, False),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, False),
        ({"$ref": "#/$defs/x"}, False),
        ({}, False),
        (True, False),
    ],
)
def test_only_an_object_schema_is_legible_output_for_legacy_clients(schema: Any, legible: bool) -> None:
    """Revisions up to 2025-11-25 demand ``"type": "object"`` at the root."""
    members = {} if schema is None else {"outputSchema": schema}
    assert (b"outputSchema" in tool("t", **members).legacy_raw) is (legible and schema is not None)


def test_what_legacy_clients_can_read_is_the_same_object() -> None:
    """Boolean schemas deeper than the first level trouble nobody, and cost nothing."""
    members = {"inputSchema": {"type": "object", "properties": {"x": {"items": True, "properties": {"y": False}}}}}
    definition = tool("t", outputSchema={"type": "object"}, **members)
    assert definition.legacy_raw is definition.raw


def test_a_null_output_schema_is_not_legible() -> None:
    """A null is no absence for clients that check."""
    assert tool("t", outputSchema=None).legacy_raw == tool("t").raw


@pytest.mark.parametrize(
    ("execution", "required"),
    [({"taskSupport": "required"}, True), ({"taskSupport": "optional"}, False), ({}, False), ("required", False)],
)
def test_task_support_of_2025_11_25_is_noticed(execution: Any, required: bool) -> None:
    """Only what cannot be called without a task is marked."""
    assert tool("t", execution=execution).requires_task is required


def test_mirrored_parameters_are_found_once_for_all_calls() -> None:
    """A valid annotation becomes a parameter to mirror."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    definition = tool("t", inputSchema=schema)
    assert definition.mirrored == (MirroredParam("Region", ("region",), "string"),)
    assert definition.header_fault is None


@pytest.mark.parametrize(
    "properties",
    [
        pytest.param({"region": {"type": "string", "x-mcp-header": "Region\r\nX-Evil: 1"}}, id="header injection"),
        pytest.param(
            {"l": {"items": {"properties": {"k": {"type": "string", "x-mcp-header": "K"}}}}}, id="below items"
        ),
        pytest.param({"n": {"type": "number", "x-mcp-header": "N"}}, id="number"),
        pytest.param(
            {"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string", "x-mcp-header": "region"}},
            id="twice",
        ),
        pytest.param({"e": {"type": "string", "x-mcp-header": ""}}, id="empty"),
        pytest.param({"e": {"type": "string", "x-mcp-header": 7}}, id="no string"),
    ],
)
def test_an_invalid_annotation_is_a_fault_but_no_refusal(properties: dict[str, Any]) -> None:
    """The tool stays a tool, for clients that know no such annotations; the fault says why others do not get it."""
    definition = tool("t", inputSchema={"type": "object", "properties": properties})
    assert definition.header_fault
    assert definition.mirrored == ()


def test_the_legacy_digest_sees_what_legacy_clients_see() -> None:
    """A change of an ``outputSchema`` that they are not shown is no change to them."""
    one, other = tool("t", outputSchema={"type": "array"}), tool("t", outputSchema={"type": "string"})
    assert one.digest != other.digest
    assert one.legacy_digest == other.legacy_digest == tool("t").legacy_digest


def test_the_legacy_digest_sees_a_legible_output_schema() -> None:
    """An object schema is shown to them, so a change of it counts."""
    one, other = tool("t", outputSchema={"type": "object"}), tool("t", outputSchema={"type": "object", "title": "x"})
    assert one.legacy_digest != other.legacy_digest
