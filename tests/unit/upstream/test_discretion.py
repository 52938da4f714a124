"""What callers hear of a backend's failures, and that a credential is not part of it."""

import pytest
from msgspec import Raw

from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.discretion import DiscreetSink, Discretion
from switchyard_sidecar.upstream.faults import BackendUnavailable
from switchyard_sidecar.upstream.forwarded import ForwardedToken

CREDENTIALS = {"cred_token": b"t0ken/of+a bearer==\n", "cred_key": b"Basic dXNlcjpwYXNzd29yZA==", "cred_short": b"prod"}


def credential(file: str) -> dict[str, str]:
    return {"file": file, "revision": ""}


def discretion(token: ForwardedToken | None = None) -> Discretion:
    config = Backend.model_validate(
        {
            "namespace": "tools",
            "name": "one",
            "url": "http://one.example/mcp",
            "auth": {"type": "Bearer", "credential": credential("cred_token")},
            "headers": [
                {"name": "X-Key", "credential": credential("cred_key")},
                {"name": "X-Short", "credential": credential("cred_short")},
                {"name": "X-Plain", "value": "nobody's secret"},
                {"name": "X-Lost", "credential": credential("cred_lost")},
            ],
        }
    )
    return Discretion(config, CREDENTIALS, token)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("no such token: Bearer t0ken/of+a bearer==", "no such token: Bearer [redacted]"),
        ("bad header Basic dXNlcjpwYXNzd29yZA==!", "bad header [redacted]!"),
        ("bad credentials dXNlcjpwYXNzd29yZA==", "bad credentials [redacted]"),
        ("not for prod, nor for nobody's secret", "not for prod, nor for nobody's secret"),
    ],
)
def test_an_error_says_all_but_the_credential(message: str, shown: str) -> None:
    """Its code and the rest of its words stay; what is short, or written in the config, is no credential."""
    told = discretion().about(McpError(-32001, message))
    assert (told.code, told.message) == (-32001, shown)


def test_the_data_of_an_error_too() -> None:
    """In the ways in which JSON may be written."""
    written = rb'{"a":"t0ken\/of+a bearer==","b":["Basic dXNlcjpwYXNzd29yZA=="],"c":"t0ken/of+a bearer==","d":1.50}'
    told = discretion().about(McpError(-32001, "no", Raw(written)))
    assert bytes(told.data) == b'{"a":"[redacted]","b":["[redacted]"],"c":"[redacted]","d":1.50}'


def test_an_error_without_a_credential_is_the_same_error() -> None:
    """Also one of our own, whose kind matters."""
    for error in (McpError(-32001, "no", Raw(b"{}"), status=400), BackendUnavailable("tools/one", "HTTP 401")):
        assert discretion().about(error) is error


def test_a_result_that_is_an_error_goes_without_and_any_other_as_it_is() -> None:
    """Data that happen to hold it are the backend's to give."""
    failed = b'{"isError":true, "content":[{"type":"text","text":"401: t0ken/of+a bearer=="}]}'
    assert discretion().within(failed) == b'{"isError":true, "content":[{"type":"text","text":"401: [redacted]"}]}'
    for fine in (failed.replace(b"true", b"false"), failed.replace(b'"isError":true, ', b""), b'{"isError":true}'):
        assert discretion().within(fine) == fine


def test_a_callers_own_token_too_also_after_it_was_renewed() -> None:
    """It is looked for as it is now."""
    token = ForwardedToken("first-token-of-alice")
    discreet = discretion(token)
    assert discreet.about(McpError(-32001, "first-token-of-alice")).message == "[redacted]"
    token.replace("second-token-of-alice")
    assert discreet.about(McpError(-32001, "second-token-of-alice")).message == "[redacted]"


async def test_what_is_said_during_a_call_too() -> None:
    """Log messages and progress."""
    heard: list[tuple[str, bytes]] = []

    class Sink:
        async def notify(self, method: str, params: bytes) -> None:
            heard.append((method, params))

    await DiscreetSink(Sink(), discretion()).notify("notifications/message", b'{"data":"Basic dXNlcjpwYXNzd29yZA=="}')
    assert heard == [("notifications/message", b'{"data":"[redacted]"}')]
