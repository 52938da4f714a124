"""Some backends fail, some are slow, some never were: the others are served, and it is said."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.clients import ModernClient
from fakes.gateway import gateway, section
from fakes.hostile import HostileBackend, Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool
from fakes.waiting import eventually

FAILURES = pytest.mark.parametrize(
    "reply",
    [
        pytest.param(hostile.reset(), id="reset"),
        pytest.param(hostile.raw(b""), id="closed"),
        pytest.param(hostile.body(b"<html>Bad Gateway</html>", status=502, content_type="text/html"), id="502"),
        pytest.param(hostile.body(b"<html>Login</html>", content_type="text/html"), id="a login page"),
        pytest.param(hostile.body(b"", status=401, fields=[("WWW-Authenticate", "Bearer")]), id="401"),
        pytest.param(hostile.error(-32603), id="internal error"),
        pytest.param(hostile.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"), id="cut off"),
        pytest.param(hostile.raw(b"SSH-2.0-OpenSSH_9.9\r\n"), id="not http"),
    ],
)


def unavailable(result: Any) -> dict[str, str]:
    """Backends that a list says are missing, and why."""
    entries = result.get("_meta", {}).get("dev.switchyard/backends", {}).get("unavailable", [])
    return {entry["backend"]: entry["reason"] for entry in entries}


@FAILURES
async def test_failing_backend_costs_only_its_own_tools(tmp_path: Path, reply: Reply) -> None:
    """Whatever one backend does, the others are listed and called, and the list says what is missing."""
    async with (
        HostileBackend(lambda _: reply) as bad,
        ModernBackend(tool("a")) as good,
        gateway(tmp_path, {"bad": bad, "good": good}) as gw,
    ):
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            answer = await client.list()
            assert answer.names == ["good__a"]
            assert list(unavailable(answer.result)) == ["tools/bad"]
            assert (await client.call("good__a")).text["tool"] == "a"


@FAILURES
async def test_failure_of_the_only_backend_is_an_error_and_no_empty_list(tmp_path: Path, reply: Reply) -> None:
    """Nothing known is told apart from nothing there."""
    async with HostileBackend(lambda _: reply) as bad, gateway(tmp_path, {"bad": bad}) as gw:
        answer = await gw.modern.list()
        assert (answer.status, answer.error["code"]) == (200, -32603)
        assert list(answer.error["data"]["backends"]) == ["tools/bad"]


async def test_unreachable_backend_costs_only_its_own_tools(tmp_path: Path) -> None:
    """Connection refused: initialize, lists and calls of the others go on."""
    async with ModernBackend(tool("a")) as good, ModernBackend(tool("b")) as bad:
        await bad.stop()
        async with gateway(tmp_path, {"bad": bad, "good": good}) as gw:
            assert (await gw.legacy.initialize()).status == 200
            answer = await gw.modern.list()
            assert answer.names == ["good__a"]
            assert unavailable(answer.result) == {"tools/bad": "connection refused"}


async def test_strict_gateway_gives_no_partial_list(tmp_path: Path) -> None:
    """With ``Strict``, a backend that has never answered makes the list an error that names it."""
    async with ModernBackend(tool("a")) as good, ModernBackend(tool("b")) as bad:
        await bad.stop()
        async with gateway(tmp_path, {"bad": bad, "good": good}, failurePolicy="Strict") as gw:
            answer = await gw.modern.list()
            assert (answer.error["code"], list(answer.error["data"]["backends"])) == (-32603, ["tools/bad"])
            assert (await gw.modern.call("good__a")).text["tool"] == "a"
            await bad.start()
            await eventually(lambda: listed(gw.modern, ["bad__b", "good__a"]), within_s=10)


async def test_strict_gateway_serves_what_it_knows_of_a_backend_that_fails_later(tmp_path: Path) -> None:
    """``Strict`` asks that every backend has answered once; after that the last good list is served, and it is said."""
    async with (
        ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as one,
        ModernBackend(tool("b")) as two,
        gateway(tmp_path, {"one": one, "two": two}, failurePolicy="Strict") as gw,
    ):
        assert (await gw.modern.list()).names == ["one__a", "two__b"]
        await one.stop()
        assert (await gw.modern.list()).names == ["one__a", "two__b"]
        await eventually(lambda: says_failing(gw.modern, "tools/one"))


async def listed(client: ModernClient, names: list[str]) -> bool:
    """Whether the list holds exactly these tools."""
    answer = await client.list()
    return "result" in answer.message and answer.names == names


async def test_gateway_without_backends_has_an_empty_list(tmp_path: Path) -> None:
    """An empty federation is a success, in both eras."""
    async with gateway(tmp_path, {}) as gw:
        await gw.legacy.initialize()
        assert (await gw.modern.list()).names == (await gw.legacy.list()).names == []


async def test_slow_backend_delays_a_list_by_its_budget_at_most(tmp_path: Path) -> None:
    """The list comes without it, its answer is kept when it comes, and the next list has it."""
    gate = asyncio.Event()
    async with ModernBackend(tool("a")) as quick, ModernBackend(tool("b")) as slow:
        ordinary = slow.answer
        slow.answer = lambda request: hostile.after(gate, ordinary(request))
        slow_section = section(slow, timeouts={"listMs": 200})
        async with gateway(tmp_path, {"quick": quick, "slow": slow_section}) as gw, asyncio.timeout(4):
            first = await gw.modern.list()
            assert first.names == ["quick__a"]
            assert first.result["ttlMs"] <= 5_000
            gate.set()
            await eventually(lambda: listed(gw.modern, ["quick__a", "slow__b"]))
            assert len(slow.of("tools/list")) == 1


async def test_backends_are_read_side_by_side(tmp_path: Path) -> None:
    """A list over many takes as long as the slowest: none answers here until all have been asked, and all are listed."""
    asked: set[str] = set()
    gate = asyncio.Event()

    async with AsyncExitStack() as stack:
        backends: dict[str, OrdinaryBackend] = {}
        for number in range(8):
            make = ModernBackend if number % 2 else LegacyBackend
            backend = backends[f"b{number}"] = await stack.enter_async_context(make(tool("a")))
            ordinary = backend.answer

            def answer(
                request: Request, name: str = f"b{number}", ordinary: Callable[[Request], Reply] = ordinary
            ) -> Reply:
                if request.kind != "tools/list":
                    return ordinary(request)
                asked.add(name)
                if len(asked) == len(backends):
                    gate.set()
                return hostile.after(gate, ordinary(request))

            backend.answer = answer
        async with gateway(tmp_path, backends) as gw:
            assert (await gw.modern.list()).names == [f"b{number}__a" for number in range(8)]


async def test_last_good_list_is_served_while_a_backend_is_slow(tmp_path: Path) -> None:
    """What was known of it stays listed; one reading serves all who ask meanwhile, and outlives them."""
    async with ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as backend:
        sections = {"a": section(backend, timeouts={"listMs": 200})}
        async with gateway(tmp_path, sections) as gw:
            assert (await gw.modern.list()).names == ["a"]
            before = len(backend.of("tools/list"))
            gate = asyncio.Event()
            ordinary = backend.answer
            backend.answer = lambda request: hostile.after(gate, ordinary(request))
            backend.tools.append(tool("b"))
            answers = await asyncio.gather(*(gw.modern.list() for _ in range(20)))
            assert [answer.names for answer in answers] == [["a"]] * 20
            assert len(backend.of("tools/list")) == before + 1
            gate.set()
            await eventually(lambda: listed(gw.modern, ["a", "b"]))


@FAILURES
async def test_last_good_list_outlives_its_backend(tmp_path: Path, reply: Reply) -> None:
    """A backend that fails later keeps its tools in the list, and the list says that it fails."""
    async with (
        ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as backend,
        ModernBackend(tool("b")) as other,
        gateway(tmp_path, {"a": backend, "b": other}) as gw,
    ):
        assert (await gw.modern.list()).names == ["a__a", "b__b"]
        backend.answer = lambda _: reply
        answer = await gw.modern.list()
        assert answer.names == ["a__a", "b__b"]
        await eventually(lambda: says_failing(gw.modern, "tools/a"))


async def says_failing(client: ModernClient, backend: str) -> bool:
    """Whether the list says that this backend fails."""
    return backend in unavailable((await client.list()).result)


async def test_backend_in_back_off_is_not_waited_for(tmp_path: Path) -> None:
    """A backend known to hang is asked in the background, ever more seldom; lists do not wait for it."""
    async with (
        HostileBackend(lambda _: hostile.reset()) as bad,
        ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as good,
        gateway(tmp_path, {"bad": bad, "good": good}) as gw,
        asyncio.timeout(3),
    ):
        await gw.modern.list()
        before = len(bad.requests)
        for _ in range(50):
            assert (await gw.modern.list()).names == ["good__a"]
        assert len(bad.requests) - before <= 8


async def test_added_backend_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """However bad the new one is, what was listed stays listed; names are those the config implies."""
    async with ModernBackend(tool("a"), list_changed=False) as good, HostileBackend(lambda _: hostile.hang()) as bad:
        good_section = section(good, prefix="good")
        async with gateway(tmp_path, {"good": good_section}) as gw:
            assert (await gw.modern.list()).names == ["good__a"]
            await gw.configure({"bad": section(bad, prefix="bad", timeouts={"listMs": 200}), "good": good_section})
            assert (await gw.modern.list()).names == ["good__a"]
            assert len(good.of("tools/list")) == 1


async def test_call_reads_no_lists(tmp_path: Path) -> None:
    """Calls are routed by the list that is known; no backend is asked again for it."""
    async with (
        ModernBackend(tool("a")) as one,
        LegacyBackend(tool("b")) as two,
        gateway(tmp_path, {"one": one, "two": two}) as gw,
    ):
        await gw.modern.list()
        before = len(one.of("tools/list")), len(two.of("tools/list")), len(two.of("initialize"))
        for _ in range(5):
            await gw.modern.call("one__a")
        assert (len(one.of("tools/list")), len(two.of("tools/list")), len(two.of("initialize"))) == before


async def test_unknown_tool_is_refused_here(tmp_path: Path) -> None:
    """A name that is not in the list is an error of parameters, and no backend is called."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        assert (await gw.modern.call("b")).error["code"] == -32602
        assert (await gw.legacy.call("b")).error["code"] == -32602
        assert backend.of("tools/call") == []


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
@FAILURES
async def test_failed_call_harms_no_other(
    tmp_path: Path, make: type[ModernBackend] | type[LegacyBackend], reply: Reply
) -> None:
    """A call that meets a fault is an error; it was sent once; the next call, and others at the same time, are well."""
    async with (
        make(tool("a")) as backend,
        ModernBackend(tool("b")) as other,
        gateway(tmp_path, {"a": backend, "b": other}) as gw,
    ):
        await gw.modern.list()
        backend.fail_next("tools/call", reply)
        failed, well = await asyncio.gather(gw.modern.call("a__a"), gw.modern.call("b__b"))
        assert failed.error["code"] == -32603
        assert failed.status == 200
        assert well.text["tool"] == "b"
        assert len(backend.of("tools/call")) == 1
        for _ in range(5):
            assert (await gw.modern.call("a__a")).text["tool"] == "a"


