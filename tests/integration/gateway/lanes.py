"""A gateway without an endpoint, and callers who come to it with tokens of their own."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from fakes.hostile import HostileBackend
from fakes.waiting import Pulse
from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.config.apply import Applied, plan
from switchyard_sidecar.config.load import Loaded
from switchyard_sidecar.config.model import GatewayConfig
from switchyard_sidecar.gateway import Gateway, Lane
from switchyard_sidecar.upstream.backoff import Backoff
from switchyard_sidecar.upstream.calls import CallMeta, ToolCall
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace

FORWARD: Mapping[str, Any] = {"auth": {"type": "Forward"}}
NEVER = Backoff(base_s=3600, cap_s=3600)
"""A back-off that no test outlives: what happens after a failure happens without another attempt."""
AUTHENTICATION: Mapping[str, Any] = {
    "authentication": {"issuers": [{"issuer": "https://i.example", "audiences": ["mcp"]}]}
}


def meant_for(*audiences: str) -> Mapping[str, Any]:
    """The section of a backend to which tokens go that were issued for one of these."""
    return {"auth": {"type": "Forward", "audiences": audiences}}


def caller(name: str, token: str | None = None, *, lives_s: float = math.inf, **claims: Any) -> Caller:
    """A caller, by default with its name as its token."""
    audiences = frozenset(claims.get("aud", ()))
    return Caller(name, claims, time.time() + lives_s, audiences, name if token is None else token)


class _Silence:
    """A sink for what nobody wants."""

    async def notify(self, method: str, params: bytes) -> None:
        """Take it."""


@dataclass
class Scene:
    """A gateway that runs."""

    gateway: Gateway
    published: list[Lane]
    """The lanes that had a new catalog, oldest first."""
    http: HttpPool
    _pulse: Pulse
    _applied: Applied | None = None

    def configure(self, backends: Mapping[str, tuple[HostileBackend, Mapping[str, Any]]], **keys: Any) -> None:
        """Take over a config with these backends: where they listen, and further keys of their sections."""
        sections = [
            {"namespace": "n", "name": name, "url": backend.url, "prefix": name, **more}
            for name, (backend, more) in backends.items()
        ]
        config = GatewayConfig.model_validate({"namespace": "n", "name": "main", "backends": sections, **keys})
        self._applied = plan(self._applied, Loaded(config, {}))
        self.gateway.apply(self._applied)

    async def names(self, who: Caller) -> list[str]:
        """What a caller's list holds."""
        seen = await self.gateway.lane(who).outlooks.fresh(who.claims)
        return list(seen.view.modern.names)

    async def reasons(self, who: Caller) -> dict[str, str]:
        """Which backends are missing from a caller's list, and why."""
        return {each.backend: each.reason for each in (await self.gateway.lane(who).fresh()).degraded}

    async def call(self, who: Caller, name: str, session: str = "s") -> bytes:
        """Call a tool by its exposed name; give the result."""
        lane = self.gateway.lane(who)
        route = lane.catalog.routes[name]
        return (await lane.call(route, ToolCall(route.tool, None, CallMeta(), {}, session), _Silence())).result

    async def hears(self, lane: Lane, count: int = 1) -> None:
        """Wait until a lane has had so many new catalogs."""
        await self._pulse.until(lambda: self.published.count(lane) >= count)

    def heard(self, lane: Lane) -> None:
        """Take note of a new catalog."""
        self.published.append(lane)
        self._pulse.beat()


@asynccontextmanager
async def scene(
    backends: Mapping[str, tuple[HostileBackend, Mapping[str, Any]]], *, pace: Pace | None = None, **keys: Any
) -> AsyncIterator[Scene]:
    """Run a gateway over these backends while the block runs."""
    async with asyncio.TaskGroup() as tasks, HttpPool() as http:
        quick = pace or Pace(stream_backoff=Backoff(base_s=0.02, cap_s=0.1), backoff=Backoff(base_s=0.02, cap_s=0.1))
        gateway = Gateway(tasks, http, GatewayConfig(namespace="", name=""), quick)
        played = Scene(gateway, [], http, Pulse())
        gateway.on_catalog = played.heard
        try:
            played.configure(backends, **keys)
            yield played
        finally:
            await asyncio.gather(*gateway.retire_all(), return_exceptions=True)


def patient(**limits: Any) -> Pace:
    """The limits of the product, but for these, and without a second attempt at what has failed."""
    return replace(Pace(backoff=NEVER), **limits)
