"""Exposed names as clients meet them: composed, shared, chosen in YAML. Whatever is listed can be called by that name."""

import asyncio
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from fakes import hostile
from fakes.gateway import gateway, section
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from fakes.waiting import eventually

AWKWARD = ["b__c", "one__a", "two__b__c", "a.b", "a b", "a_b", "é", "_", "x" * 100, "x" * 99 + "y"]
"""Names that parsing, cutting or making safe would confuse."""


@pytest.mark.parametrize("charset", ["Keep", "Safe"])
@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_each_listed_name_calls_the_tool_it_was_made_of(
    tmp_path: Path, make: type[OrdinaryBackend], charset: str
) -> None:
    """Two backends of the same awkward names: every name is short, unique, the same again, and leads to its own tool."""
    naming = {"charset": charset, "maxLength": 64}
    async with (
        make(*tools(*AWKWARD)) as one,
        ModernBackend(*tools(*AWKWARD)) as two,
        gateway(tmp_path, {"one": one, "two": two}, naming=naming) as gw,
    ):
        names = (await gw.modern.list()).names
        assert len(set(names)) == 2 * len(AWKWARD)
        assert max(len(name) for name in names) <= 64
        if charset == "Safe":
            assert [name for name in names if not re.fullmatch("[A-Za-z0-9_-]+", name)] == []
        for backend, prefix in ((one, "one__"), (two, "two__")):
            called = [(await gw.modern.call(name)).text["tool"] for name in names if name.startswith(prefix)]
            assert sorted(called) == sorted(AWKWARD)
            assert [call.params["name"] for call in backend.of("tools/call")] == called
            assert backend.complaints == []


async def test_lone_backends_names_are_left_as_they_are(tmp_path: Path) -> None:
    """However long or awkward: there is nothing to tell them apart from."""
    naming = {"maxLength": 64}
    async with ModernBackend(*tools(*AWKWARD)) as one, gateway(tmp_path, {"one": one}, naming=naming) as gw:
        assert (await gw.modern.list()).names == sorted(AWKWARD)
        assert (await gw.modern.call("x" * 100)).text["tool"] == "x" * 100


@pytest.mark.parametrize("late", ["first", "second"])
async def test_in_a_shared_name_space_order_of_declaration_decides(tmp_path: Path, late: str) -> None:
    """Never order of arrival: the first has the name, the second's tool a hash, status says so, calls reach their own."""
    async with ModernBackend(tool("q", title="1")) as first, ModernBackend(tool("q", title="2")) as second:
        gate, held = asyncio.Event(), {"first": first, "second": second}[late]
        ordinary = held.answer
        held.answer = lambda request: hostile.after(gate, ordinary(request))
        shared = {"first": section(first, prefix=""), "second": section(second, prefix="")}
        async with gateway(tmp_path, shared) as gw:
            early = asyncio.create_task(gw.modern.list())
            await held.received("server/discover")
            gate.set()
            await early

            async def both() -> bool:
                return len((await gw.modern.list()).names) == 2

            await eventually(both)
            listed = (await gw.modern.list()).result["tools"]
            digest = hashlib.sha256(b"tools/second\0q").hexdigest()[:8]
            assert [(each["name"], each["title"]) for each in listed] == [("q", "1"), (f"q_{digest}", "2")]
            for name in ("q", f"q_{digest}"):
                assert (await gw.modern.call(name)).text["tool"] == "q"
            assert (len(first.of("tools/call")), len(second.of("tools/call"))) == (1, 1)
            (conflict,) = (await gw.status())["conflicts"]
            assert conflict["name"] == "q"


