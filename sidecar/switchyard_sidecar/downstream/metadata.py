"""Protected resource metadata over HTTP: for anyone, from any origin, since clients ask for it before they have a token.

Sources: RFC 9728, section 3; MCP 2026-07-28 ``basic/authorization/authorization-server-discovery``.
"""

from typing import Final

from aiohttp import web

from switchyard_sidecar.access.resource import MAX_AGE_S, Resource
from switchyard_sidecar.downstream.guard import preflight
from switchyard_sidecar.downstream.http import Answer, Reply, rpc_error
from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError

METHODS: Final = ("GET", "HEAD", "OPTIONS")

_FOR_ANYONE: Final = (("Access-Control-Allow-Origin", "*"),)
_KEPT: Final = ("Cache-Control", f"public, max-age={MAX_AGE_S}")


def answer(request: web.BaseRequest, resource: Resource) -> Answer:
    """Answer a request for the metadata, whose Host was checked."""
    if request.method == "OPTIONS":
        return Reply(204, fields=preflight(request.headers, METHODS, _FOR_ANYONE))
    if request.method not in METHODS:
        allowed = ", ".join(METHODS)
        error = McpError(errors.INVALID_REQUEST, f"Method not allowed; the metadata has {allowed}")
        return rpc_error(error, None, 405, (*_FOR_ANYONE, ("Allow", allowed)))
    return Reply(200, resource.metadata(request.headers.get("Host", "")), (*_FOR_ANYONE, _KEPT))
