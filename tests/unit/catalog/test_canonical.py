"""When two JSON texts are the same definition, and which texts are none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.catalog.canonical import NotJsonError, digest, read


def digest_of(text: str) -> bytes:
    """The canonical digest of a text."""
    return digest(read(text.encode()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param('{"a":1,"b":2}', '{"b":2,"a":1}', id="order of keys"),
        pytest.param('{"a":{"x":1,"y":2}}', '{"a":{"y":2,"x":1}}', id="order of inner keys"),
        pytest.param('{"a":1}', '{\n  "a" :\t1\r\n}', id="white space"),
        pytest.param('{"a":"é/\\n"}', '{"\\u0061":"\\u00e9\\/\\u000a"}', id="escapes"),
        pytest.param('"😀"', '"\\ud83d\\ude00"', id="a surrogate pair"),
        pytest.param('{"A":1,"a":2,"é":3}', '{"é":3,"a":2,"A":1}', id="keys beyond ASCII"),
    ],
)
def test_writing_the_same_in_another_way_changes_nothing(one: str, other: str) -> None:
    """The digest sees what is said, not how it is written."""
    assert digest_of(one) == digest_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("1", "1.0", id="1 and 1.0"),
        pytest.param("1e400", "1e401", id="both too large for a double"),
        pytest.param("1e2", "100", id="exponent"),
        pytest.param("1e2", "1E2", id="the exponent's letter"),
        pytest.param("0", "-0", id="signed zero"),
        pytest.param(
            "340282366920938463463374607431768211455", "340282366920938463463374607431768211456", id="128-bit integers"
        ),
        pytest.param("9223372036854775807", "9223372036854775808", id="around 64 bits"),
        pytest.param("0.1", "0.1000000000000000055511151231257827", id="the same double"),
        pytest.param("1", '"1"', id="number and string"),
        pytest.param("1", "[1]", id="number and array"),
        pytest.param("1", '["1"]', id="number and array of its digits"),
        pytest.param("null", '"null"', id="null and string"),
        pytest.param("true", "false", id="booleans"),
        pytest.param("[1,2]", "[2,1]", id="order of elements"),
        pytest.param('{"a":null}', "{}", id="null and absent"),
        pytest.param('{"a":{"x":1,"x":2}}', '{"a":{"x":2}}', id="a shadowed member"),
        pytest.param('{"a":{"x":1,"x":2}}', '{"a":{"x":3,"x":2}}', id="a change in a shadowed member"),
        pytest.param(
            '{"a":{"x":1,"x":2},"b":{"x":2}}', '{"a":{"x":2},"b":{"x":1,"x":2}}', id="the place of a shadowed member"
        ),
        pytest.param('[{"x":1,"x":2},{"x":2}]', '[{"x":2},{"x":1,"x":2}]', id="the element of a shadowed member"),
        pytest.param('{"x":1,"x":2}', '[["x",1],["x",2]]', id="members and an array of them"),
        pytest.param('"e\\u0301"', '"\\u00e9"', id="Unicode normal forms"),
    ],
)
def test_every_difference_in_what_is_said_changes_the_digest(one: str, other: str) -> None:
    """No two different definitions look the same, however a parser would round them."""
    assert digest_of(one) != digest_of(other)


@pytest.mark.parametrize(
    "text",
    [
        b"NaN",
        b'{"a":[Infinity]}',
        b"-Infinity",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"{",
        b'{"a":1,}',
        b"01",
        b"1.",
        b".5",
        b"+1",
        b'"a\nb"',
        b'"\\x"',
        b"'a'",
        b"1 2",
        b"",
        pytest.param(b"[" * 5_000 + b"]" * 5_000, id="five thousand levels"),
    ],
)
def test_what_is_no_json_is_not_read(text: bytes) -> None:
    """Only RFC 8259 in UTF-8 is read; everything else a client's parser could stumble over."""
    with pytest.raises(NotJsonError):
        read(text)


@pytest.mark.parametrize(
    "text", ['"\\ud800"', '{"\\udc00":1}', '["\\ud800\\u0041"]', '{"a":{"x":"\\udfff","x":1}}', '"\\udc00\\ud800"']
)
def test_half_a_surrogate_pair_has_no_digest(text: str) -> None:
    """A string that cannot be written in UTF-8 makes its text unfit, wherever it stands."""
    with pytest.raises(NotJsonError, match="surrogate"):
        digest_of(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_rewriting_any_value_keeps_its_digest(value: object) -> None:
    """Indented or compact, escaped or not: the digest of a value is one."""
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert digest_of(compact) == digest_of(json.dumps(value, indent=2, ensure_ascii=True))
