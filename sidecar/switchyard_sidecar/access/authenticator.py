"""Who is asking: from a request's headers to a :class:`~switchyard_sidecar.access.caller.Caller`, or a refusal.

A gateway without ``authentication`` asks nobody. One with it lets nobody in but by a token that something in the present config
vouches for; what is missing, unreadable or on its way vouches for nobody.

Tokens are looked up by digests under a random key of this process: how long that takes tells nothing of them. A signature is
checked once: while the token lasts, and what vouched for its caller still does, another look would find the same.
"""

import asyncio
import hmac
import importlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from multidict import MultiMapping

from switchyard_sidecar.access.bearer import bearer_token
from switchyard_sidecar.access.caller import ANONYMOUS, Caller, digest_of
from switchyard_sidecar.access.key_source import FollowedKeys, GivenKeys, Health, KeySource
from switchyard_sidecar.access.pace import Pace
from switchyard_sidecar.access.refusals import Denied, KeySetError, invalid_token, nothing_presented
from switchyard_sidecar.access.terms import Terms
from switchyard_sidecar.config.apply import AppliedAuthentication, AppliedIssuer, AppliedToken

Fetch = Callable[[AppliedIssuer], Awaitable[bytes]]
"""Brings an issuer's key set from its ``jwks_url``. Raises :class:`~switchyard_sidecar.access.refusals.KeySetError`."""


@dataclass(frozen=True, slots=True)
class _Trusted:
    """One issuer, and the task that runs its source of keys."""

    applied: AppliedIssuer
    terms: Terms
    source: KeySource
    task: "asyncio.Task[None]"


