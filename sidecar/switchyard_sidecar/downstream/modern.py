"""Methods of 2026-07-28: every request stands alone, no session, no state.

Sources: 2026-07-28 ``server/discover``, ``server/tools``, ``basic/patterns/subscriptions``.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web

from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.downstream import calls, streams
from switchyard_sidecar.downstream.envelope import Envelope, check_modern, unknown_method
from switchyard_sidecar.downstream.exchange import Exchange
from switchyard_sidecar.downstream.guard import not_acceptable
from switchyard_sidecar.downstream.http import Answer, Fields, Reply
from switchyard_sidecar.downstream.relay import Outlet, attended
from switchyard_sidecar.downstream.results import project_error
from switchyard_sidecar.downstream.service import CAPABILITIES, Service
from switchyard_sidecar.protocol import errors, jsonrpc, meta, versions
from switchyard_sidecar.protocol.accept import Accepted
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.names import EVENT_STREAM
from switchyard_sidecar.protocol.versions import Era

DISCOVER_TTL_MS: Final = 60_000
"""How long a client may believe what ``server/discover`` says; only a change of config alters it."""


class ModernMethods:
    """Serves modern requests."""

    def __init__(self, service: Service, still_let_in: Callable[[Caller], None]) -> None:
        self._service = service
        self._still_let_in = still_let_in
        self._methods: dict[str, Callable[[Exchange, bytes], Awaitable[Answer]]] = {
            "server/discover": self._discover,
            "subscriptions/listen": self._listen,
            "tools/call": self._call,
            "tools/list": self._list,
        }

    async def serve(
        self, request: web.BaseRequest, fields: Fields, envelope: Envelope, accepted: Accepted, caller: Caller
    ) -> Answer:
        """Answer one request or notification.

        Raises:
            McpError: the request is refused.
        """
        if envelope.id is None:
            if not envelope.method.startswith("notifications/"):
                raise McpError(errors.INVALID_REQUEST, 'Invalid Request: "id" is missing')
            return Reply(202, fields=fields)
        check_modern(envelope, request.headers)
        if (method := self._methods.get(envelope.method)) is None:
            raise unknown_method(envelope.method)
        return await method(Exchange(request, fields, envelope, accepted, caller, self._still_let_in), envelope.id)

    async def _discover(self, exchange: Exchange, request_id: bytes) -> Answer:
        config = self._service.config
        result: dict[str, object] = {
            "resultType": "complete",
            "supportedVersions": list(versions.MODERN_VERSIONS),
            "capabilities": CAPABILITIES,
        }
        if config.instructions is not None:
            result["instructions"] = config.instructions
        result |= {
            "ttlMs": DISCOVER_TTL_MS,
            "cacheScope": "public"
            if config.authentication is None
            else "private",  # instructions are for who is let in
            "_meta": {meta.SERVER_INFO: msgspec.Raw(self._service.server_info)},
        }
        return await exchange.answer(jsonrpc.result_response(request_id, msgspec.json.encode(result)))

    async def _list(self, exchange: Exchange, request_id: bytes) -> Answer:
        cursor = calls.requested_cursor(exchange.envelope.params)
        answer = await exchange.answer(await self._service.list_tools(exchange.caller, Era.MODERN, request_id, cursor))
        if cursor is None and isinstance(answer, Reply):
            answer.again = self._service.again(exchange.caller, Era.MODERN)
        return answer

    async def _listen(self, exchange: Exchange, request_id: bytes) -> Answer:
        wanted = streams.read_filter(exchange.envelope.params)
        if not exchange.accepted.event_stream:
            raise not_acceptable(EVENT_STREAM)
        await self._service.look(exchange.caller)
        return streams.listen(exchange.request, exchange.fields, self._service.hub, request_id, wanted, exchange.caller)

    async def _call(self, exchange: Exchange, request_id: bytes) -> Answer:
        service, envelope = self._service, exchange.envelope
        name = calls.tool_name(envelope)
        lane = service.gateway.lane(exchange.caller)
        route = await service.route(lane, exchange.caller, name, Era.MODERN)
        principal = exchange.caller.principal
        call = calls.read_call(envelope, route, exchange.request.headers, principal=principal, log_level=None)
        outlet = Outlet(exchange, quiet_s=service.pace.quiet_s)
        outcome = await attended(outlet, service.call(exchange.caller, lane, route, call, outlet, Era.MODERN))
        if isinstance(outcome, McpError):
            error = project_error(outcome, Era.MODERN)
            if outlet.stream is None:
                raise error
            body = jsonrpc.error_response(request_id, error)
        else:
            body = jsonrpc.result_response(request_id, outcome)
        return await exchange.answer(body, outlet.stream)
