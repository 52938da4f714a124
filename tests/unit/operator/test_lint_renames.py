"""What `switchyard lint --against` says of names that clients will miss."""

from typing import Any

import pytest

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.cli.lint.renames import renamed
from unit.operator.declared import alias, backend, compiled, gateway

ENTRIES = {"agents/github": ("spec", "backends", 0), "agents/jira": ("spec", "backends", 1)}
BOTH = gateway("github", "jira")


def said(before: list[Any], after: list[Any]) -> list[str]:
    """Severity and message of each piece of advice about two versions of the gateway ``agents/main``."""
    backends = [backend("github"), backend("jira")]
    old, new = compiled(*backends, *before, cluster=True), compiled(*backends, *after, cluster=True)
    return [f"{each.severity}: {each.message}" for each in renamed(old.config, new.config, ENTRIES)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(BOTH, BOTH, [], id="nothing has changed"),
        pytest.param(
            gateway("github"),
            BOTH,
            ["Warning: tools of agents/github are renamed: * is now github__*"],
            id="a second backend, so that the first is prefixed",
        ),
        pytest.param(
            BOTH,
            gateway("github"),
            ["Warning: tools of agents/github are renamed: github__* is now *"],
            id="one backend is left",
        ),
        pytest.param(
            gateway("github", naming={"strategy": "Always"}),
            BOTH,
            [],
            id="a second backend where all are prefixed anyway",
        ),
        pytest.param(gateway("jira", "github"), BOTH, [], id="another order"),
        pytest.param(
            BOTH,
            gateway("github", {"name": "jira", "prefix": "jr"}),
            ["Warning: tools of agents/jira are renamed: jira__* is now jr__*"],
            id="a prefix",
        ),
        pytest.param(
            BOTH,
            gateway("github", "jira", naming={"separator": "--"}),
            [
                "Warning: tools of agents/github are renamed: github__* is now github--*",
                "Warning: tools of agents/jira are renamed: jira__* is now jira--*",
            ],
            id="another separator",
        ),
        pytest.param(
            gateway("github", naming={"strategy": "Always"}),
            gateway("github", naming={"strategy": "Always", "maxLength": 40}),
            [
                (
                    "Warning: tools of agents/github are renamed: other names are too long or have characters to replace "
                    "(naming.maxLength, naming.charset)"
                )
            ],
            id="a shorter limit",
        ),
    ],
)
def test_prefixes(before: MCPGateway, after: MCPGateway, expected: list[str]) -> None:
    """A change of the declared backends can rename tools of those that did not change."""
    assert said([before], [after]) == expected


FIND = alias("find", "github", "search", "find_repo")
KEPT = alias("find", "github", "search", "find_repo", keepOriginal=True)
OTHER = alias("find", "github", "search", "find_repository")
RIVAL = alias("a-rival", "jira", "search", "find_repo")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([FIND], [FIND], [], id="the same"),
        pytest.param(
            [],
            [FIND],
            ['Note: "search" of agents/github is not called github__search any more, but find_repo'],
            id="new",
        ),
        pytest.param([], [KEPT], [], id="new beside the ordinary name"),
        pytest.param(
            [FIND],
            [],
            ['Note: "search" of agents/github is not called find_repo any more, but github__search'],
            id="gone",
        ),
        pytest.param(
            [FIND],
            [OTHER],
            ['Note: "search" of agents/github is not called find_repo any more, but find_repository'],
            id="another name",
        ),
        pytest.param(
            [FIND],
            [FIND, RIVAL],
            [
                'Note: "search" of agents/github is not called find_repo any more, but github__search',
                'Note: "search" of agents/jira is not called jira__search any more, but find_repo',
            ],
            id="lost to another alias",
        ),
    ],
)
def test_aliases(before: list[MCPToolAlias], after: list[MCPToolAlias], expected: list[str]) -> None:
    """They are there to rename; what clients miss is worth a note."""
    assert said([BOTH, *before], [BOTH, *after]) == expected


def test_a_backend_that_comes_or_goes_with_its_alias_renames_nothing() -> None:
    """Which tools are new or gone, the change says itself."""
    always = {"strategy": "Always"}
    one, two = [gateway("jira", naming=always)], [gateway("github", "jira", naming=always), FIND]
    assert said(two, one) == []
    assert said(one, two) == []
