"""What callers see of a lane, by the rules of the gateway (:mod:`switchyard_sidecar.access.rules`).

What always holds:

1. Callers for whom the same rule decides share an outlook, and what they see is made once for each catalog: when somebody looks, or
   at once where somebody is to be told of changes.
2. **Rules, callers and catalog change together.** A catalog is seen by the rules of the config that it was made of, never by those
   before or after, which were written for other names; and by nobody whom only the next config lets in. With another config every
   outlook is retired: who held one is shown another.
3. Where it is much work to make a view, it is done in a thread, one view at a time. Meanwhile whoever asks for a list or a tool
   waits, and nobody is told of anything.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from pydantic import JsonValue

from switchyard_sidecar.access.rules import Rules
from switchyard_sidecar.catalog import view as views
from switchyard_sidecar.catalog.catalog import Catalog
from switchyard_sidecar.catalog.view import View
from switchyard_sidecar.config.model import GatewayConfig, ToolFilter
from switchyard_sidecar.protocol.versions import Era

MUCH: Final = 1_000
"""Tools to be tried for a view, or twenty times as many to be looked at: more holds up the loop too long."""


class Catalogs(Protocol):
    """Where catalogs come from: what outlooks need of a :class:`~switchyard_sidecar.gateway.lane.Lane`."""

    @property
    def catalog(self) -> Catalog:
        """What is served now."""

    def warm(self) -> Catalog | None:
        """The catalog, if it is fresh."""

    async def fresh(self) -> Catalog:
        """The catalog, as fresh as the budgets of backends allow."""

    async def guarded(self) -> Catalog:
        """What is served now, but nothing that was for callers, or by rules, of a config before."""

    def check_policy(self, view: View) -> None:
        """Raise where there is no list to be served."""

    def follow(self) -> None:
        """Have it made anew whenever something changes, until :meth:`unfollow`."""

    def unfollow(self) -> None:
        """See :meth:`follow`."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Seen:
    """What was seen of which catalog."""

    catalog: Catalog
    view: View


class Outlook:
    """What callers for whom the same tools pass see of a lane, as it changes.

    ``seen`` is what such callers saw last, and saves work. ``followed`` is called when one more follows.
    """

    def __init__(self, lane: Catalogs, tools: ToolFilter, seen: Seen | None, followed: Callable[[], None]) -> None:
        self.tools: Final = tools
        """Globs on exposed names."""
        self.seen = seen
        self.retired = False
        """Whether another config is in force: its callers are to look for what they see now."""
        self.followers = 0
        self.lane: Final = lane
        self._followed = followed

    def look(self, catalog: Catalog) -> Seen | None:
        """What is seen of a catalog; ``None``: not without much work."""
        if self.seen is None or self.seen.catalog is not catalog:
            before = None if self.seen is None else self.seen.view
            to_try, to_see = views.effort(catalog, self.tools, before)
            if to_try + to_see // 20 > MUCH:
                return None
            self.seen = Seen(catalog, views.see(catalog, self.tools, before))
        return self.seen

    def warm(self) -> Seen | None:
        """What is seen, if it is fresh, and seen this way still, and there is nothing to wait for."""
        catalog = self.lane.warm()
        return None if catalog is None or self.retired else self.look(catalog)

    def digest(self, era: Era) -> bytes | None:
        """Differs when anything differs that a client of this era can see; ``None``: nothing has been seen yet."""
        catalog = self.lane.catalog  # which may be of another config than a moment ago
        if not self.retired:
            self.look(catalog)
        if self.seen is None:
            return None
        return (self.seen.view.modern if era is Era.MODERN else self.seen.view.legacy).digest

    def follow(self) -> None:
        """Somebody is to be told of changes: each catalog is looked at without being asked for, until :meth:`unfollow`."""
        self.followers += 1
        self.lane.follow()
        self._followed()

    def unfollow(self) -> None:
        """See :meth:`follow`."""
        self.followers -= 1
        self.lane.unfollow()


