"""The operator's own port: ``/healthz``, ``/readyz`` and ``/metrics``. Nothing here changes anything.

``/healthz`` fails when only a new process helps: a watch that brings nothing of what there is, that asks no more, or is forbidden
for long; a thread that is dead. An API server that is away is waited for. ``/readyz`` fails until everything was listed once; it
does not matter who leads.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

SHUTDOWN_S: Final = 1.0

Objections: TypeAlias = Callable[[], Iterable[str]]
"""Asked each time; nothing when all is well."""


class Health:
    """Answers for one process, which is well and not ready until :meth:`watch` says what tells more."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._faults: Objections = tuple
        self._waiting: Objections = lambda: ("its kinds are not served yet",)
        application = web.Application()
        application.add_routes(
            [
                web.get("/healthz", self._health),
                web.get("/readyz", self._ready),
                web.get("/metrics", self._metrics),
            ]
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)

    def watch(self, faults: Objections, waiting: Objections) -> None:
        """From now on ask these: ``faults``, why it should be started anew; ``waiting``, what it is not ready for."""
        self._faults, self._waiting = faults, waiting

    async def listen(self, host: str, port: int) -> str:
        """Listen; give the base URL.

        Raises:
            OSError: the address cannot be listened on.
        """
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        address = self._runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        return f"http://{shown}:{address[1]}"

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _health(self, _: web.Request) -> web.Response:
        return _answer(self._faults())

    async def _ready(self, _: web.Request) -> web.Response:
        return _answer(self._waiting())

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _answer(objections: Iterable[str]) -> web.Response:
    lines = list(objections)
    return web.Response(status=503 if lines else 200, text="".join(f"{line}\n" for line in lines or ["ok"]))
