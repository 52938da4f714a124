"""What is wrong with a section that says who is let in, and what is only warned of."""

import json
from typing import Any

import pytest

from switchyard_sidecar.config.callers import faults, key_set_fault, warnings
from switchyard_sidecar.config.model import Authentication

KEYS = json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "x": "a", "y": "b"}]})


def section(**issuer: Any) -> Authentication:
    own = {"issuer": "https://i.example", "audiences": ["a"], "jwks": KEYS}
    given = {name: value for name, value in (own | issuer).items() if value is not None}
    return Authentication.model_validate({"issuers": [given]})


@pytest.mark.parametrize(
    ("issuer", "at", "problem"),
    [
        ({"issuer": ""}, "issuer", "is empty"),
        ({"audiences": ["a", ""]}, "audiences", "one of them is empty"),
        ({"algorithms": ["RS256", "HS256"]}, "algorithms", "'HS256' is no asymmetric signature algorithm"),
        ({"algorithms": ["none"]}, "algorithms", "'none' is no asymmetric"),
        ({"algorithms": ["rs256"]}, "algorithms", "'rs256' is no asymmetric"),
        ({"jwks": None}, "jwks", "needs either keys or a URL"),
        ({"jwksUrl": "https://i.example/jwks"}, "jwks", "needs either keys or a URL"),
        ({"jwks": "{"}, "jwks", "is not JSON"),
        ({"jwks": "[" * 100_000}, "jwks", "is not JSON"),
        ({"jwks": "[]"}, "jwks", "is no key set"),
        ({"jwks": '{"keys":{}}'}, "jwks", "is no key set"),
        ({"jwks": '{"keys":["a"]}'}, "jwks", "is no key set"),
        ({"jwks": '{"keys":[{"kty":"oct"}]}'}, "jwks", "symmetric or private key"),
        ({"jwks": '{"keys":[{"kty":"RSA","d":"s3cret"}]}'}, "jwks", "symmetric or private key"),
        ({"jwks": '{"keys":[{"kty":"x"}]}'}, "jwks", "holds no public key"),
        ({"jwks": '{"keys":[{"kty":[]},{"kty":{}},{"kty":null},{}]}'}, "jwks", "holds no public key"),
        ({"jwks": None, "jwksUrl": "ftp://i.example"}, "jwksUrl", "no absolute http or https URL"),
        ({"jwks": None, "jwksUrl": "https://"}, "jwksUrl", "no absolute http or https URL"),
        ({"jwks": None, "jwksUrl": "https://[::1"}, "jwksUrl", "no absolute http or https URL"),
        ({"jwks": None, "jwksUrl": "https://i.example:99999/"}, "jwksUrl", "no absolute http or https URL"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(issuer: dict[str, Any], at: str, problem: str) -> None:
    """Nothing of a key is quoted."""
    ((where, what),) = faults(section(**issuer))
    assert where == f"issuers.0.{at}"
    assert problem in what
    assert "s3cret" not in what


def test_half_a_surrogate_pair_is_no_json() -> None:
    """A text that came by YAML may hold one."""
    assert key_set_fault('{"keys":[{"kty":"\ud800"}]}') == "is not JSON"


def test_issuers_and_names_of_tokens_are_there_once() -> None:
    """Of two, nobody could say which one counts."""
    issuer = {"issuer": "i", "audiences": ["a"], "jwks": KEYS}
    token = {"name": "ci", "credential": {"file": "cred_a", "revision": ""}}
    both = Authentication.model_validate({"issuers": [issuer, issuer], "tokens": [token, token]})
    assert list(faults(both)) == [("issuers.1.issuer", "'i' is there twice"), ("tokens.1.name", "'ci' is there twice")]


@pytest.mark.parametrize("keys", [KEYS, '{"keys":[]}'])
def test_good_section_has_no_faults(keys: str) -> None:
    """Keys of an issuer that trusts nobody any more are keys."""
    assert list(faults(section(jwks=keys))) == []
    assert list(faults(None)) == []
    assert list(faults(Authentication())) == []


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("https://i.example/jwks", False),
        ("http://localhost:8080/jwks", False),
        ("http://127.0.0.1/jwks", False),
        ("http://[::1]/jwks", False),
        ("http://i.example/jwks", True),
        ("http://10.0.0.1/jwks", True),
        ("http://localhost.example/jwks", True),
    ],
)
def test_keys_over_plain_http_are_warned_of_but_on_loopback(url: str, *, warned: bool) -> None:
    """Whoever is on the way could be any caller."""
    assert bool(list(warnings(section(jwks=None, jwksUrl=url)))) == warned
