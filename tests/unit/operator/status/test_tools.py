"""How many tools a gateway lists, as far as is known."""

from collections.abc import Collection
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.probed import Answer
from switchyard_operator.controller.status.tools import tools_listed
from unit.operator.declared import backend, gateway

GITHUB, JIRA = Key("agents", "github"), Key("agents", "jira")


def answered(count: int, *names: str, withheld: Collection[str] | None = ()) -> Answer:
    unlisted = None if withheld is None else frozenset(withheld)
    return Answer("Modern", "2026-07-28", True, "s", "1", count, "d", names, unlisted)


READS: dict[str, Any] = {"name": "github", "tools": {"include": ["read_*"]}}


@pytest.mark.parametrize(
    ("entries", "left_out", "answers", "count"),
    [
        ([], [], {}, None),
        (["github"], [], {}, None),
        (["github"], [], {GITHUB: answered(0)}, 0),
        (["github", "jira"], [], {GITHUB: answered(3), JIRA: answered(4)}, 7),
        (["github", "jira"], [], {JIRA: answered(4)}, 4),
        (["github", "jira"], [GITHUB], {GITHUB: answered(3), JIRA: answered(4)}, 4),
        ([{"selector": {}}], [], {GITHUB: answered(3), JIRA: answered(4)}, 7),
        ([READS], [], {GITHUB: answered(3, "read_a", "read_b", "write_a")}, 2),
        ([READS], [], {GITHUB: answered(3)}, None),
        ([READS, "jira"], [], {GITHUB: answered(3), JIRA: answered(4)}, None),
        (["github"], [], {GITHUB: answered(3, "a", "b", "c", withheld=["c"])}, 2),
        ([READS], [], {GITHUB: answered(3, "read_a", "read_b", "write_a", withheld=["read_a", "write_a"])}, 1),
        (["github", "jira"], [], {GITHUB: answered(3, withheld=None), JIRA: answered(4)}, None),
    ],
)
def test_tools_are_counted_where_backends_have_answered(
    entries: list[Any], left_out: list[Key], answers: dict[Key, Answer], count: int | None
) -> None:
    """What a filter of the gateway keeps is known when the names are; what pins withhold is not listed."""
    objects = Objects.of([backend("github"), backend("jira")])
    assert tools_listed(gateway(*entries), objects, left_out, answers.get) == count
