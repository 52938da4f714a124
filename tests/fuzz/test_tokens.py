"""What callers present, and what issuers publish: whatever it is, somebody is let in, or refused in the one way there is."""

import base64
import json
import time
from typing import Any, Final

import jwt
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from multidict import CIMultiDict

from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set
from fuzz.texts import ODDITIES, budget, damaged, names, scalars, values
from switchyard_sidecar.access import tokens
from switchyard_sidecar.access.bearer import MAX_TOKEN_BYTES, bearer_token
from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.access.keys import KeySet
from switchyard_sidecar.access.refusals import Denied, KeySetError
from switchyard_sidecar.access.terms import Terms
from switchyard_sidecar.config.model import SIGNATURE_ALGORITHMS, Issuer

ISSUER: Final = "https://issuer.example"
KEYS: Final = [SigningKey.make(name, name) for name in ("ES256", "EdDSA", "RS256")]
SET: Final = KeySet.of(key_set(KEYS), sorted(SIGNATURE_ALGORITHMS))
TERMS: Final = Terms.of(Issuer.model_validate({"issuer": ISSUER, "audiences": [AUDIENCE], "jwks": "{}"}))
GOOD: Final = KEYS[0].sign(good_claims(ISSUER))

VISIBLE: Final = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E))
LATIN: Final = st.text(st.characters(max_codepoint=0xFF))
NUMBERS: Final = st.integers() | st.floats() | st.integers(-600, 600).map(lambda seconds: time.time() + seconds)


def judged(text: str) -> Caller | Denied:
    """What comes of a token."""
    try:
        presented = tokens.read(text)
        return tokens.verified(presented, SET.find(presented.key_id, presented.algorithm), TERMS)
    except Denied as denied:
        return denied


def b64(data: bytes) -> str:
    """As in a JSON Web Signature (RFC 7515, section 2)."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@budget
@given(
    st.lists(LATIN | VISIBLE.map(lambda token: f"Bearer {token}") | st.just("Bearer " + "a" * (MAX_TOKEN_BYTES + 1)), max_size=3),
    LATIN | st.sampled_from(["access_token=a", "a&ACCESS_TOKEN", "%61ccess_token=a", "&" * 200]),
)  # fmt: skip
def test_any_authorization_is_a_token_or_none_or_refused(lines: list[str], query: str) -> None:
    """And what is taken for a token is one that a header can carry."""
    headers = CIMultiDict([("Authorization", line) for line in lines])
    try:
        token = bearer_token(headers, query)
    except Denied:
        return
    if token is not None:
        assert len(lines) == 1
        assert token in lines[0]
        assert len(token) <= MAX_TOKEN_BYTES
        assert all("!" <= each <= "~" for each in token)


PARTS: Final = (scalars | damaged(scalars) | st.sampled_from(ODDITIES)).map(b64) | VISIBLE


@budget
@given(
    st.lists(PARTS, max_size=5).map(".".join) | damaged(st.just(GOOD.encode())).map(lambda text: text.decode("latin-1"))
)
@example(GOOD + ".")
@example(f"{b64(b'[' * 100_000)}.{b64(b'{}')}.")
@example(f"{GOOD.partition('.')[0]}.{b64(b'{' * 10_000)}.{b64(b'x')}")
def test_any_text_is_refused_unless_it_is_the_good_token(text: str) -> None:
    """Damage to a good token never makes another one."""
    found = judged(text)
    assert isinstance(found, Denied) or text == GOOD


HEADERS: Final[SearchStrategy[dict[str, Any]]] = st.dictionaries(
    st.sampled_from(["alg", "typ", "kid", "crit", "jku", "jwk", "x5u", "x5c", "b64", "zip", "enc"]) | names,
    st.sampled_from(["none", "HS256", "ES256", "EdDSA", "at+jwt", "JWT", ["exp"], False]) | values,
    max_size=4,
)


@budget
@given(HEADERS, st.dictionaries(names, values, max_size=3))
def test_no_header_makes_a_token_good_that_nobody_signed(header: dict[str, Any], more: dict[str, Any]) -> None:
    """Whatever it says of how it is to be judged."""
    claims = good_claims(ISSUER) | more | {"iss": ISSUER}
    parts = [b64(json.dumps({"alg": "none", **each}).encode()) for each in (header,)] + [
        b64(json.dumps(claims).encode())
    ]
    for signature in ("", b64(b"x" * 64)):
        assert isinstance(judged(".".join([*parts, signature])), Denied)


ODD_CLAIMS: Final = st.dictionaries(
    st.sampled_from(["exp", "nbf", "iat", "aud", "sub", "iss", "scope", "scp", "jti", "groups"]) | names,
    NUMBERS | values | st.sampled_from([AUDIENCE, [AUDIENCE, 1], ISSUER, [], {}, True, "1e400", "9" * 5000]),
    max_size=5,
)


@budget
@given(ODD_CLAIMS, st.sampled_from(KEYS))
@example({"exp": float("inf")}, KEYS[0])
@example({"nbf": []}, KEYS[0])
@example({"iat": {}}, KEYS[0])
@example({"exp": float("nan")}, KEYS[0])
@example({"exp": 10**400}, KEYS[0])
def test_whatever_an_issuer_signs_is_a_caller_or_refused(claims: dict[str, Any], key: SigningKey) -> None:
    """And a caller is who the token says, for whom it says, and not for ever."""
    said = good_claims(ISSUER) | claims
    found = judged(_signed(key, said))
    if isinstance(found, Caller):
        assert found.claims["sub"] == said["sub"]
        assert AUDIENCE in found.audiences
        assert time.time() < found.expires_at < float("inf")


def _signed(key: SigningKey, claims: dict[str, Any]) -> str:
    """A token with exactly these claims: the library that signs refuses some, and other issuers may not."""
    good = key.sign({"sub": "x"})
    head = good.split(".")[0]
    algorithm = jwt.get_algorithm_by_name(key.algorithm)
    signing_input = f"{head}.{b64(json.dumps(claims).encode())}"
    return f"{signing_input}.{b64(algorithm.sign(signing_input.encode(), key.private))}"


KEY_SETS: Final = st.fixed_dictionaries(
    {
        "keys": st.lists(
            st.sampled_from([key.published() for key in KEYS]).flatmap(
                lambda key: st.dictionaries(st.sampled_from([*key, "d", "key_ops", "x5c"]), values, max_size=3).map(
                    lambda other: key | other
                )
            )
            | values,
            max_size=4,
        )
        | values
    }
).map(lambda tree: json.dumps(tree).encode())


@budget
@given(KEY_SETS | damaged(KEY_SETS) | scalars | st.binary())
def test_any_key_set_is_read_or_refused(text: bytes) -> None:
    """And no key in it is for anything that it must not be for."""
    try:
        found = KeySet.of(text, sorted(SIGNATURE_ALGORITHMS))
    except KeySetError:
        return
    for algorithm in SIGNATURE_ALGORITHMS:
        for key in found.find(None, algorithm):
            assert key.jwk.algorithm_name == algorithm
