"""What callers see of a gateway, by its rules: one view for all of whom the same rule decides, and never by another's rules."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fakes import hostile
from fakes.modern import ModernBackend
from fakes.ordinary import tool, tools
from fakes.waiting import PATIENCE_S
from integration.gateway.test_catalogs import LARGE, busy_thread
from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.config.apply import Applied, plan
from switchyard_sidecar.config.load import Loaded
from switchyard_sidecar.config.model import Backend, GatewayConfig, Naming, Visibility
from switchyard_sidecar.gateway import Gateway, Lane, Outlook, Seen
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace


def visibility(default: str = "Deny", **teams: str) -> Visibility:
    """A rule for each team, that shows what this glob matches; for everybody else the default."""
    rules = [
        {"when": [{"claim": "team", "anyOf": [team]}], "tools": {"include": [glob]}} for team, glob in teams.items()
    ]
    return Visibility.model_validate({"default": default, "rules": rules})


def caller(team: str, name: str = "someone") -> Caller:
    return Caller(name, {"team": team})


class Scene:
    """A gateway without an endpoint."""

    def __init__(self, gateway: Gateway, backend: ModernBackend) -> None:
        self.gateway = gateway
        self.published = 0
        self.backend = backend
        self._applied: Applied | None = None
        gateway.on_catalog = self._on_catalog

    def apply(self, rules: Visibility | None, separator: str = "-") -> None:
        """Take over a config that differs in this."""
        section = Backend(namespace="ns", name="b", url=self.backend.url, prefix="b")
        naming = Naming(separator=separator)
        config = GatewayConfig(namespace="ns", name="main", naming=naming, backends=(section,), visibility=rules)
        self._applied = plan(self._applied, Loaded(config, {}))
        self.gateway.apply(self._applied)

    async def seen(self, who: Caller) -> Seen:
        """What a caller gets to see."""
        return await self.gateway.lane(who).outlooks.fresh(who.claims)

    async def names(self, who: Caller) -> list[str]:
        """The exposed names of it."""
        return list((await self.seen(who)).view.modern.names)

    def outlook(self, who: Caller) -> Outlook:
        """Where a stream of the caller would look from."""
        return self.gateway.lane(who).outlooks.of(who.claims)

    async def change(self, *defined: Any) -> None:
        """Have the backend list other tools, and the gateway know of it."""
        before = self.gateway.shared.catalog.modern.digest
        self.backend.tools[:] = defined
        await self.backend.notify()
        async with asyncio.timeout(PATIENCE_S):
            while self.gateway.shared.catalog.modern.digest == before:
                await asyncio.sleep(0.001)

    def _on_catalog(self, _: object) -> None:
        self.published += 1


@asynccontextmanager
async def scene(*names: str, rules: Visibility | None, ttl_ms: int = 600_000) -> AsyncIterator[Scene]:
    """Run a gateway of one backend with these tools, which has been listed."""
    backend = ModernBackend(*tools(*names), ttl_ms=ttl_ms, list_changed=ttl_ms > 0)
    async with backend, asyncio.TaskGroup() as tasks, HttpPool() as http:
        gateway = Gateway(tasks, http, GatewayConfig(namespace="", name=""), Pace())
        played = Scene(gateway, backend)
        try:
            played.apply(rules)
            await gateway.shared.fresh()
            if ttl_ms:
                await backend.listened()
            yield played
        finally:
            await asyncio.gather(*gateway.retire_all(), return_exceptions=True)


async def test_thousand_callers_of_three_kinds_cost_three_views() -> None:
    """The same object each, and none is made anew while nothing changes."""
    async with scene("t", "u", rules=visibility(red="*t", blue="*u")) as played:
        callers = [caller(team, f"{team}{number}") for number in range(334) for team in ("red", "blue", "green")]
        seen = [await played.seen(each) for each in callers]
        assert len({id(each.view) for each in seen}) == 3
        assert [each.view for each in seen[:3]] == [(await played.seen(each)).view for each in callers[-3:]]
        assert [each.view.modern.names for each in seen[:3]] == [("b-t",), ("b-u",), ()]


async def test_rules_that_show_the_same_share_a_view() -> None:
    """What counts is what is shown, not who it is shown to; who sees everything sees the catalog itself."""
    async with scene("t", "u", rules=visibility("Allow", red="*t", pink="*t", black="*")) as played:
        seen = {team: await played.seen(caller(team)) for team in ("red", "pink", "black", "other")}
        assert seen["red"] is seen["pink"]
        assert seen["black"].view is seen["other"].view is played.gateway.shared.catalog


async def test_change_of_hidden_tools_changes_no_digest() -> None:
    """Who sees other tools has nothing to be told of; who sees them does."""
    async with scene("t", "u", rules=visibility(red="*t", blue="*u")) as played:
        red, blue = played.outlook(caller("red")), played.outlook(caller("blue"))
        before = [each.digest(era) for each in (red, blue) for era in Era]
        await played.change(*tools("t"), tool("u", title="new"))
        after = [each.digest(era) for each in (red, blue) for era in Era]
        assert before[:2] == after[:2]
        assert before[2] != after[2]
        assert before[3] != after[3]


async def test_another_config_retires_every_outlook() -> None:
    """Whoever held one is shown another; what was made for the same globs is still good."""
    async with scene("t", "u", rules=visibility(red="*t", blue="*u")) as played:
        red, blue = (played.outlook(caller(team)) for team in ("red", "blue"))
        lists = [(await played.seen(caller(team))).view.modern for team in ("red", "blue")]
        played.apply(visibility(blue="*t", red="*u"))
        assert red.retired
        assert blue.retired
        assert not played.outlook(caller("red")).retired
        assert (await played.seen(caller("blue"))).view.modern is lists[0]
        assert (await played.seen(caller("red"))).view.modern is lists[1]


async def test_large_view_is_made_in_a_thread() -> None:
    """The loop goes on, whoever asks waits, and of many who ask it is made for one."""
    async with scene(*LARGE, rules=visibility(red="*1", blue="*")) as played:
        with busy_thread() as gate:
            asking = [asyncio.create_task(played.seen(caller("red", str(number)))) for number in range(3)]
            await asyncio.sleep(0)
            assert not any(each.done() for each in asking)
            assert played.gateway.shared.outlooks.warm(caller("red").claims) is None
            assert len(await played.names(caller("blue"))) == len(LARGE)  # who sees everything waits for nothing
            gate.set()
            seen = await asyncio.gather(*asking)
        assert seen[0] is seen[1] is seen[2]
        assert seen[0].view.modern.names == tuple(f"b-{name}" for name in LARGE if name.endswith("1"))
        assert played.gateway.shared.outlooks.warm(caller("red").claims) is seen[0]


async def test_change_is_published_when_what_is_followed_can_be_read() -> None:
    """However many views are made for it, one after the other in a thread: nobody is told to list what is not there."""
    async with scene(*LARGE, rules=visibility(red="*1", blue="*2")) as played:
        outlooks = [played.outlook(caller(team)) for team in ("red", "blue")]
        for each in outlooks:
            each.follow()
        for team in ("red", "blue"):
            await played.seen(caller(team))
        before = [each.digest(Era.MODERN) for each in outlooks]
        published: asyncio.Queue[list[bool]] = asyncio.Queue()

        def heard(lane: Lane) -> None:
            if "b-new1" in lane.catalog.routes:
                published.put_nowait([each.seen is not None and each.seen.catalog is lane.catalog for each in outlooks])

        played.gateway.on_catalog = heard
        played.backend.tools += tools("new1", "new2")
        await played.backend.notify()
        async with asyncio.timeout(PATIENCE_S):
            assert await published.get() == [True, True]
        assert published.empty()
        after = [each.digest(Era.MODERN) for each in outlooks]
        assert all(old != new for old, new in zip(before, after, strict=True))
        for each in outlooks:
            each.unfollow()


async def test_first_follower_of_a_large_view_waits_for_it() -> None:
    """What has not been seen has no digest; when it has been seen, that is published."""
    async with scene(*LARGE, rules=visibility(red="*1")) as played:
        outlook, published = played.outlook(caller("red")), played.published
        with busy_thread() as gate:
            outlook.follow()
            assert outlook.digest(Era.MODERN) is None
            gate.set()
            await played.seen(caller("red"))
        assert outlook.digest(Era.MODERN) is not None
        assert played.published == published + 1
        outlook.unfollow()


async def test_catalog_is_seen_by_the_rules_of_its_own_config() -> None:
    """Rules name what one config calls its tools. While the catalog of another is made, neither is mixed with the other."""
    async with scene("secret", *LARGE, rules=visibility(red="b-t0*")) as played:
        first = await played.names(caller("red"))
        assert len(first) == 1000
        with busy_thread() as gate:
            played.apply(visibility(red="b_t000*", blue="b-*"), separator="_")
            assert "b-secret" in played.gateway.shared.catalog.routes
            assert [played.outlook(caller(team)).tools.include for team in ("red", "blue")] == [("b-t0*",), ()]
            asking = asyncio.create_task(played.names(caller("red")))
            await asyncio.sleep(0)
            gate.set()
            assert await asking == [f"b_t000{digit}" for digit in range(10)]
        assert await played.names(caller("blue")) == []


@pytest.mark.parametrize("before", [None, visibility(red="*"), visibility("Allow")])
async def test_caller_is_never_judged_by_the_rules_before_while_a_large_catalog_is_made(
    before: Visibility | None,
) -> None:
    """Who is let in by the new config alone may not do what the one before allowed to those whom that let in."""
    async with scene(*LARGE, rules=before) as played:
        assert len(await played.names(caller("red"))) == len(LARGE)
        with busy_thread() as gate:
            played.apply(visibility(blue="*1"))
            asking = asyncio.create_task(played.gateway.shared.outlooks.ready({"team": "red"}))
            for _ in range(5):
                await asyncio.sleep(0)
            assert not asking.done()
            gate.set()
            assert (await asking).view.routes == {}
        await played.names(caller("blue"))
        with busy_thread() as gate:
            played.apply(visibility(blue="*1"), separator="_")
            assert "b-t0001" in (await played.gateway.shared.outlooks.ready({"team": "blue"})).view.routes
            gate.set()


async def test_request_that_waits_while_rules_change_is_answered_by_the_new_ones() -> None:
    """What was found out of its caller before it had to wait is of no use any more."""
    async with scene("t1", "t2", rules=visibility(red="*1"), ttl_ms=0) as played:
        gate = asyncio.Event()
        played.backend.fail_next("tools/list", hostile.after(gate, hostile.reset()))
        asking = asyncio.create_task(played.names(caller("red")))
        await played.backend.received("tools/list", 2)
        played.apply(visibility(red="*2"))
        gate.set()
        assert await asking == ["b-t2"]


async def test_fault_while_a_view_is_made_is_said_to_whoever_waits() -> None:
    """And the next one who asks gets a view."""
    async with scene(*LARGE, rules=visibility(red="*1")) as played:
        asyncio.get_running_loop().set_default_executor(Failing())
        with pytest.raises(MemoryError):
            await played.seen(caller("red"))
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        assert (await played.names(caller("red")))[0] == "b-t0001"


class Failing(ThreadPoolExecutor):
    """One for which there is no room."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":  # noqa: ARG002
        future: Future[Any] = Future()
        future.set_exception(MemoryError())
        return future
