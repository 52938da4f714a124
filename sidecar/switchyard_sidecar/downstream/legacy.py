"""Methods of 2025-11-25, 2025-06-18 and 2025-03-26: sessions, GET streams, DELETE, and the batches of the oldest.

A request without a session is served all the same. Sources: 2025-11-25 ``basic/lifecycle``, ``basic/transports``,
``server/tools``, ``server/utilities/logging``; 2025-03-26 ``basic`` (batching).
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
from aiohttp import web

from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.downstream import calls, streams
from switchyard_sidecar.downstream.bodies import HELD
from switchyard_sidecar.downstream.envelope import Envelope, string, unknown_method
from switchyard_sidecar.downstream.exchange import Exchange
from switchyard_sidecar.downstream.guard import not_acceptable
from switchyard_sidecar.downstream.http import Answer, Body, EventStream, Fields, Reply, joined
from switchyard_sidecar.downstream.relay import CallCancelledError, Outlet, attended
from switchyard_sidecar.downstream.results import project_error
from switchyard_sidecar.downstream.service import CAPABILITIES, Service, unix_now
from switchyard_sidecar.downstream.sessions import Session
from switchyard_sidecar.protocol import errors, jsonrpc, versions
from switchyard_sidecar.protocol.accept import Accepted
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.names import CANCELLED, EVENT_STREAM, SESSION_HEADER
from switchyard_sidecar.protocol.versions import Era

DEFAULT_LOG_LEVEL: Final = "info"
"""What a session hears until it says otherwise; a modern backend sends nothing unless asked."""


class LegacyMethods:
    """Serves legacy requests."""

    def __init__(self, service: Service, still_let_in: Callable[[Caller], None]) -> None:
        self._service = service
        self._still_let_in = still_let_in
        self._methods: dict[str, Callable[[Exchange, bytes], Awaitable[Body]]] = {
            "initialize": self._initialize,
            "logging/setLevel": self._set_level,
            "ping": self._ping,
            "tools/list": self._list,
        }

    async def serve(
        self, request: web.BaseRequest, fields: Fields, envelope: Envelope, accepted: Accepted, caller: Caller
    ) -> Answer:
        """Answer one request or notification.

        Raises:
            McpError: the request is refused.
        """
        session = None if envelope.method == "initialize" else self._session(request, caller)
        exchange = self._exchange(request, fields, envelope, accepted, caller, session)
        if envelope.id is None:
            self._notified(exchange)
            return Reply(202, fields=fields)
        if envelope.method == "tools/call":
            return await self._call(exchange, envelope.id)
        return await exchange.answer(await self._answered(exchange, envelope.id))

    async def serve_batch(
        self,
        request: web.BaseRequest,
        fields: Fields,
        envelopes: list[Envelope | bytes],
        accepted: Accepted,
        caller: Caller,
    ) -> Answer:
        """Answer a batch of 2025-03-26, in the order asked: in one array, or each in an event of its own.

        What several answers have in common, such as the tools, is there once: a batch of lists is many times their size. An entry that is already bytes is the refusal of what could not be read.

        Raises:
            McpError: the batch as a whole is refused.
        """
        if any(isinstance(each, Envelope) and each.method == "initialize" for each in envelopes):
            raise McpError(errors.INVALID_REQUEST, "Invalid Request: initialize must not be part of a batch")
        session = self._session(request, caller)
        answers = await asyncio.gather(
            *(
                self._batched(self._exchange(request, fields, each, accepted, caller, session))
                if isinstance(each, Envelope)
                else _given(each)
                for each in envelopes
            )
        )
        bodies = [body for body in answers if body is not None]
        if not bodies:
            return Reply(202, fields=fields)
        if accepted.json:
            return Reply(200, _array(bodies), fields)
        stream = EventStream.open(request, fields)
        for body in bodies:
            await stream.send(joined(body))
        stream.end()
        return stream

    async def stream(self, request: web.BaseRequest, fields: Fields, accepted: Accepted, caller: Caller) -> Answer:
        """Serve GET: the stream of ``list_changed``.

        Raises:
            McpError: HTTP status 404 for an unknown session, 406 when the caller takes no event stream.
        """
        if not accepted.event_stream:
            raise not_acceptable(EVENT_STREAM)
        hub, session = self._service.hub, self._session(request, caller)
        await self._service.look(caller)
        if session is None:
            return streams.legacy_stream(request, fields, hub, caller=caller)
        state = self._service.sessions.state(session)
        left_s = session.left_s(unix_now())
        return streams.legacy_stream(request, fields, hub, state, left_s=left_s, caller=caller)

    async def end(self, request: web.BaseRequest, fields: Fields, caller: Caller) -> Answer:
        """Serve DELETE: end the session, its stream, and its sessions with backends.

        Raises:
            McpError: HTTP status 404 for an unknown session, 400 without one.
        """
        if (session := self._session(request, caller)) is None:
            raise McpError(errors.INVALID_REQUEST, f"{SESSION_HEADER} is missing", status=400)
        state = self._service.sessions.end(session)
        if state is not None and state.stream is not None:
            state.stream.end()
        self._service.gateway.forget(session.identity)
        return Reply(204, fields=fields)

    def version(self, request: web.BaseRequest, header: str | None, caller: Caller) -> str:
        """The version a request without a body of its own to tell speaks: header, else session, else the oldest."""
        if header is not None:
            return header.strip()
        session = self._session(request, caller)
        return session.version if session else versions.ASSUMED_WITHOUT_HEADER

    def _exchange(
        self,
        request: web.BaseRequest,
        fields: Fields,
        envelope: Envelope,
        accepted: Accepted,
        caller: Caller,
        session: Session | None,
    ) -> Exchange:
        state = self._service.sessions.state(session) if session else None
        return Exchange(request, fields, envelope, accepted, caller, self._still_let_in, session, state)

    def _session(self, request: web.BaseRequest, caller: Caller) -> Session | None:
        text = request.headers.get(SESSION_HEADER)
        if text is None:
            return None
        return self._service.sessions.open(text.strip(), principal=caller.principal, now=unix_now())

    async def _answered(self, exchange: Exchange, request_id: bytes) -> Body:
        """The whole answer to any method but ``tools/call``."""
        if (method := self._methods.get(exchange.envelope.method)) is None:
            raise unknown_method(exchange.envelope.method)
        return await method(exchange, request_id)

    async def _initialize(self, exchange: Exchange, request_id: bytes) -> bytes:
        asked = string(exchange.envelope.params, "protocolVersion")
        if asked is None:
            raise McpError(errors.INVALID_PARAMS, "Invalid params: protocolVersion is missing")
        version = asked if asked in versions.LEGACY_VERSIONS else versions.LATEST_LEGACY
        service = self._service
        identity = secrets.token_bytes(16)
        text = service.sessions.create(version, principal=exchange.caller.principal, identity=identity, now=unix_now())
        session = Session(identity.hex(), version, unix_now())
        service.sessions.state(session).told = service.outlook(exchange.caller).digest(Era.LEGACY)
        exchange.fields = (*exchange.fields, (SESSION_HEADER, text))
        result: dict[str, object] = {
            "protocolVersion": version,
            "capabilities": CAPABILITIES,
            "serverInfo": msgspec.Raw(service.server_info),
        }
        if service.config.instructions is not None:
            result["instructions"] = service.config.instructions
        return jsonrpc.result_response(request_id, msgspec.json.encode(result))

    async def _ping(self, _: Exchange, request_id: bytes) -> bytes:
        return jsonrpc.result_response(request_id, b"{}")

    async def _set_level(self, exchange: Exchange, request_id: bytes) -> bytes:
        level = calls.known_log_level(string(exchange.envelope.params, "level"), "level")
        if exchange.state is not None:
            exchange.state.log_level = level
        return jsonrpc.result_response(request_id, b"{}")

    async def _list(self, exchange: Exchange, request_id: bytes) -> Body:
        cursor = calls.requested_cursor(exchange.envelope.params)
        return await self._service.list_tools(exchange.caller, Era.LEGACY, request_id, cursor)

    async def _call(self, exchange: Exchange, request_id: bytes) -> Answer:
        outlet = Outlet(exchange, quiet_s=self._service.pace.quiet_s)
        try:
            result = await self._called(exchange, request_id, outlet)
            body = jsonrpc.result_response(request_id, result)
        except CallCancelledError:
            if outlet.stream is None:
                return Reply(202, fields=exchange.fields)
            outlet.stream.end()
            return outlet.stream
        except McpError as error:
            if outlet.stream is None:
                raise
            body = jsonrpc.error_response(request_id, error)
        return await exchange.answer(body, outlet.stream)

    async def _called(self, exchange: Exchange, request_id: bytes, outlet: Outlet) -> bytes:
        service, session, state = self._service, exchange.session, exchange.state
        lane = service.gateway.lane(exchange.caller)
        route = await service.route(lane, exchange.caller, calls.tool_name(exchange.envelope), Era.LEGACY)
        call = calls.read_call(
            exchange.envelope,
            route,
            exchange.request.headers,
            principal=session.identity if session else exchange.caller.principal,
            log_level=(state.log_level if state else None) or DEFAULT_LOG_LEVEL,
        )
        running = attended(outlet, service.call(exchange.caller, lane, route, call, outlet, Era.LEGACY))
        held = exchange.request.get(HELD)
        try:
            return await service.legacy_calls.run(session.identity if session else None, request_id, running, held)
        except CallCancelledError:
            raise
        except McpError as error:
            raise project_error(error, Era.LEGACY) from None

    async def _batched(self, exchange: Exchange) -> Body | None:
        request_id = exchange.envelope.id
        if request_id is None:
            self._notified(exchange)
            return None
        started, code = time.monotonic(), 0
        try:
            if exchange.envelope.method == "tools/call":
                outlet = Outlet(exchange, quiet_s=self._service.pace.quiet_s, alone=False)
                return jsonrpc.result_response(request_id, await self._called(exchange, request_id, outlet))
            body = await self._answered(exchange, request_id)
            exchange.check_caller()
            return body
        except CallCancelledError:
            return None
        except McpError as error:
            code = error.code
            return jsonrpc.error_response(request_id, error)
        finally:
            self._service.traffic.answered(exchange.envelope.method, Era.LEGACY, code, time.monotonic() - started)

    def _notified(self, exchange: Exchange) -> None:
        """Take a notification. Cancellation is the only one that asks for anything."""
        if exchange.envelope.method != CANCELLED or exchange.session is None:
            return
        if (request_id := exchange.envelope.params.get("requestId")) is not None:
            self._service.legacy_calls.cancel(exchange.session.identity, bytes(request_id))


async def _given(body: bytes) -> bytes:
    return body


def _array(bodies: Iterable[Body]) -> tuple[bytes, ...]:
    """One JSON array of these, in pieces that are not copied."""
    pieces: list[bytes] = []
    for body in bodies:
        pieces += (b"," if pieces else b"[", *((body,) if isinstance(body, bytes) else body))
    return (*pieces, b"]")