class Outlooks:
    """All outlooks of one lane. ``on_seen`` is called when what is followed can be read as it is now."""

    def __init__(self, lane: Catalogs, on_seen: Callable[[], None]) -> None:
        self._lane = lane
        self._on_seen = on_seen
        self._config: GatewayConfig | None = None
        self._rules = Rules.of(None)
        self._by_outcome: tuple[Outlook, ...] = ()
        self._making: asyncio.Future[None] | None = None
        """Done when the view that is being made in a thread has been taken over, and this is ``None`` again."""

    def of(self, claims: Mapping[str, JsonValue]) -> Outlook:
        """The outlook of callers with these claims, as things are now."""
        return self._of(self._lane.catalog, claims)

    def warm(self, claims: Mapping[str, JsonValue]) -> Seen | None:
        """What callers with these claims see, if it is fresh and there is nothing to wait for."""
        catalog = self._lane.warm()
        return None if catalog is None else self._of(catalog, claims).look(catalog)

    async def ready(self, claims: Mapping[str, JsonValue]) -> Seen:
        """What callers with these claims see of the catalog that is served now.

        Raises:
            McpError: see :meth:`~switchyard_sidecar.gateway.lane.Lane.guarded`.
        """
        while True:
            catalog = await self._lane.guarded()
            outlook = self._of(catalog, claims)
            if (seen := outlook.look(catalog)) is not None:
                return seen
            await asyncio.shield(self._making or self._make(outlook, catalog))

    async def fresh(self, claims: Mapping[str, JsonValue]) -> Seen:
        """The same, as fresh as the budgets of backends allow.

        Raises:
            McpError: there is no list to be served.
        """
        await self._lane.fresh()
        seen = await self.ready(claims)
        self._lane.check_policy(seen.view)
        return seen

    def renew(self, before: Catalog, catalog: Catalog) -> None:
        """The lane has another catalog: look at it for those who follow, then say so."""
        self._heed(catalog)
        for outlook in self._by_outcome:
            if not outlook.followers and outlook.seen is not None and outlook.seen.catalog is not before:
                outlook.seen = None  # nobody has looked for a while
        self._look_for_followers(catalog)

    def let_go(self) -> None:
        """Keep nothing of what was seen."""
        for outlook in self._by_outcome:
            outlook.seen = None

    def _of(self, catalog: Catalog, claims: Mapping[str, JsonValue]) -> Outlook:
        self._heed(catalog)
        return self._by_outcome[self._rules.outcome(claims)]

    def _heed(self, catalog: Catalog) -> None:
        """Take over the rules of a catalog: rule 2."""
        if catalog.config is self._config:
            return
        former = {outlook.tools: outlook.seen for outlook in self._by_outcome}
        for outlook in self._by_outcome:
            outlook.retired = True
        self._config, self._rules = catalog.config, Rules.of(catalog.config.visibility)
        followed = self._followed
        by_tools = {tools: Outlook(self._lane, tools, former.get(tools), followed) for tools in self._rules.tools}
        self._by_outcome = tuple(by_tools[tools] for tools in self._rules.tools)

    def _followed(self) -> None:
        self._first_unseen(self._lane.catalog)

    def _look_for_followers(self, catalog: Catalog) -> None:
        if self._first_unseen(catalog) is None:
            self._on_seen()

    def _first_unseen(self, catalog: Catalog) -> Outlook | None:
        """The first that is followed and has not seen the catalog. If it is much work, it is begun."""
        unseen = (each for each in self._by_outcome if each.followers and each.look(catalog) is None)
        outlook = next(unseen, None)
        if outlook is not None and self._making is None:
            self._make(outlook, catalog)
        return outlook

    def _make(self, outlook: Outlook, catalog: Catalog) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        before = None if outlook.seen is None else outlook.seen.view
        self._making = loop.create_future()
        making = loop.run_in_executor(None, views.see, catalog, outlook.tools, before)
        making.add_done_callback(partial(self._made, outlook, catalog, self._making))
        return self._making

    def _made(
        self, outlook: Outlook, catalog: Catalog, done: asyncio.Future[None], made: "asyncio.Future[View]"
    ) -> None:
        self._making = None
        if (fault := made.exception()) is not None:
            done.set_exception(fault)  # for whoever waits, and for the log if nobody does
            return
        outlook.seen = Seen(catalog, made.result())
        done.set_result(None)
        self._look_for_followers(self._lane.catalog)
