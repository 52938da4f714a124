"""Who may speak to the endpoint."""

import pytest

from switchyard_sidecar.config.model import Listener
from switchyard_sidecar.downstream.guard import Guard, check_body_headers
from switchyard_sidecar.protocol.errors import McpError

LISTENER = Listener(
    allowed_origins=("https://app.example",), allowed_hosts=("gw.team-a.svc",), public_url="https://mcp.example/mcp"
)
GUARD = Guard.of(LISTENER, path="/mcp", legacy=True)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        pytest.param("POST", "/mcp", {"Host": "localhost:8811"}, None, id="loopback name"),
        pytest.param("POST", "/mcp/", {"Host": "127.0.0.1"}, None, id="other spelling, no port"),
        pytest.param("GET", "/mcp", {"Host": "[::1]:8811"}, None, id="IPv6"),
        pytest.param("POST", "/mcp", {"Host": "GW.team-a.svc:80"}, None, id="allowed host"),
        pytest.param("POST", "/mcp", {"Host": "mcp.example"}, None, id="host of the public URL"),
        pytest.param("POST", "/mcp", {"Host": "10.1.2.3:8811"}, None, id="the address listened on"),
        pytest.param("POST", "/mcp", {"Host": "localhost", "Origin": "https://app.example"}, None, id="allowed origin"),
        pytest.param(
            "POST",
            "/mcp",
            {"Host": "localhost:8811", "Origin": "http://localhost:8811"},
            None,
            id="the endpoint's own origin",
        ),
        pytest.param(
            "POST",
            "/mcp",
            {"Host": "localhost:8811", "Origin": "http://localhost:3000"},
            403,
            id="another port's origin",
        ),
        pytest.param(
            "POST",
            "/mcp",
            {"Host": "localhost:8811", "Origin": "http://evil.localhost:8811"},
            403,
            id="an origin that ends like the endpoint's own",
        ),
        pytest.param(
            "POST",
            "/mcp",
            {"Host": "localhost:8811", "Origin": "extension://localhost:8811"},
            403,
            id="an origin of another scheme",
        ),
        pytest.param(
            "POST",
            "/mcp",
            {"Host": "localhost", "Origin": "https://app.example.evil.example"},
            403,
            id="an origin that begins like an allowed one",
        ),
        pytest.param(
            "POST", "/mcp", {"Host": "localhost", "Origin": "http://app.example"}, 403, id="an allowed one in clear"
        ),
        pytest.param("POST", "/other", {"Host": "localhost"}, 404, id="other path"),
        pytest.param("POST", "/mcp//", {"Host": "localhost"}, 404, id="doubled slash"),
        pytest.param("POST", "/mcp", {"Host": "attacker.example"}, 403, id="rebound host"),
        pytest.param("POST", "/mcp", {"Host": "localhost.attacker.example"}, 403, id="look-alike host"),
        pytest.param("POST", "/mcp", {}, 403, id="no host"),
        pytest.param("POST", "/mcp", {"Host": "localhost", "Origin": "https://evil.example"}, 403, id="other origin"),
        pytest.param("POST", "/mcp", {"Host": "localhost", "Origin": "null"}, 403, id="opaque origin"),
        pytest.param("OPTIONS", "/mcp", {"Host": "localhost", "Origin": "https://evil.example"}, 403, id="preflight"),
        pytest.param("PUT", "/mcp", {"Host": "localhost"}, 405, id="unknown method"),
        pytest.param("HEAD", "/mcp", {"Host": "localhost"}, 405, id="HEAD"),
    ],
)
def test_request_passes_or_is_refused_with_its_status(
    method: str, path: str, headers: dict[str, str], status: int | None
) -> None:
    """Path, then Host, then Origin, then method."""
    if status is None:
        GUARD.check(method, path, headers, "10.1.2.3")
        return
    with pytest.raises(McpError) as refused:
        GUARD.check(method, path, headers, "10.1.2.3")
    assert refused.value.status == status


def test_gateway_without_legacy_has_no_get_and_no_delete() -> None:
    """Both belong to sessions, which the modern revision does not have."""
    guard = Guard.of(Listener(), path="/mcp", legacy=False)
    for method in ("GET", "DELETE"):
        with pytest.raises(McpError) as refused:
            guard.check(method, "/mcp", {"Host": "localhost"}, "")
        assert refused.value.status == 405


def test_star_allows_any_host_and_origin() -> None:
    """Whoever fronts the gateway may have checked them."""
    guard = Guard.of(Listener(allowed_origins=("*",), allowed_hosts=("*",)), path="/mcp", legacy=True)
    guard.check("POST", "/mcp", {"Host": "anything", "Origin": "null"}, "")


def test_rebound_host_that_only_star_lets_pass_has_no_own_origin() -> None:
    """A page of attacker.example, rebound to this machine, sends an Origin equal to its Host."""
    guard = Guard.of(Listener(allowed_hosts=("*",)), path="/mcp", legacy=True)
    headers = {"Host": "attacker.example:8811", "Origin": "http://attacker.example:8811"}
    with pytest.raises(McpError) as refused:
        guard.check("POST", "/mcp", headers, "")
    assert refused.value.status == 403


def test_allowed_origin_can_read_answers_and_refusals() -> None:
    """The same headers stand on both; another origin gets only the Vary."""
    assert GUARD.fields({"Origin": "https://app.example"}) == (
        ("Access-Control-Allow-Origin", "https://app.example"),
        ("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After"),
        ("Vary", "Origin"),
    )
    assert GUARD.fields({"Origin": "https://evil.example"}) == (("Vary", "Origin"),)
    assert GUARD.fields({}) == ()


def test_preflight_grants_the_headers_that_are_asked_for() -> None:
    """Mcp-Param-* headers have names that nobody can list in advance."""
    fields = dict(
        GUARD.preflight(
            {
                "Origin": "https://app.example",
                "Access-Control-Request-Headers": "mcp-param-region, mcp-protocol-version",
            }
        )
    )
    assert fields["Access-Control-Allow-Headers"] == "mcp-param-region, mcp-protocol-version"
    assert fields["Access-Control-Allow-Methods"] == "POST, GET, DELETE, OPTIONS"


def test_preflight_does_not_reflect_what_is_no_header_list() -> None:
    """What goes into a response header is checked first."""
    fields = dict(GUARD.preflight({"Origin": "https://app.example", "Access-Control-Request-Headers": "a\x00b"}))
    assert "Access-Control-Allow-Headers" not in fields


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        ({"Content-Type": "application/json"}, True),
        ({"Content-Type": "Application/JSON; charset=utf-8"}, True),
        ({"Content-Type": "application/json", "Content-Encoding": "identity"}, True),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, False),
        ({"Content-Type": "text/plain"}, False),
        ({"Content-Type": "application/json-patch+json"}, False),
        ({}, False),
    ],
)
def test_only_plain_json_bodies_are_read(headers: dict[str, str], accepted: bool) -> None:
    """A form or a text body is what a hostile page can send without a preflight."""
    if accepted:
        check_body_headers(headers)
        return
    with pytest.raises(McpError) as refused:
        check_body_headers(headers)
    assert refused.value.status == 415
