"""The lanes of callers whose own tokens go to backends: one for each, as long as it is of use and there is room.

What always holds:

1. Nothing that was fetched with a caller's token answers for another. Sessions, snapshots, change streams, sessions for calls,
   breakers and catalogs are kept by who the caller is and by what its token says, but for what differs between two tokens
   that entitle to the same (:data:`OF_ONE_TOKEN`). Such a token takes the place of the one before it, unless that one lasts longer
   and is as good, and sessions go on.
2. A token goes to a backend only if the config says so, and from a gateway that authenticates only if the token was issued
   for that backend (``Auth.audiences``).
3. When the token expires, when its backend is taken away or wants no tokens any more, or when nobody has used the lane for
   some time, its sessions end.
4. There are at most ``Pace.lanes``, and at most ``Pace.lanes_of_one`` of one caller who comes with tokens that entitle to
   different things. The one not used for longest makes room, unless it carries calls or is followed.
5. In logs a lane is a number, counted from the process's start: it tells callers apart, and of whom it is nothing.
"""

import asyncio
import hashlib
import itertools
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.catalog.catalog import Catalog
from switchyard_sidecar.catalog.pins import Comparison
from switchyard_sidecar.config.apply import Applied, AppliedBackend
from switchyard_sidecar.config.model import AuthType
from switchyard_sidecar.gateway.backends import Backends, RunningBackend, Shares, Tasks
from switchyard_sidecar.gateway.lane import NO_TOKEN, TOKEN_EXPIRED, Lane
from switchyard_sidecar.protocol.errors import CallerOverloaded, Overloaded
from switchyard_sidecar.upstream.forwarded import ForwardedToken
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.session import BackendSession

OF_ONE_TOKEN: Final = frozenset({"auth_time", "exp", "iat", "jti", "nbf"})
"""Claims that tell of the token alone, and of nothing that it entitles to (RFC 7519, section 4.1; RFC 9068, section 2.2)."""


class Say(Protocol):
    """Who tells people what a new catalog shows."""

    def __call__(self, before: Catalog, after: Catalog, lane: int | None = None) -> None:
        """Say what is new since the catalog before. ``lane``: the number of the lane whose catalog it is; ``None``: callers share it."""


@dataclass(slots=True, eq=False)
class _Kept:
    """One caller's lane, and what is its own in it."""

    caller: Caller
    """As it was last seen."""
    token: ForwardedToken
    own: Backends
    lane: Lane
    timer: asyncio.TimerHandle | None = None
    """When it is looked at next; see :meth:`Lanes._look_after`."""

    def gains_by(self, caller: Caller) -> bool:
        """Whether another token of its caller's is better: callers may use several at a time, and not all last as long."""
        lasts = caller.expires_at >= self.caller.expires_at or caller.voucher != self.caller.voucher
        return lasts or any(running.session.is_denied for running in self.own.running.values())


