"""Parameters mirrored into headers: which annotations count, what is sent, what is refused."""

import json
from typing import Any

import pytest
from multidict import CIMultiDict

from switchyard_sidecar.protocol.errors import HEADER_MISMATCH, INVALID_PARAMS, McpError
from switchyard_sidecar.protocol.mirrored_params import InvalidAnnotation, MirroredParam, check, find, headers_for

K = {"type": "string", "x-mcp-header": "K"}
"""A valid annotated property schema."""


def properties(**parts: Any) -> dict[str, Any]:
    """An object schema with these properties."""
    return {"type": "object", "properties": parts}


@pytest.mark.parametrize(
    ("schema", "params"),
    [
        pytest.param(properties(), (), id="none"),
        pytest.param(properties(a=K), (MirroredParam("K", ("a",), "string"),), id="top level"),
        pytest.param(
            properties(a=properties(b=properties(c=K))), (MirroredParam("K", ("a", "b", "c"), "string"),), id="nested"
        ),
        pytest.param(
            properties(b={"type": "integer", "x-mcp-header": "B"}, a={"type": "boolean", "x-mcp-header": "A"}),
            (MirroredParam("B", ("b",), "integer"), MirroredParam("A", ("a",), "boolean")),
            id="all types, in the schema's order",
        ),
        pytest.param(
            properties(a={"type": "string", "x-mcp-header": "!#$%&'*+-.^_`|~09aZ"}),
            (MirroredParam("!#$%&'*+-.^_`|~09aZ", ("a",), "string"),),
            id="every character of a token",
        ),
        pytest.param(
            properties(a={"type": "string", "x-mcp-header": "Method"}),
            (MirroredParam("Method", ("a",), "string"),),
            id="a standard header's name",
        ),
        pytest.param(
            {"properties": {"x-mcp-header": K}}, (MirroredParam("K", ("x-mcp-header",), "string"),), id="named like it"
        ),
        pytest.param(
            {"properties": {"x-mcp-header": {"type": "string"}}}, (), id="a parameter of that name is no mark"
        ),
        pytest.param({"properties": {"properties": {"enum": [K]}}}, (), id="enum values are data"),
        pytest.param(properties(a={"const": K, "default": K, "examples": [K]}), (), id="values are data"),
        pytest.param(
            properties(a={"x-note": K, "unknown": {"properties": {"b": K}}}), (), id="unknown keywords are data"
        ),
        pytest.param({"required": ["x-mcp-header"], "dependencies": {"x-mcp-header": ["b"]}}, (), id="names in lists"),
        pytest.param(
            {"properties": {"a": True, "b": False}, "additionalProperties": False, "items": True}, (), id="booleans"
        ),
        pytest.param(
            {"properties": ["x-mcp-header"], "allOf": {"x-mcp-header": 1}, "$defs": 3, "not": "x"}, (), id="misshapen"
        ),
        pytest.param(True, (), id="a boolean schema"),
        pytest.param(None, (), id="no schema"),
        pytest.param(
            properties(a={"$ref": "#/properties/b"}, b=K),
            (MirroredParam("K", ("b",), "string"),),
            id="also referred to",
        ),
    ],
)
def test_annotations_are_found_on_statically_reachable_properties(
    schema: Any, params: tuple[MirroredParam, ...]
) -> None:
    """Only `properties` leads to a parameter, and only what stands where a schema may stand is an annotation."""
    assert find(schema) == params


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"x-mcp-header": "K", "type": "string"}, id="the root"),
        pytest.param(properties(a={"items": K}), id="items"),
        pytest.param(properties(a={"items": [K]}), id="items of earlier drafts"),
        pytest.param(properties(a={"items": properties(k=K)}), id="properties below items"),
        pytest.param(properties(a={"prefixItems": [K]}), id="prefixItems"),
        pytest.param({"allOf": [properties(k=K)]}, id="allOf"),
        pytest.param({"anyOf": [True, properties(k=K)]}, id="anyOf"),
        pytest.param({"oneOf": [properties(k=K)]}, id="oneOf"),
        pytest.param({"not": properties(k=K)}, id="not"),
        pytest.param({"if": properties(k=K)}, id="if"),
        pytest.param({"then": properties(k=K)}, id="then"),
        pytest.param({"else": properties(k=K)}, id="else"),
        pytest.param({"additionalProperties": K}, id="additionalProperties"),
        pytest.param({"patternProperties": {"^a": K}}, id="patternProperties"),
        pytest.param({"dependentSchemas": {"a": properties(k=K)}}, id="dependentSchemas"),
        pytest.param({"dependencies": {"a": properties(k=K)}}, id="dependencies"),
        pytest.param({"$defs": {"a": K}}, id="$defs"),
        pytest.param({"definitions": {"a": K}}, id="definitions"),
        pytest.param({"propertyNames": K}, id="propertyNames"),
        pytest.param({"unevaluatedProperties": K}, id="unevaluatedProperties"),
        pytest.param({"$defs": {"properties": {"properties": {"k": K}}}}, id="a definition called properties"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": ""}), id="empty"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": "My Region"}), id="space"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": "Region:Primary"}), id="colon"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": "Région"}), id="no ASCII"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": "Region\t1"}), id="tab"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": "Region\r\nX-Evil: 1"}), id="line break"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": "Region\n"}), id="line break at the end"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": None}), id="null"),
        pytest.param(properties(a={"type": "string", "x-mcp-header": True}), id="no text"),
        pytest.param(properties(a={"type": "number", "x-mcp-header": "K"}), id="number"),
        pytest.param(properties(a={"type": "array", "x-mcp-header": "K"}), id="array"),
        pytest.param(properties(a={"type": "object", "x-mcp-header": "K"}), id="object"),
        pytest.param(properties(a={"type": "null", "x-mcp-header": "K"}), id="null type"),
        pytest.param(properties(a={"type": ["string", "null"], "x-mcp-header": "K"}), id="several types"),
        pytest.param(properties(a={"enum": ["x"], "x-mcp-header": "K"}), id="no type"),
        pytest.param(properties(a=K, b=K), id="the same name twice"),
        pytest.param(properties(a=K, b=properties(c={"type": "string", "x-mcp-header": "k"})), id="twice but for case"),
    ],
)
def test_invalid_annotation_condemns_the_schema(schema: Any) -> None:
    """An annotation that breaks any rule makes the whole definition invalid, and the reason is given in one line."""
    with pytest.raises(InvalidAnnotation) as caught:
        find(schema)
    assert caught.value.reason.isprintable()


