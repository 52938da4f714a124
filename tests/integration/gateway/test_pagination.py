"""Lists that come in pages, and lists that are given in pages."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import LegacyClient, ModernClient
from fakes.gateway import gateway, section
from fakes.hostile import Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools

NAMES = [f"t{number:03}" for number in range(130)]


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_every_page_is_read_and_one_is_served(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """Clients of either era that never follow a cursor see all tools of backends of either era."""
    async with make(*tools(*NAMES)) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.page_size = 50
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            answer = await client.list()
            assert answer.names == NAMES
            assert "nextCursor" not in answer.result
        assert [request.params.get("cursor") for request in backend.of("tools/list")] == [None, "from 50", "from 100"]
        assert backend.complaints == []


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_tool_of_a_later_page_can_be_called(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """What is listed can be called: both come from the whole list."""
    async with make(*tools(*NAMES)) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.page_size = 50
        assert (await gw.modern.call("t120")).text == {"tool": "t120", "arguments": {}}


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_null_cursor_ends_the_list_and_is_not_passed_on(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """A server may write "no more" as null; strict clients must not see it."""
    async with make() as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("tools/list", page(["a"], next_cursor=None))
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            answer = await client.list()
            assert answer.names == ["a"]
            assert "nextCursor" not in answer.result
        assert {request.params.get("cursor") for request in backend.of("tools/list")} == {None}


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_empty_cursor_is_sent_once(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """An empty string is a cursor; a server that means "no more" by it gives the first page again, and that ends the walk."""
    async with make() as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("tools/list", page(["a", "b"], next_cursor=""))
        assert (await gw.modern.list()).names == ["a", "b"]
        assert [request.params.get("cursor") for request in backend.of("tools/list")[:2]] == [None, ""]
        assert [request.params.get("cursor") for request in backend.of("tools/list")].count("") == 1


async def test_cursors_in_a_circle_end_the_walk(tmp_path: Path) -> None:
    """A server that leads in a circle costs a bounded number of requests, and its tools are served."""

    def circle(request: Request) -> Reply:
        cursor = request.params.get("cursor", "0")
        return page([f"t{cursor}"], next_cursor=str((int(cursor) + 1) % 3))

    async with ModernBackend() as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("tools/list", lambda exchange: circle(exchange.request)(exchange))
        assert (await gw.modern.list()).names == ["t0", "t1", "t2"]
        assert len(backend.of("tools/list")) <= 4


def page(names: list[str], **more: Any) -> Reply:
    """One page of a list, with any further members."""
    if "next_cursor" in more:
        more["nextCursor"] = more.pop("next_cursor")
    return hostile.result(
        {"resultType": "complete", "tools": tools(*names), "ttlMs": 60_000, "cacheScope": "public", **more}
    )


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(hostile.error(-32603, status=500), id="error"),
        pytest.param(hostile.reset(), id="connection lost"),
        pytest.param(hostile.body(b"<html>"), id="no json"),
    ],
)
async def test_walk_that_fails_midway_takes_nothing_away(tmp_path: Path, fault: Reply) -> None:
    """A page that cannot be read says nothing about the tools on it: they stay, listed and callable."""
    async with (
        ModernBackend(*tools("a", "b", "c", "d"), ttl_ms=0, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}) as gw,
    ):
        backend.page_size = 2
        assert (await gw.modern.list()).names == ["a", "b", "c", "d"]
        first = backend.answer

        def broken(request: Request) -> Reply:
            later = request.kind == "tools/list" and "cursor" in request.params
            return fault if later else first(request)

        backend.answer = broken
        backend.tools[0] = tool("a", title="changed")
        assert (await gw.modern.list()).names == ["a", "b", "c", "d"]
        assert (await gw.modern.call("d")).text["tool"] == "d"


async def test_rejected_cursor_begins_the_walk_anew(tmp_path: Path) -> None:
    """A list that changed under the walk may invalidate its cursors; the first page is asked for again."""
    async with ModernBackend(*tools("a", "b", "c")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.page_size = 2
        ordinary = backend.answer
        refused: list[Request] = []

        def once(request: Request) -> Reply:
            if request.kind == "tools/list" and "cursor" in request.params and not refused:
                refused.append(request)
                return hostile.error(-32602, "Invalid cursor", status=400)
            return ordinary(request)

        backend.answer = once
        assert (await gw.modern.list()).names == ["a", "b", "c"]
        assert [request.params.get("cursor") for request in backend.of("tools/list")] == [
            None,
            "from 2",
            None,
            "from 2",
        ]


async def test_rejecting_every_cursor_is_bounded(tmp_path: Path) -> None:
    """A server that accepts none of its own cursors gets a bounded number of requests; its first page is served."""
    async with ModernBackend(*tools("a", "b", "c")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.page_size = 2
        ordinary = backend.answer
        backend.answer = lambda request: (
            hostile.error(-32602, "Invalid cursor", status=400) if "cursor" in request.params else ordinary(request)
        )
        await gw.modern.list()
        assert len(backend.of("tools/list")) <= 10


async def test_backend_without_lists_is_well_and_empty(tmp_path: Path) -> None:
    """A backend that has no tools/list has no tools; that is no failure."""
    async with ModernBackend() as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("tools/list", hostile.error(-32601, status=404))
        answer = await gw.modern.list()
        assert answer.names == []
        assert "dev.switchyard/backends" not in answer.result.get("_meta", {})


async def test_page_limit_keeps_what_was_read(tmp_path: Path) -> None:
    """A list longer than the limit is served as far as it was read."""
    async with ModernBackend(*tools(*NAMES)) as backend:
        backend.page_size = 10
        async with gateway(tmp_path, {"a": section(backend, limits={"pages": 3})}) as gw:
            assert (await gw.modern.list()).names == NAMES[:30]


async def walk(client: ModernClient | LegacyClient, between: Callable[[], Awaitable[None]] | None = None) -> list[str]:
    """All names of a list that comes in pages, in the order they came."""
    names: list[str] = []
    cursor = None
    while True:
        answer = await client.list(cursor)
        names += answer.names
        cursor = answer.result.get("nextCursor")
        if cursor is None:
            return names
        if between is not None:
            await between()


@pytest.mark.parametrize("size", [1, 7, 129, 130, 131])
async def test_pages_asked_for_give_every_tool_once(tmp_path: Path, size: int) -> None:
    """With ``pageSize`` a walk gives the same list, in the same order, to both eras."""
    async with ModernBackend(*tools(*NAMES)) as backend, gateway(tmp_path, {"a": backend}, pageSize=size) as gw:
        await gw.legacy.initialize()
        assert await walk(gw.modern) == NAMES
        assert await walk(gw.legacy) == NAMES
        assert len((await gw.modern.list()).names) == min(size, 130)


async def test_walk_over_a_changing_list_misses_and_repeats_nothing(tmp_path: Path) -> None:
    """Tools come and go, and a backend reconnects, between the pages: those that stay are met exactly once."""
    async with (
        ModernBackend(*tools(*NAMES[:40]), ttl_ms=0, list_changed=False) as one,
        ModernBackend(*tools(*NAMES[:40]), ttl_ms=0, list_changed=False) as two,
        gateway(tmp_path, {"one": one, "two": two}, pageSize=9) as gw,
    ):
        present = NAMES[:40]
        turn = 0

        async def change() -> None:
            nonlocal turn
            turn += 1
            present.remove(NAMES[3 * turn])
            one.tools = tools(f"new{turn}", *present)

        names = await walk(gw.modern, change)
        stayed = [f"one__{name}" for name in present] + [f"two__{name}" for name in NAMES[:40]]
        assert [name for name in names if name in stayed] == stayed
        assert names == sorted(set(names))


async def test_cursor_is_valid_on_every_replica(tmp_path: Path) -> None:
    """A page asked of another replica continues the list."""
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    async with (
        ModernBackend(*tools(*NAMES)) as backend,
        gateway(tmp_path / "1", {"a": backend}, pageSize=100) as here,
        gateway(tmp_path / "2", {"a": backend}, pageSize=100) as there,
    ):
        first = await here.modern.list()
        second = await there.modern.list(first.result["nextCursor"])
        assert first.names + second.names == NAMES


@pytest.mark.parametrize("cursor", ["", "20", "from 50", "p2", "é", "A" * 10_000])
async def test_foreign_cursor_is_refused(tmp_path: Path, cursor: str) -> None:
    """Only our own cursors are believed: -32602 in both eras, with the era's HTTP status."""
    async with ModernBackend(*tools(*NAMES)) as backend, gateway(tmp_path, {"a": backend}, pageSize=100) as gw:
        await gw.legacy.initialize()
        modern, legacy = await gw.modern.list(cursor), await gw.legacy.list(cursor)
        assert (modern.status, modern.error["code"]) == (400, -32602)
        assert (legacy.status, legacy.error["code"]) == (200, -32602)


async def test_all_pages_of_one_list_have_one_scope(tmp_path: Path) -> None:
    """A list that turned private between two pages is started anew, so that no cache mixes the two."""
    async with (
        ModernBackend(*tools(*NAMES), ttl_ms=0, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}, pageSize=100) as gw,
    ):
        first = await gw.modern.list()
        assert first.result["cacheScope"] == "public"
        backend.scope = "private"
        assert (await gw.modern.list()).result["cacheScope"] == "private"
        assert (await gw.modern.list(first.result["nextCursor"])).error["code"] == -32602
