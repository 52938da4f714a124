"""What both eras' handlers share: the gateway, the hub, the sessions, and answers prepared for the current config."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, cast
from weakref import ReferenceType, WeakKeyDictionary, ref

import msgspec

from switchyard_sidecar import __version__
from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.catalog.part import Route
from switchyard_sidecar.config.model import CallerLimits, GatewayConfig
from switchyard_sidecar.downstream.calls import find_route, unknown_tool
from switchyard_sidecar.downstream.express import Again, Express
from switchyard_sidecar.downstream.http import Body
from switchyard_sidecar.downstream.hub import Hub
from switchyard_sidecar.downstream.listing import ListWriter
from switchyard_sidecar.downstream.pace import Pace
from switchyard_sidecar.downstream.quota import Quota
from switchyard_sidecar.downstream.relay import LegacyCalls, Outlet
from switchyard_sidecar.downstream.results import project_result
from switchyard_sidecar.downstream.sessions import Sessions
from switchyard_sidecar.downstream.traffic import Traffic
from switchyard_sidecar.gateway import Gateway, Lane, Outlook, Seen
from switchyard_sidecar.protocol.errors import McpError, Overloaded
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream import aside
from switchyard_sidecar.upstream.calls import ToolCall
from switchyard_sidecar.upstream.faults import BackendUnavailable

Absence = Literal["NotFound", "Invalid", "Withdrawn"]
"""Why there is no config: it never was there, it cannot be used, or it is there no more."""

CAPABILITIES: Final = {"tools": {"listChanged": True}, "logging": {}}
"""Advertised always, for it always works; nothing else until it is relayed."""


@dataclass(slots=True)
class Service:
    """State of the endpoint of one process. Everything here outlives a change of config, except what ``config`` implies."""

    gateway: Gateway
    tasks: asyncio.TaskGroup
    config: GatewayConfig
    traffic: Traffic
    pace: Pace
    hub: Hub = field(init=False)
    sessions: Sessions = field(init=False)
    legacy_calls: LegacyCalls = field(init=False)
    express: Express = field(init=False)
    server_info: bytes = field(init=False)
    absence: Absence | None = None
    """Why there is no config to serve; ``None`` when there is one."""
    _calling: dict["asyncio.Task[object]", str] = field(default_factory=dict)
    """The tasks that relay a call each, and whose it is: the caller's principal."""
    _quota: Quota = field(default_factory=lambda: Quota("calls under way", CallerLimits().calls))
    """What each caller has of them."""
    _requests: int = 0
    """Requests under way."""
    _stopping: bool = False
    _writers: WeakKeyDictionary[Seen, Mapping[Era, ListWriter]] = field(default_factory=WeakKeyDictionary)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a request or a call ended, or the last stream."""

    def __post_init__(self) -> None:
        self.hub = Hub(self.outlook, self._ended.set, self.pace)
        self.sessions = Sessions((secrets.token_bytes(32),))
        self.legacy_calls = LegacyCalls(self.tasks)
        self.express = Express(self.pace.remembered)
        self.configure(self.config, (), absence=self.absence)
        self.gateway.on_catalog = lambda _: self.hub.publish()

    def configure(
        self, config: GatewayConfig, session_keys: tuple[bytes, ...], *, absence: Absence | None = None
    ) -> None:
        """Take over a changed config, or one that stands for none. Open streams and sessions go on."""
        self.config = config
        self.absence = absence
        self.server_info = msgspec.json.encode(
            {
                "name": f"{config.namespace}/{config.name}",
                "title": f"Switchyard gateway {config.name}",
                "version": __version__,
            }
        )
        self._quota.most = config.listener.caller_limits.calls
        self.hub.quota.most = config.listener.caller_limits.streams
        self._writers.clear()
        if session_keys:
            self.sessions.keys = session_keys

    def outlook(self, caller: Caller) -> Outlook:
        """What a caller sees from now on, until it is retired. What it sees now is all that lists, calls and streams show.

        Raises:
            Overloaded: there is no room for another caller with a lane of its own.
        """
        return self.gateway.lane(caller).outlooks.of(caller.claims)

    async def look(self, caller: Caller) -> None:
        """Wait until what the caller sees is known as it is now: a stream tells of what changes afterwards.

        Raises:
            Overloaded: as :meth:`outlook`.
        """
        await self.gateway.lane(caller).outlooks.ready(caller.claims)

    async def list_tools(self, caller: Caller, era: Era, request_id: bytes, cursor: str | None) -> Body:
        """Answer ``tools/list``.

        Raises:
            McpError: -32602 for a bad cursor, -32603 where the failure policy allows no answer, or HTTP status 503 under
                overload.
        """
        lane = self.gateway.lane(caller)
        seen = lane.outlooks.warm(caller.claims) or await lane.outlooks.fresh(caller.claims)
        return self._writer(seen, era).write(request_id, cursor, lane.ttl_ms())

    def again(self, caller: Caller, era: Era) -> Again | None:
        """How to answer ``tools/list`` once more, from what the caller sees then; ``None``: it has to be found out anew.

        It keeps nothing of what is seen: that ends with the lane, however long the request is remembered.
        """
        try:
            return partial(self._list_again, caller, ref(self.outlook(caller)), era)
        except Overloaded:
            return None

    def _list_again(
        self, caller: Caller, known: ReferenceType[Outlook], era: Era, request_id: bytes, most_bytes: int
    ) -> tuple[bytes, ...] | None:
        """Answer and count it, if that takes neither waiting nor more than ``most_bytes``, and the caller sees by this still."""
        started = time.monotonic()
        try:
            lane = self.gateway.lane(caller)
        except Overloaded:
            return None
        outlook = known()
        if outlook is None or lane is not outlook.lane or (seen := outlook.warm()) is None:
            return None
        body = self._writer(seen, era).write(request_id, None, lane.ttl_ms())
        if sum(map(len, body)) > most_bytes:
            return None
        self.traffic.answered("tools/list", era, 0, time.monotonic() - started)
        return body

    async def route(self, lane: Lane, caller: Caller, name: str, era: Era) -> Route:
        """Find the tool a call means; a name that is not known is looked for once in a list as fresh as can be had.

        A tool that the caller may not see is none, at every step.

        Raises:
            McpError: -32602 when there is none.
        """
        outlooks, claims = lane.outlooks, caller.claims
        seen = await outlooks.ready(claims)
        route = find_route(seen.view, name, era)
        if route is None and lane.warm() is None:
            seen = await outlooks.fresh(claims)
            route = find_route(seen.view, name, era)
        if route is not None:
            return route
        raise unknown_tool(name)

    async def call(self, caller: Caller, lane: Lane, route: Route, call: ToolCall, outlet: Outlet, era: Era) -> bytes:
        """Relay a call to its backend; give its result in the caller's shape.

        Raises:
            McpError: the backend's own error, -32603 when it cannot be reached, or HTTP status 503 or 429 under overload.
        """
        task = cast("asyncio.Task[object]", asyncio.current_task())
        started, outcome = time.monotonic(), "cancelled"
        try:
            self._check_room(caller)
            self._calling[task] = caller.principal
            self._quota.take(caller.principal)
            answer = await lane.call(route, call, outlet)
            project = partial(project_result, backend=answer.era, caller=era, server_info=self.server_info)
            result = await aside.read(project, answer.result)
            outcome = "result"
            return result
        except McpError as error:
            outcome = "refused" if _is_refusal(error) else "error"
            raise
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            task.uncancel()  # it was cancelled so that its caller gets an answer, which takes longer than this
            outcome = "error"
            raise _stopping() from None
        finally:
            if (principal := self._calling.pop(task, None)) is not None:
                self._quota.give_back(principal)
            self._ended.set()
            self.traffic.called(route.backend, outcome, time.monotonic() - started)

    @property
    def calls_running(self) -> int:
        """Calls under way."""
        return len(self._calling)

    def request_began(self) -> None:
        """Count a request as under way, until :meth:`request_ended`."""
        self._requests += 1

    def request_ended(self) -> None:
        """See :meth:`request_began`."""
        self._requests -= 1
        self._ended.set()

    async def drained(self) -> None:
        """Wait until no request and no call is under way and no change stream is open, but not for ever.

        A call may outlive its request; a request may be one whose body is still arriving.

        Calls that are still under way then are given up, and their callers told so.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.pace.drain_s):
                while self._requests or self._calling or len(self.hub):
                    self._ended.clear()
                    await self._ended.wait()
        self._stopping = True
        for task in self._calling:
            task.cancel()

    def _writer(self, seen: Seen, era: Era) -> ListWriter:
        """The prepared list answers of what is seen."""
        if (writers := self._writers.get(seen)) is None:
            writers = {each: ListWriter.of(seen.view, each, self.server_info, self.absence) for each in Era}
            self._writers[seen] = writers
        return writers[era]

    def _check_room(self, caller: Caller) -> None:
        if self._stopping:
            raise _stopping()
        if len(self._calling) >= self.pace.calls:
            raise Overloaded("Too many calls under way")
        self._quota.check(caller.principal)


def unix_now() -> int:
    """Unix seconds."""
    return int(time.time())


def _stopping() -> McpError:
    return Overloaded("The gateway is stopping")


def _is_refusal(error: McpError) -> bool:
    """Whether a call was not sent, by a limit of ours."""
    return isinstance(error, Overloaded) or (isinstance(error, BackendUnavailable) and error.is_refusal)
