"""The MCP endpoint: one request in, one answer out, whichever era it is of.

A request's way: guard (path, Host, Origin, method) -> caller -> body -> era -> the era's own checks and methods. Every refusal,
from wherever it is raised, becomes bytes here.

Who was let in may be let in no more a moment later: a token expires, a key or a config changes while a body arrives or a list
is waited for. So a caller is looked at again before its message is acted upon, and before it gets to read what is not its call's.
"""

import time
from functools import lru_cache
from typing import Final

import structlog
from aiohttp import web

from switchyard_sidecar.access.authenticator import Authenticator
from switchyard_sidecar.access.caller import ANONYMOUS, Caller
from switchyard_sidecar.access.refusals import Denied, KeysUnavailable
from switchyard_sidecar.access.resource import Resource
from switchyard_sidecar.downstream import metadata
from switchyard_sidecar.downstream.bodies import Bodies, is_small_and_here
from switchyard_sidecar.downstream.envelope import Envelope, is_modern_version, open_message, string, unsupported
from switchyard_sidecar.downstream.guard import Guard, check_body_headers, not_acceptable
from switchyard_sidecar.downstream.http import Answer, Fields, Reply, rpc_error
from switchyard_sidecar.downstream.legacy import LegacyMethods
from switchyard_sidecar.downstream.modern import ModernMethods
from switchyard_sidecar.downstream.service import Service
from switchyard_sidecar.protocol import accept, errors, jsonrpc
from switchyard_sidecar.protocol.accept import Accepted
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import InvalidRequestError
from switchyard_sidecar.protocol.names import EVENT_STREAM, JSON, VERSION_HEADER
from switchyard_sidecar.protocol.versions import Era

log = structlog.get_logger(__name__)

RETRY_AFTER_S: Final = 1
"""What an overloaded gateway asks its clients to wait."""


