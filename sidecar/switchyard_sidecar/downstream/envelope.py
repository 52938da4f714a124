"""Which era a message belongs to, and whether a modern request is well formed.

The era is decided for each message: by a protocol version in ``_meta`` first, else by the ``MCP-Protocol-Version`` header;
nothing sticks to a connection. A modern request is then checked in the order the specification implies and the official
suite expects: ``_meta`` complete, headers equal to the body, version served. Method and parameters come after. Sources:
2026-07-28 ``basic`` (``_meta``), ``basic/transports/streamable-http`` ("Server Validation"), ``basic/versioning``.
"""

from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw
from multidict import CIMultiDictProxy

from switchyard_sidecar.protocol import errors, header_values, jsonrpc, meta, versions
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.names import METHOD_HEADER, NAME_HEADER, VERSION_HEADER
from switchyard_sidecar.protocol.versions import Era

_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods that mirror a parameter in ``Mcp-Name``, and which one."""

_METHOD_SHOWN: Final = 128

_string: Final = msgspec.json.Decoder(str)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message with its parameters and ``_meta`` opened one level; values stay raw."""

    id: bytes | None
    method: str
    params: dict[str, Raw]
    meta: dict[str, Raw]
    era: Era


def open_message(message: Message, version_header: str | None) -> Envelope:
    """Open a request or notification and decide its era.

    Raises:
        McpError: -32602 when ``_meta`` is no object.
    """
    params = jsonrpc.members(message.params) if message.params is not None else {}
    meta_members = _opened(params, "_meta") or {}
    modern = meta.PROTOCOL_VERSION in meta_members or is_modern_version(version_header)
    era = Era.MODERN if modern else Era.LEGACY
    return Envelope(message.id, message.method or "", params, meta_members, era)


def is_modern_version(version_header: str | None) -> bool:
    """Whether the header alone makes a request modern: any version that is not one of the legacy ones, known or not."""
    return version_header is not None and version_header.strip() not in versions.UPSTREAM_LEGACY_VERSIONS


def check_modern(envelope: Envelope, headers: CIMultiDictProxy[str]) -> None:
    """Check ``_meta`` and the mirrored headers of a modern request.

    Raises:
        McpError: -32602 (``_meta``), -32020 (headers) or -32022 (version), in this order.
    """
    version = _required_string(envelope.meta, meta.PROTOCOL_VERSION)
    _required_object(envelope.meta, meta.CLIENT_CAPABILITIES)
    if meta.CLIENT_INFO in envelope.meta:
        _required_object(envelope.meta, meta.CLIENT_INFO)
    _check_equal(headers, VERSION_HEADER, version)
    _check_equal(headers, METHOD_HEADER, envelope.method)
    if (source := _NAMED.get(envelope.method)) is not None:
        _check_name(headers, envelope.params.get(source))
    if version not in versions.MODERN_VERSIONS:
        raise unsupported(version)


def unsupported(requested: str) -> McpError:
    """The refusal of a version that is not served; it names those that are."""
    data = {"supported": list(versions.MODERN_VERSIONS), "requested": requested}
    return McpError(errors.UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def unknown_method(name: str) -> McpError:
    """The refusal of a method that this era does not have, or that is not served."""
    return McpError(errors.METHOD_NOT_FOUND, f"Method not found: {name[:_METHOD_SHOWN]}")


def string(values: dict[str, Raw], key: str) -> str | None:
    """A string member, or ``None`` when it is absent.

    Raises:
        McpError: -32602 when it is something else.
    """
    if (raw := values.get(key)) is None:
        return None
    try:
        return _string.decode(raw)
    except msgspec.DecodeError:
        raise McpError(errors.INVALID_PARAMS, f"Invalid params: {key} must be a string") from None


def _opened(values: dict[str, Raw], key: str) -> dict[str, Raw] | None:
    if (raw := values.get(key)) is None:
        return None
    try:
        return jsonrpc.members(raw)
    except msgspec.DecodeError:
        raise McpError(errors.INVALID_PARAMS, f"Invalid params: {key} must be an object") from None


def _required_string(values: dict[str, Raw], key: str) -> str:
    if (value := string(values, key)) is None:
        raise McpError(errors.INVALID_PARAMS, f"Invalid params: _meta lacks {key}")
    return value


def _required_object(values: dict[str, Raw], key: str) -> None:
    if (raw := values.get(key)) is None:
        raise McpError(errors.INVALID_PARAMS, f"Invalid params: _meta lacks {key}")
    if not bytes(raw).startswith(b"{"):
        raise McpError(errors.INVALID_PARAMS, f"Invalid params: {key} must be an object")


def _check_equal(headers: CIMultiDictProxy[str], name: str, expected: str) -> None:
    if _single(headers, name) != expected:
        raise _mismatch(name)


def _check_name(headers: CIMultiDictProxy[str], raw: Raw | None) -> None:
    if raw is None:
        if NAME_HEADER in headers:
            raise _mismatch(NAME_HEADER)
        return  # a missing parameter is refused as such, by its method
    if NAME_HEADER not in headers:
        raise McpError(errors.HEADER_MISMATCH, f"Header mismatch: {NAME_HEADER} is missing")
    try:
        expected = _string.decode(raw)
    except msgspec.DecodeError:
        raise _mismatch(NAME_HEADER) from None
    if header_values.decode(_single(headers, NAME_HEADER)) != expected:
        raise _mismatch(NAME_HEADER)


def _single(headers: CIMultiDictProxy[str], name: str) -> str:
    values = headers.getall(name, [])
    if len(values) != 1:
        state = "missing" if not values else "given more than once"
        raise McpError(errors.HEADER_MISMATCH, f"Header mismatch: {name} is {state}")
    return values[0].strip(" \t")


def _mismatch(name: str) -> McpError:
    return McpError(errors.HEADER_MISMATCH, f"Header mismatch: {name} differs from the body")