def alias(name: str, backend: str, of: str, **keys: Any) -> dict[str, Any]:
    """An alias as it stands in ``gateway.json``."""
    return {
        "namespace": "agents",
        "name": f"the-{name}",
        "backend": f"tools/{backend}",
        "tool": of,
        "alias": name,
        **keys,
    }


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_alias_is_listed_and_called_in_place_of_its_tool(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """Exactly the name that was written, with its own title and description; the backend hears its own name."""
    aliases = [alias("find_repo", "one", "search", title="Find", description="Looks for one.")]
    definition = tool("search", title="Search", annotations={"readOnlyHint": True})
    async with (
        make(definition, tool("other")) as one,
        ModernBackend(tool("search")) as two,
        gateway(tmp_path, {"one": one, "two": two}, aliases=aliases) as gw,
    ):
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            answer = await client.list()
            assert answer.names == ["find_repo", "one__other", "two__search"]
            assert answer.result["tools"][0] == definition | {
                "name": "find_repo",
                "title": "Find",
                "description": "Looks for one.",
            }
            assert (await client.call("find_repo", {"q": 1})).text == {"tool": "search", "arguments": {"q": 1}}
            assert (await client.call("one__search")).error["code"] == -32602
        assert two.of("tools/call") == []
        assert one.complaints == []


async def test_tool_may_keep_its_ordinary_name_beside_the_alias(tmp_path: Path) -> None:
    """Both names lead to it; what the alias overrides shows under the alias alone."""
    aliases = [alias("b", "one", "a", title="Other", keepOriginal=True)]
    async with ModernBackend(tool("a", title="Own")) as one, gateway(tmp_path, {"one": one}, aliases=aliases) as gw:
        listed = (await gw.modern.list()).result["tools"]
        assert [(each["name"], each["title"]) for each in listed] == [("a", "Own"), ("b", "Other")]
        for name in ("a", "b"):
            assert (await gw.modern.call(name)).text["tool"] == "a"


async def test_alias_of_an_absent_tool_keeps_its_name_for_it(tmp_path: Path) -> None:
    """Nobody else gets the name meanwhile; the rest is served; the tool has it as soon as it is there."""
    aliases = [alias("two__a", "one", "later")]
    async with (
        ModernBackend(tool("b"), ttl_ms=0, list_changed=False) as one,
        ModernBackend(*tools("a", "c")) as two,
        gateway(tmp_path, {"one": one, "two": two}, aliases=aliases) as gw,
    ):
        names = (await gw.modern.list()).names
        assert [name for name in names if name != "two__a"] == names
        assert {"one__b", "two__c"} <= set(names)
        assert (await gw.modern.call("two__a")).error["code"] == -32602
        one.tools.append(tool("later"))

        async def there() -> bool:
            return "two__a" in (await gw.modern.list()).names

        await eventually(there)
        assert (await gw.modern.call("two__a")).text["tool"] == "later"


async def test_second_alias_of_one_name_is_a_conflict_that_status_shows(tmp_path: Path) -> None:
    """The first in order has it, the other's tool keeps its ordinary name, and a person can see why."""
    aliases = [alias("x", "one", "a"), alias("x", "two", "a")]
    async with (
        ModernBackend(tool("a")) as one,
        ModernBackend(tool("a")) as two,
        gateway(tmp_path, {"one": one, "two": two}, aliases=aliases) as gw,
    ):
        assert (await gw.modern.list()).names == ["two__a", "x"]
        assert (await gw.modern.call("x")).text["tool"] == "a"
        assert (len(one.of("tools/call")), len(two.of("tools/call"))) == (1, 0)
        (conflict,) = (await gw.status())["conflicts"]
        assert conflict["name"] == "x"


async def test_changed_alias_is_told_and_its_former_name_is_gone(tmp_path: Path) -> None:
    """A rename in the config is a change of the list like any other."""
    async with ModernBackend(tool("a")) as one:
        async with gateway(tmp_path, {"one": one}, aliases=[alias("x", "one", "a")]) as gw:
            assert (await gw.modern.list()).names == ["x"]
            async with gw.modern.listen() as stream:
                await gw.configure({"one": one}, aliases=[alias("y", "one", "a")])
                await stream.has(2)
                assert (await gw.modern.list()).names == ["y"]
                assert (await gw.modern.call("x")).error["code"] == -32602
                assert (await gw.modern.call("y")).text["tool"] == "a"
        assert len(one.of("tools/list")) <= 2


async def test_alias_of_a_mirrored_tool_is_checked_and_sent_under_the_right_names(tmp_path: Path) -> None:
    """Towards the client the alias stands in ``Mcp-Name``, towards the backend its own name; parameters are mirrored."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    aliases = [alias("near", "one", "a")]
    async with (
        ModernBackend(tool("a", inputSchema=schema)) as one,
        gateway(tmp_path, {"one": one}, aliases=aliases) as gw,
    ):
        headers = {"Mcp-Param-Region": "x"}
        assert (await gw.modern.call("near", {"region": "x"}, headers=headers)).text["tool"] == "a"
        (called,) = one.of("tools/call")
        assert (called.header("Mcp-Name"), called.header("Mcp-Param-Region")) == ("a", "x")
        assert (await gw.modern.call("near", headers={"Mcp-Name": "a"})).error["code"] == -32020
