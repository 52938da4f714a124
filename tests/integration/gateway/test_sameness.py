"""One list for everybody: whoever asks, on whatever connection, after whatever came before, wherever it is answered."""

import asyncio
import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fakes import hostile
from fakes.clients import META, LegacyClient, ModernClient
from fakes.gateway import Backends, Gateway, gateway, section
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from fakes.waiting import eventually


async def listing(client: ModernClient | LegacyClient) -> Any:
    """What a client is told of the tools, without what runs down while it asks."""
    result = (await client.list()).result
    return {key: value for key, value in result.items() if key != "ttlMs"}


async def complete(gw: Gateway, count: int) -> bool:
    """Whether so many tools are listed; there is no list while no backend has answered within its time, as on a busy machine."""
    answer = await gw.modern.list()
    return "result" in answer.message and len(answer.names) == count


async def well(gw: Gateway) -> bool:
    """Whether no backend counts as failing: on a busy machine one may, for a moment, after it has answered."""
    return "dev.switchyard/backends" not in (await gw.modern.list()).result["_meta"]


def held(backend: OrdinaryBackend) -> asyncio.Event:
    """Keep a backend from answering anything until this is set."""
    gate, ordinary = asyncio.Event(), backend.answer
    backend.answer = lambda request: hostile.after(gate, ordinary(request))
    return gate


async def listings(directory: Path, backends: Backends, arrival: Sequence[OrdinaryBackend], **keys: Any) -> Any:
    """The lists of both eras, of a gateway whose backends (of three tools) answer for the first time one after another."""
    gates = [held(backend) for backend in arrival]
    async with gateway(directory, backends, **keys) as gw:
        await gw.legacy.initialize()
        for count, gate in enumerate(gates, 1):
            gate.set()
            await eventually(partial(complete, gw, 3 * count))
        await eventually(partial(well, gw))
        return await listing(gw.modern), await listing(gw.legacy)


@pytest.mark.parametrize("order", ["Name", "Backend"])
async def test_list_is_the_same_whatever_the_order_in_which_backends_answer(tmp_path: Path, order: str) -> None:
    """On every replica and after every restart: in the order of names, or of declaration, and never of arrival."""
    async with (
        ModernBackend(*tools("z", "a", "M"), list_changed=False) as one,
        LegacyBackend(*tools("z", "a", "M")) as two,
        ModernBackend(*tools("_", "10", "9"), list_changed=False) as three,
    ):
        brief: dict[str, Any] = {"timeouts": {"listMs": 50}}
        backends = {"c": section(one, **brief), "a": section(two, **brief), "b": section(three, **brief)}
        found = [
            await listings(tmp_path, backends, arrival, order=order)
            for arrival in itertools.permutations([one, two, three])
        ]
        first, *others = found
        assert others == [first] * 5
        expected = {
            "Name": ["a__M", "a__a", "a__z", "b__10", "b__9", "b___", "c__M", "c__a", "c__z"],
            "Backend": ["c__M", "c__a", "c__z", "a__M", "a__a", "a__z", "b__10", "b__9", "b___"],
        }
        for era in first:
            assert [each["name"] for each in era["tools"]] == expected[order]


async def test_shuffled_answers_change_nothing(tmp_path: Path) -> None:
    """A backend that lists its tools in another order each time is the same backend: same order, same bytes, same ids."""
    async with (
        ModernBackend(*tools("a", "b", "c", "d"), ttl_ms=0, list_changed=False) as backend,
        gateway(tmp_path, {"x": backend, "y": backend}) as gw,
    ):
        first = (await gw.modern.list(id=1)).body
        for shuffled in itertools.islice(itertools.permutations(backend.tools), 12):
            backend.tools = list(shuffled)
            assert (await gw.modern.list(id=1)).body == first


