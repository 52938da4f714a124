"""Speaking to a modern backend: every request stands alone, with its metadata in ``_meta`` and mirrored in headers.

Nothing is kept between requests but the version and what ``server/discover`` said. Sources: 2026-07-28 ``basic``,
``basic/transports/streamable-http``, ``basic/patterns/subscriptions``, ``server/discover``.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Raw

from switchyard_sidecar.protocol import errors, header_values, jsonrpc, meta, names
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream import era, faults, http, inbox
from switchyard_sidecar.upstream.deadline import within
from switchyard_sidecar.upstream.faults import Disconnected, Fault, NoStream, Refused, Silent, Unanswered, Unreachable
from switchyard_sidecar.upstream.inbox import Inbox
from switchyard_sidecar.upstream.peer import (
    CLIENT_INFO,
    NO_INFO,
    RawPage,
    ServerInfo,
    announces_tools,
    concerns,
    is_true,
    list_params,
    members_of,
    server_info,
)
from switchyard_sidecar.upstream.wire import Wire

DISCOVER: Final = "server/discover"
LISTEN: Final = "subscriptions/listen"
NO_CAPABILITIES: Final = b"{}"
MAX_DISCOVER_BYTES: Final = 1024 * 1024

_NOT_OFFERED: Final = frozenset({errors.METHOD_NOT_FOUND, errors.INVALID_PARAMS, errors.INVALID_REQUEST})
"""Errors that answer ``subscriptions/listen`` for good."""

_versions: Final = msgspec.json.Decoder(list[str])


@dataclass(slots=True)
class ModernPeer:
    """A backend that speaks a modern version."""

    wire: Wire
    version: str
    server: ServerInfo = NO_INFO
    announces: bool = False
    era: Era = field(default=Era.MODERN, init=False)

    async def request(
        self,
        method: str,
        params: Mapping[str, bytes],
        *,
        max_bytes: int,
        heard: Callable[[Message], Awaitable[None]],
        capabilities: bytes = NO_CAPABILITIES,
        more_meta: Mapping[str, bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        progress: bool = False,
        repeatable: bool = False,
        silence_s: float | None = None,
    ) -> tuple[bytes, int]:
        """Send a request; return its result and the bytes that were read for it.

        With ``progress`` the request's id is its progress token too. Leaving this coroutine by cancellation closes the
        response, which cancels the request (2026-07-28 ``basic/patterns/cancellation``).

        Raises:
            McpError: the backend's own error.
            Fault: there is no answer.
        """
        request_id = next(self.wire.ids)
        extra = dict(more_meta or {})
        if progress:
            extra[meta.PROGRESS_TOKEN] = b"%d" % request_id
        body = jsonrpc.request(request_id, method, self._params(params, capabilities, extra))
        all_headers = {**self._headers(method), **(headers or {})}

        async def heard_here(message: Message) -> None:
            if concerns(request_id, message):
                await heard(message)

        async with self.wire.http.send(
            self.wire.endpoint, "POST", all_headers, body, repeatable=repeatable, silence_s=silence_s
        ) as reply:
            if not reply.ok:
                raise (await inbox.refusal(reply))[0]
            messages = Inbox(reply, max_bytes)
            result = await inbox.answer(messages, request_id, heard_here)
            return result, messages.bytes_read

    async def list_page(self, cursor: str | None, max_bytes: int) -> RawPage:
        """Send one ``tools/list``."""
        result, size = await self.request(
            "tools/list", list_params(cursor), max_bytes=max_bytes, heard=_ignored, repeatable=True
        )
        return RawPage(result, size)

    async def listen(self, opened: Callable[[], None], changed: Callable[[], None]) -> float:
        """Keep ``subscriptions/listen`` open. See :meth:`Peer.listen`."""
        request_id = next(self.wire.ids)
        params = self._params({"notifications": b'{"toolsListChanged":true}'}, NO_CAPABILITIES, {})
        body = jsonrpc.request(request_id, LISTEN, params)
        subscription = _Subscription(b"%d" % request_id, opened, changed)
        try:
            async with (
                within(self.wire.pace.acknowledge_s) as limit,
                self.wire.http.send(self.wire.endpoint, "POST", self._headers(LISTEN), body) as reply,
            ):
                if not reply.ok:
                    raise (await inbox.refusal(reply))[0]
                async for message in Inbox(reply, self.wire.pace.stream_event_bytes).messages():
                    if subscription.take(message):
                        return 0.0
                    if subscription.acknowledged:
                        limit.reschedule(None)
        except McpError as error:
            raise NoStream if error.code in _NOT_OFFERED else error from None
        except Refused as fault:
            raise fault if faults.is_ambiguous(fault.status) else NoStream from None
        raise Disconnected(faults.CONNECTION_LOST)

    async def close(self) -> None:
        """Nothing to end: there is no session."""

    def _headers(self, method: str) -> dict[str, str]:
        return {
            "Content-Type": names.JSON,
            "Accept": http.ACCEPT,
            names.VERSION_HEADER: self.version,
            names.METHOD_HEADER: method,
        }

    def _params(self, params: Mapping[str, bytes], capabilities: bytes, more_meta: Mapping[str, bytes]) -> bytes:
        request_meta = {
            meta.PROTOCOL_VERSION: msgspec.json.encode(self.version),
            meta.CLIENT_INFO: CLIENT_INFO,
            meta.CLIENT_CAPABILITIES: capabilities,
            **more_meta,
        }
        return jsonrpc.joined({**params, "_meta": jsonrpc.joined(request_meta)})


@dataclass(slots=True)
class _Subscription:
    """What the messages of one ``subscriptions/listen`` mean."""

    request_id: bytes
    opened: Callable[[], None]
    changed: Callable[[], None]
    acknowledged: bool = False

    def take(self, message: Message) -> bool:
        """Take the next message; return whether it ends the subscription properly.

        Raises:
            NoStream: changes of tools are not honoured. A stream without them would only cost a connection.
            McpError: the request was refused.
        """
        match message.method:
            case None:
                inbox.result_of(message)
                if not self.acknowledged:
                    raise NoStream
                return True
            case names.ACKNOWLEDGED:
                if not is_true(members_of(members_of(message.params).get("notifications")), "toolsListChanged"):
                    raise NoStream
                if not self.acknowledged:
                    self.acknowledged = True
                    self.opened()
            case names.TOOLS_CHANGED:
                self.changed()
            case names.CANCELLED:
                ended = members_of(message.params).get("requestId")
                return ended is not None and bytes(ended) == self.request_id
        return False


def named_headers(tool: str) -> dict[str, str]:
    """The header that repeats a tool's name in ``tools/call``."""
    return {names.NAME_HEADER: header_values.encode(tool)}


