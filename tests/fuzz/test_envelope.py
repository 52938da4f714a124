"""Requests: whatever headers and bodies come, they are served or refused with an ``McpError``."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from fuzz.texts import budget, damaged, names, objects, outcome, scalars, strings, values
from switchyard_sidecar.catalog.projection import Entry, Projection
from switchyard_sidecar.downstream import envelope
from switchyard_sidecar.downstream.results import project_result
from switchyard_sidecar.protocol import header_values, jsonrpc, meta, mirrored_params
from switchyard_sidecar.protocol.errors import HEADER_MISMATCH, INVALID_PARAMS, McpError
from switchyard_sidecar.protocol.mirrored_params import InvalidAnnotation, MirroredParam
from switchyard_sidecar.protocol.versions import Era

VERSION = "2026-07-28"
KEYS = (meta.PROTOCOL_VERSION, meta.CLIENT_INFO, meta.CLIENT_CAPABILITIES)
HEADERS = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-A")
METHODS = st.sampled_from(["tools/call", "tools/list", "prompts/get", "resources/read"]) | names
VISIBLE = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=12)
TEXTS_OF_META = objects(
    st.lists(
        st.tuples(
            st.sampled_from(KEYS).map(lambda key: json.dumps(key).encode()) | strings(),
            st.sampled_from([b'"2026-07-28"', b"{}", b"[]", b'"2025-11-25"', b"null"]) | scalars,
        ),
        max_size=5,
    )
)
PARAMS = objects(
    st.lists(
        st.tuples(
            st.sampled_from([b'"_meta"', b'"name"', b'"uri"', b'"arguments"']) | strings(),
            TEXTS_OF_META | scalars | st.sampled_from([b'"echo"', b"null", b"{}"]),
        ),
        max_size=4,
    )
)


def opened(method: str, params: bytes, headers: CIMultiDict[str]) -> envelope.Envelope:
    """What the endpoint does with a request, as far as its shape is concerned."""
    message = jsonrpc.decode(jsonrpc.request(1, method, params))
    found = envelope.open_message(message, headers.get("MCP-Protocol-Version"))
    if found.era is Era.MODERN:
        envelope.check_modern(found, CIMultiDictProxy(headers))
    return found


@budget
@given(METHODS, PARAMS | damaged(PARAMS), st.lists(st.tuples(st.sampled_from(HEADERS), VISIBLE | st.just(VERSION))))
def test_any_request_is_well_formed_or_refused(method: str, params: bytes, headers: list[tuple[str, str]]) -> None:
    """And what is taken for well formed is: headers and body say the same."""
    sent = CIMultiDict(headers)
    found = outcome(lambda: opened(method, params, sent))
    if isinstance(found, McpError):
        assert found.code in {-32700, -32600, -32602, -32020, -32022}
    elif found.era is Era.MODERN:
        assert json.loads(bytes(found.meta[meta.PROTOCOL_VERSION])) == VERSION
        assert sent.getall("MCP-Protocol-Version")[0].strip(" \t") == VERSION
        assert sent.getall("Mcp-Method")[0].strip(" \t") == method


@budget
@given(method=METHODS.filter(lambda method: re.fullmatch("[!-~]+", method) is not None), name=names)
def test_a_good_client_is_served_whatever_it_names(method: str, name: str) -> None:
    """Any name, its header encoded as the specification says; and refused if that is left out or doubled."""
    own = {meta.PROTOCOL_VERSION: VERSION, meta.CLIENT_CAPABILITIES: {}}
    params = json.dumps({"_meta": own, "name": name, "uri": name}).encode()
    headers = CIMultiDict(
        {"MCP-Protocol-Version": VERSION, "Mcp-Method": method, "Mcp-Name": header_values.encode(name)}
    )
    assert opened(method, params, headers).method == method
    if method in {"tools/call", "prompts/get", "resources/read"}:
        doubled = CIMultiDict(headers)
        doubled.add("Mcp-Name", headers["Mcp-Name"])
        del headers["Mcp-Name"]
        for wrong in (headers, doubled):
            with pytest.raises(McpError, match="Mcp-Name"):
                opened(method, params, wrong)


@budget
@given(VISIBLE | st.text() | st.text("=?base64Aa+/ ").map(lambda text: f"=?base64?{text}?="))
def test_any_header_value_is_a_text_or_a_mismatch(value: str) -> None:
    """And the text has a header value that means it."""
    text = outcome(lambda: header_values.decode(value))
    if isinstance(text, McpError):
        assert text.code == HEADER_MISMATCH
    else:
        assert header_values.decode(header_values.encode(text)) == text


@budget
@given(st.text() | st.text("ABCDabcd0123-_="), st.sets(names.filter(bool)), st.integers(min_value=0, max_value=3))
def test_any_cursor_names_a_page_or_is_refused(cursor: str, tools: set[str], page_size: int) -> None:
    """And the pages of a list, one after the other, are the list."""
    entries = [Entry(name, name.encode(), b"") for name in sorted(tools)]
    projection = Projection.of([("", entries)], "public", page_size)
    guessed = outcome(lambda: projection.page(cursor))
    assert not isinstance(guessed, McpError) or guessed.code == INVALID_PARAMS
    page = projection.page(None)
    bodies = [page.body]
    while page.next_cursor is not None:
        page = projection.page(page.next_cursor)
        bodies.append(page.body)
    assert b",".join(bodies) == b",".join(name.encode() for name in sorted(tools))


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "boolean", "number", ["string"], None]),
            "x-mcp-header": names | st.sampled_from(["A", "a", "B"]),
        },
    )
    | values,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "items": inner,
            "allOf": st.lists(inner),
            "type": st.just("object"),
        },
    ),
    max_leaves=6,
)


@budget
@given(SCHEMAS)
def test_any_schema_has_mirrored_parameters_or_is_refused(schema: object) -> None:
    """Whatever stands in it; and a header names one parameter."""
    try:
        found = mirrored_params.find(schema)
    except InvalidAnnotation:
        return
    assert len({param.header.lower() for param in found}) == len(found)
    assert all(param.path for param in found)


PARAM_TYPES = st.sampled_from(["integer", "string", "boolean"])
MIRRORED = st.lists(
    st.builds(
        MirroredParam, st.sampled_from(["A", "b", "X-C"]), st.sampled_from([("a",), ("b",), ("a", "b")]), PARAM_TYPES
    ),
    unique_by=lambda param: param.header,
)
ARGUMENTS = objects(
    st.lists(
        st.tuples(st.sampled_from([b'"a"', b'"b"']), scalars | st.sampled_from([b"9007199254740993", b"1.50", b"1e2"]))
    )
)


@budget
@given(MIRRORED, st.none() | ARGUMENTS | damaged(ARGUMENTS))
def test_what_is_mirrored_matches_what_it_mirrors(params: list[MirroredParam], arguments: bytes | None) -> None:
    """The headers that we would send are those that we would accept; what cannot be mirrored is refused alike."""
    headers = outcome(lambda: mirrored_params.headers_for(params, arguments))
    if isinstance(headers, McpError):
        assert headers.code == INVALID_PARAMS
        return
    mirrored_params.check(params, arguments, headers)
    for name in headers:
        others = {other: value for other, value in headers.items() if other != name}
        with pytest.raises(McpError, match=name):
            mirrored_params.check(params, arguments, others)


RESULTS = objects(
    st.lists(
        st.tuples(
            st.sampled_from([b'"content"', b'"resultType"', b'"structuredContent"', b'"_meta"']) | strings(),
            scalars | st.sampled_from([b'"complete"', b'"input_required"', b"{}", b"[]"]),
        )
    )
)


@budget
@given(st.binary() | scalars | RESULTS | damaged(RESULTS), st.sampled_from(Era), st.sampled_from(Era))
def test_any_result_reaches_its_caller_or_is_refused(result: bytes, backend: Era, caller: Era) -> None:
    """And what the caller's era must have is in it."""
    shaped = outcome(lambda: project_result(result, backend=backend, caller=caller, server_info=b'{"name":"x"}'))
    if isinstance(shaped, McpError):
        assert shaped.code == -32603
    elif caller is Era.MODERN:
        assert b'"resultType":' in shaped
        assert b'{"name":"x"}' in shaped
    else:
        assert b'"resultType":"input_required"' not in shaped
