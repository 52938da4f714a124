"""Streams that carry ``list_changed``: ``subscriptions/listen`` (2026-07-28) and GET (2025-11-25 and earlier).

Sources: 2026-07-28 ``basic/patterns/subscriptions``; 2025-11-25 ``basic/transports``, "Listening for Messages".
"""

import asyncio
import time
from functools import partial
from math import inf

import msgspec
from aiohttp import HttpVersion11, web
from msgspec import Raw

from switchyard_sidecar.access.caller import ANONYMOUS, Caller
from switchyard_sidecar.downstream.detached import DetachedStream
from switchyard_sidecar.downstream.http import Fields, HandOver, event_stream_head, framed
from switchyard_sidecar.downstream.hub import Hub
from switchyard_sidecar.downstream.sessions import SessionState
from switchyard_sidecar.protocol import errors, jsonrpc, meta, sse
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.names import ACKNOWLEDGED, TOOLS_CHANGED
from switchyard_sidecar.protocol.versions import Era


class Filter(msgspec.Struct, frozen=True, rename="camel"):
    """What a client asks to hear about. Every member is optional; what is not relayed yet is left out of the answer."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()


def read_filter(params: dict[str, Raw]) -> Filter:
    """Read ``params.notifications``.

    Raises:
        McpError: -32602 naming what is wrong.
    """
    if (raw := params.get("notifications")) is None:
        raise McpError(errors.INVALID_PARAMS, "Invalid params: notifications is missing")
    try:
        return msgspec.json.decode(raw, type=Filter)
    except msgspec.DecodeError as fault:
        raise McpError(errors.INVALID_PARAMS, f"Invalid params: notifications: {fault}") from None


def listen(
    request: web.BaseRequest, fields: Fields, hub: Hub, request_id: bytes, wanted: Filter, caller: Caller = ANONYMOUS
) -> HandOver:
    """Open a subscription, which lasts until either side ends it, or the caller's token expires.

    Every message carries the caller's own subscription id, which is its request id with its JSON type.

    Raises:
        McpError: -32600 for an id that is too long to be kept; with HTTP status 503 when there are too many streams or callers.
    """
    if len(request_id) > (most := hub.pace.subscription_id_bytes):
        raise McpError(errors.INVALID_REQUEST, f"Invalid Request: the id of a subscription has at most {most} bytes")
    hub.check_room(caller)
    tag = b'"_meta":{"%b":%b}' % (meta.SUBSCRIPTION_ID.encode(), request_id)
    honoured = b'{"toolsListChanged":true}' if wanted.tools_list_changed else b"{}"
    chunked = request.version >= HttpVersion11
    stream = DetachedStream(
        hub,
        Era.MODERN,
        chunked=chunked,
        changed=jsonrpc.notification(TOOLS_CHANGED, b"{%b}" % tag) if wanted.tools_list_changed else None,
        last=jsonrpc.result_response(request_id, b'{"resultType":"complete",%b}' % tag),
        caller=caller,
        ends_at=_expiry(caller),
    )
    acknowledged = jsonrpc.notification(ACKNOWLEDGED, b'{%b,"notifications":%b}' % (tag, honoured))
    head = event_stream_head(fields, chunked=chunked, keep_alive=False)
    return HandOver(partial(stream.begin, head + framed(sse.encode(acknowledged), chunked=chunked)))


def legacy_stream(
    request: web.BaseRequest,
    fields: Fields,
    hub: Hub,
    state: SessionState | None = None,
    *,
    left_s: float = inf,
    caller: Caller = ANONYMOUS,
) -> HandOver:
    """Open a GET stream, which lasts until either side ends it, or the caller's token expires.

    ``left_s``: at most so many seconds, which are left of its session.

    Of several streams of one session the newest gets the messages.

    Raises:
        McpError: with HTTP status 503 when there are too many streams or callers.
    """
    hub.check_room(caller)
    chunked = request.version >= HttpVersion11
    stream = DetachedStream(
        hub,
        Era.LEGACY,
        chunked=chunked,
        changed=jsonrpc.notification(TOOLS_CHANGED),
        # What a stream that still looks open was told may never have arrived: its client opens another for a reason.
        told=state.told if state else None,
        caller=caller,
        ends_at=min(asyncio.get_running_loop().time() + left_s, _expiry(caller)),
        on_lost=partial(remember, state) if state else None,
    )
    head = event_stream_head(fields, chunked=chunked, keep_alive=False)
    first = head + framed(sse.COMMENT, chunked=chunked)  # so that the client sees at once that it is open

    def take(transport: asyncio.Transport) -> None:
        if state is not None:
            if state.stream is not None:
                state.stream.end()
            state.stream = stream
        stream.begin(first, transport)

    return HandOver(take)


def _expiry(caller: Caller) -> float:
    """When the caller's token expires, by the loop's clock."""
    return asyncio.get_running_loop().time() + caller.expires_at - time.time()


def remember(state: SessionState, stream: DetachedStream) -> None:
    """Remember for the session's next stream what this one was told of, unless that was still on its way."""
    if state.stream is stream:
        state.stream = None
        if not stream.lags:
            state.told = stream.told
