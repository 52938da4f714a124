"""Who signs the tokens of service accounts, as the API server says."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from switchyard_operator.compile.authentication import ServiceAccountIssuer
from switchyard_operator.controller.kube import ApiError, Unreachable
from switchyard_operator.controller.service_accounts import NotReadYet, ServiceAccounts, issuer_of

DISCOVERY = {"issuer": "https://kubernetes.default.svc", "jwks_uri": "https://elsewhere.example/keys"}
ONE = {"use": "sig", "kty": "RSA", "kid": "one", "alg": "RS256", "n": "n", "e": "AQAB"}
TWO = {"use": "sig", "kty": "EC", "kid": "two", "alg": "ES256", "crv": "P-256", "x": "x", "y": "y"}


class ApiServer:
    """Answers with what is put here, or fails with it."""

    def __init__(self) -> None:
        self.discovery: Mapping[str, Any] | Exception = DISCOVERY
        self.keys: Mapping[str, Any] | Exception = {"keys": [ONE]}
        self.changes = 0
        self.accounts = ServiceAccounts(self.read, self.changed)

    async def read(self, path: str) -> Mapping[str, Any]:
        answer = {"/.well-known/openid-configuration": self.discovery, "/openid/v1/jwks": self.keys}[path]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def changed(self) -> None:
        self.changes += 1


def keys_of(issuer: ServiceAccountIssuer | None) -> list[str]:
    assert issuer is not None
    return sorted(each["kid"] for each in json.loads(issuer.jwks)["keys"])


def test_equal_keys_are_equal_text_in_whatever_order_they_come() -> None:
    """Otherwise configs would change with nothing."""
    turned = dict(reversed(TWO.items()))
    found = issuer_of(DISCOVERY, {"keys": [ONE, TWO]})
    assert found == issuer_of(DISCOVERY, {"keys": [turned, ONE]})
    assert found.issuer == "https://kubernetes.default.svc"
    assert json.loads(found.jwks) == {"keys": [TWO, ONE]}


@pytest.mark.parametrize(
    ("discovery", "keys", "says"),
    [
        ({}, {"keys": [ONE]}, "names no issuer"),
        ({"issuer": 1}, {"keys": [ONE]}, "names no issuer"),
        (DISCOVERY, {}, "is no key set"),
        (DISCOVERY, {"keys": []}, "holds no key"),
        (DISCOVERY, {"keys": ["x"]}, "is no key set"),
    ],
)
def test_what_is_no_issuer_is_none(discovery: dict[str, Any], keys: dict[str, Any], says: str) -> None:
    """A proxy that answers everything must not be believed."""
    with pytest.raises(ValueError, match=says):
        issuer_of(discovery, keys)


async def test_rotated_keys_are_followed_and_an_outage_loses_none() -> None:
    """Whoever uses them hears of it, once; what was read last stays."""
    server = ApiServer()
    await server.accounts.look()
    assert (keys_of(server.accounts.issuer()), server.changes) == (["one"], 1)
    server.keys = {"keys": [TWO, ONE]}
    await server.accounts.look()
    await server.accounts.look()
    assert (keys_of(server.accounts.issuer()), server.changes) == (["one", "two"], 2)
    faults: list[Any] = [Unreachable("timed out"), ApiError(403, "Forbidden", ""), {"keys": []}]
    for fault in faults:
        server.keys = fault
        await server.accounts.look()
        assert (keys_of(server.accounts.issuer()), server.changes) == (["one", "two"], 2)


async def test_nothing_is_said_before_there_is_an_answer() -> None:
    """An operator that starts while the API server stumbles must not shut out those who were let in."""
    server = ApiServer()
    for fault in (Unreachable("no answer"), ApiError(500, "InternalError", ""), ApiError(429, "TooManyRequests", "")):
        server.discovery = fault
        await server.accounts.look()
        with pytest.raises(NotReadYet):
            server.accounts.issuer()
    server.discovery = DISCOVERY
    await server.accounts.look()
    assert keys_of(server.accounts.issuer()) == ["one"]


@pytest.mark.parametrize("fault", [ApiError(403, "Forbidden", ""), ApiError(404, "NotFound", ""), {"issuer": ""}])
async def test_a_refusal_is_an_answer_until_it_is_taken_back(fault: Any) -> None:
    """Permissions may come later."""
    server = ApiServer()
    server.discovery = fault
    await server.accounts.look()
    assert (server.accounts.issuer(), server.changes) == (None, 0)
    server.discovery = DISCOVERY
    await server.accounts.look()
    assert (keys_of(server.accounts.issuer()), server.changes) == (["one"], 1)
