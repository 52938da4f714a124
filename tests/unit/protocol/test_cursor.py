"""Cursors: readable on every replica, and nothing but our own is believed."""

import base64

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from switchyard_sidecar.protocol.cursor import Cursor, decode, encode
from switchyard_sidecar.protocol.errors import INVALID_PARAMS, McpError

NAMES = st.text(st.characters(exclude_categories=["Cs"]))


def test_cursor_is_the_same_on_every_replica() -> None:
    """The text depends on what it says alone, so that this very text may be read by another process and version."""
    assert encode("jira__search", "private") == "3qi_FwFwcml2YXRlAGppcmFfX3NlYXJjaA"
    assert decode("3qi_FwFwcml2YXRlAGppcmFfX3NlYXJjaA") == Cursor("jira__search", "private")


@given(last=NAMES, scope=st.sampled_from(["public", "private"]))
def test_any_name_survives_its_cursor(last: str, scope: str) -> None:
    """Every exposed name can end a page, and the cursor needs no escaping in a URL."""
    text = encode(last, scope)
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert decode(text) == Cursor(last, scope)


def forged(octets: bytes) -> str:
    """A cursor made of these bytes, well-formed as far as base64 goes."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "20",
        "p2",
        "not a cursor",
        "3qi_FwFwcml2YXRlAGppcmFfX3NlYXJjaA==",
        "3qi_FwFwcml2YXRlAGppcmFfX3NlYXJjaB",
        "3qi_FwFwcml2YXRlAGppcmFfX3NlYXJja",
        "3qi_FwFwcml2YXRlAGppcmFfX3NlYXJjaA\n",
        " 3qi_FwFwcml2YXRlAGppcmFfX3NlYXJjaA",
        "é",
        "a\ud800",
        forged(b""),
        forged(b"\0\0\0\0"),
        forged(b"\0\0\0\0\x01private\0x"),
        forged(b"\xff" * 40),
        "A" * 1_000_000,
    ],
)
def test_what_is_no_cursor_of_ours_is_refused(text: str) -> None:
    """Anything else is -32602, whatever is wrong with it."""
    with pytest.raises(McpError) as caught:
        decode(text)
    assert caught.value.code == INVALID_PARAMS


@given(st.text(st.characters()) | st.text("ABCDabcd0123-_=+/"))
def test_no_text_fails_otherwise(text: str) -> None:
    """A text is our cursor or -32602; there is no third way."""
    outcome: Cursor | int
    try:
        outcome = decode(text)
    except McpError as error:
        outcome = error.code
    assert outcome == INVALID_PARAMS or (isinstance(outcome, Cursor) and encode(outcome.last, outcome.scope) == text)


@given(last=NAMES, place=st.integers(min_value=0), letter=st.sampled_from("AZaz09-_"))
def test_changed_letter_is_noticed(last: str, place: int, letter: str) -> None:
    """One letter changed anywhere makes a cursor invalid."""
    text = encode(last, "public")
    place %= len(text)
    assume(text[place] != letter)
    with pytest.raises(McpError):
        decode(text[:place] + letter + text[place + 1 :])
