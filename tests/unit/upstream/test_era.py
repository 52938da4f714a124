"""What the answer to the first probe says of a backend's era."""

import pytest

from switchyard_sidecar.upstream.era import (
    Discovered,
    ErrorAnswer,
    Modern,
    NoAnswer,
    NoConnection,
    Offer,
    OtherAnswer,
    Outcome,
    TryLegacy,
    Undecided,
    Verdict,
    decide,
    may_be_http_sse,
)

V = "2026-07-28"

MODERN = [
    pytest.param(Discovered((V,)), Modern(V), id="a result that names our version"),
    pytest.param(Discovered(("2027-01-01", V, "2025-11-25")), Modern(V), id="a result that names it among others"),
    pytest.param(ErrorAnswer(400, -32020), Modern(V), id="header mismatch"),
    pytest.param(ErrorAnswer(400, -32021), Modern(V), id="missing client capability"),
    pytest.param(ErrorAnswer(200, -32021), Modern(V), id="a modern error under another status"),
    pytest.param(ErrorAnswer(403, -32020), Modern(V), id="a modern error under a status that else says nothing"),
    pytest.param(
        ErrorAnswer(400, -32022, ("2027-01-01", V)), Offer(V), id="unsupported, but ours is among the supported"
    ),
    pytest.param(ErrorAnswer(400, -32004, (V,)), Offer(V), id="the same with the code of the drafts"),
]

LEGACY = [
    pytest.param(Discovered(()), id="a result without versions"),
    pytest.param(Discovered(("2025-11-25",)), id="a result that names legacy versions alone"),
    pytest.param(Discovered(("2027-01-01",)), id="a result that names modern versions unknown to us"),
    pytest.param(ErrorAnswer(400, -32022, ("2027-01-01",)), id="unsupported, and nothing in common"),
    pytest.param(ErrorAnswer(400, -32022), id="unsupported, without a list"),
    pytest.param(ErrorAnswer(400, -32004), id="a code of the drafts that means something else here"),
    pytest.param(ErrorAnswer(200, -32601), id="method not found"),
    pytest.param(ErrorAnswer(404, -32601), id="method not found, with 404"),
    pytest.param(ErrorAnswer(400, -32600), id="invalid request: no session"),
    pytest.param(ErrorAnswer(200, -32602), id="invalid params"),
    pytest.param(ErrorAnswer(400, -32000), id="not initialized"),
    pytest.param(ErrorAnswer(404, -32001), id="session not found"),
    pytest.param(OtherAnswer(400), id="400 without a JSON-RPC error"),
    pytest.param(OtherAnswer(404), id="404 without a JSON-RPC error"),
    pytest.param(OtherAnswer(405), id="405"),
    pytest.param(OtherAnswer(406), id="406"),
    pytest.param(OtherAnswer(200), id="a page of HTML"),
    pytest.param(OtherAnswer(302), id="a redirection elsewhere"),
    pytest.param(NoAnswer(), id="silence"),
]

UNDECIDED = [
    *[
        pytest.param(OtherAnswer(status), Undecided(f"HTTP {status}"), id=str(status))
        for status in (401, 403, 407, 408, 429, 500, 502, 503, 504)
    ],
    pytest.param(ErrorAnswer(401, -32001), Undecided("HTTP 401"), id="401 with a JSON-RPC error"),
    pytest.param(ErrorAnswer(403, -32000), Undecided("HTTP 403"), id="403 with a JSON-RPC error"),
    pytest.param(ErrorAnswer(500, -32603), Undecided("HTTP 500"), id="500 with a JSON-RPC error"),
    pytest.param(NoConnection("connection refused"), Undecided("connection refused"), id="no connection"),
]


@pytest.mark.parametrize(("outcome", "verdict"), MODERN)
def test_modern_is_what_only_a_modern_server_answers(outcome: Outcome, verdict: Verdict) -> None:
    """A modern version in common, or one of the errors that earlier revisions do not have."""
    assert decide(outcome, asked=V) == verdict


@pytest.mark.parametrize("outcome", LEGACY)
def test_anything_else_is_a_reason_to_try_initialize(outcome: Outcome) -> None:
    """Real legacy servers refuse an unknown method in every way there is, or do not answer at all."""
    assert decide(outcome, asked=V) == TryLegacy()


@pytest.mark.parametrize(("outcome", "verdict"), UNDECIDED)
def test_what_others_may_have_said_decides_nothing(outcome: Outcome, verdict: Verdict) -> None:
    """An authentication layer, an overloaded proxy or a refused connection says nothing of the server behind it."""
    assert decide(outcome, asked=V) == verdict


@pytest.mark.parametrize("code", [-32022, -32004])
def test_version_that_is_offered_and_refused_again_falls_through(code: int) -> None:
    """A server that names a version it then refuses is not asked for ever."""
    assert decide(ErrorAnswer(400, code, (V,)), asked=V, offered=frozenset({V})) == TryLegacy()


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, True), (404, True), (405, True), (200, False), (401, False), (406, False), (500, False)],
)
def test_refusals_that_may_come_from_http_sse(status: int, expected: bool) -> None:
    """The statuses that 2025-11-25 names, and no other."""
    assert may_be_http_sse(status) is expected
