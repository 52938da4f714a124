"""Header values: plain where a header can carry the text, base64 between marks where it cannot."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.protocol.errors import HEADER_MISMATCH, INVALID_PARAMS, McpError
from switchyard_sidecar.protocol.header_values import decode, encode


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("", ""),
        ("file:///a%20b?c=d", "file:///a%20b?c=d"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ("日本語", "=?base64?5pel5pys6Kqe?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64?", "=?base64?"),
        ("a\x7fb", "=?base64?YX9i?="),
    ],
)
def test_text_and_header_correspond(text: str, header: str) -> None:
    """The specification's examples, and the corners of its rules, hold in both directions."""
    assert encode(text) == header
    assert decode(header) == text


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("   get_weather  ", "get_weather"),
        ("\tfoo\t", "foo"),
        (" =?base64?SGVsbG8=?= ", "Hello"),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        ("=?base64??=", ""),
        ("=?base64?=", "=?base64?="),
        ("a\tb", "a\tb"),
    ],
)
def test_received_header_is_read_tolerantly(header: str, text: str) -> None:
    """Outer blanks are the transport's; only the exact marks make a value encoded."""
    assert decode(header) == text


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("=?base64?SGVsbG8?=", id="padding is missing"),
        pytest.param("=?base64?SGVs!!!bG8=?=", id="no base64 characters"),
        pytest.param("=?base64?SGVs bG8=?=", id="a blank inside"),
        pytest.param("=?base64?SGVsbG8=SGVs?=", id="data after the padding"),
        pytest.param("=?base64?_-8=?=", id="the URL alphabet"),
        pytest.param("=?base64?/w==?=", id="no UTF-8"),
        pytest.param("=?base64?7aCA?=", id="a surrogate"),
        pytest.param("Hello, 世界", id="no ASCII"),
        pytest.param("a\nb", id="line feed"),
        pytest.param("a\0b", id="NUL"),
        pytest.param("a\x7fb", id="DEL"),
        pytest.param("a\udcffb", id="what a server makes of a stray byte"),
    ],
)
def test_malformed_header_is_a_mismatch(header: str) -> None:
    """A header that cannot be what a client meant is refused with -32020, never guessed at."""
    with pytest.raises(McpError) as caught:
        decode(header)
    assert caught.value.code == HEADER_MISMATCH


def test_text_that_is_no_unicode_is_refused() -> None:
    """A lone surrogate has no UTF-8, hence no header."""
    with pytest.raises(McpError) as caught:
        encode("a\ud800")
    assert caught.value.code == INVALID_PARAMS


@given(
    st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["=?base64?", "?=", " "]).map(lambda x: x * 2)
)
def test_any_text_survives_its_header(text: str) -> None:
    """Every text comes back, and its header is always safe to send."""
    header = encode(text)
    assert re.fullmatch(r"[\x20-\x7e]*", header)
    assert header == header.strip()
    assert decode(f" {header}\t") == text