async def test_list_varies_neither_by_connection_nor_by_what_came_before(tmp_path: Path) -> None:
    """Sessions, log levels, calls, subscriptions, refusals, other clients' identity and capabilities: all see one list."""
    async with (
        ModernBackend(*tools("a", "b")) as new,
        LegacyBackend(*tools("a", "b")) as old,
        gateway(tmp_path, {"new": new, "old": old}) as gw,
    ):
        await gw.legacy.initialize()
        modern, legacy = await listing(gw.modern), await listing(gw.legacy)

        eager = gw.another_legacy()
        await eager.initialize("2025-06-18")
        await eager.request("logging/setLevel", {"level": "debug"})
        await eager.call("old__a")
        await eager.request("nonsense")
        assert await listing(eager) == legacy
        await eager.delete()
        sessionless = gw.another_legacy()
        assert await listing(sessionless) == legacy

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as one_connection:
            guest = ModernClient(gw.url, one_connection)
            mixed = LegacyClient(gw.url, one_connection)
            await guest.list(meta={META + "protocolVersion": "2099-01-01"})
            await guest.call("nonsense")
            await mixed.initialize("2025-03-26")
            assert await listing(guest) == modern
            assert await listing(mixed) == legacy
            assert await listing(guest) == modern
        async with gw.modern.listen():
            assert await listing(gw.modern) == modern
        who = {META + "clientInfo": {"name": "other", "version": "9"}, META + "clientCapabilities": {"sampling": {}}}
        answer = await gw.modern.list(meta=who, headers={"User-Agent": "other", "Authorization": "Bearer x"})
        assert answer.result["tools"] == modern["tools"]


@pytest.mark.parametrize(
    ("hints", "ttl_ms", "scope"),
    [
        pytest.param([(30_000, "public"), (60_000, "public")], 30_000, "public", id="all public: the shorter time"),
        pytest.param([(60_000, "public"), (30_000, "private")], 30_000, "private", id="one private"),
        pytest.param([(60_000, "public"), (..., ...)], 0, "private", id="one says nothing"),
        pytest.param([(60_000, "public"), (0, "public")], 0, "public", id="one already stale"),
        pytest.param([(60_000, "public"), None], 30_000, "private", id="one legacy: its default time, and private"),
    ],
)
async def test_joint_list_is_believed_as_its_least_part_allows(
    tmp_path: Path, hints: list[tuple[Any, Any] | None], ttl_ms: int, scope: str
) -> None:
    """The least time to live and the narrowest scope, on every page, from whichever backend."""
    backends: list[OrdinaryBackend] = [
        LegacyBackend(*tools("a", "b"))
        if hint is None
        else ModernBackend(*tools("a", "b"), ttl_ms=hint[0], scope=hint[1])
        for hint in hints
    ]
    async with backends[0] as one, backends[1] as two, gateway(tmp_path, {"one": one, "two": two}, pageSize=3) as gw:
        first = (await gw.modern.list()).result
        second = (await gw.modern.list(first["nextCursor"])).result
        assert [each["name"] for page in (first, second) for each in page["tools"]] == [
            "one__a",
            "one__b",
            "two__a",
            "two__b",
        ]
        for page in (first, second):
            assert ttl_ms - 5_000 <= page["ttlMs"] <= ttl_ms
            assert (page["cacheScope"], page["resultType"]) == (scope, "complete")


async def test_time_to_live_runs_down_and_a_stale_list_is_read_anew(tmp_path: Path) -> None:
    """What is handed down is what is left; when nothing is, the next request finds what has changed."""
    async with (
        ModernBackend(tool("a"), ttl_ms=400, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}) as gw,
    ):
        first = (await gw.modern.list()).result["ttlMs"]
        second = (await gw.modern.list()).result["ttlMs"]
        assert 0 <= second <= first <= 400
        backend.tools.append(tool("b"))

        async def found() -> bool:
            return (await gw.modern.list()).names == ["a", "b"]

        await eventually(found)


async def test_private_tools_never_follow_a_public_cursor(tmp_path: Path) -> None:
    """A page of a public walk may lie in anyone's cache: once a private backend joins, the walk starts anew."""
    async with (
        ModernBackend(*tools("a", "b", "c", "d")) as public,
        ModernBackend(*tools("secret"), scope="private") as private,
    ):
        keys = {"pub": section(public, prefix="pub"), "prv": section(private, prefix="z")}
        async with gateway(tmp_path, {"pub": keys["pub"]}, pageSize=2) as gw:
            first = (await gw.modern.list()).result
            assert first["cacheScope"] == "public"
            await gw.configure(keys, pageSize=2)

            async def private_now() -> bool:
                return bool((await gw.modern.list()).result["cacheScope"] == "private")

            await eventually(private_now)
            refused = await gw.modern.list(first["nextCursor"])
            assert (refused.status, refused.error["code"]) == (400, -32602)
            assert b"secret" not in refused.body
