"""Finding the parts of a JSON text: exact places, whatever stands between strings and brackets."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.catalog.json_text import JsonTextError, elements, members, string

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
"""Any value that Python writes as JSON: NaN and infinities included."""


def parts(text: bytes) -> list[tuple[str, bytes]]:
    """Keys and values of an object, as found."""
    return [(member.key, text[member.value : member.end]) for member in members(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(b"{}", [], id="empty"),
        pytest.param(b" \t\r\n{ \t\r\n} \t\r\n", [], id="empty, with white space"),
        pytest.param(b'{"a":1,"b":[2]}', [("a", b"1"), ("b", b"[2]")], id="order"),
        pytest.param(b'{ "a" :\n1 , "b"\t: 2 }', [("a", b"1"), ("b", b"2")], id="white space belongs to no value"),
        pytest.param(b'{"a":"]}\\"{,"}', [("a", b'"]}\\"{,"')], id="brackets and quotes in a string"),
        pytest.param(b'{"a":"\\\\","b":1}', [("a", b'"\\\\"'), ("b", b"1")], id="escaped backslash before the quote"),
        pytest.param(b'{"a":{"]":"}"}}', [("a", b'{"]":"}"}')], id="brackets in inner keys"),
        pytest.param(b'{"na\\u006de":1}', [("name", b"1")], id="escaped key"),
        pytest.param(b'{"a":1,"a":2}', [("a", b"1"), ("a", b"2")], id="repeated key"),
        pytest.param(b'{"a":NaN,"b":-Infinity}', [("a", b"NaN"), ("b", b"-Infinity")], id="what is no JSON value"),
        pytest.param(b'{"a":"\xff","b":1}', [("a", b'"\xff"'), ("b", b"1")], id="bytes that are no UTF-8"),
        pytest.param(b'{"a":"x\ny"}', [("a", b'"x\ny"')], id="a bare line feed in a string"),
    ],
)
def test_members_are_found_where_they_stand(text: bytes, found: list[tuple[str, bytes]]) -> None:
    """Each member is reported with its decoded key and the very bytes of its value, in order."""
    assert parts(text) == found


def test_a_members_place_begins_with_its_key() -> None:
    """The three places of a member are its key's quote, its value's first byte, and the byte after."""
    [first, second] = members(b'{"a" : 1, "b":[[]]}')
    assert (first.start, first.value, first.end, first.depth) == (1, 7, 8, 0)
    assert (second.start, second.value, second.end, second.depth) == (10, 14, 18, 2)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(b"[]", [], id="empty"),
        pytest.param(b" [ ] ", [], id="empty, with white space"),
        pytest.param(b"[null,1 , {} ,[ ]]", [b"null", b"1", b"{}", b"[ ]"], id="kinds"),
        pytest.param(b'["\\ud800",NaN,"\xff"]', [b'"\\ud800"', b"NaN", b'"\xff"'], id="what parsers refuse"),
    ],
)
def test_elements_are_found_as_they_are_written(text: bytes, found: list[bytes]) -> None:
    """Each element is reported with the very bytes it is made of."""
    assert list(elements(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"1",
        b"null",
        b"[]",
        b"{",
        b'{"a"}',
        b'{"a":}',
        b'{"a":1',
        b'{"a":1,}',
        b'{"a":1 "b":2}',
        b'{"a":1}}',
        b'{"a":1} x',
        b"{a:1}",
        b"{,}",
        b'{"a":[1}',
        b'{"a":[}]}',
        b'{"a":"x}',
        b'{"a":["x]}',
        b'{"a":1]',
        b'{"\\ud800":1}',
        b'{"\xff":1}',
        b'{"a\\":1}',
    ],
)
def test_a_text_that_is_no_object_has_no_members(text: bytes) -> None:
    """Unmatched brackets or strings, a missing or superfluous comma, and anything else than an object are an error."""
    with pytest.raises(JsonTextError):
        parts(text)


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[", b"[1", b"[1,]", b"[,1]", b"[1 2]", b"[1]]", b"[[}]", b'["]', b"[1}"]
)
def test_a_text_that_is_no_array_has_no_elements(text: bytes) -> None:
    """The same for arrays."""
    with pytest.raises(JsonTextError):
        list(elements(text))


def test_no_depth_is_too_deep() -> None:
    """Nesting that ends every recursive parser is just one long element, and its depth is told."""
    deep = b"[" * 100_000 + b"]" * 100_000
    assert list(elements(b"[1," + deep + b",2]")) == [b"1", deep, b"2"]
    [member] = members(b'{"a":' + deep + b"}")
    assert member.depth == 100_000


@given(st.lists(json_values))
def test_any_array_comes_apart_into_what_it_was_made_of(values: list[Any]) -> None:
    """Whatever stands in an array, its elements are found again."""
    texts = [json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") for value in values]
    assert list(elements(b"[" + b" , ".join(texts) + b"]")) == texts


@given(st.lists(st.tuples(st.text(), json_values)))
def test_any_object_comes_apart_into_what_it_was_made_of(pairs: list[tuple[str, Any]]) -> None:
    """Whatever stands in an object, its members are found again, repeated keys included."""
    texts = [(key, json.dumps(value).encode()) for key, value in pairs]
    text = b"{" + b",\n".join(json.dumps(key).encode() + b" : " + value for key, value in texts) + b"}"
    assert parts(text) == texts


@pytest.mark.parametrize("text", [b"1", b'"a', b'"\\x"', b'"\\ud800"', b'"\xff"', b'"\n"', b'"a" 1'])
def test_only_a_valid_string_is_decoded(text: bytes) -> None:
    """A string that cannot be text is an error, not a replacement character."""
    with pytest.raises(JsonTextError):
        string(text)
