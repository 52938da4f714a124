"""When calls are sent to a backend that failed some, and when not: a playbook with a clock made of numbers."""

from collections.abc import Sequence
from typing import Literal

import pytest

from switchyard_sidecar.upstream.backoff import Backoff
from switchyard_sidecar.upstream.breaker import Breaker

BACKOFF = Backoff(base_s=1, cap_s=4)
PROBE_S = 5

Step = (
    tuple[Literal["send", "refuse"], float]  # a call comes at this time
    | tuple[Literal["fail"], int, float]  # the nth call that was sent meets an outage at this time
    | tuple[Literal["answer"]]  # the backend answers something
    | tuple[Literal["closed", "open", "half-open"], float]  # what is shown at this time
    | tuple[Literal["wait"], float, float]  # at this time, so long until a call may be sent
)

OPENED: Sequence[Step] = [
    *(("send", 10), ("send", 10), ("send", 10)),
    *(("fail", 0, 12), ("fail", 1, 12), ("fail", 2, 12)),
]
"""Three calls in a row met an outage: open until 13."""

PLAYBOOKS: dict[str, Sequence[Step]] = {
    "two outages are not enough": [("send", 10), ("fail", 0, 10), ("send", 11), ("fail", 1, 11), ("send", 12)],
    "an answer between them begins the count anew": [
        *(("send", 10), ("send", 10), ("fail", 0, 11), ("fail", 1, 11), ("answer",)),
        *(("send", 12), ("fail", 2, 12), ("send", 12), ("closed", 12)),
    ],
    "three in a row open it, and calls are refused at once": [
        *OPENED,
        *(("open", 12), ("wait", 12, 1), ("refuse", 12), ("wait", 12.75, 0.25), ("refuse", 12.75)),
    ],
    "when the wait is over one call is sent, and the others are refused": [
        *OPENED,
        *(("half-open", 13), ("wait", 13, 0), ("send", 13), ("refuse", 13), ("half-open", 14), ("refuse", 17)),
    ],
    "a probe that is answered closes it for all": [*OPENED, ("send", 13), ("answer",), ("closed", 14), ("send", 14)],
    "a probe that fails opens it for longer each time, up to the cap": [
        *OPENED,
        *(("send", 13), ("fail", 3, 14), ("open", 14), ("wait", 14, 2)),
        *(("send", 16), ("fail", 4, 17), ("wait", 17, 4)),
        *(("send", 21), ("fail", 5, 22), ("wait", 22, 4)),
    ],
    "a probe without an outcome lets the next one through after a while": [
        *OPENED,
        *(("send", 13), ("refuse", 17), ("send", 18), ("refuse", 18), ("half-open", 18)),
    ],
    "of two probes that fail the second says nothing new": [
        *OPENED,
        *(("send", 13), ("send", 18), ("fail", 3, 19), ("wait", 19, 2), ("fail", 4, 20), ("wait", 20, 1)),
    ],
    "calls that were under way when it opened say nothing new": [
        *(("send", 10), ("send", 10), ("send", 10), ("send", 10), ("send", 10)),
        *(("fail", 0, 12), ("fail", 1, 12), ("fail", 2, 12), ("fail", 3, 12), ("fail", 4, 12.5), ("wait", 12.5, 0.5)),
    ],
    "a call from before it opened that is answered after all closes it": [
        *(("send", 10), *OPENED[1:3], ("send", 10), *OPENED[3:]),
        *(("refuse", 12), ("answer",), ("send", 12)),
    ],
    "after an answer it takes three again": [
        *OPENED,
        *(("answer",), ("send", 20), ("fail", 3, 20), ("send", 20), ("fail", 4, 20), ("closed", 20)),
        *(("send", 20), ("fail", 5, 20), ("wait", 20, 1)),
    ],
}


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_playbook(name: str) -> None:
    """Each is a sentence that must hold."""
    breaker = Breaker(3, BACKOFF, PROBE_S, lambda: 1.0)
    tickets: list[int] = []
    for step in PLAYBOOKS[name]:
        match step:
            case ("send", now):
                ticket = breaker.admit(now)
                assert ticket is not None, step
                tickets.append(ticket)
            case ("refuse", now):
                assert breaker.admit(now) is None, step
            case ("fail", call, now):
                breaker.failed(tickets[call], now)
            case ("answer",):
                breaker.answered()
            case ("wait", now, wait_s):
                assert breaker.wait_s(now) == wait_s, step
            case (state, now):
                assert breaker.state(now) == state, step
