"""Server-Sent Events as bytes: WHATWG framing (HTML standard, 9.2.6 "Interpreting an event stream"), in both directions.

The decoder is a state machine without a socket. It always holds that:

1. How the stream is cut into chunks changes nothing: not between CR and LF, not inside a UTF-8 sequence or the BOM.
2. Work is linear in the bytes received, also for one line of many megabytes that arrives in small chunks.
3. No more than ``max_event_bytes`` of one event are kept; a longer one raises, it is never cut.
4. Data stays bytes. Whether it is UTF-8, and JSON, is judged by whoever reads the message.
5. What the stream leaves unfinished at its end was never an event.
"""

from typing import Final

import msgspec

COMMENT: Final = b":\n\n"
"""A keep-alive: reaches the peer, means nothing."""

_BOM: Final = b"\xef\xbb\xbf"
_RETRY_DIGITS: Final = 15
"""More digits than this are no waiting time that anyone means (and Python refuses to convert thousands of them)."""


class SseTooLong(Exception):  # noqa: N818 - the name says it
    """One event exceeds the limit. Events before it in the same chunk are lost too: the stream is to be given up."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"an SSE event exceeds {limit_bytes} bytes")
        self.limit_bytes = limit_bytes


class Event(msgspec.Struct, frozen=True):
    """One dispatched event."""

    event: str
    """Its type; ``message`` when the stream gives none."""
    data: bytes
    """The ``data`` lines joined by LF. Empty data is an event too (a server primes a stream's id with it)."""
    id: str | None
    """The last id the stream has given so far, which need not stand in this event; ``None`` before the first."""
    retry_ms: int | None
    """The last reconnection time the stream has given so far."""


class Decoder:
    """Turns the chunks of one stream into events. ``max_event_bytes`` bounds the lines of one event together."""

    def __init__(self, max_event_bytes: int) -> None:
        self.last_event_id: str | None = None
        """As :attr:`Event.id`, but also when the stream gave it without data, in what is no event."""
        self.retry_ms: int | None = None
        """As :attr:`Event.retry_ms`, but also when the stream gave it without data."""
        self._limit = max_event_bytes
        self._pending = bytearray()  # the unfinished line
        self._after_cr = False  # a LF that comes now belongs to the line ended before
        self._at_start = True  # a BOM may still come
        self._id: str | None = None  # becomes last_event_id at the blank line
        self._type = ""
        self._data: list[bytes] = []
        self._size = 0  # bytes of this event's finished lines

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the stream's next bytes; return the events they complete.

        Raises :class:`SseTooLong`; the decoder is then of no further use.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *finished, rest = chunk.split(b"\n")
        events = []
        for part in finished:
            line = part
            if self._pending:
                self._pending += part
                line = bytes(self._pending)
                self._pending.clear()
            event = self._line(line)
            if event is not None:
                events.append(event)
        self._pending += rest
        self._check(len(self._pending))
        return events

    def _check(self, line_bytes: int) -> None:
        if self._size + line_bytes > self._limit:
            raise SseTooLong(self._limit)

    def _line(self, line: bytes) -> Event | None:
        self._check(len(line))
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            return None
        self._size += len(line)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._type = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
            case b"retry" if value.isdigit() and len(value) <= _RETRY_DIGITS:
                self.retry_ms = int(value)
            case _:
                pass  # the standard: "the field is ignored"
        return None

    def _dispatch(self) -> Event | None:
        self.last_event_id = self._id
        data, event_type = self._data, self._type
        self._data, self._type, self._size = [], "", 0
        if not data:
            return None
        return Event(
            event=event_type or "message",
            data=data[0] if len(data) == 1 else b"\n".join(data),
            id=self.last_event_id,
            retry_ms=self.retry_ms,
        )


def encode(data: bytes, event: str | None = None) -> bytes:
    """One event. Data with line breaks (JSON on one line has none) becomes several ``data`` lines, breaks becoming LF.

    ``event`` is one of our own constants, never a peer's text: it must not contain a line break.
    """
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\ndata: ")
    head = b"" if event is None else b"event: " + event.encode() + b"\n"
    return head + b"data: " + data + b"\n\n"
