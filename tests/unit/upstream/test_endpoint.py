"""What every request to a backend carries."""

import pytest
from aiohttp import ClientTimeout
from yarl import URL

from switchyard_sidecar.config.model import Auth, AuthType, Backend, Credential, Header
from switchyard_sidecar.upstream.endpoint import Endpoint, address, fixed_headers
from switchyard_sidecar.upstream.faults import Fault
from switchyard_sidecar.upstream.forwarded import ForwardedToken
from switchyard_sidecar.upstream.http import _Request

NO_LIMITS = ClientTimeout(total=None)
SECRET = Credential(file="cred_gh", revision="")


def backend(url: str = "http://b.example/mcp", **keys: object) -> Backend:
    return Backend.model_validate({"namespace": "n", "name": "b", "url": url, **keys})


@pytest.mark.parametrize(
    "url",
    [
        "https://b.example/mcp",
        "https://b.example/mcp/",
        "http://b.example:8080/a%2Fb//c?x=%20y",
        "http://[::1]:9/mcp",
    ],
)
def test_url_is_used_verbatim(url: str) -> None:
    """No slash is added or taken away, and no escape is written anew."""
    assert str(address(backend(url))) == url


@pytest.mark.parametrize("url", ["", "mcp", "/mcp", "ftp://b.example/", "https://", "http://b.example:port/"])
def test_url_that_cannot_be_asked_is_a_fault_of_its_backend(url: str) -> None:
    """It costs the backend, not the gateway."""
    with pytest.raises(Fault, match="request cannot be made"):
        address(backend(url))


def test_headers_come_from_the_config_alone() -> None:
    """Literal values, values from credentials, the bearer token and another Host."""
    config = backend(
        host_header="inner:8000",
        headers=(Header(name="X-Team", value="platform"), Header(name="X-Api-Key", credential=SECRET)),
        auth=Auth(type=AuthType.BEARER, credential=Credential(file="cred_token", revision="")),
    )
    assert fixed_headers(config, {"cred_gh": b"key", "cred_token": b"tok\n"}) == {
        "X-Team": "platform",
        "X-Api-Key": "key",
        "Authorization": "Bearer tok",
        "Host": "inner:8000",
    }


@pytest.mark.parametrize("auth", [AuthType.NONE, AuthType.FORWARD])
def test_without_a_bearer_token_there_is_no_authorization(auth: AuthType) -> None:
    """Nobody else's credential takes its place."""
    assert fixed_headers(backend(auth=Auth(type=auth)), {}) == {}


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\nb", b"a\r\nX-Evil: 1", b"a\0b", b"", b" \n"])
def test_credential_that_is_no_header_value_is_a_fault(content: bytes) -> None:
    """Above all, it never becomes two headers."""
    with pytest.raises(Fault, match="credential unusable"):
        fixed_headers(backend(headers=(Header(name="X", credential=SECRET),)), {"cred_gh": content})


def test_missing_credential_is_a_fault() -> None:
    """No request goes out without what it should carry."""
    with pytest.raises(Fault, match="credential unusable"):
        fixed_headers(backend(auth=Auth(type=AuthType.BEARER, credential=SECRET)), {})


def test_what_carries_credentials_does_not_show_them() -> None:
    """Whatever is made of it for a log line or a traceback."""
    endpoint = Endpoint(URL("http://b.example/mcp"), {"X-Api-Key": "s3cret"}, True, None, 1.0, ForwardedToken("t0ken"))
    request = _Request(endpoint, "POST", {"Authorization": "Bearer t0ken", "X-Api-Key": "s3cret"}, None, NO_LIMITS)
    for shown in map(repr, (endpoint, request, endpoint.token)):
        assert "s3cret" not in shown
        assert "t0ken" not in shown
