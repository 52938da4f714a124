"""Definitions: whatever a backend lists is a tool or left out, and a tool is changed where it must be and nowhere else."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fuzz.texts import ODDITIES, budget, damaged, is_json, names, objects, scalars, strings
from switchyard_sidecar.catalog import listing
from switchyard_sidecar.catalog.definition import Rejection, ToolDefinition, parse_tool
from switchyard_sidecar.catalog.listing import ListPage, MalformedListError
from switchyard_sidecar.protocol.versions import Era

MAX_BYTES = 64 * 1024
SCHEMAS = st.sampled_from(
    [
        b"{}",
        b'{"type":"object"}',
        b'{"type" : "object", "properties":{"a": true , "b":false,"a\\u0062":{}}}',
        b'{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}',
        b'{"properties":{"a":true,"a":true}}',
        b'{"type":["object","null"]}',
        b"[]",
        b"true",
    ]
)
KEYS = st.sampled_from(
    [b'"name"', b'"n\\u0061me"', b'"title"', b'"description"', b'"outputSchema"', b'"execution"', b'"x"', b'"\\u0078"']
)
TOOLS = objects(
    st.tuples(
        strings(),
        SCHEMAS,
        st.lists(st.tuples(KEYS | strings(), scalars | SCHEMAS), max_size=5),
    ).map(lambda parts: [(b'"name"', parts[0]), (b'"inputSchema"', parts[1]), *parts[2]])
)
ENTRIES = st.one_of(st.binary(), scalars, TOOLS, damaged(TOOLS))


def parts(text: bytes) -> dict[str, bytes]:
    """The members of an object, by a parser that is not ours."""
    return {key: bytes(value) for key, value in msgspec.json.decode(text, type=dict[str, msgspec.Raw]).items()}


@budget
@given(ENTRIES, names, st.none() | names, st.none() | names, st.sampled_from(Era))
def test_only_what_is_to_change_changes(
    raw: bytes, name: str, title: str | None, description: str | None, era: Era
) -> None:
    """An entry is refused, or can be listed under any name with any override, and stays as it is otherwise."""
    tool = parse_tool(raw, max_bytes=MAX_BYTES)
    if isinstance(tool, Rejection):
        assert tool.reason
        return
    text = tool.rendered(name, title, description, era=era)
    assert is_json(text)
    changed = {
        key: value
        for key, value in (("name", name), ("title", title), ("description", description))
        if value is not None
    }
    assert {key: json.loads(parts(text)[key]) for key in changed} == changed
    untouched = changed.keys() | ({"inputSchema", "outputSchema"} if era is Era.LEGACY else set())
    before, after = parts(raw), parts(text)
    assert [key for key in after if key not in untouched] == [key for key in before if key not in untouched]
    assert all(after[key] == value for key, value in before.items() if key not in untouched)


@budget
@given(TOOLS | damaged(TOOLS))
def test_what_is_not_to_change_is_the_very_same(raw: bytes) -> None:
    """Under its own name, without overrides, a definition is not even copied; and reading it again gives the same."""
    tool = parse_tool(raw, max_bytes=MAX_BYTES)
    if isinstance(tool, ToolDefinition):
        assert tool.rendered(tool.name) is tool.raw
        assert parse_tool(tool.raw, max_bytes=MAX_BYTES) == tool
        legacy = parse_tool(tool.legacy_raw, max_bytes=MAX_BYTES * 2)
        assert isinstance(legacy, ToolDefinition)
        assert (legacy.legacy_raw, legacy.digest) == (tool.legacy_raw, tool.legacy_digest)


BALANCED = scalars.filter(is_json) | TOOLS | st.sampled_from([each for each in ODDITIES if each[:1] in b'[{"N-1'])
"""What has a beginning and an end, however little else it has."""


@budget
@given(
    st.lists(BALANCED.filter(lambda text: text != b""), max_size=5),
    st.none() | names,
    st.sampled_from([b"", b" ", b"\n"]),
)
def test_a_bad_entry_costs_no_other(entries: list[bytes], cursor: str | None, blank: bytes) -> None:
    """A list comes apart into what it was made of, whatever stands in it."""
    following = b"" if cursor is None else b',"nextCursor":' + json.dumps(cursor).encode()
    text = b'{"tools":[' + (blank + b"," + blank).join(entries) + b"]" + following + b"}"
    assert listing.split_tools_result(text, max_tools=100) == ListPage(entries, cursor, None, None)
    [result] = [
        value for key, value in listing.split_message(b'{"id":1,"result":' + text + b"}").items() if key == "result"
    ]
    assert result == text


@budget
@given(
    damaged(
        objects(
            st.lists(
                st.tuples(
                    st.sampled_from([b'"tools"', b'"nextCursor"', b'"ttlMs"', b'"cacheScope"']) | strings(),
                    scalars | st.lists(ENTRIES, max_size=3).map(lambda entries: b"[" + b",".join(entries) + b"]"),
                ),
                max_size=5,
            )
        )
    )
)
def test_any_result_is_a_page_or_refused(text: bytes) -> None:
    """Never anything else, and never an empty list for what is none."""
    try:
        page = listing.split_tools_result(text, max_tools=100)
    except MalformedListError:
        return
    assert b"tools" in text or b"\\u" in text
    assert all(isinstance(parse_tool(entry, max_bytes=MAX_BYTES), ToolDefinition | Rejection) for entry in page.tools)
