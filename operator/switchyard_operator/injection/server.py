"""The endpoint that the API server asks, over TLS: ``POST /inject`` with an AdmissionReview."""

import ssl
from collections.abc import Callable
from typing import Final

import msgspec
import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.injection.review import NotAReview, answer, judge, request_in
from switchyard_operator.workloads.settings import Installation

PATH: Final = "/inject"
_BODY_BYTES: Final = 8 * 1024 * 1024
"""The API server itself takes objects of at most 3 MiB."""
_KEEP_ALIVE_S: Final = 120.0
"""Longer than the API server keeps idle connections (90 s), so that it is not we who end one that it is about to use."""
_FINISH_S: Final = 5.0
"""What requests are given that are under way at the end: as long as the API server waits."""

_log = structlog.get_logger()


class Admission:
    """Answers the API server about pods. ``gateway_of`` gives the valid gateway of a name, if there is one."""

    def __init__(
        self,
        installation: Installation,
        gateway_of: Callable[[Key], MCPGateway | None],
        registry: CollectorRegistry,
    ) -> None:
        self._installation = installation
        self._gateway_of = gateway_of
        self._answers = Counter(
            "switchyard_webhook_admissions",
            "Pods that were asked about, by what came of them.",
            ["result"],
            registry=registry,
        )
        self._seconds = Histogram("switchyard_webhook_seconds", "How long an answer took.", registry=registry)
        self._leaving = False
        application = web.Application(client_max_size=_BODY_BYTES)
        application.add_routes([web.post(PATH, self._inject)])
        self._runner = web.AppRunner(
            application, access_log=None, shutdown_timeout=_FINISH_S, keepalive_timeout=_KEEP_ALIVE_S
        )
        self.listening = False

    async def listen(self, host: str, port: int, tls: ssl.SSLContext) -> str:
        """Listen; give the URL.

        Raises:
            OSError: the address cannot be listened on.
        """
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, ssl_context=tls).start()
        self.listening = True
        address = self._runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        return f"https://{shown}:{address[1]}{PATH}"

    def leave(self) -> None:
        """Go on answering, but as the last time on each connection: the next one is to go to another replica."""
        self._leaving = True

    async def close(self) -> None:
        """Stop listening; what is under way is finished."""
        self.listening = False
        await self._runner.cleanup()

    async def _inject(self, asked: web.Request) -> web.Response:
        with self._seconds.time():
            response = self._answer(await asked.read())
        if self._leaving:
            response.force_close()
        return response

    def _answer(self, body: bytes) -> web.Response:
        try:
            request = request_in(body)
        except NotAReview as error:
            return web.Response(status=400, text=f"{error}\n")
        decision, fault = judge(request, self._gateway_of, self._installation)
        self._answers.labels(decision.result.value).inc()
        pod = {"namespace": str(request.get("namespace")), "uid": request["uid"]}
        if fault is not None:
            _log.error("failed", **pod, exc_info=fault)
        else:
            _log.info(
                "answered", **pod, result=decision.result.value, warnings=list(decision.warnings), **decision.facts
            )
        return web.Response(body=msgspec.json.encode(answer(request, decision)), content_type="application/json")
