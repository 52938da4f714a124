"""Names chosen in YAML, as clients meet them."""

from pathlib import Path
from typing import Any

import pytest

from fakes.gateway import gateway
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from fakes.waiting import eventually


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
