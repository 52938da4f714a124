"""JSON-RPC 2.0 messages as bytes in and bytes out.

What one side does not need to understand is never decoded: ids, params and results stay slices of the received text, so
that a caller's id comes back with its JSON type and a backend's result with its digits. Source: 2026-07-28 ``basic``.
"""

from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError

_encode = msgspec.json.encode

MAX_BATCH: Final = 100
"""Messages in one batch."""


class _Wire(msgspec.Struct, gc=False):
    jsonrpc: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message, shape checked, contents raw. Absent members are ``None``."""

    id: bytes | None
    """The JSON text of the id: a string or an integer."""
    method: str | None
    params: bytes | None
    """The JSON text of ``params``; an object."""
    result: bytes | None
    error: bytes | None

    @property
    def is_request(self) -> bool:
        """Whether an answer is expected."""
        return self.method is not None and self.id is not None

    @property
    def is_notification(self) -> bool:
        """Whether it is a method without an id."""
        return self.method is not None and self.id is None


class InvalidRequestError(McpError):
    """An invalid message whose id could be read, so that the answer can carry it."""

    def __init__(self, request_id: bytes | None, message: str) -> None:
        super().__init__(errors.INVALID_REQUEST, message)
        self.request_id = request_id


_wire: Final = msgspec.json.Decoder(_Wire)
_batch: Final = msgspec.json.Decoder(list[Raw])
_string: Final = msgspec.json.Decoder(str)
_members: Final = msgspec.json.Decoder(dict[str, Raw])


def decode(body: bytes) -> Message:
    """Read one message.

    Raises:
        McpError: -32700 when it is no JSON, -32600 when it is no JSON-RPC message.
    """
    try:
        body.decode()  # msgspec does not check what it leaves raw
        wire = _wire.decode(body)
    except msgspec.ValidationError:
        raise McpError(errors.INVALID_REQUEST, "Invalid Request: a message is one JSON object") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise McpError(errors.PARSE_ERROR, "Parse error: the body is not valid JSON in UTF-8") from None
    message_id = _id(wire.id)
    if wire.jsonrpc is UNSET or bytes(wire.jsonrpc) != b'"2.0"':
        raise InvalidRequestError(message_id, 'Invalid Request: "jsonrpc" must be "2.0"')
    method: str | None = None
    if wire.method is not UNSET:
        try:
            method = _string.decode(wire.method)
        except msgspec.DecodeError:
            raise InvalidRequestError(message_id, 'Invalid Request: "method" must be a string') from None
    elif wire.result is UNSET and wire.error is UNSET:
        raise InvalidRequestError(message_id, 'Invalid Request: there is no "method"')
    params = _optional(wire.params)
    if params is not None and not params.startswith(b"{"):
        raise InvalidRequestError(message_id, 'Invalid Request: "params" must be an object')
    return Message(message_id, method, params, _optional(wire.result), _optional(wire.error))


def is_batch(body: bytes) -> bool:
    """Whether the body is an array: a batch, which only 2025-03-26 has."""
    return body.lstrip(b" \t\r\n").startswith(b"[")


def decode_batch(body: bytes) -> list[bytes]:
    """Split a batch into its messages' texts.

    Raises:
        McpError: -32700 when it is no JSON, -32600 when it is empty (JSON-RPC 2.0, section 6) or too long.
    """
    try:
        entries = _batch.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise McpError(errors.PARSE_ERROR, "Parse error: the body is not valid JSON") from None
    if not entries:
        raise McpError(errors.INVALID_REQUEST, "Invalid Request: the batch is empty")
    if len(entries) > MAX_BATCH:
        raise McpError(errors.INVALID_REQUEST, f"Invalid Request: a batch has at most {MAX_BATCH} messages")
    return [bytes(entry) for entry in entries]


def members(text: bytes | Raw) -> dict[str, Raw]:
    """The members of a JSON object, values raw; of duplicate keys the last.

    Raises:
        msgspec.DecodeError: the text is no object, or nests too deeply to be read.
    """
    try:
        return _members.decode(text)
    except RecursionError:
        raise msgspec.DecodeError("JSON nests too deeply") from None


def joined(parts: dict[str, Raw] | dict[str, bytes]) -> bytes:
    """The JSON object with these members, in order: the reverse of :func:`members`."""
    return b"{" + b",".join(_encode(key) + b":" + bytes(value) for key, value in parts.items()) + b"}"


def request(request_id: int, method: str, params: bytes) -> bytes:
    """A request of our own. ``params`` is the JSON text of an object."""
    return b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":%b}' % (request_id, _encode(method), params)


def notification(method: str, params: bytes | None = None) -> bytes:
    """A notification, without ``params`` when there are none."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % _encode(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_encode(method), params)


def result_response(request_id: bytes, result: bytes) -> bytes:
    """The answer to a request, carrying its id as it was written."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)


def error_response(request_id: bytes | None, error: McpError) -> bytes:
    """The refusal of a request. Without a readable id there is none in it: MCP knows no ``"id": null``."""
    body = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    named = b"" if request_id is None else b'"id":%b,' % request_id
    return b'{"jsonrpc":"2.0",%b"error":%b}' % (named, _encode(body))


def _optional(raw: Raw | UnsetType) -> bytes | None:
    return None if raw is UNSET else bytes(raw)


def _id(raw: Raw | UnsetType) -> bytes | None:
    if raw is UNSET:
        return None
    text = bytes(raw)
    if text.startswith(b'"') or (text.lstrip(b"-").isdigit()):
        return text
    raise InvalidRequestError(None, 'Invalid Request: "id" must be a string or an integer')
