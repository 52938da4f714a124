"""The rules of relaying a call that need no connection."""

import msgspec
import pytest
from msgspec import Raw

from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.calls import carried_capabilities, told
from switchyard_sidecar.upstream.faults import AtRest, BackendUnavailable, Fault, Refused, Unreachable


@pytest.mark.parametrize(
    ("declared", "carried"),
    [
        (b"{}", b"{}"),
        (b'{"elicitation":{"form":{}},"sampling":{}}', b'{"elicitation":{"form":{}},"sampling":{}}'),
        (b'{"roots":{ },"extensions":{"io.modelcontextprotocol/ui":{}}}', b'{"roots":{ }}'),
        (b"nonsense", b"{}"),
    ],
)
def test_capabilities_carried_between_modern_hops(declared: bytes, carried: bytes) -> None:
    """What the caller can answer, and no extension: those are not relayed."""
    assert carried_capabilities(declared) == carried


def test_error_of_the_backend_reaches_the_caller_as_it_is() -> None:
    """Code, message and data, whatever the HTTP status it came with."""
    error = McpError(-32021, "needs sampling", Raw(b'{"requiredCapabilities":{"sampling":{}}}'))
    assert told(error, "n/b") is error
    assert told(Refused(400, error), "n/b") is error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (McpError(-32020, "Mcp-Name differs"), "Backend unavailable: rejects its own mirrored headers"),
        (McpError(-32022, "version"), "Backend unavailable: refuses the protocol version"),
        (Refused(400, McpError(-32020, "")), "Backend unavailable: rejects its own mirrored headers"),
        (Refused(503), "Backend unavailable: HTTP 503"),
        (Unreachable("connection refused"), "Backend unavailable: connection refused"),
        (Fault("too many calls at once"), "Backend unavailable: too many calls at once"),
    ],
)
def test_what_concerns_this_hop_alone_is_told_in_our_words(error: McpError | Fault, message: str) -> None:
    """A caller whose own headers and version are in order must not be told otherwise."""
    answer = told(error, "n/b")
    assert isinstance(answer, BackendUnavailable)
    assert (answer.code, answer.message, answer.data) == (-32603, message, {"backend": "n/b"})
    assert msgspec.json.encode(answer.data) == b'{"backend":"n/b"}'


def test_caller_is_told_when_a_backend_at_rest_may_be_tried_again() -> None:
    """Rounded up, so that it does not come too early by as much as a millisecond."""
    answer = told(AtRest(1.2341), "n/b")
    assert answer.message == "Backend unavailable: failed several times in a row; not tried again yet"
    assert (answer.code, answer.data) == (-32603, {"backend": "n/b", "retryAfterMs": 1235})
