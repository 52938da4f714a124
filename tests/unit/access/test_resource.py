"""What a gateway says of itself to clients that look for a token."""

import json
from typing import Any

import pytest

from switchyard_sidecar.access.refusals import insufficient_scope, invalid_token, malformed_request, nothing_presented
from switchyard_sidecar.access.resource import Resource
from switchyard_sidecar.config.model import Authentication

HOST = "gw.example:8811"


def resource(path: str = "/mcp", public_url: str | None = None, **authentication: Any) -> Resource:
    return Resource.of("agents/main", path, public_url, Authentication.model_validate(authentication))


@pytest.mark.parametrize(
    ("path", "public_url", "said", "paths"),
    [
        ("/mcp", None, f"http://{HOST}/mcp", {"", "/mcp"}),
        ("/mcp/", None, f"http://{HOST}/mcp", {"", "/mcp"}),
        ("/", None, f"http://{HOST}", {""}),
        ("/mcp", "https://a.example/x/mcp", "https://a.example/x/mcp", {"", "/mcp", "/x/mcp"}),
        ("/mcp", "https://a.example", "https://a.example", {"", "/mcp"}),
    ],
)
def test_resource_is_what_clients_reach_it_by(path: str, public_url: str | None, said: str, paths: set[str]) -> None:
    """The configured URL to the letter, or else the Host; the metadata stands where the URL puts it, and where requests come."""
    made = resource(path, public_url)
    assert json.loads(made.metadata(HOST)) == {
        "resource": said,
        "resource_name": "agents/main",
        "bearer_methods_supported": ["header"],
    }
    well_known = "/.well-known/oauth-protected-resource"
    assert made.paths == {well_known + each + slash for each in paths for slash in ("", "/")}


def test_challenge_says_no_more_than_is_known() -> None:
    """Without a token no error, with one what is wrong (RFC 6750, section 3.1); scopes where some are needed."""
    where = 'resource_metadata="http://gw.example:8811/.well-known/oauth-protected-resource/mcp"'
    plain = resource()
    assert plain.challenge(nothing_presented(), HOST) == f"Bearer {where}"
    assert plain.challenge(invalid_token("The token has expired"), HOST) == (
        f'Bearer error="invalid_token", error_description="The token has expired", {where}'
    )
    assert plain.challenge(malformed_request("Twice"), HOST) == (
        f'Bearer error="invalid_request", error_description="Twice", {where}'
    )
    issuers = [
        {"issuer": name, "audiences": ["a"], "jwks": "{}", "requiredScopes": scopes}
        for name, scopes in (("i", ["mcp:a", "mcp:b"]), ("j", ["mcp:b", "mcp:c"]))
    ]
    scoped = resource(issuers=issuers)
    assert scoped.challenge(nothing_presented(), HOST) == f'Bearer scope="mcp:a mcp:b mcp:c", {where}'
    assert scoped.challenge(insufficient_scope(["mcp:a", "mcp:b"], ["mcp:b"]), HOST) == (
        'Bearer error="insufficient_scope", error_description="The token lacks scope mcp:b", '
        f'scope="mcp:a mcp:b", {where}'
    )


def test_host_cannot_end_a_quoted_string() -> None:
    """A gateway that any Host reaches writes it where it can do no harm."""
    assert '"http://a\\"b/.well-known/' in resource().challenge(nothing_presented(), 'a"b')
