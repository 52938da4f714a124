"""What failures mean for what is done next."""

import pytest

from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.faults import (
    Disconnected,
    Fault,
    Malformed,
    Refused,
    SessionLost,
    Silent,
    TooLarge,
    Unanswered,
    Unreachable,
    casts_doubt,
    is_answer,
    is_changed,
    is_outage,
    reason_of,
)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (SessionLost(), True),
        (Refused(404), True),
        (Refused(400, McpError(-32600, "Missing session ID")), True),
        (McpError(-32022, "version"), True),
        (Malformed("answer is not JSON-RPC"), True),
        (TooLarge(), True),
        (Refused(503), False),
        (Refused(401), False),
        (Refused(429), False),
        (Unreachable("connection refused"), False),
        (Disconnected("connection lost"), False),
        (Silent("no answer in time"), False),
    ],
)
def test_lists_that_fail_as_another_backend_would(error: Fault | McpError, expected: bool) -> None:
    """Then everything is found out anew at once; an outage is waited out."""
    assert is_changed(error) is expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Unreachable("connection refused"), True),
        (Disconnected("connection lost"), True),
        (Malformed("answer is not JSON-RPC"), True),
        (Refused(404), True),
        (Refused(503), True),
        (Refused(400, McpError(-32600, "not initialized")), True),
        (Refused(400, McpError(-32602, "invalid arguments")), False),
        (Refused(400, McpError(-32021, "needs sampling")), False),
        (McpError(-32602, "invalid arguments"), False),
        (McpError(-32603, "boom"), False),
        (Silent("call timed out: no message for too long"), True),
        (Silent("call timed out: absolute limit"), False),
        (Fault("too many calls at once"), False),
    ],
)
def test_calls_that_cast_doubt_on_the_list(error: Fault | McpError, expected: bool) -> None:
    """Not those that fail for what the caller sent. Whether a tool is slow or all of it hangs, the list will tell."""
    assert casts_doubt(error) is expected


@pytest.mark.parametrize(
    ("error", "outage", "answer"),
    [
        (Unreachable("connection timed out"), True, False),
        (Disconnected("connection lost"), True, False),
        (Silent("call timed out: no message for too long"), True, False),
        (Silent("call timed out: absolute limit"), False, False),
        (Refused(503), True, False),
        (Refused(502), True, False),
        (Refused(500), False, True),
        (Refused(429), False, True),
        (Refused(503, McpError(-32603, "its own words")), False, True),
        (McpError(-32603, "boom"), False, True),
        (McpError(-32602, "invalid arguments"), False, True),
        (Unanswered(), False, True),
        (Malformed("answer is not JSON-RPC"), False, True),
        (SessionLost(), False, True),
        (TooLarge(), False, True),
        (Fault("too many calls at once"), False, False),
        (Fault("the gateway has too many files and connections open"), False, False),
    ],
)
def test_calls_that_fail_as_if_nothing_were_there(error: Fault | McpError, outage: bool, answer: bool) -> None:
    """Whatever the backend says shows that it is there; what we do not let through shows nothing."""
    assert (is_outage(error), is_answer(error)) == (outage, answer)


def test_reasons_hold_nothing_of_the_backends_text() -> None:
    """They go into status, logs and lists."""
    assert reason_of(McpError(-32603, "<script>")) == "JSON-RPC error -32603"
    assert reason_of(Refused(502, McpError(-1, "<script>"))) == "HTTP 502"
    assert reason_of(SessionLost()) == "session unknown to the backend"
