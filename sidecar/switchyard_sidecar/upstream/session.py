"""The long life of one backend: find its era, read its list, follow its changes, read again when due, wait when it fails.

Theory of operation:

1. One task does all reading, so reads happen one at a time and a newer list is never overwritten by an older one. Whoever
   wants a fresh list joins the read under way, or causes one; leaving early takes nothing from the others.
2. A *connection* begins with finding the era and lasts until a read fails. Then everything is found out anew: after a
   back-off; or at once, if the backend answered like another than it was (its session is gone, it speaks this era no
   more). That is how a restart as something else is noticed.
3. The change stream is opened beside the first read, not before it: a list costs no round trip more than it must. Changes
   between that read and the opening would go unseen, so the list is read again once the stream is open. The same goes for
   every stream that is opened after one was lost, and for every attempt at it that fails.
4. The last good snapshot is kept, whatever happens. Whoever owns the session is told of each change to what it shows.
5. A session that presents its caller's own token belongs to that caller: what it had read goes when the backend will have the
   token no more, and another token is tried at once.
6. Calls wait for none of this: they use what was last known of the backend, even while its list cannot be read; only if
   they fail as well are they held back (:mod:`admission`), and a list that is read lets them go on.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from switchyard_sidecar.catalog import freshness, pins
from switchyard_sidecar.catalog.catalog import BackendView
from switchyard_sidecar.catalog.definition import ToolDefinition
from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.config.model import Backend, Transport
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream import aside, faults
from switchyard_sidecar.upstream.admission import Admission, Share
from switchyard_sidecar.upstream.advice import advice, status_of
from switchyard_sidecar.upstream.call_sessions import CallSessions
from switchyard_sidecar.upstream.calls import CallResult, CallSink, ToolCall, call_legacy, call_modern, told
from switchyard_sidecar.upstream.connect import connect, unopened_session
from switchyard_sidecar.upstream.deadline import within
from switchyard_sidecar.upstream.discretion import DiscreetSink, Discretion
from switchyard_sidecar.upstream.errands import Errands
from switchyard_sidecar.upstream.faults import BackendUnavailable, Fault, reason_of
from switchyard_sidecar.upstream.fetch import read_list
from switchyard_sidecar.upstream.forwarded import ForwardedToken
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.legacy import LegacySession
from switchyard_sidecar.upstream.modern import ModernPeer
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.peer import NO_INFO
from switchyard_sidecar.upstream.refresh import Refresh
from switchyard_sidecar.upstream.status import BackendStatus, Counters
from switchyard_sidecar.upstream.stream import ChangeStream
from switchyard_sidecar.upstream.vigil import Vigil
from switchyard_sidecar.upstream.wire import About, Wire, about

log = structlog.get_logger(__name__)

PACE: Final = Pace()
MAX_LOGGED: Final = 20
"""Rejected tools that one read logs by name."""


class BackendSession:
    """One backend with one credential. Made and used in one event loop; lives while :meth:`run` does.

    ``credentials`` are the contents of the files that ``config`` names; ``token`` is the one of the only caller, if that is
    what the backend gets, and ``lane`` that caller's number, for logs. ``seed`` is what is shown until the first answer. ``share`` is common to all sessions with the backend.
    ``on_change`` is called, and must not block, when what the session shows has changed or a read has ended.
    """

    def __init__(
        self,
        config: Backend,
        credentials: Mapping[str, bytes],
        *,
        http: HttpPool,
        on_change: Callable[["BackendSession"], None],
        seed: Snapshot | None = None,
        pace: Pace = PACE,
        jitter: Callable[[], float] = random.random,
        token: ForwardedToken | None = None,
        share: Share | None = None,
        lane: int | None = None,
    ) -> None:
        self.config: Final = config
        self.about: Final[About] = about(config.id, lane)
        """For log lines."""
        self._credentials = credentials
        self._token = token
        self._discretion = Discretion(config, credentials, token)
        self._http = http
        self._on_change = on_change
        self._pace = pace
        self._jitter = jitter
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self._snapshot = seed
        self._answered = False
        self._error: str | None = None
        self._is_denied = False  # and that because of what is presented
        self._retried = asyncio.Event()  # set when a failing backend is not to be waited for any longer
        self._losses = 0  # connections in a row that did not last
        self._last_success_at: float | None = None
        self._next_attempt: float | None = None
        self._refresh = Refresh(pace, jitter)
        self._wake = asyncio.Event()
        self._round = asyncio.Event()  # set, and replaced, when a read ends either way
        self._closed = False
        self._stream = ChangeStream(
            self.about, pace, jitter, changed=self._notified, doubted=self._doubted, moved=self._tell
        )
        self._begun = asyncio.Event()  # set when there is a wire, or a failure to make one
        self._ids = itertools.count(1)
        self._wire: Wire | None = None
        self._peer: ModernPeer | LegacySession | None = None
        """What was last known of the backend; calls use it."""
        self._sessions: CallSessions | None = None
        self._admission = Admission(
            self.about,
            pace,
            jitter,
            share or Share(pace.calls),
            now=self._loop.time,
            failing=lambda: self._error is not None,
        )
        self._counters = Counters()
        self._vigil = Vigil()

    # What the session shows.

    @property
    def snapshot(self) -> Snapshot | None:
        """The last good list."""
        return self._snapshot

    @property
    def fresh_until(self) -> float:
        """Monotonic seconds until which the snapshot need not be read again before it is served; 0 when it is stale."""
        if self._snapshot is None or self._refresh.stale or self._error is not None:
            return 0.0
        watched = self._stream.state == "open"
        return freshness.fresh_until(self._snapshot.ttl_ms, self._snapshot.fetched_at, watched=watched)

    def remaining_ttl_ms(self, now: float) -> int:
        """What is left of the snapshot's time to live; 0 when there is none, or it is known to be out of date."""
        if self._snapshot is None or self._refresh.stale:
            return 0
        return freshness.remaining_ttl_ms(self._snapshot.ttl_ms, self._snapshot.fetched_at, now)

    def view(self, now: float) -> BackendView:
        """What the catalog is made from."""
        next_attempt = self._next_attempt
        return BackendView(
            snapshot=self._snapshot,
            settled=self._answered or now >= self._started_at + self.config.timeouts.list_ms / 1000,
            failing=self._error is not None,
            error=self._error,
            next_attempt_ms=None if next_attempt is None else max(0, int((next_attempt - now) * 1000)),
        )

    @property
    def is_denied(self) -> bool:
        """Whether the backend will not have the token that is presented, its caller's own."""
        return self._is_denied

    @property
    def status(self) -> BackendStatus:
        """What people are shown."""
        peer, snapshot = self._peer, self._snapshot
        until_next_s = None if self._next_attempt is None else self._next_attempt - self._loop.time()
        return BackendStatus(
            state="failing" if self._error is not None else "ready" if self._answered else "connecting",
            era=peer.era if peer is not None else None,
            version=peer.version if peer is not None else None,
            server_info=peer.server if peer is not None else NO_INFO,
            tools=None if snapshot is None else len(snapshot.tools),
            complete=None if snapshot is None else snapshot.complete,
            stream=self._stream.state,
            last_error=self._error,
            last_success_at=self._last_success_at,
            next_attempt_at=None if until_next_s is None else time.time() + until_next_s,
            circuit=self._admission.circuit,
            calls_running=self._admission.running,
            call_sessions=0 if self._sessions is None else len(self._sessions),
            counters=replace(self._counters, streams=self._stream.opened_total, refused=self._admission.refused_total),
        )

    # What is asked of it.

    @property
    def interested(self) -> bool:
        """Whether anyone subscribes: then the list is read again as it ages, asked for or not."""
        return self._refresh.interested

    @interested.setter
    def interested(self, value: bool) -> None:
        self._refresh.interested = value
        self._wake.set()

    async def refreshed(self) -> None:
        """Wait until a read has ended, whether or not it brought anything: the one under way, or one that this causes.

        Returns at once while the backend is failing: it is tried again in its own time.
        """
        if self._closed or self._error is not None:
            return
        self._refresh.asked()
        self._wake.set()
        await self._round.wait()

    def expire_seed(self) -> None:
        """Drop the snapshot that the session was given, unless the backend has answered since."""
        if not self._answered:
            self._snapshot = None

    def let_go(self) -> None:
        """Keep nothing of what was read: its life is over. It is large, and what it is part of is freed late, being a circle."""
        self._snapshot = None

    def presents_another_token(self) -> None:
        """The caller has renewed its token: a backend that would not have the one before is tried again at once."""
        if self._is_denied:
            self._is_denied, self._error, self._next_attempt = False, None, None
            self._retried.set()
            self._tell()

    def forget(self, principal: str) -> None:
        """End the session with a legacy backend that was held for a principal's calls."""
        if self._sessions is not None:
            self._sessions.forget(principal)

    async def call(self, call: ToolCall, sink: CallSink) -> CallResult:
        """Relay one call; cancel this coroutine to cancel it at the backend.

        Raises:
            McpError: the backend's own error, or -32602 for arguments that cannot be sent.
            BackendUnavailable: the call did not get through, or its answer did not get back.
        """
        self._counters.calls += 1
        try:
            with self._admission.admitted(call.principal):
                return await self._relayed(call, sink)
        except (Fault, McpError) as error:
            if faults.casts_doubt(error):
                self._doubted()
            answer = told(error, self.config.id)
            if isinstance(answer, BackendUnavailable):
                self._counters.faults += 1
                if not answer.is_refusal:  # those may be many, and are counted
                    log.info("call_failed", **self.about, reason=answer.reason)
            raise self._discretion.about(answer) from None

    async def _relayed(self, call: ToolCall, sink: CallSink) -> CallResult:
        async with within(self.config.timeouts.connect_ms / 1000):
            await self._begun.wait()
        wire, sessions = self._wire, self._sessions
        if wire is None or sessions is None:
            raise Fault(self._error or faults.CLOSED)
        peer, sink = self._peer or self._remembered(wire), DiscreetSink(sink, self._discretion)
        if isinstance(peer, ModernPeer):
            answer = await call_modern(peer, call, sink, self.config.timeouts, self._redefined)
        else:
            answer = await call_legacy(sessions, peer, call, sink, self.config.timeouts)
        return CallResult(await aside.read(self._discretion.within, answer.result), answer.era)

    def _remembered(self, wire: Wire) -> ModernPeer | LegacySession:
        """How to speak to a backend that has not answered this session yet, by what the seed knows of it."""
        if self._snapshot is not None and self._snapshot.era is Era.MODERN:
            return ModernPeer(wire, self._snapshot.version)
        return unopened_session(self.config, wire, http_sse=self.config.transport is Transport.SSE)

    async def _redefined(self, name: str) -> ToolDefinition | None:
        """A tool's definition in a list that was asked for after now, if it may be called as that."""
        now = self._loop.time()
        for _ in range(2):  # the read under way, if there is one, began before
            if self._snapshot is None or self._snapshot.fetched_at < now:
                await self.refreshed()
        tools = () if self._snapshot is None else self._snapshot.tools
        tool = next((tool for tool in tools if tool.name == name), None)
        return None if tool is None or pins.withholds(self.config.pinning, tool) else tool

    # Its life.

    async def run(self) -> None:
        """Live until cancelled, then end the sessions held with the backend, in bounded time."""
        self._closed = False
        if self._round.is_set():  # it ran before
            self._round = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as tasks:
                errands = Errands(tasks, self._pace.farewell_s)
                self._sessions = CallSessions(self.about, self._pace, self._jitter, errands)
                tasks.create_task(self._sessions.reap(), name=f"call sessions of {self.config.id}")
                while True:
                    await self._live(errands)
        finally:
            self._closed = True
            self._wire = self._sessions = None
            self._begun.set()
            self._end_round()

    async def _live(self, errands: Errands) -> None:
        """Live through one connection, from finding the era to the first failure, and the wait after it."""
        began, reads_before = self._loop.time(), self._counters.reads
        try:
            error = await self._connection(await self._connected(errands), errands)
        except (Fault, McpError) as fault:
            error = fault
        was_well = self._counters.reads > reads_before
        if was_well and self._loop.time() - began >= self._pace.steady_s:
            self._losses = 0
        self._losses += 1
        if self._losses > 1 or not was_well or not faults.is_changed(error):
            await self._rest(self._failed(error))

    async def _rest(self, delay_s: float) -> None:
        self._retried.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await self._retried.wait()

    async def _connection(self, peer: ModernPeer | LegacySession, errands: Errands) -> Fault | McpError:
        """Follow the backend until a read fails; return why."""
        error: Fault | McpError | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                following = None
                if peer.announces:
                    following = tasks.create_task(self._stream.follow(peer), name=f"stream of {self.config.id}")
                error = await self._read_when_due(peer)
                if following is not None:
                    following.cancel()
        finally:
            if error is None:
                await peer.close()
            else:
                errands.send(peer.close(), "end the discovery session")
        return error

    async def _connected(self, errands: Errands) -> ModernPeer | LegacySession:
        if self._wire is None:
            endpoint = await self._http.endpoint(self.config, self._credentials, self._token)
            self._wire = Wire(self.about, self._http, endpoint, self._pace, errands, self._notified, self._ids)
            self._begun.set()
        await self._http.turn_to_begin()
        patience_s = min(self._pace.probe_s * 2 ** min(self._losses, 16), self._pace.probe_max_s)
        peer = await connect(self.config, self._wire, patience_s=patience_s)
        self._peer = peer
        log.info("backend_connected", **self.about, era=peer.era.value, version=peer.version)
        return peer

    async def _read_when_due(self, peer: ModernPeer | LegacySession) -> Fault | McpError:
        """Read now, and then whenever a read is due, until one fails."""
        try:
            while True:
                await self._read(peer)
                while not self._is_due():
                    await self._sleep_until_due()
        except (Fault, McpError) as error:
            return error

    def _is_due(self) -> bool:
        due = self._refresh.due()
        return due is not None and due <= self._loop.time()

    async def _sleep_until_due(self) -> None:
        self._wake.clear()
        due = self._refresh.due()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._wake.wait()

    async def _read(self, peer: ModernPeer | LegacySession) -> None:
        began = self._loop.time()
        self._refresh.began(began)
        watched = self._stream.opened_total if self._stream.state == "open" else None
        self._vigil.began(watched, self._counters.notifications)
        done = False
        try:
            snapshot = await read_list(
                peer, self.config, self._pace, self._http.turns, self._snapshot, began, self.about
            )
            done = True
        finally:
            if not done:
                self._refresh.failed()
        previous, self._snapshot = self._snapshot, snapshot
        changed = previous is None or previous.digest != snapshot.digest
        self._refresh.brought(self._loop.time(), ttl_s=snapshot.ttl_ms / 1000, changed=changed)
        self._answered, self._error, self._next_attempt, self._is_denied = True, None, None, False
        self._last_success_at = time.time()
        self._counters.reads += 1
        self._admission.answered()
        heard = self._counters.notifications
        if self._vigil.brought(heard, changed=changed and snapshot.complete):
            self._loop.call_later(self._pace.grace_s, self._count_silent, heard)  # the word may still be on its way
        if changed:
            log.info("list_read", **self.about, tools=len(snapshot.tools), complete=snapshot.complete)
        if previous is None or previous.rejected != snapshot.rejected:
            for rejection in snapshot.rejected[:MAX_LOGGED]:
                log.warning("tool_rejected", **self.about, tool=rejection.tool, reason=rejection.reason)
        self._tell()
        self._end_round()

    def _count_silent(self, heard: int) -> None:
        if self._counters.notifications == heard:
            self._counters.silent_changes += 1
            log.warning("list_changed_unannounced", **self.about)

    def _failed(self, error: Fault | McpError) -> float:
        """Show a failure; return how long to wait before the next attempt."""
        reason = reason_of(error)
        if reason != self._error:
            hint = advice(status_of(error))
            log.warning("backend_failing", **self.about, reason=reason, **({"advice": hint} if hint else {}))
        self._error = reason
        self._is_denied = self._token is not None and faults.is_denial(error)
        if self._is_denied:
            self._snapshot = None
        self._begun.set()
        self._counters.failures += 1
        delay_s = self._pace.backoff.delay_s(self._losses, self._jitter)
        self._next_attempt = self._loop.time() + delay_s
        self._tell()
        self._end_round()
        return delay_s

    def _notified(self) -> None:
        self._counters.notifications += 1
        self._refresh.notified()
        self._wake.set()
        self._tell()  # fresh no more

    def _doubted(self) -> None:
        self._refresh.doubted()
        self._wake.set()

    def _tell(self) -> None:
        if not self._closed:
            self._on_change(self)

    def _end_round(self) -> None:
        self._round.set()
        if not self._closed:
            self._round = asyncio.Event()