@pytest.mark.parametrize(
    ("error", "modern", "legacy"),
    [
        (-32602, (400, -32602), (200, -32602)),
        (-32000, (200, -32000), (200, -32000)),
        (-31999, (200, -31999), (200, -31999)),
        (-32002, (400, -32602), (200, -32002)),
        (-32601, (404, -32601), (200, -32601)),
    ],
)
async def test_backends_own_error_reaches_the_caller(
    tmp_path: Path, error: int, modern: tuple[int, int], legacy: tuple[int, int]
) -> None:
    """Code, message and data are the backend's; the HTTP status is that of the caller's era, not of the backend."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.error(error, "its own words", {"n": 9007199254740993})
        await gw.legacy.initialize()
        for client, expected in ((gw.modern, modern), (gw.legacy, legacy)):
            answer = await client.call("a")
            assert (answer.status, answer.error["code"]) == expected
            assert answer.error["message"] == "its own words"
            assert b"9007199254740993" in answer.body


async def test_call_that_says_nothing_ends_by_its_idle_limit(tmp_path: Path) -> None:
    """The caller gets an error that names the backend; progress would have kept the call alive."""
    async with ModernBackend(tool("a")) as backend:
        backend.call = lambda _: hostile.hang()
        async with gateway(tmp_path, {"a": section(backend, timeouts={"callMs": 150})}) as gw:
            answer = await gw.modern.call("a")
            assert answer.error["code"] == -32603
            assert answer.error["data"]["backend"] == "tools/a"


async def test_backend_that_answers_again_is_listed_again(tmp_path: Path) -> None:
    """Failure heals by itself."""
    async with ModernBackend(tool("a")) as backend:
        await backend.stop()
        async with gateway(tmp_path, {"a": backend}) as gw:
            assert (await gw.modern.list()).error["code"] == -32603
            await backend.start()
            await eventually(lambda: listed(gw.modern, ["a"]), within_s=10)
            assert unavailable((await gw.modern.list()).result) == {}


async def test_unresolved_backend_keeps_its_place(tmp_path: Path) -> None:
    """A backend that cannot be asked is named with its reason; names of the others do not change."""
    async with ModernBackend(tool("a")) as one, ModernBackend(tool("b")) as two:
        one_section = section(one, unresolved="SecretNotFound")
        async with gateway(tmp_path, {"one": one_section, "two": two}) as gw:
            answer = await gw.modern.list()
            assert answer.names == ["two__b"]
            assert unavailable(answer.result) == {"tools/one": "SecretNotFound"}
            assert one.requests == []
