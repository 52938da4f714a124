"""An issuer of JSON Web Tokens: it really signs, publishes its public keys over HTTP, and can do so as badly as told."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from fakes import hostile
from fakes.hostile import HostileBackend, Reply, Request

AUDIENCE = "https://gateway.example/mcp"
"""For whom tokens are made, unless told otherwise."""

Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

_RSA = rsa.generate_private_key(65537, 2048)
"""Making one takes long: the RSA keys of all issuers are the same. A test that needs others makes them."""
_CURVES: Mapping[str, type[ec.EllipticCurve]] = {
    "ES256": ec.SECP256R1,
    "ES384": ec.SECP384R1,
    "ES512": ec.SECP521R1,
}


@dataclass(frozen=True)
class SigningKey:
    """A key pair for one algorithm."""

    id: str | None
    algorithm: str
    private: Private

    @classmethod
    def make(cls, id_: str | None, algorithm: str = "ES256") -> "SigningKey":
        """A new one; those for RSA differ in their ids alone."""
        if algorithm in _CURVES:
            return cls(id_, algorithm, ec.generate_private_key(_CURVES[algorithm]()))
        return cls(id_, algorithm, ed25519.Ed25519PrivateKey.generate() if algorithm == "EdDSA" else _RSA)

    def published(self, **members: Any) -> dict[str, Any]:
        """The public key (RFC 7517); a member that is ``None`` is left out."""
        public = self.private.public_key()
        if isinstance(public, rsa.RSAPublicKey):
            shown = RSAAlgorithm.to_jwk(public, as_dict=True)
        elif isinstance(public, ec.EllipticCurvePublicKey):
            shown = ECAlgorithm.to_jwk(public, as_dict=True)
        else:
            shown = OKPAlgorithm.to_jwk(public, as_dict=True)
        shown.pop("key_ops", None)
        whole = {**shown, "kid": self.id, "alg": self.algorithm, "use": "sig"} | members
        return {name: value for name, value in whole.items() if value is not None}

    def sign(self, claims: Mapping[str, Any], headers: Mapping[str, Any] | None = None) -> str:
        """A token with exactly these claims; ``headers`` add to, or replace, those of a good token."""
        shown = {"kid": self.id, "typ": "at+jwt"} | dict(headers or {})
        kept = {name: value for name, value in shown.items() if value is not None}
        return jwt.encode(dict(claims), self.private, self.algorithm, kept)


def key_set(keys: Iterable[SigningKey]) -> str:
    """The public keys as JSON text."""
    return json.dumps({"keys": [key.published() for key in keys]})


def good_claims(issuer: str, sub: str = "alice", lasts_s: float = 600, **claims: Any) -> dict[str, Any]:
    """What a good token says; a claim that is ``None`` is left out."""
    now = int(time.time())
    own = {"iss": issuer, "aud": AUDIENCE, "sub": sub, "iat": now, "exp": now + lasts_s}
    return {name: value for name, value in (own | claims).items() if value is not None}


class Issuer(HostileBackend):
    """``keys`` may be changed at any time; the first one signs. ``instead`` is what is answered in place of the key set."""

    def __init__(self, *keys: SigningKey) -> None:
        super().__init__(self._reply)
        self.keys = list(keys or [SigningKey.make("first")])
        self.instead: Reply | None = None

    @property
    def name(self) -> str:
        """What the claim ``iss`` says."""
        return self.url.removesuffix("/mcp")

    @property
    def jwks_url(self) -> str:
        """Where the keys are."""
        return f"{self.name}/jwks"

    @property
    def reads(self) -> int:
        """How often the keys were asked for."""
        return len(self.of("GET"))

    def section(self, **keys: Any) -> dict[str, Any]:
        """The issuer's section in ``gateway.json``, as one that is followed; ``keys`` add to it or replace."""
        own = {"issuer": self.name, "audiences": [AUDIENCE], "jwksUrl": self.jwks_url}
        return {name: value for name, value in (own | keys).items() if value is not None}

    def token(self, sub: str = "alice", lasts_s: float = 600, **claims: Any) -> str:
        """A token that is good where this issuer is trusted, but for ``claims``."""
        return self.keys[0].sign(good_claims(self.name, sub, lasts_s, **claims))

    def rotate(self, id_: str) -> SigningKey:
        """Sign with a new key from now on, and publish that alone; gives the one before."""
        before, self.keys[:] = self.keys[0], [SigningKey.make(id_)]
        return before

    def _reply(self, _: Request) -> Reply:
        return self.instead or hostile.body(key_set(self.keys).encode())
