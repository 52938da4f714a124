"""SSE: any bytes, cut anywhere, mean what a naive reading of the standard says."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fuzz.texts import budget, cut
from switchyard_sidecar.protocol.sse import Decoder, Event, SseTooLong, encode

LIMIT = 1024 * 1024
STREAMS = st.one_of(
    st.binary(),
    st.lists(
        st.sampled_from(
            [
                b"data",
                b"id",
                b"event",
                b"retry",
                b":",
                b" ",
                b"\n",
                b"\r",
                b"\r\n",
                b"\n\n",
                b"\0",
                b"\xef\xbb\xbf",
                b"7",
            ]
        )
        | st.binary(max_size=3),
        max_size=40,
    ).map(b"".join),
)


def decoded(chunks: list[bytes], limit: int = LIMIT) -> list[Event] | None:
    """The events of a stream; None: one was too long."""
    decoder = Decoder(limit)
    try:
        return [event for chunk in chunks for event in decoder.feed(chunk)]
    except SseTooLong:
        return None


def naive(stream: bytes) -> list[Event]:
    """The standard's steps, one after the other, on the whole stream."""
    events: list[Event] = []
    data: list[bytes] = []
    kind, identity, last, retry = "", None, None, None
    *lines, _ = re.split(rb"\r\n|\n|\r", stream.removeprefix(b"\xef\xbb\xbf"))
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            last = identity
            if data:
                events.append(Event(kind or "message", b"\n".join(data), last, retry))
            data, kind = [], ""
        elif name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode(errors="replace")
        elif name == b"id" and b"\0" not in value:
            identity = value.decode(errors="replace")
        elif name == b"retry" and re.fullmatch(rb"[0-9]{1,15}", value):
            retry = int(value)
    return events


@budget
@given(cut(STREAMS))
def test_any_bytes_in_any_chunks_mean_what_the_standard_says(chunks: list[bytes]) -> None:
    """Chunks make no difference, and nothing raises."""
    assert decoded(chunks) == naive(b"".join(chunks))


@budget
@given(cut(STREAMS), st.integers(min_value=0, max_value=40))
def test_the_limit_never_alters_what_it_lets_pass(chunks: list[bytes], limit: int) -> None:
    """A stream is read as without a limit or refused, and chunks make no difference to that either."""
    outcome = decoded(chunks, limit)
    assert outcome in (None, naive(b"".join(chunks)))
    assert outcome == decoded([b"".join(chunks)], limit)


@budget
@given(cut(st.lists(st.binary()).map(lambda messages: b"".join(map(encode, messages)))))
def test_no_chunk_damages_what_was_encoded(chunks: list[bytes]) -> None:
    """What is encoded, cut and decoded encodes to the same."""
    events = decoded(chunks)
    assert events is not None
    assert b"".join(encode(event.data) for event in events) == b"".join(chunks)
