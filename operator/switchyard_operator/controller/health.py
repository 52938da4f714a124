"""The operator's own port: ``/healthz``, ``/readyz`` and ``/metrics``. Nothing here changes anything.

``/healthz`` fails when only a new process helps: a watch that brings nothing of what there is, a thread that is dead. An API server
that is away is waited for. ``/readyz`` fails until everything was listed once; it does not matter who leads.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

SHUTDOWN_S: Final = 1.0


class Health:
    """Answers for one process. ``faults``: why it should be started anew; ``waiting``: what it is not ready for."""

    def __init__(
        self, faults: Callable[[], Iterable[str]], waiting: Callable[[], Iterable[str]], registry: CollectorRegistry
    ) -> None:
        self._registry = registry
        application = web.Application()
        application.add_routes(
            [
                web.get("/healthz", _answering(faults)),
                web.get("/readyz", _answering(waiting)),
                web.get("/metrics", self._metrics),
            ]
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)

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

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _answering(objections: Callable[[], Iterable[str]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        lines = list(objections())
        return web.Response(status=503 if lines else 200, text="".join(f"{line}\n" for line in lines or ["ok"]))

    return answer
