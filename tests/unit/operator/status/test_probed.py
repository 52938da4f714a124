"""When a probe is believed."""

import json

import pytest

from switchyard_operator.controller.status.conditions import Truth
from switchyard_operator.controller.status.probed import FAILURES_BELIEVED, UNTRIED, Answer, Probe, ProbeReason, Reach

ANSWER = Answer("Legacy", "2025-11-25", False, "jira", "0.9", 7, "cd34")
ANSWERED = Probe(ProbeReason.ANSWERED, ANSWER)
FAILED = Probe(ProbeReason.TIMED_OUT)
REFUSED = Probe(ProbeReason.CONNECTION_FAILED)
UNASKED = Probe(ProbeReason.ADDRESS_NOT_PROBED)


@pytest.mark.parametrize(
    ("probes", "believed"),
    [
        ([], "Unknown NotProbed"),
        ([ANSWERED], "True Answered"),
        ([FAILED], "Unknown NotProbed"),
        ([FAILED, FAILED, FAILED], "False TimedOut"),
        ([ANSWERED, FAILED, FAILED], "True Answered"),
        ([ANSWERED, FAILED, FAILED, REFUSED], "False ConnectionFailed"),
        ([ANSWERED, FAILED, FAILED, ANSWERED, FAILED, FAILED], "True Answered"),
        ([FAILED, FAILED, FAILED, REFUSED], "False ConnectionFailed"),
        ([FAILED, FAILED, FAILED, ANSWERED], "True Answered"),
        ([ANSWERED, UNASKED], "Unknown AddressNotProbed"),
    ],
)
def test_a_failure_is_believed_when_it_is_the_third_in_a_row(probes: list[Probe], believed: str) -> None:
    """An answer is believed at once."""
    reach = Reach()
    for each in probes:
        reach = reach.after(each)
    assert f"{reach.condition.status} {reach.condition.reason}" == believed


def test_every_reason_says_something() -> None:
    """In words of our own, of a length that a table shows."""
    for reason in ProbeReason:
        assert 0 < len(Reach(reason).condition.message) < 100
        assert (Reach(reason).condition.status is Truth.UNKNOWN) == (reason in UNTRIED)


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        (
            Probe(ProbeReason.HTTP_ERROR, http=421),
            (
                "answers the operator with HTTP 421: it serves other hosts; name one of them in spec.hostHeader, or have the server "
                "allow the one of its address"
            ),
        ),
        (
            Probe(ProbeReason.UNAUTHORIZED, http=401),
            "answers the operator with HTTP 401: see spec.auth and spec.headers",
        ),
        (
            Probe(ProbeReason.UNAUTHORIZED, http=403),
            (
                "answers the operator with HTTP 403: see spec.auth and spec.headers, and spec.hostHeader where the server allows "
                "certain hosts only"
            ),
        ),
        (Probe(ProbeReason.NOT_MCP, http=404), "answers the operator with HTTP 404: see the path of its address"),
        (
            Probe(ProbeReason.REDIRECTED, http=301),
            (
                "answers the operator with HTTP 301: redirects are followed within its origin, and as 307 or 308 alone: give the "
                "address that it leads to"
            ),
        ),
        (Probe(ProbeReason.HTTP_ERROR, http=500), "answers the operator with HTTP 500"),
    ],
)
def test_an_http_status_is_said_with_where_to_look(probe: Probe, said: str) -> None:
    """Once it is believed, and not any more when something else is."""
    reach = Reach().after(probe).after(probe)
    assert "HTTP" not in reach.condition.message
    reach = reach.after(probe)
    assert (reach.condition.reason, reach.condition.message) == (probe.reason.value, said)
    for other in (ANSWERED, FAILED, UNASKED):
        assert "HTTP" not in reach.after(other).condition.message


MISDIRECTED = Probe(ProbeReason.HTTP_ERROR, http=421)


@pytest.mark.parametrize(
    "probes",
    [[], [ANSWERED], [ANSWERED, FAILED, FAILED, FAILED], [FAILED, FAILED, FAILED], [MISDIRECTED] * FAILURES_BELIEVED],
)
def test_the_next_process_believes_what_the_status_says(probes: list[Probe]) -> None:
    """So that a restart of the operator changes no status."""
    reach = Reach()
    for each in probes:
        reach = reach.after(each)
    told = {"type": "Reachable", "reason": reach.condition.reason, "message": reach.condition.message}
    stored = {**reach.facts, "conditions": [told]}
    recalled = Reach.recalled(json.loads(json.dumps(stored)))
    assert (recalled.condition, recalled.facts) == (reach.condition, reach.facts)


@pytest.mark.parametrize(("pinned", "withheld"), [("True", frozenset()), ("False", None)])
def test_of_a_list_not_as_pinned_the_next_process_does_not_know_what_is_withheld(
    pinned: str, withheld: frozenset[str] | None
) -> None:
    """The status has the number of tools alone, and none of their names."""
    conditions = [
        {"type": "Reachable", "status": "True", "reason": "Answered", "message": ""},
        {"type": "Pinned", "status": pinned, "reason": "Any", "message": ""},
    ]
    answer = Reach.recalled({**Reach(ProbeReason.ANSWERED, ANSWER).facts, "conditions": conditions}).answer
    assert answer is not None
    assert (answer.withheld, answer.is_named) == (withheld, False)


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending"}]},
        {"conditions": [{"type": "Reachable", "reason": "OfALaterRelease"}]},
        {"conditions": [{"type": "Reachable", "reason": "Answered"}], "protocol": {}},
    ],
)
def test_a_status_that_does_not_say_is_not_believed(status: dict[str, object]) -> None:
    """The first probe will tell."""
    assert Reach.recalled(status) == Reach()


def test_a_backend_that_was_left_out_is_not_probed_rather_than_unresolved_to_the_next_process() -> None:
    """It may resolve by now."""
    status = {"conditions": [{"type": "Reachable", "reason": "NotResolved"}]}
    assert Reach.recalled(status) == Reach()


def test_what_a_server_calls_itself_is_cut_and_kept_on_one_line() -> None:
    """It is a stranger's text."""
    answer = Answer("Modern", "2026-07-28", True, "a\x1b[31m\nb" + "c" * 500, "é" * 100, 1, "ef")
    assert Reach().after(Probe(ProbeReason.ANSWERED, answer)).facts["serverInfo"] == {
        "name": "a [31m b" + "c" * 117 + "...",
        "version": "é" * 62 + "...",
    }
