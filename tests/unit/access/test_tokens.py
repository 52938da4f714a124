"""Which tokens are good, and what is said of the others."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set
from switchyard_sidecar.access import tokens
from switchyard_sidecar.access.caller import Caller, digest_of
from switchyard_sidecar.access.keys import KeySet
from switchyard_sidecar.access.refusals import Denied
from switchyard_sidecar.access.terms import Terms
from switchyard_sidecar.config.model import Issuer

ISSUER = "https://issuer.example"
KEYS = {name: SigningKey.make(name, name) for name in ("ES256", "EdDSA", "RS256", "PS256", "ES384")}
KEY = KEYS["ES256"]
SET = KeySet.of(key_set(KEYS.values()), list(KEYS))


def terms(**members: Any) -> Terms:
    """An issuer's section, as it is by default but for ``members``."""
    own: dict[str, Any] = {"issuer": ISSUER, "audiences": [AUDIENCE], "jwks": "{}", "leewayMs": 30_000}
    return Terms.of(Issuer.model_validate(own | members))


def judged(text: str, on: Terms | None = None) -> Caller:
    """What comes of a token whose key is looked for by what it says of itself."""
    presented = tokens.read(text)
    return tokens.verified(presented, SET.find(presented.key_id, presented.algorithm), on or terms())


def signed(headers: Mapping[str, Any] | None = None, **claims: Any) -> str:
    """A token that is good but for these."""
    return KEY.sign(good_claims(ISSUER, **claims), headers)


def refusal(text: str, on: Terms | None = None) -> Denied:
    """Why a token is not taken."""
    with pytest.raises(Denied) as caught:
        judged(text, on)
    return caught.value


def forged(header: Mapping[str, Any], claims: Mapping[str, Any], secret: bytes = b"") -> str:
    """A token made by hand, signed with HMAC or not at all."""
    parts = [json.dumps(part).encode() for part in (header, claims)]
    text = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    signature = hmac.digest(secret, text.encode(), hashlib.sha256) if secret else b""
    return f"{text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256", "PS256"])
def test_good_token_makes_a_caller(algorithm: str) -> None:
    """Who it is, what is said of it, for whom its token is, and until when."""
    claims = good_claims(ISSUER, "alice", 600, groups=["a", "b"], aud=[AUDIENCE, "other"])
    caller = judged(KEYS[algorithm].sign(claims))
    assert caller.principal == digest_of("jwt", ISSUER, "alice")
    assert caller.claims == claims
    assert caller.audiences == {AUDIENCE, "other"}
    assert caller.expires_at == claims["exp"] + 30
    assert caller.token is None


def test_principal_is_who_and_not_which_token() -> None:
    """A renewed token is the same caller's; another subject, or issuer, is another."""
    assert judged(signed()).principal == judged(signed(lasts_s=900, scope="x")).principal
    assert judged(signed(sub="bob")).principal != judged(signed()).principal
    assert digest_of("jwt", "a", "bc") != digest_of("jwt", "ab", "c")


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"lasts_s": -31}, "expired"),
        ({"exp": None}, "lacks a claim"),
        ({"exp": "9999999999"}, "not what it must be"),
        ({"exp": True}, "not valid|expired"),
        ({"exp": float("inf")}, "not valid"),
        ({"exp": {"a": 1}}, "not valid"),
        ({"nbf": time.time() + 86_400}, "not valid yet"),
        ({"nbf": "soon"}, "not valid"),
        ({"iat": time.time() + 86_400}, "not valid yet"),
        ({"iss": ISSUER + "/"}, "not valid"),
        ({"aud": "other"}, "meant for others"),
        ({"aud": ["other", AUDIENCE + "/"]}, "meant for others"),
        ({"aud": None}, "lacks a claim"),
        ({"aud": []}, "lacks a claim"),
        ({"aud": {AUDIENCE: 1}}, "meant for others"),
        ({"aud": [AUDIENCE, 7]}, "meant for others"),
        ({"sub": None}, "lacks a claim"),
        ({"sub": ""}, "not what it must be"),
        ({"sub": 7}, "not valid"),
    ],
)
def test_claim_that_is_wrong_makes_a_token_invalid(claims: dict[str, Any], why: str) -> None:
    """401 and ``invalid_token``; the reason is said in our words."""
    denied = refusal(signed(**claims))
    assert (denied.error, denied.status) == ("invalid_token", 401)
    assert any(each in denied.message for each in why.split("|"))


@pytest.mark.parametrize(("claim", "away_s"), [("exp", -20), ("nbf", 20), ("iat", 20)])
def test_clocks_may_differ_by_the_leeway(claim: str, away_s: float) -> None:
    """And not where there is none."""
    claims: dict[str, Any] = {claim: time.time() + away_s}
    assert judged(signed(**claims)).principal
    assert refusal(signed(**claims), terms(leewayMs=0)).error == "invalid_token"


