"""A lane: what a caller, or all callers whom the backends cannot tell apart, get to see and to call.

What always holds:

1. The catalog is a pure function of config and snapshots. It is made anew, whole, when one of them changed, and is swapped in
   one step; whoever follows it (``on_catalog``) is told after the swap. Where that is much work it is done in a thread, one
   catalog at a time, and the one before is served no more but to callers of its tools; and not to them either where it is by
   the rules, and for the callers, of a config before.
2. A request never changes what another request sees, except by making it fresher.
3. A lane that nobody follows makes its catalog when somebody looks, and not before; only the lane that callers share is
   always ready.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from switchyard_sidecar.catalog import catalog as catalogs
from switchyard_sidecar.catalog import freshness
from switchyard_sidecar.catalog.catalog import BackendView, Catalog
from switchyard_sidecar.catalog.part import Route
from switchyard_sidecar.catalog.view import View
from switchyard_sidecar.config.model import GatewayConfig
from switchyard_sidecar.gateway.backends import RunningBackend
from switchyard_sidecar.gateway.outlooks import Outlooks
from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.calls import CallResult, CallSink, ToolCall

REST_RATIO: Final = 3
"""After a rebuild, changes wait this many times as long as it took."""
MUCH: Final = 1_000
"""Tools to be named and rendered for a catalog, or twenty times as many to be merged: more holds up the loop too long."""
LONGEST_TTL_MS: Final = 24 * 3600 * 1000
"""No list is to be believed longer than this, whatever the config allows."""
NO_TOKEN: Final = "needs a token of the caller, issued for this backend"  # noqa: S105 - a reason
"""Why a backend that gets its callers' own tokens is missing from a lane."""
TOKEN_EXPIRED: Final = "the caller's token has expired"  # noqa: S105 - a reason
"""Why it is missing by now."""