def test_deep_schema_is_walked_without_recursion() -> None:
    """No depth of nesting exhausts the stack."""
    schema: Any = K
    for _ in range(5000):
        schema = {"not": schema}
    with pytest.raises(InvalidAnnotation):
        find(schema)


PARAMS = (
    MirroredParam("Region", ("region",), "string"),
    MirroredParam("Count", ("page", "count"), "integer"),
    MirroredParam("Flag", ("flag",), "boolean"),
)


def text(arguments: Any) -> bytes | None:
    """Arguments as they stand in a call."""
    return None if arguments is None else json.dumps(arguments).encode()


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": "日本語"}, {"Mcp-Param-Region": "=?base64?5pel5pys6Kqe?="}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"region": None, "page": {"count": None}}, {}),
        ({"page": {"count": 42}}, {"Mcp-Param-Count": "42"}),
        ({"page": {"count": -7}}, {"Mcp-Param-Count": "-7"}),
        ({"page": {"count": 42.0}}, {"Mcp-Param-Count": "42"}),
        ({"page": {"count": 4.5}}, {"Mcp-Param-Count": "4.5"}),
        ({"page": {"count": 2**53 - 1}}, {"Mcp-Param-Count": "9007199254740991"}),
        ({"flag": True}, {"Mcp-Param-Flag": "true"}),
        ({"flag": False}, {"Mcp-Param-Flag": "false"}),
        ({"page": 3, "region": ["a"], "flag": {}}, {}),
        ({}, {}),
        (None, {}),
    ],
)
def test_present_values_are_sent_and_accepted(arguments: Any, headers: dict[str, str]) -> None:
    """A value that is there travels; null, absent and structured values do not; what we send we would accept."""
    assert headers_for(PARAMS, text(arguments)) == headers
    check(PARAMS, text(arguments), headers)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"page": {"count": 42}}, {"mcp-param-count": "42.0"}),
        ({"page": {"count": 42.0}}, {"MCP-PARAM-COUNT": "42"}),
        ({"page": {"count": 42}}, {"Mcp-Param-Count": " 4.2e1 "}),
        ({"page": {"count": 9007199254740991}}, {"Mcp-Param-Count": "9007199254740991"}),
        ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVsbG8=?="}),
        ({"region": " x "}, {"Mcp-Param-Region": "=?base64?IHgg?="}),
        ({}, {"Mcp-Param-Other": "x\0", "Other": "1"}),
    ],
)
def test_equal_header_is_accepted(arguments: Any, headers: dict[str, str]) -> None:
    """Names ignore case, integers compare as numbers, encoded values are decoded, unknown headers are ignored."""
    check(PARAMS, text(arguments), headers)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        pytest.param({"region": "a"}, {}, id="missing"),
        pytest.param({}, {"Mcp-Param-Region": "a"}, id="not in the body"),
        pytest.param({"region": None}, {"Mcp-Param-Region": "null"}, id="null in the body"),
        pytest.param({"region": None}, {"Mcp-Param-Region": ""}, id="null in the body, empty header"),
        pytest.param({"region": "a"}, {"Mcp-Param-Region": "b"}, id="different"),
        pytest.param({"region": "a"}, {"Mcp-Param-Region": "A"}, id="values keep their case"),
        pytest.param({"region": "42"}, {"Mcp-Param-Region": "42.0"}, id="texts are not numbers"),
        pytest.param({"region": "a"}, {"Mcp-Param-Region": "=?base64?YQ?="}, id="malformed"),
        pytest.param({"region": "ä"}, {"Mcp-Param-Region": "ä"}, id="invalid characters"),
        pytest.param({"page": {"count": 42}}, {"Mcp-Param-Count": "43"}, id="another number"),
        pytest.param({"page": {"count": 42}}, {"Mcp-Param-Count": "forty"}, id="no number"),
        pytest.param({"page": {"count": 42}}, {"Mcp-Param-Count": "٤٢"}, id="no ASCII number"),
        pytest.param({"page": {"count": 42}}, {"Mcp-Param-Count": "42e99999999999"}, id="an absurd number"),
        pytest.param(
            {"page": {"count": 9007199254740991}}, {"Mcp-Param-Count": "9007199254740991.4"}, id="not rounded"
        ),
        pytest.param({"flag": True}, {"Mcp-Param-Flag": "True"}, id="case of a boolean"),
        pytest.param({"flag": True}, {"Mcp-Param-Flag": "1"}, id="a boolean is no number"),
        pytest.param({"region": ["a"]}, {"Mcp-Param-Region": "a"}, id="a value without a header"),
    ],
)
def test_unequal_header_is_a_mismatch(arguments: Any, headers: dict[str, str]) -> None:
    """A header that is missing, superfluous or different is refused with -32020."""
    with pytest.raises(McpError) as caught:
        check(PARAMS, text(arguments), headers)
    assert caught.value.code == HEADER_MISMATCH


