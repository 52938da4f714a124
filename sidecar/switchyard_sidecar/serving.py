"""The sidecar's life: follow the config directory, listen, serve, and stop without losing anybody's answer.

Everything runs in one task group. Stopping is cancelling :func:`serve`: readiness fails first; where others still send clients
here, they are answered for a while; then no connection is accepted, change streams get their graceful end, calls under way
are waited for within a bound, and sessions with backends are ended.
"""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from prometheus_client import CollectorRegistry

from switchyard_sidecar import files
from switchyard_sidecar.access import pace as access_pace
from switchyard_sidecar.access.authenticator import Authenticator
from switchyard_sidecar.access.resource import Resource
from switchyard_sidecar.admin.server import Admin
from switchyard_sidecar.admin.state import State
from switchyard_sidecar.config.apply import Applied, plan
from switchyard_sidecar.config.load import ConfigError, Loaded
from switchyard_sidecar.config.model import CONFIG_FILE, AuthType, GatewayConfig
from switchyard_sidecar.config.watch import WITHDRAWN_AFTER_S, Observed, Withdrawn, look, watch
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.downstream.accepting import Accepting
from switchyard_sidecar.downstream.bodies import Bodies
from switchyard_sidecar.downstream.endpoint import Endpoint
from switchyard_sidecar.downstream.guard import Guard
from switchyard_sidecar.downstream.http import Server
from switchyard_sidecar.downstream.service import Service
from switchyard_sidecar.downstream.traffic import Traffic
from switchyard_sidecar.gateway import Gateway
from switchyard_sidecar.upstream import addresses
from switchyard_sidecar.upstream import pace as upstream_pace
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.jwks import fetch_key_set

log = structlog.get_logger(__name__)

BACKLOG: Final = 1024

_NOTHING: Final = GatewayConfig(namespace="", name="")
"""What is served while there is no config: an empty list."""


class ListenError(OSError):
    """An address cannot be listened on. The message names it, the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Every time limit of a sidecar that its config does not set. Tests pass shorter ones; nothing else does."""

    clients: downstream_pace.Pace = field(default_factory=downstream_pace.Pace)
    backends: upstream_pace.Pace = field(default_factory=upstream_pace.Pace)
    issuers: access_pace.Pace = field(default_factory=access_pace.Pace)
    withdrawn_after_s: float = WITHDRAWN_AFTER_S
    linger_s: float = 0.0
    """Told to stop, it goes on accepting connections for so long, and answers each request as the last of its connection: the next one
    may find another replica. 0 where clients end before it does."""