class Lane:
    """One catalog and the running backends that it is made from.

    ``on_catalog`` is called with the lane whenever what is seen of a new catalog can be read; ``say`` before, with the old one and
    the new one. ``ready``: see rule 3.
    ``previous`` is a catalog that has parts in common with this lane's, and saves work.
    """

    def __init__(
        self,
        config: GatewayConfig,
        on_catalog: Callable[["Lane"], None],
        say: Callable[[Catalog, Catalog], None],
        *,
        previous: Catalog | None = None,
        ready: bool = False,
    ) -> None:
        self._config = config
        self._say = say
        self._ready = ready
        self._loop = asyncio.get_running_loop()
        self._running: Mapping[str, RunningBackend] = {}
        self._lacking = NO_TOKEN
        self._catalog = previous or catalogs.build(config, {})
        self._followers = 0
        self._users = 0  # lists that are waited for, and calls under way
        self._due = False
        self._making: asyncio.Future[Catalog] | None = None
        """The catalog that is being made in a thread. A change meanwhile makes another one due."""
        self._rest_until = 0.0
        self._fresh_until = 0.0
        self._ttl_until = 0.0
        self._ttl_cap_ms = 0
        self.used_at = self._loop.time()
        """When it was last of use to anybody, in monotonic seconds; see :attr:`in_use`."""
        self.outlooks = Outlooks(self, partial(on_catalog, self))
        """What callers get to see of it."""

    @property
    def config(self) -> GatewayConfig:
        """The config that is in force."""
        return self._config

    @property
    def catalog(self) -> Catalog:
        """What is served now."""
        if self._due and (self._loop.time() >= self._rest_until or self._catalog.config is not self._config):
            self.rebuild()
        return self._catalog

    @property
    def made(self) -> Catalog:
        """The catalog that was made last, whether or not another is due: for those who only watch."""
        return self._catalog

    @property
    def in_use(self) -> bool:
        """Whether it carries a call, is waited for, or is followed."""
        return bool(self._users or self._followers)

    def warm(self) -> Catalog | None:
        """The catalog, if it is fresh: what a list is answered with at no cost."""
        outdated = self._due or self._making is not None
        return self._catalog if self._loop.time() < self._fresh_until and not outdated else None

    async def fresh(self) -> Catalog:
        """The catalog, as fresh as its backends' budgets allow. Whether there is a list is for :meth:`check_policy` to say."""
        self._users += 1
        try:
            now = self._loop.time()
            waits = [wait for running in self._running.values() if (wait := running.fetch(now)) is not None]
            if waits:
                await asyncio.gather(*waits)
            await self._made()  # which may have begun before what is known now
            if self._due:
                self.rebuild()
                await self._made()
        finally:
            self._users -= 1
            self.used_at = self._loop.time()
        return self._catalog

    async def guarded(self) -> Catalog:
        """What is served now; but where another config lets in others, or has other rules, its catalog is waited for.

        Raises:
            McpError: -32603 when that could not be made.
        """
        while not _guards_alike((catalog := self.catalog).config, self._config):
            if self._making is None:
                raise McpError(errors.INTERNAL_ERROR, "Internal error: the gateway failed on its list")
            await self._made()
        return catalog

    def check_policy(self, view: View) -> None:
        """See whether there is a list to be served; ``view``: what the caller sees of the catalog.

        Raises:
            McpError: -32603 where nothing at all is known, or where the failure policy is Strict and a backend has never
                answered. Its data names none that is not of the view.
        """
        if awaited := self._awaited():
            reasons = {each.backend: each.reason for each in view.degraded if each.backend in awaited}
            raise McpError(errors.INTERNAL_ERROR, "No list yet: backends have not answered", {"backends": reasons})

    def ttl_ms(self) -> int:
        """How long a client may believe the list that is served now."""
        return max(0, min(self._ttl_cap_ms, int((self._ttl_until - self._loop.time()) * 1000)))

    async def call(self, route: Route, call: ToolCall, sink: CallSink) -> CallResult:
        """Relay a call to the backend its route names.

        Raises:
            McpError: the backend's own error, or -32603 when it cannot be reached.
        """
        if (running := self._running.get(route.backend)) is None:
            reason = self._missing().get(route.backend, "Removed")
            raise McpError(errors.INTERNAL_ERROR, f"The tool's backend is not available: {reason}")
        self._users += 1
        try:
            return await running.call(call, sink)
        finally:
            self._users -= 1
            self.used_at = self._loop.time()

    def follow(self) -> None:
        """Have the catalog made anew, and ``on_catalog`` called, whenever something changes, until :meth:`unfollow`.

        Each of those who follow calls this once. Backends are then looked at by themselves, not only when a list is asked for.
        """
        self._followers += 1
        if self._followers == 1:
            for running in self._running.values():
                running.follow()
            if self._due:
                self._rebuild_soon()

    def unfollow(self) -> None:
        """See :meth:`follow`."""
        self._followers -= 1
        self.used_at = self._loop.time()
        if not self._followers:
            for running in self._running.values():
                running.unfollow()

    def configure(self, config: GatewayConfig, running: Mapping[str, RunningBackend], lacking: str = NO_TOKEN) -> None:
        """Take over a config and what runs of its backends; of those that could be asked and do not run, why not."""
        if self._followers:
            for each in running.values():
                each.follow()
            for each in self._running.values():
                each.unfollow()
        self._config, self._running, self._lacking = config, running, lacking
        if self._ready or self._followers:
            self.rebuild()
        else:
            self._due = True

    def let_go(self, catalog: Catalog) -> None:
        """Keep nothing of its own: it is over. Whoever still holds it begins anew, with ``catalog``."""
        self._catalog = catalog
        self.outlooks.let_go()

    def changed(self) -> None:
        """Something has changed that the catalog is made from.

        Many backends that answer one after another must not cost a rebuild each: after one, the loop has its turn for
        some times as long. Whoever asks for the list meanwhile gets the new one (:meth:`fresh`).
        """
        if not self._due:
            self._due = True
            if self._ready or self._followers:
                self._rebuild_soon()

    def rebuild(self) -> None:
        """Make the catalog anew from what is known now."""
        self._due = True
        if self._making is not None:
            return  # the next one is made when that one is done
        self._due = False
        now = self._loop.time()
        views = {name: running.session.view(now) for name, running in self._running.items()}
        views |= {name: BackendView(settled=True, failing=True, error=why) for name, why in self._missing().items()}
        make = partial(catalogs.build, self._config, views, self._catalog)
        to_make, to_merge = catalogs.effort(self._config, views, self._catalog)
        if to_make + to_merge // 20 <= MUCH:
            self._publish(make(), views, now)
        else:
            self._making = self._loop.run_in_executor(None, make)
            self._making.add_done_callback(partial(self._made_aside, views, now))

    def _rebuild_soon(self) -> None:
        self._loop.call_at(self._rest_until, self._rebuild_if_due)

    def _rebuild_if_due(self) -> None:
        if self._due:
            self.rebuild()

    def _made_aside(self, views: Mapping[str, BackendView], began: float, made: "asyncio.Future[Catalog]") -> None:
        self._making = None
        try:
            if made.result().config is self._config:
                self._publish(made.result(), views, began)
        finally:
            if self._due:
                self._rebuild_soon()

    async def _made(self) -> None:
        """Wait for the catalog that is being made, if one is."""
        if self._making is not None:
            await asyncio.wait((self._making,))

    def _publish(self, catalog: Catalog, views: Mapping[str, BackendView], began: float) -> None:
        before, self._catalog = self._catalog, catalog
        self._say(before, catalog)
        self._judge(views, began)
        self.outlooks.renew(before, catalog)
        done = self._loop.time()
        self._rest_until = done + REST_RATIO * (done - began)

    def _judge(self, views: Mapping[str, BackendView], now: float) -> None:
        """Work out until when the catalog is fresh, and how its time to live runs down.

        A backend in back-off leaves the catalog as fresh as it can be until its next attempt. One that is missing for want of
        a token counts for nothing: with another token, its caller has another list.
        """
        unresolved = any(backend.unresolved is not None for backend in self._config.backends)
        self._fresh_until, self._ttl_until = math.inf, now + LONGEST_TTL_MS / 1000
        self._ttl_cap_ms = freshness.UNREACHABLE_MS if unresolved else LONGEST_TTL_MS if views else 0
        for name, running in self._running.items():
            session, view = running.session, views[name]
            contribution = freshness.contribution_ms(
                answered=view.snapshot is not None,
                failing=view.failing,
                remaining_ms=session.remaining_ttl_ms(now),
                next_attempt_ms=view.next_attempt_ms,
            )
            if view.failing:
                self._ttl_cap_ms = min(self._ttl_cap_ms, contribution)
                self._fresh_until = min(self._fresh_until, now + (view.next_attempt_ms or 0) / 1000)
            else:
                self._ttl_until = min(self._ttl_until, now + contribution / 1000)
                self._fresh_until = min(self._fresh_until, session.fresh_until)
        if self._awaited():  # not a list to be served, however fresh: it is for check_policy() to say why
            self._fresh_until = 0.0

    def _missing(self) -> dict[str, str]:
        """Backends that cannot be asked in this lane, and why."""
        absent = (each for each in self._config.backends if each.id not in self._running)
        return {each.id: each.unresolved or self._lacking for each in absent}

    def _awaited(self) -> tuple[str, ...]:
        """Backends without whose first answer there is no list: any under Strict, under Partial all or none."""
        silent = self._catalog.unanswered
        strict = self._config.failure_policy == "Strict"
        return silent if strict or len(silent) == len(self._config.backends) else ()


def _guards_alike(one: GatewayConfig, other: GatewayConfig) -> bool:
    """Whether both let in the same callers, and have the same rules for what they see."""
    return one is other or (one.authentication, one.visibility) == (other.authentication, other.visibility)
