"""Streams that carry ``list_changed``: ``subscriptions/listen`` (2026-07-28) and GET (2025-11-25 and earlier).

Sources: 2026-07-28 ``basic/patterns/subscriptions``; 2025-11-25 ``basic/transports``, "Listening for Messages".
"""

import msgspec
from aiohttp import web
from msgspec import Raw

from switchyard_sidecar.downstream.http import EventStream, Fields
from switchyard_sidecar.downstream.hub import Hub, Subscriber
from switchyard_sidecar.downstream.sessions import SessionState
from switchyard_sidecar.protocol import errors, jsonrpc, meta
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


async def listen(request: web.BaseRequest, fields: Fields, hub: Hub, request_id: bytes, wanted: Filter) -> EventStream:
    """Serve one subscription until either side ends it.

    Every message carries the caller's own subscription id, which is its request id with its JSON type. A client that
    leaves ends it by cancelling this coroutine.
    """
    tag = b'"_meta":{"%b":%b}' % (meta.SUBSCRIPTION_ID.encode(), request_id)
    honoured = b'{"toolsListChanged":true}' if wanted.tools_list_changed else b"{}"
    with hub.subscribed(Era.MODERN) as subscriber:
        stream = EventStream.open(request, fields)
        await stream.send(jsonrpc.notification(ACKNOWLEDGED, b'{%b,"notifications":%b}' % (tag, honoured)))
        changed = jsonrpc.notification(TOOLS_CHANGED, b"{%b}" % tag) if wanted.tools_list_changed else None
        await _follow(stream, hub, subscriber, changed)
        await stream.send(jsonrpc.result_response(request_id, b'{"resultType":"complete",%b}' % tag))
        stream.end()
        return stream


async def legacy_stream(request: web.BaseRequest, fields: Fields, hub: Hub, state: SessionState | None) -> EventStream:
    """Serve a GET stream until either side ends it. Of several streams of one session the newest gets the messages."""
    # What a stream that still looks open was told may never have arrived: its client opens another for a reason.
    told = state.told if state else None
    with hub.subscribed(Era.LEGACY, told=told) as subscriber:
        if state is not None:
            if state.stream is not None:
                state.stream.end()
            state.stream = subscriber
        try:
            stream = EventStream.open(request, fields)
            await stream.comment()  # so that the client sees at once that it is open
            await _follow(stream, hub, subscriber, jsonrpc.notification(TOOLS_CHANGED))
            stream.end()
            return stream
        finally:
            if state is not None and state.stream is subscriber:
                state.told, state.stream = subscriber.told, None


async def _follow(stream: EventStream, hub: Hub, subscriber: Subscriber, changed: bytes | None) -> None:
    """Write until the stream is to end: notifications as they fall due, comments while there are none."""
    while not subscriber.ending:
        if not await subscriber.wait():
            await stream.comment()
        elif changed is not None and hub.take(subscriber):
            await stream.send(changed)
