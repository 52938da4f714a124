"""A gateway process of which everything is kept that leaves it: logs, pages, answers, and what backends were sent."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from fakes.clients import Answer, LegacyClient, ModernClient, OpenStream
from fakes.hostile import HostileBackend
from fakes.process import SIDECAR, START_S
from fakes.waiting import eventually

PAGES = ("/status", "/metrics", "/loaded", "/healthz", "/readyz", "/nothing")

CRASHING = f"""
import sys
import aiohttp
ordinary = aiohttp.ClientSession._request
async def crash(self, method, url, **how):
    if url.path == "/crash":
        raise RuntimeError("crashed")
    return await ordinary(self, method, url, **how)
aiohttp.ClientSession._request = crash
sys.argv[0] = {SIDECAR!r}
from switchyard_sidecar.main import main
sys.exit(main())
"""
"""The command, in which the library fails on requests to one path as no library should, with headers and credentials in its hands."""


@dataclass
class Run:
    """A process under watch."""

    url: str
    admin: str
    http: aiohttp.ClientSession
    process: asyncio.subprocess.Process
    log: Path
    heard: list[bytes] = field(default_factory=list)
    """All that clients were answered: heads and bodies."""

    def modern(self, token: str | None = None) -> ModernClient:
        """A client whose answers are kept."""
        client = _Modern(self.url, self.http)
        client.token, client.heard = token, self.heard
        return client

    def legacy(self, token: str | None = None) -> LegacyClient:
        """A client whose answers are kept."""
        client = _Legacy(self.url, self.http)
        client.token, client.heard = token, self.heard
        return client

    def keep(self, stream: OpenStream) -> None:
        """Keep what an open stream has said."""
        self.heard.append(repr((dict(stream.headers), stream.messages)).encode())

    async def raw(self, request: bytes) -> bytes:
        """Send these bytes and read to the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self.url.split("/")[2].rpartition(":")[2]))
        writer.write(request)
        answer = await reader.read()
        writer.close()
        self.heard.append(answer)
        return answer

    async def has_logged(self, text: str) -> None:
        """Wait until the log says so."""

        async def has() -> bool:
            return text.encode() in self.log.read_bytes()

        await eventually(has)

    async def channels(self) -> dict[str, bytes]:
        """Everything that left the process, apart from what backends were sent."""
        channels = {"clients": b"\n".join(self.heard), "log": self.log.read_bytes()}
        for page in PAGES:
            async with self.http.get(self.admin + page) as response:
                channels[page] = repr(dict(response.headers)).encode() + await response.read()
        process = Path(f"/proc/{self.process.pid}")
        for name in ("cmdline", "environ"):
            channels[name] = (process / name).read_bytes()
        return channels


class _Kept:
    heard: list[bytes]

    async def send(self, method: str, body: bytes | None, headers: Mapping[str, str | None]) -> Answer:
        """Send exactly this, and keep the answer."""
        answer: Answer = await super().send(method, body, headers)  # type: ignore[misc]
        self.heard.append(repr((answer.status, dict(answer.headers))).encode() + b"\n" + answer.body)
        return answer


class _Modern(_Kept, ModernClient):
    pass


class _Legacy(_Kept, LegacyClient):
    pass


@asynccontextmanager
async def watched(config: Path, log: Path, *more: str) -> AsyncIterator[Run]:
    """Run the command, at its most talkative, while the block runs; afterwards the log is complete."""
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", CRASHING, "--config", str(config)),
            *("--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-level", "debug", *more),
            stdout=out,
            stderr=out,
        )

    async def listens() -> bool:
        return b"listening" in log.read_bytes()

    try:
        await eventually(listens, START_S)
        admin, url = sorted(set(re.findall(r"http://127\.0\.0\.1:\d+(?:/mcp)?\b(?!/)", log.read_text())), key=len)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            yield Run(url, admin, http, process, log)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        async with asyncio.timeout(START_S):
            await process.wait()


def sent(backends: Iterable[HostileBackend]) -> bytes:
    """All that these backends were sent."""
    requests = [request for backend in backends for request in backend.requests]
    return b"\n".join(
        f"{request.method} {request.path} {request.headers}\n".encode() + request.body for request in requests
    )
