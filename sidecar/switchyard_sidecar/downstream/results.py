"""Results and errors of calls, from the backend's era to the caller's. Pure.

Values are carried over as they were written; only members that the caller's revision does not know, or must have, are
dropped and added. Sources: 2026-07-28 ``basic`` (resultType, error codes), ``server/tools``; 2025-11-25 ``server/tools``.
"""

from typing import Final

import msgspec
from msgspec import Raw

from switchyard_sidecar.catalog import listing
from switchyard_sidecar.catalog.listing import MalformedListError
from switchyard_sidecar.protocol import errors, jsonrpc, meta
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era

_COMPLETE: Final = Raw(b'"complete"')
_HOP_FAULTS: Final = frozenset({errors.HEADER_MISMATCH, errors.UNSUPPORTED_VERSION})
"""Errors about the request that we made: the caller did nothing wrong."""


def project_result(result: bytes, *, backend: Era, caller: Era, server_info: bytes) -> bytes:
    """Shape a call's result for its caller.

    Raises:
        McpError: -32603 when the backend's result is no object, or asks a legacy caller for input that this gateway cannot
            ask for on its behalf.
    """
    members = _members(result)
    if caller is Era.MODERN:
        return _modern(members, backend, server_info)
    return _legacy(members)


def _members(result: bytes) -> dict[str, Raw]:
    """The members of a result, also of one that only a strict parser refuses.

    A text that was cut in the middle of a surrogate pair is legal JSON, and so is very deep nesting.
    """
    try:
        return jsonrpc.members(result)
    except msgspec.DecodeError:
        pass
    try:
        return {key: Raw(value) for key, value in listing.split_message(result).items()}
    except MalformedListError:
        raise McpError(errors.INTERNAL_ERROR, "The backend's result is not an object") from None


def project_error(error: McpError, caller: Era) -> McpError:
    """Shape a backend's error for its caller.

    Codes that the caller's revision forbids, and those about our own hop, are mapped with the original in ``data``.
    """
    code = error.code
    if code in _HOP_FAULTS:
        return _mapped(errors.INTERNAL_ERROR, error)
    if caller is Era.MODERN and code in errors.FORBIDDEN_IN_MODERN:
        mapped = errors.INVALID_PARAMS if code == errors.LEGACY_RESOURCE_NOT_FOUND else errors.INTERNAL_ERROR
        return _mapped(mapped, error)
    return error


def _modern(members: dict[str, Raw], backend: Era, server_info: bytes) -> bytes:
    if backend is Era.LEGACY or "resultType" not in members:
        members = {"resultType": _COMPLETE} | {key: value for key, value in members.items() if key != "resultType"}
    members["_meta"] = Raw(_with_server_info(members.get("_meta"), server_info))
    return jsonrpc.joined(members)


def _legacy(members: dict[str, Raw]) -> bytes:
    kind = members.pop("resultType", _COMPLETE)
    if bytes(kind) != b'"complete"':
        raise McpError(
            errors.INTERNAL_ERROR,
            "The tool asks for input in a way that this protocol revision cannot carry; use a 2026-07-28 client",
        )
    structured = members.get("structuredContent")
    if structured is not None and not bytes(structured).startswith(b"{"):
        del members["structuredContent"]
    return jsonrpc.joined(members)


def _with_server_info(raw: Raw | None, server_info: bytes) -> bytes:
    """The result's ``_meta`` with this gateway named as the server, in place of what the hop before it said."""
    try:
        members = jsonrpc.members(raw) if raw is not None else {}
    except msgspec.DecodeError:
        members = {}
    members[meta.SERVER_INFO] = Raw(server_info)
    return jsonrpc.joined(members)


def _mapped(code: int, error: McpError) -> McpError:
    original = {"code": error.code, "message": error.message, "data": error.data}
    return McpError(code, error.message, {"original": original})
