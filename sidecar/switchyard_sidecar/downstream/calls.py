"""What a caller asks of ``tools/call``, checked and ready to be relayed. Pure.

Sources: 2026-07-28 ``server/tools``, ``basic/transports/streamable-http`` ("Custom Headers"), ``basic/patterns/mrtr``.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Raw

from switchyard_sidecar.catalog.part import Route
from switchyard_sidecar.catalog.view import View
from switchyard_sidecar.downstream.envelope import Envelope, string
from switchyard_sidecar.protocol import errors, meta, mirrored_params
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream.calls import CallMeta, ToolCall

_RETRY_MEMBERS: Final = ("inputResponses", "requestState")
"""What a modern caller sends when it tries again with the input that was asked for; carried on unread."""
_NAME_SHOWN: Final = 128


def tool_name(envelope: Envelope) -> str:
    """The exposed name that is called.

    Raises:
        McpError: -32602 when there is none.
    """
    if (name := string(envelope.params, "name")) is None:
        raise McpError(errors.INVALID_PARAMS, "Invalid params: name is missing")
    return name


def find_route(view: View, name: str, era: Era) -> Route | None:
    """The route of a name, if this caller's list has it: the same table makes lists and routes calls."""
    route = view.routes.get(name)
    hidden = (
        era is Era.MODERN and route is not None and (route.tool.requires_task or route.tool.header_fault is not None)
    )
    return None if hidden else route


def unknown_tool(name: str) -> McpError:
    """The refusal of a name that is not in the caller's list."""
    return McpError(errors.INVALID_PARAMS, f"Unknown tool: {name[:_NAME_SHOWN]}")


def read_call(
    envelope: Envelope, route: Route, headers: Mapping[str, str], *, principal: str, log_level: str | None
) -> ToolCall:
    """Check a call's parameters and make it ready for its backend. ``log_level``: the legacy session's.

    Raises:
        McpError: -32602 naming the parameter, or -32020 for a ``Mcp-Param-*`` header that differs from the body.
    """
    arguments = envelope.params.get("arguments")
    if arguments is not None and bytes(arguments) == b"null":
        arguments = None  # some hosts write it for a tool without parameters
    if arguments is not None and not bytes(arguments).startswith(b"{"):
        raise McpError(errors.INVALID_PARAMS, "Invalid params: arguments must be an object")
    modern = envelope.era is Era.MODERN
    if modern and route.tool.mirrored:
        mirrored_params.check(route.tool.mirrored, None if arguments is None else bytes(arguments), headers)
    if modern:
        log_level = _log_level(envelope.meta)
    capabilities = envelope.meta.get(meta.CLIENT_CAPABILITIES) if modern else None
    trace = {key: value for key in meta.TRACE_KEYS if (value := string(envelope.meta, key)) is not None}
    return ToolCall(
        tool=route.tool,
        arguments=None if arguments is None else bytes(arguments),
        meta=CallMeta(
            progress=progress_token(envelope.meta) is not None,
            log_level=log_level,
            trace=trace,
            capabilities=b"{}" if capabilities is None else bytes(capabilities),
        ),
        extra={key: bytes(envelope.params[key]) for key in _RETRY_MEMBERS if modern and key in envelope.params},
        principal=principal,
    )


def progress_token(members: Mapping[str, Raw]) -> bytes | None:
    """The caller's progress token as it was written.

    Raises:
        McpError: -32602 when it is neither a string nor an integer.
    """
    if (raw := members.get(meta.PROGRESS_TOKEN)) is None:
        return None
    text = bytes(raw)
    if text.startswith(b'"') or text.lstrip(b"-").isdigit():
        return text
    raise McpError(errors.INVALID_PARAMS, "Invalid params: progressToken must be a string or an integer")


def known_log_level(level: str | None, where: str) -> str:
    """A log level that exists.

    Raises:
        McpError: -32602 otherwise.
    """
    if level not in meta.LOG_LEVELS:
        raise McpError(errors.INVALID_PARAMS, f"Invalid params: {where} must be one of {', '.join(meta.LOG_LEVELS)}")
    return level


def requested_cursor(params: dict[str, Raw]) -> str | None:
    """The cursor of a list request; null counts as absent.

    Raises:
        McpError: -32602 when it is no string.
    """
    raw = params.get("cursor")
    return None if raw is None or bytes(raw) == b"null" else string(params, "cursor")


def _log_level(members: dict[str, Raw]) -> str | None:
    if meta.LOG_LEVEL not in members:
        return None
    return known_log_level(string(members, meta.LOG_LEVEL), meta.LOG_LEVEL)
