"""The admin port: ``/healthz``, ``/readyz``, ``/loaded``, ``/metrics``, and ``/status`` for loopback callers.

Host and Origin are not checked here (kubelets probe by address), so nothing here changes anything. ``/status`` tells more than a
passer-by should know: it answers only callers of this machine or pod, who call it by a loopback name. A browser there may run a
stranger's page, which comes under the stranger's name (DNS rebinding).
"""

import ipaddress
from collections.abc import Callable
from typing import Any, Final

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from switchyard_sidecar.admin.metrics import StateCollector
from switchyard_sidecar.admin.state import State
from switchyard_sidecar.downstream.guard import LOOPBACK_NAMES, host_name

SHUTDOWN_S: Final = 1.0


class Admin:
    """Serves the state of one sidecar. ``registry`` holds the endpoint's counters; the gauges are added."""

    def __init__(self, state: State, registry: CollectorRegistry) -> None:
        self._state = state
        self._registry = registry
        StateCollector(state, registry)
        application = web.Application()
        application.add_routes(
            [
                web.get("/healthz", self._health),
                web.get("/readyz", self._ready),
                web.get("/loaded", self._loaded),
                web.get("/metrics", self._metrics),
                web.get("/status", self._status),
            ]
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)

    async def listen(self, host: str, port: int) -> str:
        """Listen; give the base URL.

        Raises:
            OSError: the address cannot be listened on.
        """
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        address = self._runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        return f"http://{shown}:{address[1]}"

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _ready(self, _: web.Request) -> web.Response:
        if self._state.listening:
            return web.Response(text="ok\n")
        return web.Response(status=503, text="not listening\n")

    async def _loaded(self, _: web.Request) -> web.Response:
        return _json(self._state.loaded)

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _status(self, request: web.Request) -> web.Response:
        if not is_loopback(request.remote) or not is_called_loopback(request.headers.get("Host", "")):
            raise web.HTTPForbidden(text="/status answers loopback only; use kubectl port-forward, and localhost\n")
        return _json(self._state.status)


def _json(source: Callable[[], dict[str, Any]]) -> web.Response:
    body = msgspec.json.format(msgspec.json.encode(source()), indent=2) + b"\n"
    return web.Response(body=body, content_type="application/json")


def is_loopback(address: str | None) -> bool:
    """Whether a peer is of this machine or pod; one whose address is unknown is not."""
    try:
        return address is not None and ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_called_loopback(host: str) -> bool:
    """Whether a Host header names this machine by what only itself is called."""
    return host_name(host.strip().lower()) in LOOPBACK_NAMES
