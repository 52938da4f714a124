"""Stands between a client and the API server, and lets happen what networks and busy servers let happen."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp import web

from apiserver.client import drop
from apiserver.server import ADMIN_TOKEN, ApiServer

_HOP_BY_HOP: Final = {"connection", "transfer-encoding", "content-length", "content-encoding", "host"}
WRITING: Final = {"POST", "PUT", "PATCH", "DELETE"}


@dataclass(frozen=True)
class Asked:
    """One request that has come."""

    method: str
    path: str
    query: dict[str, str]

    @property
    def watch(self) -> bool:
        """Whether it is a watch."""
        return "watch" in self.query

    @property
    def list(self) -> bool:
        """Whether it is a list of what is watched."""
        return "limit" in self.query

    @property
    def writes(self) -> bool:
        """Whether it changes something that lasts: Leases and questions about permissions do not count."""
        return self.method in WRITING and "coordination.k8s.io" not in self.path and "reviews" not in self.path


@dataclass(frozen=True)
class Answer:
    """What is answered in the server's place."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str]

    @classmethod
    def refusal(cls, status: int, reason: str, **headers: str) -> "Answer":
        """A ``Status`` of failure; underscores in the names of headers stand for hyphens."""
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}
        return cls(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


GONE: Final = Answer(200, {"type": "ERROR", "object": Answer.refusal(410, "Expired").body}, {})
"""The event that ends a watch whose history is lost."""


@dataclass(eq=False)
class _Passage:
    """One request on its way."""

    request: web.BaseRequest
    watch: bool
    hung: bool = False

    def abort(self) -> None:
        """Reset the connection."""
        if self.request.transport is not None:
            self.request.transport.abort()


class Proxy:
    """Speaks HTTP to the client and passes everything on, until it is told otherwise."""

    def __init__(self, server: ApiServer) -> None:
        self.asked: list[Asked] = []
        self._server = server
        self._down = False
        self._rules: list[tuple[Callable[[Asked], bool], Answer]] = []
        self._passages: set[_Passage] = set()
        self._runner = web.ServerRunner(web.Server(self._handle, handler_cancellation=True), shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._server.tls), timeout=aiohttp.ClientTimeout(total=None)
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        while self._passages:
            await asyncio.sleep(0)  # they are being cancelled
        await self._runner.cleanup()
        await self._http.close()

    def kubeconfig(self, folder: Path, token: str = ADMIN_TOKEN) -> Path:
        """A kubeconfig file by which whoever the token stands for comes through here."""
        host, port = self._runner.addresses[0][:2]
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": f"http://{host}:{port}"}}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "user"}}],
            "current-context": "proxy",
        }
        path = folder / f"kubeconfig-{port}.json"
        path.write_text(json.dumps(config))
        return path

    def cut(self) -> None:
        """End all connections, and every new one, until :meth:`heal`."""
        self._down = True
        for passage in self._passages:
            passage.abort()

    def hang_watches(self) -> None:
        """Let the watches stand and bring nothing any more, as those that a load balancer has forgotten; new ones pass."""
        for passage in self._passages:
            passage.hung |= passage.watch

    def answer(self, answer: Answer, when: Callable[[Asked], bool]) -> None:
        """Answer in the server's place, as often as ``when`` holds, until :meth:`heal`."""
        self._rules.append((when, answer))

    def answer_once(self, answer: Answer, when: Callable[[Asked], bool]) -> None:
        """Answer in the server's place, once for each path."""
        paths = set[str]()

        def first(asked: Asked) -> bool:
            if asked.path in paths or not when(asked):
                return False
            paths.add(asked.path)
            return True

        self._rules.append((first, answer))

    def resume(self) -> None:
        """Let new connections in; rules stay."""
        self._down = False

    def heal(self) -> None:
        """Let everything pass again."""
        self._down = False
        self._rules.clear()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = Asked(request.method, request.path, dict(request.query))
        self.asked.append(asked)
        passage = _Passage(request, asked.watch)
        self._passages.add(passage)
        try:
            if self._down:
                passage.abort()
                return web.Response(status=503)
            for when, answer in self._rules:
                if when(asked):
                    return web.json_response(answer.body, status=answer.status, headers=answer.headers)
            return await self._pass_on(passage)
        except (aiohttp.ClientError, OSError):
            passage.abort()
            return web.Response(status=502)
        finally:
            self._passages.discard(passage)

    async def _pass_on(self, passage: _Passage) -> web.StreamResponse:
        request = passage.request
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        async with self._http.request(
            request.method, self._server.url + request.path_qs, headers=headers, data=await request.read() or None
        ) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            response = web.StreamResponse(status=answer.status, headers=kept)
            try:
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    if not passage.hung:
                        await response.write(chunk)
                await response.write_eof()
            except BaseException:
                drop(answer)
                raise
            return response