class Lanes:
    """The lanes that differ from ``shared``. ``on_catalog``: see :class:`Lane`."""

    def __init__(
        self,
        tasks: Tasks,
        http: HttpPool,
        pace: Pace,
        shares: Shares,
        shared: Lane,
        on_catalog: Callable[[Lane], None],
        say: Say,
    ) -> None:
        self._tasks = tasks
        self._http = http
        self._pace = pace
        self._shared = shared
        self._on_catalog = on_catalog
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._config = shared.config
        self._forwarding: Mapping[str, AppliedBackend] = {}
        self._shares = shares
        self._common: Mapping[str, RunningBackend] = {}
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def sessions(self) -> Mapping[str, list[BackendSession]]:
        """By backend that gets its callers' tokens: the sessions with it, whosever they are."""
        own = [kept.own.running for kept in self._kept.values()]
        return {name: [running[name].session for running in own if name in running] for name in self._forwarding}

    @property
    def pins(self) -> Mapping[str, list[Comparison]]:
        """By backend that gets its callers' tokens: what each caller's list of it is beside the pins."""
        made = [kept.lane.made.pins for kept in self._kept.values()]
        return {name: [pins[name] for pins in made if name in pins] for name in self._forwarding}

    def of(self, caller: Caller) -> Lane | None:
        """The caller's own lane; ``None`` when no backend is to get its token.

        Raises:
            Overloaded: there are as many as there may be, of all callers or of this one, and all in use.
        """
        if not self._forwarding or caller.token is None or not (backends := self._meant_for(caller)):
            return None
        key = _identity(caller)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = self._opened(caller, caller.token, backends)
            self._look_after(key, kept)
        elif kept.caller.token != caller.token and kept.gains_by(caller):
            self._renew(kept, caller, caller.token, backends)
            self._look_after(key, kept)
        self._kept.move_to_end(key)
        kept.lane.used_at = self._loop.time()
        return kept.lane

    def apply(self, applied: Applied, common: Mapping[str, RunningBackend]) -> None:
        """Take over a config. ``common``: the running backends that all callers share."""
        lets_in_others = applied.config.authentication != self._config.authentication
        self._config = applied.config
        self._common = common
        self._forwarding = {name: backend for name, backend in applied.backends.items() if is_forwarding(backend)}
        for key, kept in list(self._kept.items()):
            self._run(kept, self._meant_for(kept.caller))
            if (lets_in_others or not kept.own.running) and not kept.lane.in_use:
                self._end(key)

    def changed(self) -> None:
        """Something has changed in a backend that all share."""
        for kept in self._kept.values():
            kept.lane.changed()

    def forget(self, principal: str) -> None:
        """End the sessions for calls that belong to one ended session of a client."""
        for kept in self._kept.values():
            kept.own.forget(principal)

    def forget_all(self) -> None:
        """Keep none any more, whatever they are used for: what runs for them is ended by its owner."""
        for kept in self._kept.values():
            _cancel(kept.timer)
        self._kept.clear()

    def _meant_for(self, caller: Caller) -> Mapping[str, AppliedBackend]:
        """The backends that are to get this caller's token, as things are now."""
        if caller.expires_at <= time.time():
            return {}
        if self._config.authentication is None:
            return self._forwarding
        return {
            name: backend
            for name, backend in self._forwarding.items()
            if not caller.audiences.isdisjoint(backend.config.auth.audiences)
        }

    def _opened(self, caller: Caller, text: str, backends: Mapping[str, AppliedBackend]) -> _Kept:
        self._make_room(caller.principal)
        number = next(self._numbers)
        say = partial(self._say, lane=number)
        lane = Lane(self._config, self._on_catalog, say, previous=self._shared.catalog)
        token = ForwardedToken(text)
        own = Backends(self._tasks, self._http, self._pace, self._shares, lane.changed, token, number)
        kept = _Kept(caller, token, own, lane)
        self._run(kept, backends)
        return kept

    def _renew(self, kept: _Kept, caller: Caller, text: str, backends: Mapping[str, AppliedBackend]) -> None:
        kept.caller = caller
        kept.token.replace(text)
        for running in kept.own.running.values():
            running.session.presents_another_token()
        if not kept.own.running:  # the one before had expired
            self._run(kept, backends)

    def _run(self, kept: _Kept, backends: Mapping[str, AppliedBackend]) -> None:
        """Have just these of the caller's own backends running."""
        kept.own.apply(backends)
        lacking = TOKEN_EXPIRED if kept.caller.expires_at <= time.time() else NO_TOKEN
        kept.lane.configure(self._config, {**self._common, **kept.own.running}, lacking)

    def _look_after(self, key: bytes, kept: _Kept) -> None:
        """End what is over, and look again when the next thing may be."""
        _cancel(kept.timer)
        lane, idle_s = kept.lane, self._pace.lane_idle_s
        if not lane.in_use and (idle_s := lane.used_at + idle_s - self._loop.time()) <= 0:
            self._end(key)
            return
        valid_s = kept.caller.expires_at - time.time()
        if valid_s > 0:
            idle_s = min(idle_s, valid_s)
        elif kept.own.running:
            self._run(kept, {})
        kept.timer = self._loop.call_later(idle_s, self._look_after, key, kept)

    def _make_room(self, principal: str) -> None:
        own = [key for key, kept in self._kept.items() if kept.caller.principal == principal]
        if len(own) >= self._pace.lanes_of_one:
            self._end_unused(own, CallerOverloaded("Too many different tokens of one caller in use"))
        if len(self._kept) >= self._pace.lanes:
            self._end_unused(self._kept, Overloaded("Too many callers at once"))

    def _end_unused(self, keys: Iterable[bytes], otherwise: Overloaded) -> None:
        """End the first of these that is not in use."""
        unused = next((key for key in keys if not self._kept[key].lane.in_use), None)
        if unused is None:
            raise otherwise
        self._end(unused)

    def _end(self, key: bytes) -> None:
        kept = self._kept.pop(key)
        _cancel(kept.timer)
        self._run(kept, {})  # so that whoever still holds the lane finds nothing of its caller's own in it
        kept.lane.let_go(self._shared.catalog)


def is_forwarding(backend: AppliedBackend) -> bool:
    """Whether a backend gets its callers' own tokens."""
    return backend.config.auth.type is AuthType.FORWARD and backend.config.unresolved is None


def _identity(caller: Caller) -> bytes:
    """What two callers have in common exactly if one may see what was fetched with the other's token."""
    lasting = {name: value for name, value in caller.claims.items() if name not in OF_ONE_TOKEN}
    entitled = (caller.principal, sorted(caller.audiences), lasting)
    text = json.dumps(entitled, sort_keys=True)  # which writes all that a token may hold
    return hashlib.sha256(text.encode()).digest()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