class Authenticator:
    """Tells who callers are. Sources of keys run in ``tasks``, whose owner outlives this object.

    ``on_change`` is called when a key came or went: what was found out about tokens before may not hold any more.
    """

    def __init__(self, tasks: asyncio.TaskGroup, fetch: Fetch, pace: Pace, on_change: Callable[[], None]) -> None:
        self._tasks = tasks
        self._fetch = fetch
        self._pace = pace
        self._on_change = on_change
        self._key: Final = secrets.token_bytes(32)
        self._asks = False
        self._forwards = False
        self._static: Mapping[bytes, Caller] = {}
        self._verified: OrderedDict[bytes, Caller] = OrderedDict()
        """By signed tokens; the one that was not asked for the longest comes first."""
        self._trusted: dict[str, _Trusted] = {}
        self._vouchers: frozenset[str] = frozenset({ANONYMOUS.voucher})
        self._can_read = asyncio.Event()
        """Whether what reads tokens has been imported, which takes some 50 ms and is done off the loop."""
        self._learning: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody is asked for anything: every caller is :data:`ANONYMOUS`."""
        return not self._asks and not self._forwards

    @property
    def forwards(self) -> bool:
        """Whether callers keep the tokens that they presented, for backends that are to get them."""
        return self._forwards

    @property
    def vouchers(self) -> Collection[str]:
        """What callers are let in by, as things are now. Whoever was let in by something else is to go."""
        return self._vouchers

    @property
    def health(self) -> list[Health]:
        """Of the keys of each issuer."""
        return [each.source.health for each in self._trusted.values()]

    def configure(self, applied: AppliedAuthentication | None, *, forwards: bool) -> None:
        """Take over a config. ``forwards``: some backend is to get its callers' own tokens."""
        self._asks, self._forwards = applied is not None, forwards
        self._static = {}
        for token in reversed(applied.tokens if applied else ()):  # of two that are equal, the first counts
            if token.secret:
                self._static[self._digest(token.secret)] = _static_caller(token)
        former, self._trusted = self._trusted, {}
        for issuer in applied.issuers if applied else ():
            name = issuer.config.issuer
            old = former.get(name)
            if old is not None and _same_keys(old.applied, issuer):
                self._trusted[name] = replace(former.pop(name), applied=issuer, terms=Terms.of(issuer.config))
            else:
                self._trusted[name] = self._begin(issuer)
        for old in former.values():
            old.task.cancel()
        self._vouch()
        if self._trusted and self._learning is None:
            self._learning = self._tasks.create_task(self._learn_to_read(), name="import of cryptography")

    def retire(self) -> list["asyncio.Task[None]"]:
        """Ask no issuer any more; give the tasks to wait for."""
        tasks = [each.task for each in self._trusted.values()]
        for task in tasks:
            task.cancel()
        return tasks

    async def caller(self, headers: MultiMapping[str], query: str) -> Caller:
        """Who sent a request with these headers, and this query in its target.

        Raises:
            Denied: it is not let in.
            KeysUnavailable: nobody can tell.
        """
        text = bearer_token(headers, query)
        if text is None:
            if self._asks:
                raise nothing_presented()
            return ANONYMOUS
        digest = self._digest(text)
        if not self._asks:
            return Caller("token " + digest.hex(), token=text)
        caller = self._static.get(digest) or self._known(digest)
        if caller is None:
            caller = await self._by_issuer(text)
            self._remember(digest, caller)
        return replace(caller, token=text) if self._forwards else caller

    def check(self, caller: Caller) -> None:
        """Look again at a caller who was let in a while ago.

        Raises:
            Denied: it would not be let in any more.
        """
        if caller.expires_at <= time.time():
            raise invalid_token("The token has expired")
        if caller.voucher not in self._vouchers:
            raise invalid_token("The token is not accepted here any more") if caller.voucher else nothing_presented()

    async def _by_issuer(self, text: str) -> Caller:
        if not self._trusted:
            raise invalid_token("The token is not one that is accepted here")
        await self._can_read.wait()
        from switchyard_sidecar.access import tokens  # noqa: PLC0415 - see keys.py

        presented = tokens.read(text)
        trusted = self._trusted.get(presented.issuer)
        if trusted is None:
            raise invalid_token("The token is of an issuer that is not accepted here")
        if presented.algorithm not in trusted.applied.config.algorithms:
            raise invalid_token("The token is signed with an algorithm that is not accepted here")
        keys = await trusted.source.find(presented.key_id, presented.algorithm)
        return tokens.verified(presented, keys, trusted.terms)

    def _known(self, digest: bytes) -> Caller | None:
        caller = self._verified.get(digest)
        if caller is None:
            return None
        try:
            self.check(caller)
        except Denied:
            del self._verified[digest]  # the full way says why
            return None
        self._verified.move_to_end(digest)
        return caller

    def _remember(self, digest: bytes, caller: Caller) -> None:
        self._verified[digest] = caller
        if len(self._verified) > self._pace.remembered:
            self._verified.popitem(last=False)

    def _vouch(self) -> None:
        """Find out what vouches for callers now."""
        signed = [each.terms.voucher(mark) for each in self._trusted.values() for mark in each.source.marks]
        static = [caller.voucher for caller in self._static.values()]
        self._vouchers = frozenset([*static, *signed] if self._asks else [ANONYMOUS.voucher])

    def _keys_changed(self) -> None:
        self._vouch()
        self._on_change()

    async def _learn_to_read(self) -> None:
        await asyncio.to_thread(importlib.import_module, "switchyard_sidecar.access.tokens")
        self._can_read.set()

    def _begin(self, issuer: AppliedIssuer) -> _Trusted:
        name, algorithms = issuer.config.issuer, issuer.config.algorithms
        source: KeySource
        if issuer.config.jwks is not None:
            source = GivenKeys(name, issuer.config.jwks, algorithms, self._keys_changed)
        else:
            source = FollowedKeys(name, partial(self._fetched, issuer), algorithms, self._pace, self._keys_changed)
        task = self._tasks.create_task(source.run(), name=f"keys of {name}")
        return _Trusted(issuer, Terms.of(issuer.config), source, task)

    async def _fetched(self, issuer: AppliedIssuer) -> bytes:
        if issuer.waiting:
            raise KeySetError("its CA has not arrived")
        return await self._fetch(issuer)

    def _digest(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode(), "sha256")


def _static_caller(token: AppliedToken) -> Caller:
    claims = {**token.config.claims, "sub": token.config.name}
    mark = digest_of(token.config.model_dump_json())  # the credential's revision changes with the secret
    return Caller(digest_of("token", token.config.name), claims, voucher=mark)


def _same_keys(old: AppliedIssuer, new: AppliedIssuer) -> bool:
    """Whether both have their keys from the same place, and as many of them."""

    def place(issuer: AppliedIssuer) -> tuple[object, ...]:
        section = issuer.config
        return section.jwks, section.jwks_url, issuer.ca, issuer.waiting, section.algorithms

    return place(old) == place(new)