PACE: Final = Pace()


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a sidecar listens."""

    url: str
    """Of the MCP endpoint."""
    admin: str | None
    """Base URL of the admin port."""


async def serve(
    config_dir: Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    path: str | None = None,
    admin: tuple[str, int] | None = None,
    ready: Callable[[Bound], None] = lambda _: None,
    pace: Pace = PACE,
) -> None:
    """Serve what ``config_dir`` says until cancelled.

    ``port`` and ``path`` win over the config's; port 0 takes a free one. ``ready`` is called once, when requests are
    answered.

    Raises:
        ListenError: an address is taken or not ours.
    """
    files.take_all_there_are()
    async with _unwrapped(), asyncio.TaskGroup() as tasks, HttpPool() as http:
        sidecar = Sidecar(tasks, http, pace, host=host, path=path)
        try:
            first = await asyncio.to_thread(look, config_dir)
            if first is None:
                log.warning("config_missing", waiting_for=str(config_dir / CONFIG_FILE))
            else:
                sidecar.observe(first)
            async with sidecar.listening(port, admin) as bound:
                ready(bound)
                async for observed in watch(config_dir, known=first, withdrawn_after_s=pace.withdrawn_after_s):
                    sidecar.observe(observed)
        finally:
            for task in sidecar.retire_all():
                with contextlib.suppress(asyncio.CancelledError):
                    await task


class Sidecar:
    """One gateway, its endpoint and its state; what :func:`serve` runs."""

    def __init__(self, tasks: asyncio.TaskGroup, http: HttpPool, pace: Pace, *, host: str, path: str | None) -> None:
        self._http = http
        self._pace = pace
        self._host = host
        self._path = path
        self._applied: Applied | None = None
        self.gateway = Gateway(tasks, http, _NOTHING, pace.backends)
        self.registry = CollectorRegistry()
        self._service = Service(self.gateway, tasks, _NOTHING, Traffic(self.registry), pace.clients, absence="NotFound")
        bodies = Bodies(pace.clients)
        fetch = partial(fetch_key_set, http, max_bytes=pace.issuers.bytes)
        self._authenticator = Authenticator(tasks, fetch, pace.issuers, on_change=self._keys_changed)
        self._endpoint = Endpoint(self._service, bodies, self._authenticator, self._guard(_NOTHING))
        self._server = Server(self._endpoint.handle, pace.clients, self._service.express)
        most = min(pace.clients.connections, files.for_clients())
        self._accepting = Accepting(self._server, most, streams=lambda: len(self._service.hub))
        self.state = State(self.gateway, self._authenticator, self._service, bodies, self._accepting)

    def apply(self, loaded: Loaded) -> None:
        """Take over a config that was read, whole."""
        self._applied = plan(self._applied, loaded)
        config = self._applied.config
        for warning in loaded.warnings:
            log.warning("config_warning", detail=warning)
        self._service.configure(config, self._applied.session_keys)
        self._admit(self._applied)
        self._http.admits = addresses.Guard(config.egress.allowed_addresses).admits
        self.gateway.apply(self._applied)
        waiting = sorted(name for name, backend in self._applied.backends.items() if backend.waiting)
        waiting += self._applied.authentication.waiting if self._applied.authentication else ()
        self.state.applied(waiting)
        log.info(
            "config_applied", gateway=f"{config.namespace}/{config.name}", hash=config.config_hash, waiting=waiting
        )

    def withdraw(self) -> None:
        """The config is gone: no tools, no credentials, no sessions."""
        self._applied = None
        self._service.configure(_NOTHING, (secrets.token_bytes(32),), absence="Withdrawn")
        self._service.hub.end_sessions()
        self._authenticator.configure(None, forwards=False)
        self._endpoint.admit()
        self.gateway.apply(Applied(config=_NOTHING, backends={}, removed=(), session_keys=()))
        self.state.withdrawn()
        log.warning("config_withdrawn")

    def observe(self, observed: Observed) -> None:
        """Take over what the config directory holds now. What is invalid is refused whole, and said."""
        match observed:
            case Loaded():
                self.apply(observed)
            case Withdrawn():
                self.withdraw()
            case ConfigError():
                self.state.refused(str(observed))
                if self._applied is None:
                    self._service.configure(_NOTHING, (), absence="Invalid")
                log.error("config_refused", detail=str(observed))

    @contextlib.asynccontextmanager
    async def listening(self, port: int | None, admin: tuple[str, int] | None) -> AsyncIterator[Bound]:
        """Listen while the block runs; then stop as the module says.

        Raises:
            ListenError: an address is taken or not ours.
        """
        config = self._applied.config if self._applied else _NOTHING
        listener = await _listen(self._accepting, self._host, config.listener.port if port is None else port)
        own_port = listener.sockets[0].getsockname()[1]
        admin_server = Admin(self.state, self.registry)
        try:
            admin_url = None if admin is None else await _listen_admin(admin_server, *admin)
            shown = f"[{self._host}]" if ":" in self._host else self._host
            url = f"http://{shown}:{own_port}{self._path or config.listener.path}"
            self.state.listening = True
            log.info("listening", url=url, admin=admin_url)
            yield Bound(url, admin_url)
        finally:
            self.state.listening = False
            self._server.is_stopping = True
            await asyncio.sleep(self._pace.linger_s)
            listener.close()
            self._service.hub.serve(())
            await self._service.drained()
            self._service.hub.drop_all()
            self._server.pre_shutdown()  # of what is idle; it would be waited for otherwise
            await self._server.shutdown(self._pace.clients.close_s)
            await admin_server.close()
            log.info("stopped")

    def retire_all(self) -> list["asyncio.Task[None]"]:
        """End all that goes on by itself; give the tasks to wait for."""
        return [*self.gateway.retire_all(), *self._authenticator.retire()]

    def _admit(self, applied: Applied) -> None:
        """Let in whom a config says, before anything else of it can be seen."""
        config = applied.config
        forwards = any(each.auth.type is AuthType.FORWARD for each in config.backends)
        if forwards and not self._authenticator.forwards:  # nobody has kept the tokens that streams before came with
            self._service.hub.end_all()
        self._authenticator.configure(applied.authentication, forwards=forwards)
        resource = None
        if config.authentication is not None:
            name, listener = f"{config.namespace}/{config.name}", config.listener
            resource = Resource.of(name, self._path or listener.path, listener.public_url, config.authentication)
        self._endpoint.configure(self._guard(config), resource)

    def _keys_changed(self) -> None:
        self._endpoint.admit()

    def _guard(self, config: GatewayConfig) -> Guard:
        return Guard.of(config.listener, path=self._path or config.listener.path, legacy="Legacy" in config.protocols)


async def _listen(accepting: Accepting, host: str, port: int) -> asyncio.Server:
    try:
        return await asyncio.get_running_loop().create_server(accepting, host, port, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:  # UnicodeError: a host that can be no name
        raise _refused(host, port, error) from None


async def _listen_admin(admin: Admin, host: str, port: int) -> str:
    try:
        return await admin.listen(host, port)
    except (OSError, OverflowError, UnicodeError) as error:  # UnicodeError: a host that can be no name
        raise _refused(host, port, error) from None


def _refused(host: str, port: int, error: Exception) -> ListenError:
    number = error.errno if isinstance(error, OSError) else None
    # The loop's own text would name the address again. A failed look-up of a name has a negative number.
    reason = str(error) if number is None or number <= 0 else os.strerror(number)
    return ListenError(f"cannot listen on {host}:{port}: {reason}; choose another port, or 0 for any free one")


@contextlib.asynccontextmanager
async def _unwrapped() -> AsyncIterator[None]:
    """Let a single failure of the task group's body come out as itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from None
        raise
