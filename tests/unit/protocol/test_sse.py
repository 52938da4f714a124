"""SSE framing: what the WHATWG standard says, whatever the chunks."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.protocol.sse import COMMENT, Decoder, Event, SseTooLong, encode

LIMIT = 32 * 1024 * 1024


def decode(*chunks: bytes, limit: int = LIMIT) -> list[Event]:
    """All events of one stream."""
    decoder = Decoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def message(data: bytes, *, event: str = "message", id: str | None = None, retry_ms: int | None = None) -> Event:  # noqa: A002
    """An event as expected, with the standard's defaults."""
    return Event(event=event, data=data, id=id, retry_ms=retry_ms)


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        pytest.param(b"data: a\n\ndata: b\n\n", [message(b"a"), message(b"b")], id="lf"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", [message(b"a"), message(b"b")], id="crlf"),
        pytest.param(b"data: a\r\rdata: b\r\r", [message(b"a"), message(b"b")], id="cr"),
        pytest.param(b"data: a\r\n\ndata: b\n\r", [message(b"a"), message(b"b")], id="mixed"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [message(b"a")], id="bom"),
        pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", [], id="only one bom is removed"),
        pytest.param(b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [message(b"a")], id="a bom later is part of a field name"),
        pytest.param(b"data:a\n\n", [message(b"a")], id="no space after the colon"),
        pytest.param(b"data:  a\n\n", [message(b" a")], id="one space after the colon goes, no more"),
        pytest.param(b"data: a\ndata: b\ndata:\n\n", [message(b"a\nb\n")], id="lines of data are joined"),
        pytest.param(b"data\n\n", [message(b"")], id="a field without a colon is empty"),
        pytest.param(b"id: 7\ndata:\n\n", [message(b"", id="7")], id="empty data is an event"),
        pytest.param(b"event: x\n\ndata: a\n\n", [message(b"a")], id="no data, no event, and its type is forgotten"),
        pytest.param(b"event: x\ndata: a\n\ndata: b\n\n", [message(b"a", event="x"), message(b"b")], id="event type"),
        pytest.param(b": hello\n:\n\ndata: a\n:x\ndata: b\n\n", [message(b"a\nb")], id="comments"),
        pytest.param(b"DATA: a\nfoo: b\n data: c\ndata: d\n\n", [message(b"d")], id="other fields are ignored"),
        pytest.param(b"id: 7\ndata: a\n\ndata: b\n\n", [message(b"a", id="7"), message(b"b", id="7")], id="ids stay"),
        pytest.param(b"id: 7\n\nid\ndata: a\n\n", [message(b"a", id="")], id="an id can be made empty"),
        pytest.param(b"id: 7\0\ndata: a\n\n", [message(b"a")], id="an id with NUL is ignored"),
        pytest.param(b"retry: 50\ndata: a\n\n", [message(b"a", retry_ms=50)], id="retry"),
        pytest.param(b"retry: 5s\nretry: -1\nretry:\ndata: a\n\n", [message(b"a")], id="retry is digits only"),
        pytest.param(b"retry: " + b"9" * 5000 + b"\ndata: a\n\n", [message(b"a")], id="an absurd retry is ignored"),
        pytest.param("event: ü\ndata: ü\n\n".encode(), [message("ü".encode(), event="ü")], id="utf-8"),
        pytest.param(b"data: \xff\n\n", [message(b"\xff")], id="data is handed on as bytes"),
        pytest.param(b"data: a\n", [], id="what the end cuts off is no event"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_stream_means_what_the_standard_says(stream: bytes, events: list[Event]) -> None:
    """Every rule of "interpreting an event stream" holds, in one chunk and byte by byte."""
    assert decode(stream) == events
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == events


LINES = st.sampled_from(
    [
        b"data: a",
        b"data",
        "data: ü€😀".encode(),
        b"event: e",
        b"id: 1",
        b"id: \0",
        b"retry: 9",
        b": c",
        b"x: y",
        b"",
        b"",
    ]
)


@given(
    lines=st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"]))),
    bom=st.booleans(),
    cuts=st.lists(st.integers(min_value=0, max_value=400)),
)
def test_any_chunking_gives_the_same_events(lines: list[tuple[bytes, bytes]], bom: bool, cuts: list[int]) -> None:
    """Where the network cuts the stream changes nothing."""
    stream = (b"\xef\xbb\xbf" if bom else b"") + b"".join(line + end for line, end in lines)
    places = sorted({0, *(min(cut, len(stream)) for cut in cuts), len(stream)})
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert decode(*chunks) == decode(stream)


@given(st.lists(st.tuples(st.binary(), st.sampled_from([None, "endpoint"]))))
def test_what_is_encoded_is_decoded(messages: list[tuple[bytes, str | None]]) -> None:
    """Encoding and decoding are inverse, but for line breaks inside the data, which become LF."""
    stream = COMMENT.join(encode(data, event) for data, event in messages)
    expected = [
        message(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), event=event or "message")
        for data, event in messages
    ]
    assert decode(stream) == expected


def test_encoded_event_is_one_data_line() -> None:
    """The bytes on the wire are the plainest there are."""
    assert encode(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert encode(b"/messages", "endpoint") == b"event: endpoint\ndata: /messages\n\n"
    assert encode(b"{\r\n}") == b"data: {\ndata: }\n\n"


def test_id_and_retry_without_data_are_kept() -> None:
    """A server may prime a stream's id and reconnection time in what is no event."""
    decoder = Decoder(LIMIT)
    assert decoder.feed(b"id: 7\nretry: 20\n\n") == []
    assert (decoder.last_event_id, decoder.retry_ms) == ("7", 20)


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"data: " + b"x" * 100, id="an unfinished line"),
        pytest.param(b"data: " + b"x" * 100 + b"\n\n", id="a finished event"),
        pytest.param(b"data: x\n" * 20, id="many short lines"),
        pytest.param(b": " + b"x" * 100 + b"\n", id="a comment"),
        pytest.param(b"event: x\n" * 20, id="lines that are not data"),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_event_over_the_limit_is_refused(stream: bytes, size: int) -> None:
    """An event beyond the limit raises, however it arrives; nothing is cut."""
    decoder = Decoder(64)
    with pytest.raises(SseTooLong):  # noqa: PT012
        for start in range(0, len(stream), size):
            decoder.feed(stream[start : start + size])


def test_limit_is_for_one_event() -> None:
    """A stream may be endless; each of its events has the whole limit, and comments count for none."""
    assert len(decode(b":" + b"c" * 50 + b"\ndata: " + b"x" * 58 + b"\n\n", limit=64)) == 1
    assert len(decode(b"data: " + b"x" * 58 + b"\n\n" + b"data: " + b"x" * 58 + b"\n\n", limit=64)) == 2


def test_one_huge_line_in_small_chunks_costs_linear_time() -> None:
    """16 MiB in chunks of 64 KiB take at most a few times what 16 MiB in one chunk take (quadratic would be 100 times)."""
    stream = b"data: " + b"x" * (16 * 1024 * 1024) + b"\n\n"
    chunks = [stream[start : start + 65536] for start in range(0, len(stream), 65536)]
    started = time.process_time()
    (event,) = decode(*chunks)
    assert time.process_time() - started < 1.0
    assert len(event.data) == 16 * 1024 * 1024
