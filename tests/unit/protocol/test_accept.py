"""Accept: generous to real clients, exact about what they refuse."""

import pytest

from switchyard_sidecar.protocol.accept import Accepted, parse

BOTH = Accepted(json=True, event_stream=True)
JSON = Accepted(json=True, event_stream=False)
EVENTS = Accepted(json=False, event_stream=True)
NEITHER = Accepted(json=False, event_stream=False)


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        pytest.param(None, BOTH, id="absent"),
        pytest.param("", BOTH, id="empty"),
        pytest.param("application/json, text/event-stream", BOTH, id="as the specification asks"),
        pytest.param("application/json", JSON, id="json only"),
        pytest.param("text/event-stream", EVENTS, id="events only"),
        pytest.param("*/*", BOTH, id="anything"),
        pytest.param("application/*", JSON, id="any application type"),
        pytest.param("text/*, application/xml", EVENTS, id="any text type"),
        pytest.param("Application/JSON;charset=UTF-8", JSON, id="case and parameters do not matter"),
        pytest.param("application/json;q=0.1 , text/event-stream ; q=0.9", BOTH, id="a low q is still yes"),
        pytest.param("application/json;q=0, */*", EVENTS, id="the specific range decides"),
        pytest.param("*/*;q=0, application/json", JSON, id="in either order"),
        pytest.param("text/*;q=0.000, */*;q=0.1", JSON, id="also between wildcards"),
        pytest.param("*/*; Q=0", NEITHER, id="all refused"),
        pytest.param("text/html", NEITHER, id="something else"),
        pytest.param("text/html, image/gif, *; q=.2, */*; q=.2", BOTH, id="an old java client"),
        pytest.param("application/json;q=x", JSON, id="a malformed q is none"),
        pytest.param(";;, ,q=0", BOTH, id="nothing legible"),
        pytest.param("json, text/event-stream", EVENTS, id="the illegible part is skipped"),
    ],
)
def test_accept_is_honoured(header: str | None, accepted: Accepted) -> None:
    """The most specific range decides, q=0 refuses, absence and nonsense allow everything."""
    assert parse(header) == accepted
