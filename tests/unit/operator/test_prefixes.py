"""What stands before each backend's tool names."""

import re
from itertools import permutations
from typing import Any

import pytest

from unit.operator.declared import backend, compiled, gateway

TOOLS_GITHUB = {"name": "github", "namespace": "tools"}


def prefixes(*entries: str | dict[str, Any], **naming: Any) -> list[str | None]:
    """Prefixes of a gateway whose backends may or may not exist."""
    result = compiled(gateway(*entries, naming=naming), backend("github"), backend("jira"))
    return [each.prefix for each in result.config.backends]


@pytest.mark.parametrize(
    ("strategy", "entries", "expected"),
    [
        ("Auto", ["github"], [None]),
        ("Auto", ["absent"], [None]),
        ("Auto", ["github", "jira"], ["github", "jira"]),
        ("Auto", ["github", "absent"], ["github", "absent"]),
        ("Auto", ["github", "github"], ["github"]),
        ("Auto", [{"selector": {}}], ["github", "jira"]),
        ("Auto", [{"name": "github", "prefix": "gh"}], ["gh"]),
        ("Auto", [{"name": "github", "prefix": ""}], [""]),
        ("Auto", [{"name": "github", "prefix": ""}, "jira"], ["", "jira"]),
        ("Always", ["github"], ["github"]),
        ("Always", [{"name": "github", "prefix": ""}], [""]),
        ("Never", ["github"], [None]),
        ("Never", ["github", "jira"], ["", ""]),
        ("Never", [{"selector": {}}], ["", ""]),
        ("Never", [{"name": "github", "prefix": "gh"}, "jira"], ["gh", ""]),
    ],
)
def test_the_strategy_decides_and_an_explicit_prefix_always_counts(
    strategy: str, entries: list[str | dict[str, Any]], expected: list[str | None]
) -> None:
    """Bare names are for a gateway of exactly one entry by name; whether it resolves does not matter."""
    assert prefixes(*entries, strategy=strategy) == expected


@pytest.mark.parametrize(
    ("name", "separator", "expected"),
    [
        ("my-server", "__", "my-server"),
        ("api.github.com", "__", "api-github-com"),
        ("api.github.com", "-", "api_github_com"),
        ("my-server", "--", "my_server"),
    ],
)
def test_a_default_prefix_is_the_name_without_what_separators_are_made_of(
    name: str, separator: str, expected: str
) -> None:
    """Dots become dashes; under a separator of dashes, both become underscores, so that names cannot coincide."""
    assert prefixes(name, "other", separator=separator) == [expected, "other"]


def test_default_prefixes_that_coincide_all_get_a_hash_of_their_backend() -> None:
    """Both, so that the order of entries cannot make one backend's names mean the other's."""
    assert prefixes("github", TOOLS_GITHUB, "jira") == ["github-d0c3701a", "github-9c7dd690", "jira"]
    assert prefixes(TOOLS_GITHUB, "jira", "github") == ["github-9c7dd690", "jira", "github-d0c3701a"]
    assert prefixes("a.b", "a-b") == ["a-b-85719444", "a-b-6edda28d"]


def test_an_explicit_prefix_spares_the_other_its_hash() -> None:
    """Only defaults are compared with defaults."""
    assert prefixes("github", {**TOOLS_GITHUB, "prefix": "gh2"}) == ["github", "gh2"]


def test_a_prefix_that_leaves_no_room_for_names_is_cut_and_hashed() -> None:
    """With the shortest maximum and the longest separator, one character of it remains."""
    long = "a" * 63
    (kept, _) = prefixes(long, "other")
    assert kept is not None
    assert re.fullmatch(r"a{43}-[0-9a-f]{8}", kept)
    (shortest, _) = prefixes(long, "other", separator="____", maxLength=24)
    assert shortest is not None
    assert re.fullmatch(r"a-[0-9a-f]{8}", shortest)
    assert prefixes("a" * 52, "other")[0] == "a" * 52


def test_prefixes_do_not_depend_on_what_resolves() -> None:
    """A Secret that is missing, or a backend, renames nothing."""
    entries: list[str | dict[str, Any]] = ["github", TOOLS_GITHUB, "jira"]
    complete = compiled(gateway(*entries), backend("github"), backend("github", "tools"), backend("jira"))
    broken = compiled(
        gateway(*entries), backend("github", auth={"type": "Bearer", "secretKeyRef": {"name": "a", "key": "b"}})
    )
    assert [each.prefix for each in complete.config.backends] == [each.prefix for each in broken.config.backends]


@pytest.mark.parametrize(
    ("entries", "naming", "warned"),
    [
        (["a", "b"], {}, []),
        (["a"], {"strategy": "Never"}, []),
        ([{"name": "a", "prefix": ""}], {}, []),
        (["a", "b"], {"strategy": "Never"}, ["agents/a, agents/b without a prefix may"]),
        ([{"name": "a", "prefix": ""}, "b"], {}, ["agents/a without a prefix may"]),
        (
            [{"name": "a", "prefix": "x"}, {"name": "b", "prefix": "x"}, "c"],
            {},
            ['agents/a, agents/b share the prefix "x"'],
        ),
        (["a", {"name": "b", "prefix": "a"}], {}, ['agents/a, agents/b share the prefix "a"']),
    ],
)
def test_backends_that_share_their_names_are_warned_about(
    entries: list[str | dict[str, Any]], naming: dict[str, str], warned: list[str]
) -> None:
    """Equal prefixes, or none beside others: then two tools may come to one name."""
    result = compiled(gateway(*entries, naming=naming), backend("a"), backend("b"), backend("c"))
    reports = [report for report in result.reports if report.reason == "SharedNames"]
    assert [report.message[: len(expected)] for report, expected in zip(reports, warned, strict=True)] == warned


@pytest.mark.parametrize("separator", ["_", "__", "-", "--"])
def test_composed_names_of_different_backends_never_coincide(separator: str) -> None:
    """Whatever tools there are: no prefix and separator begins another's."""
    names = ["a", "a-b", "a.b", "a--b", "a-b-c", "b"]
    for first, second in permutations(names, 2):
        one, other = prefixes(first, second, separator=separator)
        assert one is not None
        assert other is not None
        assert not (one + separator).startswith(other + separator)
