"""The messages of one HTTP answer: JSON with one message, or a stream of events with one each.

Any POST may be answered either way, with other messages before the answer. What a backend writes is read tolerantly where
nothing is lost by it: an id of null in an error, a batch of 2025-03-26, a message that a strict parser refuses as a whole
for what one of its tools holds. What cannot be read is an error, never an empty answer.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Final

import msgspec
from msgspec import Raw

from switchyard_sidecar.catalog import listing
from switchyard_sidecar.catalog.listing import MalformedListError
from switchyard_sidecar.protocol import jsonrpc, names, sse
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.mirrored_params import SAFE_INTEGER
from switchyard_sidecar.upstream import aside, faults
from switchyard_sidecar.upstream.faults import Malformed, Refused, TooLarge, Unanswered
from switchyard_sidecar.upstream.http import Reply

MAX_ERROR_BYTES: Final = 64 * 1024
"""Of the body of an unsuccessful answer."""

_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "result", "error"})
_string: Final = msgspec.json.Decoder(str)
_code: Final = msgspec.json.Decoder(Annotated[int, msgspec.Meta(ge=-SAFE_INTEGER, le=SAFE_INTEGER)])


class Inbox:
    """The messages of a successful reply, in order. ``max_bytes`` bounds each one."""

    def __init__(self, reply: Reply, max_bytes: int) -> None:
        self.bytes_read = 0
        """Of the body so far."""
        self._reply = reply
        self._max_bytes = max_bytes
        self._decoder = sse.Decoder(max_bytes)

    @property
    def last_event_id(self) -> str | None:
        """Where a stream can be taken up again; None if it gave no id, or an empty one."""
        return self._decoder.last_event_id or None

    @property
    def retry_ms(self) -> int | None:
        """How long the stream asks to wait before it is opened again."""
        return self._decoder.retry_ms

    async def messages(self) -> AsyncIterator[Message]:
        """Each message as it comes.

        Raises:
            Fault: lost, too large, not JSON-RPC, or neither JSON nor a stream of events.
        """
        match self._reply.media_type:
            case names.JSON:
                body = await self._reply.body(self._max_bytes)
                self.bytes_read = len(body)
                for message in await aside.read(parse, body):
                    yield message
            case names.EVENT_STREAM:
                async for event in self._events():
                    if event.event == "message" and event.data:  # an empty one only primes the stream's id
                        for message in await aside.read(parse, event.data):
                            yield message
            case _:
                raise Malformed(faults.NOT_JSON_RPC)

    async def _events(self) -> AsyncIterator[sse.Event]:
        async for chunk in self._reply.chunks():
            self.bytes_read += len(chunk)
            try:
                events = self._decoder.feed(chunk)
            except sse.SseTooLong:
                raise TooLarge from None
            for event in events:
                yield event


def parse(text: bytes) -> list[Message]:
    """The message in a text, or the first messages of a batch; without notifications and requests that cannot be read.

    Raises:
        Malformed: it is nothing of the kind.
    """
    if not jsonrpc.is_batch(text):
        return _parse_one(text)
    try:
        entries = listing.split_array(text, jsonrpc.MAX_BATCH)
    except MalformedListError:
        entries = []
    if not entries:
        raise Malformed(faults.NOT_JSON_RPC)
    return [message for entry in entries for message in _parse_one(entry)]


def _parse_one(text: bytes) -> list[Message]:
    try:
        return [jsonrpc.decode(text)]
    except McpError:
        return _salvaged(text)


def _salvaged(text: bytes) -> list[Message]:
    """What is well formed in its outlines, if strict parsers refuse a part: an answer, whose result may be read in part.

    Anything else of that kind is left out: nobody waits for it, and those who wait for what comes with it shall not suffer.
    """
    try:
        members = listing.split_message(text, only=_MEMBERS)
    except MalformedListError:
        raise Malformed(faults.NOT_JSON_RPC) from None
    if members.get("jsonrpc") != b'"2.0"':
        raise Malformed(faults.NOT_JSON_RPC)
    if "method" in members:
        return []
    if ("result" in members) == ("error" in members):
        raise Malformed(faults.NOT_JSON_RPC)
    message_id = members.get("id", b"null")
    named = None if message_id == b"null" else message_id
    return [Message(named, None, None, members.get("result"), members.get("error"))]


async def answer(inbox: Inbox, request_id: int, heard: Callable[[Message], Awaitable[None]]) -> bytes:
    """The result of a request; what comes before it goes to ``heard``.

    Raises:
        McpError: the answer is an error.
        Fault: there is no answer, or it cannot be read.
    """
    wanted = b"%d" % request_id
    async for message in inbox.messages():
        if message.method is not None:
            await heard(message)
        elif message.id == wanted or (message.id is None and message.error is not None):
            return result_of(message)
    raise Unanswered


def result_of(message: Message) -> bytes:
    """The result in an answer.

    Raises:
        McpError: it is an error.
        Malformed: it is neither; a result is an object.
    """
    if message.error is not None:
        raise error_of(message.error)
    if message.result is None or not message.result.startswith(b"{"):
        raise Malformed(faults.NOT_JSON_RPC)
    return message.result


def error_of(text: bytes) -> McpError:
    """A JSON-RPC error as the backend wrote it, ``data`` unread.

    Raises:
        Malformed: it has no integer code that every peer can read, its message is no text, or it is not valid JSON.
    """
    try:
        text.decode()  # msgspec does not check what it leaves raw, and a message that it refused comes here too
        members = jsonrpc.members(text)
        code, message = _code.decode(members["code"]), _string.decode(members.get("message", Raw(b'""')))
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        raise Malformed(faults.NOT_JSON_RPC) from None
    return McpError(code, message, members.get("data"))


async def refusal(reply: Reply) -> tuple[Refused, bytes]:
    """An unsuccessful reply as a fault, with its JSON-RPC error if it has one; and its body, as far as it could be read."""
    fault = Refused(reply.status)
    try:
        body = await reply.body(MAX_ERROR_BYTES)
    except faults.Fault:
        return fault, b""
    try:
        messages = parse(body)
        fault.error = error_of(messages[0].error) if messages and messages[0].error is not None else None
    except Malformed:
        pass
    return fault, body