def test_header_sent_twice_is_a_mismatch() -> None:
    """Of two headers an intermediary may have read the other one."""
    with pytest.raises(McpError) as caught:
        check(PARAMS, b'{"region":"a"}', CIMultiDict([("Mcp-Param-Region", "a"), ("mcp-param-region", "a")]))
    assert caught.value.code == HEADER_MISMATCH


@pytest.mark.parametrize(
    "count",
    [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740991.4",
        "1" + "0" * 5000,
        "1e300",
        "1e400",
        "1e999999999",
        "1e99999999999999999999",
    ],
    ids=lambda count: str(count)[:20],
)
def test_integer_outside_the_safe_range_is_refused(count: str) -> None:
    """What doubles cannot hold exactly is never mirrored, and never believed."""
    arguments = b'{"page":{"count":%b}}' % count.encode()
    for act in (
        lambda: headers_for(PARAMS, arguments),
        lambda: check(PARAMS, arguments, {"Mcp-Param-Count": "9007199254740992"}),
    ):
        with pytest.raises(McpError) as caught:
            act()
        assert caught.value.code == INVALID_PARAMS


@pytest.mark.parametrize(
    "beside",
    [b"1e400", b"1" + b"0" * 5000, b"[" * 500 + b"]" * 500],
    ids=lambda beside: beside[:8].decode(),
)
def test_only_what_is_mirrored_is_looked_at(beside: bytes) -> None:
    """Arguments beside a mirrored one may be anything that a tool may want."""
    arguments = b'{"x":%b,"region":"a"}' % beside
    assert headers_for(PARAMS[:1], arguments) == {"Mcp-Param-Region": "a"}
    check(PARAMS[:1], arguments, {"Mcp-Param-Region": "a"})


def test_tools_without_annotations_cost_nothing_to_check() -> None:
    """Any headers pass when there is nothing to compare."""
    check((), b'{"region":"a"}', {"Mcp-Param-Region": "b"})