class Endpoint:
    """Serves one listener. Call :meth:`handle` for each request, :meth:`configure` when the config has changed."""

    def __init__(self, service: Service, bodies: Bodies, authenticator: Authenticator, guard: Guard) -> None:
        self._service = service
        self._bodies = bodies
        self._authenticator = authenticator
        self._modern = ModernMethods(service, authenticator.check)
        self._legacy = LegacyMethods(service, authenticator.check)
        self.configure(guard)

    def configure(self, guard: Guard, resource: Resource | None = None) -> None:
        """Take over a changed listener; the service and the authenticator have the changed config already.

        ``resource``: what is said to clients without a token, where one is needed.
        """
        self._guard = guard
        self._resource = resource
        self.admit()
        self._eras = {Era(name.lower()) for name in self._service.config.protocols}
        self._service.hub.serve(self._eras)

    def admit(self) -> None:
        """Forget what callers were let in by before: it may not be good any more."""
        self._service.express.forget()
        self._service.hub.admit(self._authenticator.vouchers)

    async def handle(self, request: web.BaseRequest) -> Answer:
        """Answer one HTTP request."""
        self._service.request_began()
        headers = request.headers
        fields = self._guard.fields(headers)
        try:
            path, local_address = _path(request), _local_address(request)
            if self._resource is not None and path in self._resource.paths:
                self._guard.check_host(headers, local_address)
                return metadata.answer(request, self._resource)
            self._guard.check(request.method, path, headers, local_address)
            if request.method == "OPTIONS":
                return Reply(204, fields=self._guard.preflight(headers))
            caller = await self._caller(request)
            match request.method:
                case "POST":
                    return await self._post(request, fields, caller)
                case "GET":
                    return await self._get(request, fields, caller)
                case _:
                    return await self._delete(request, fields, caller)
        except McpError as error:
            reply = self._refused(error, None, error.status or 400, self._challenged(error, request, fields))
            reply.keep_alive = request.content.is_eof()  # what is left of a body is not worth reading
            return reply
        finally:
            self._service.request_ended()

    async def _caller(self, request: web.BaseRequest) -> Caller:
        if self._authenticator.is_open:
            return ANONYMOUS
        try:
            return await self._authenticator.caller(request.headers, request.raw_path.partition("?")[2])
        except Denied as denied:
            self._service.traffic.denied(denied.error or "no_token")
            raise
        except KeysUnavailable:
            self._service.traffic.denied("keys_unavailable")
            raise

    def _challenged(self, error: McpError, request: web.BaseRequest, fields: Fields) -> Fields:
        if not isinstance(error, Denied) or self._resource is None:
            return fields
        return (*fields, ("WWW-Authenticate", self._resource.challenge(error, request.headers.get("Host", ""))))

    async def _post(self, request: web.BaseRequest, fields: Fields, caller: Caller) -> Answer:
        check_body_headers(request.headers)
        accepted = _accepted(request)
        if not accepted.json and not accepted.event_stream:
            raise not_acceptable(f"{JSON} or {EVENT_STREAM}")
        if is_small_and_here(request):
            return await self._message(request, fields, accepted, caller, request.content.read_nowait())
        async with self._bodies.held_whole(request) as body:
            return await self._message(request, fields, accepted, caller, body)

    async def _message(
        self, request: web.BaseRequest, fields: Fields, accepted: Accepted, caller: Caller, body: bytes
    ) -> Answer:
        started, code = time.monotonic(), 0
        version = request.headers.get(VERSION_HEADER)
        era = Era.MODERN if is_modern_version(version) else Era.LEGACY
        try:
            if jsonrpc.is_batch(body):
                return await self._batch(request, fields, body, accepted, caller)
            message = jsonrpc.decode(body)
        except McpError as error:
            self._unreadable(era, error)
            status = error.status or 400
            return self._refused(error, _id_of(error), status, self._challenged(error, request, fields))
        if message.method is None:
            return self._response(version, fields)
        try:
            envelope = open_message(message, version)
            era = envelope.era
            self._check_served(envelope)
            self._authenticator.check(caller)
            methods = self._modern if era is Era.MODERN else self._legacy
            answer = await methods.serve(request, fields, envelope, accepted, caller)
            if isinstance(answer, Reply):
                answer.until = caller.expires_at
            return answer
        except McpError as error:
            code = error.code
            status = error.modern_status() if era is Era.MODERN else error.legacy_status()
            return self._refused(error, message.id, status, self._challenged(error, request, fields))
        finally:
            self._service.traffic.answered(message.method, era, code, time.monotonic() - started)

    async def _get(self, request: web.BaseRequest, fields: Fields, caller: Caller) -> Answer:
        _check_legacy(request)
        return await self._legacy.stream(request, fields, _accepted(request), caller)

    async def _delete(self, request: web.BaseRequest, fields: Fields, caller: Caller) -> Answer:
        _check_legacy(request)
        return await self._legacy.end(request, fields, caller)

    async def _batch(
        self, request: web.BaseRequest, fields: Fields, body: bytes, accepted: Accepted, caller: Caller
    ) -> Answer:
        version = request.headers.get(VERSION_HEADER)
        if is_modern_version(version) or self._legacy.version(request, version, caller) != "2025-03-26":
            raise McpError(errors.INVALID_REQUEST, "Invalid Request: batches are not part of this protocol version")
        self._authenticator.check(caller)
        entries = [self._batch_entry(text, version) for text in jsonrpc.decode_batch(body)]
        return await self._legacy.serve_batch(request, fields, [each for each in entries if each], accepted, caller)

    def _batch_entry(self, text: bytes, version: str | None) -> Envelope | bytes | None:
        """One message of a batch, or the refusal of it; ``None`` for a response, which nobody waits for."""
        request_id = None
        try:
            message = jsonrpc.decode(text)
            if message.method is None:
                return None
            request_id = message.id
            envelope = open_message(message, version)
            if envelope.era is Era.MODERN:
                refusal = McpError(errors.INVALID_REQUEST, "Invalid Request: a modern request is never part of a batch")
                return jsonrpc.error_response(request_id, refusal)
            self._check_served(envelope)
        except McpError as error:
            self._unreadable(Era.LEGACY, error)
            return jsonrpc.error_response(_id_of(error) or request_id, error)
        return envelope

    def _unreadable(self, era: Era, error: McpError) -> None:
        """Count what was refused before its method was looked at."""
        self._service.traffic.answered("", era, error.code, 0.0)

    def _response(self, version: str | None, fields: Fields) -> Answer:
        """A client's response: this gateway asks clients nothing, and modern clients must not send any."""
        if is_modern_version(version):
            error = McpError(errors.INVALID_REQUEST, "Invalid Request: a client sends requests and notifications only")
            return self._refused(error, None, 400, fields)
        return Reply(202, fields=fields)

    def _check_served(self, envelope: Envelope) -> None:
        if envelope.era in self._eras:
            return
        if envelope.era is Era.LEGACY:
            error = unsupported(string(envelope.params, "protocolVersion") or "")
        else:
            # No recognised modern error: it would keep a client of both eras from falling back to initialize.
            error = McpError(
                errors.INVALID_REQUEST, "This gateway serves protocol versions up to 2025-11-25; initialize"
            )
        error.status = 400
        raise error

    def _refused(self, error: McpError, request_id: bytes | None, status: int, fields: Fields) -> Reply:
        if status == 405:
            fields = (*fields, ("Allow", ", ".join(self._guard.methods)))
        elif status in {429, 503}:
            fields = (*fields, ("Retry-After", str(RETRY_AFTER_S)))
        return rpc_error(error, request_id, status, fields)


def _id_of(error: McpError) -> bytes | None:
    """The id of a message that was readable no further."""
    return error.request_id if isinstance(error, InvalidRequestError) else None


def _check_legacy(request: web.BaseRequest) -> None:
    """Refuse a modern client's GET or DELETE (2026-07-28 ``streamable-http``).

    Raises:
        McpError: HTTP status 405.
    """
    if is_modern_version(request.headers.get(VERSION_HEADER)):
        raise McpError(errors.INVALID_REQUEST, f"{request.method} is not part of this protocol version", status=405)


def _path(request: web.BaseRequest) -> str:
    """The path asked for. A target in absolute form, as proxies write it, must be accepted (RFC 9112, section 3.2.2)."""
    target = request.raw_path.partition("?")[0]
    return target if target.startswith("/") else request.path


def _local_address(request: web.BaseRequest) -> str:
    """The address the connection came in on, as it would stand in a Host header."""
    if request.transport is None:
        return ""
    address = str(request.transport.get_extra_info("sockname", ("",))[0])
    return f"[{address}]" if ":" in address else address


def _accepted(request: web.BaseRequest) -> Accepted:
    """What the caller takes. Some clients write each type on a line of its own (RFC 9110, section 5.3)."""
    lines = request.headers.getall("Accept", ())
    return _parsed(", ".join(lines) if lines else None)


_parsed: Final = lru_cache(maxsize=64)(accept.parse)
