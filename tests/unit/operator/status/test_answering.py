"""How many of a gateway's backends do not answer."""

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.answering import not_answering
from switchyard_operator.controller.status.probed import Probe, ProbeReason, Reach
from unit.operator.declared import backend, gateway

GITHUB, JIRA = Key("agents", "github"), Key("agents", "jira")
WELL, DEAD = Reach(ProbeReason.ANSWERED), Reach(ProbeReason.TIMED_OUT, failures=3)


@pytest.mark.parametrize(
    ("left_out", "reaches", "count"),
    [
        ([], {}, 0),
        ([], {GITHUB: WELL, JIRA: WELL}, 0),
        ([], {GITHUB: WELL, JIRA: DEAD}, 1),
        ([], {GITHUB: DEAD, JIRA: DEAD}, 2),
        ([JIRA], {GITHUB: DEAD, JIRA: DEAD}, 1),
        ([], {GITHUB: Reach(ProbeReason.CALLER_NEEDED), JIRA: Reach()}, 0),
        ([], {GITHUB: Reach().after(Probe(ProbeReason.TIMED_OUT)), JIRA: WELL}, 0),
    ],
)
def test_backends_that_are_served_and_known_not_to_answer_are_counted(
    left_out: list[Key], reaches: dict[Key, Reach], count: int
) -> None:
    """A single failure is not believed, and what nobody knows is none."""
    objects = Objects.of([backend("github"), backend("jira")])
    assert not_answering(gateway("github", "jira"), objects, left_out, reaches.get) == count