@pytest.mark.parametrize("typ", [None, "JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
def test_types_of_access_tokens(typ: str | None) -> None:
    """RFC 9068's, the general one, and none."""
    assert judged(signed({"typ": typ})).principal


@pytest.mark.parametrize("typ", ["dpop+jwt", "logout+jwt", "secevent+jwt", "JOSE", 7])
def test_tokens_for_another_purpose_are_none_for_access(typ: object) -> None:
    """However well they are signed."""
    assert "another type" in refusal(signed({"typ": typ})).message


def test_signature_by_another_key_is_wrong() -> None:
    """Also where id and algorithm are those of a good key."""
    stranger = SigningKey.make("ES256")
    assert "signature is wrong" in refusal(stranger.sign(good_claims(ISSUER))).message


def test_token_that_was_changed_is_refused() -> None:
    """One letter of what it says is enough."""
    head, payload, signature = signed().split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    other = base64.urlsafe_b64encode(json.dumps(claims | {"sub": "root"}).encode()).decode().rstrip("=")
    assert refusal(f"{head}.{other}.{signature}").error == "invalid_token"


def test_no_algorithm_and_no_shared_secret_is_ever_taken() -> None:
    """``none``, and HMAC with a public key as its secret, which anyone has."""
    claims = good_claims(ISSUER)
    public = json.dumps(KEYS["RS256"].published()).encode()
    for header, secret in (
        ({"alg": "none", "typ": "JWT"}, b""),
        ({"alg": "None", "kid": "RS256"}, b""),
        ({"alg": "HS256", "kid": "RS256"}, public),
        ({"alg": "RS256", "kid": "RS256"}, public),
    ):
        assert refusal(forged(header, claims, secret)).error == "invalid_token"


def test_keys_that_a_token_brings_along_are_not_looked_at() -> None:
    """Neither embedded ones nor places where some would be."""
    stranger = SigningKey.make("stranger")
    for headers in (
        {"jwk": stranger.published()},
        {"jku": "https://stranger.example/jwks"},
        {"x5u": "https://stranger.example/chain"},
        {"x5c": ["MIIB"]},
    ):
        text = stranger.sign(good_claims(ISSUER), headers)
        assert "not among those that its issuer has published" in refusal(text).message
        text = stranger.sign(good_claims(ISSUER), {**headers, "kid": "ES256"})
        assert "signature is wrong" in refusal(text).message


def test_extension_that_must_be_understood_and_is_not_makes_a_token_invalid() -> None:
    """RFC 7515, section 4.1.11."""
    assert refusal(signed({"crit": ["x"], "x": 1})).error == "invalid_token"


@pytest.mark.parametrize(
    "text", ["abc", "a.b", "a.b.c", "..", "e30.e30.", "e30.W10.AA", "W10.e30.AA", "é", "a.b.c.d.e"]
)
def test_what_is_no_token_cannot_be_read(text: str) -> None:
    """It is refused before any key is looked for, and not quoted."""
    with pytest.raises(Denied) as caught:
        tokens.read(text)
    assert caught.value.message == "The token is not one that is accepted here"


@pytest.mark.parametrize(
    ("claims", "missing"),
    [
        ({"scope": "mcp:tools mcp:admin other"}, None),
        ({"scp": ["mcp:tools", "mcp:admin"]}, None),
        ({"scp": "mcp:tools mcp:admin"}, None),
        ({"scope": "mcp:tools", "scp": ["mcp:admin"]}, None),
        ({"scope": "mcp:tools"}, "mcp:admin"),
        ({"scope": "MCP:tools mcp:administrator"}, "mcp:tools mcp:admin"),
        ({"scope": ["mcp:tools", 7, None]}, "mcp:admin"),
        ({"scope": {"mcp:tools": 1, "mcp:admin": 1}}, "mcp:tools mcp:admin"),
        ({}, "mcp:tools mcp:admin"),
    ],
)
def test_all_scopes_that_are_required_must_be_there(claims: dict[str, Any], missing: str | None) -> None:
    """Otherwise 403 names what is missing, and asks for all that is needed, in one go."""
    on = terms(requiredScopes=["mcp:tools", "mcp:admin"])
    if missing is None:
        assert judged(signed(**claims), on).principal
        return
    denied = refusal(signed(**claims), on)
    assert (denied.error, denied.status) == ("insufficient_scope", 403)
    assert denied.scopes == ("mcp:tools", "mcp:admin")
    assert denied.message == f"The token lacks scope {missing}"


def test_scopes_of_a_bad_token_are_not_spoken_of() -> None:
    """First it must be good."""
    assert refusal(signed(lasts_s=-600), terms(requiredScopes=["a"])).error == "invalid_token"


def test_voucher_changes_with_the_key_and_with_the_rules() -> None:
    """What a caller was let in by is known again while both are the same."""
    voucher = judged(signed()).voucher
    assert judged(signed(sub="bob")).voucher == voucher
    assert judged(KEYS["EdDSA"].sign(good_claims(ISSUER))).voucher != voucher
    assert judged(signed(), terms(audiences=[AUDIENCE, "more"])).voucher != voucher


def test_nothing_of_a_token_is_shown() -> None:
    """Neither what was read of it nor the caller shows it in its text."""
    text = signed(sub="alice", secret_claim="hidden")
    for shown in (repr(tokens.read(text)), repr(judged(text))):
        assert text not in shown
        assert "hidden" not in shown
        assert ISSUER not in shown