async def discover(peer: ModernPeer, *, limit_s: float) -> era.Outcome:
    """Send one ``server/discover``, and note in the peer what the answer says of it. Never raises.

    ``limit_s`` counts from when the connection stands: not to be connected, and not to be answered, are two outcomes.
    """
    try:
        async with within(peer.wire.endpoint.connect_s + limit_s):
            result, _ = await peer.request(
                DISCOVER, {}, max_bytes=MAX_DISCOVER_BYTES, heard=_ignored, repeatable=True, silence_s=limit_s
            )
    except McpError as error:
        return era.ErrorAnswer(200, error.code, _supported(error.data))
    except Refused as fault:
        if fault.error is None:
            return era.OtherAnswer(fault.status)
        return era.ErrorAnswer(fault.status, fault.error.code, _supported(fault.error.data))
    except Silent:
        return era.NoAnswer()
    except Unanswered:  # a stream that ends at once is what a server may make of a method it does not know
        return era.OtherAnswer(200)
    except (Unreachable, Disconnected) as fault:
        return era.NoConnection(fault.reason)
    except Fault:  # no HTTP, no JSON-RPC, too large, redirected: an answer, if not one of ours
        return era.OtherAnswer(200)
    members = members_of(result)
    peer.announces = announces_tools(members.get("capabilities"))
    peer.server = server_info(members_of(members.get("_meta")).get(meta.SERVER_INFO))
    return era.Discovered(_texts(members.get("supportedVersions")))


def _supported(data: object) -> tuple[str, ...]:
    return _texts(members_of(data).get("supported")) if isinstance(data, Raw) else ()


def _texts(text: Raw | None) -> tuple[str, ...]:
    try:
        return () if text is None else tuple(_versions.decode(text))
    except msgspec.DecodeError:
        return ()


async def _ignored(_: Message) -> None:
    """What a modern server says beside the answer to these requests concerns nobody."""
