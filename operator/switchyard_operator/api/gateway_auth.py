"""Who may use a gateway: tokens of issuers, of the cluster's service accounts, and single ones.

What does not resolve lets nobody in, and takes nothing from the others: a gateway that has ``auth`` is never served to everyone.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from switchyard_operator.api.http import HttpUrl
from switchyard_operator.api.merging import KeyedBy
from switchyard_operator.api.model import ApiModel, Breach
from switchyard_operator.api.names import Identifier
from switchyard_operator.api.references import CaRef, SecretKeyRef
from switchyard_operator.api.rules import Rule
from switchyard_operator.api.scalars import Duration, Text, Within
from switchyard_sidecar.config.callers import key_set_fault

MAX_CLAIMS_BYTES: Final = 8192

Scope = Annotated[
    str, Text(r"[!#-\[\]-~]+", 128, "a scope such as mcp:tools: visible ASCII without quotes and backslashes")
]
"""A ``scope-token`` (RFC 6749 section 3.3)."""
TokenName = Annotated[str, Text(r"[A-Za-z0-9]([A-Za-z0-9._:@/-]*[A-Za-z0-9])?", 128, "a name such as ci or team-a/ci")]
Audiences = Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=16)]


class JwtIssuer(ApiModel):
    """Whose JSON Web Tokens are accepted (RFC 7519, RFC 9068)."""

    issuer: Identifier
    """What the claim `iss` must be, to the letter. At most 512 characters."""
    audiences: Audiences
    """The claim `aud` must name one of these: that a token is meant for this gateway. 1 to 16, of at most 512 characters."""
    jwks_url: Annotated[HttpUrl | None, Field(alias="jwksURL")] = None
    """Where the issuer's key set is; it is read again as keys change, and the last good one stays while it cannot be read. Absolute,
    http or https, at most 2048 characters. Exactly one of `jwksURL` and `jwks`."""
    jwks: Annotated[str, Text(r"(.|[\r\n])+", 65536, "text, not empty")] | None = None
    """The key set itself (RFC 7517), as JSON with public keys alone. At most 65536 characters. Exactly one of `jwksURL` and `jwks`."""
    ca_ref: CaRef | None = None
    """Trust exactly these certificate authorities for `jwksURL`, from this namespace. Default: the system's. While it does not resolve,
    tokens of this issuer are refused."""
    algorithms: Annotated[
        tuple[Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"], ...],
        Field(min_length=1, max_length=10),
    ] = ("RS256", "ES256", "PS256", "EdDSA")
    """How tokens may be signed; another algorithm is refused, whatever a token or a key says. Default: `RS256`, `ES256`, `PS256` and
    `EdDSA`; also `RS384`, `RS512`, `PS384`, `PS512`, `ES384` and `ES512`. 1 to 10."""
    leeway: Annotated[Duration, Within(Duration("0s"), Duration("5m"))] = Duration("30s")
    """How far the issuer's clock may be off. Default `30s`, at most 5m."""
    required_scopes: Annotated[tuple[Scope, ...], Field(max_length=32)] = ()
    """The claim `scope` (or `scp`) must have all of these; otherwise the answer is 403 and names what is missing. Default: none. At most
    32, of at most 128 characters."""

    rules = (
        Rule("has(self.jwksURL) != has(self.jwks)", "must have exactly one of jwksURL and jwks"),
        Rule("!has(self.caRef) || has(self.jwksURL)", "has no effect without jwksURL", "caRef"),
    )

    def breaches(self) -> Iterator[Breach]:
        """One source of keys, which can be read as such."""
        if (self.jwks_url is None) == (self.jwks is None):
            yield Breach((), "must have exactly one of jwksURL and jwks")
        if self.ca_ref is not None and self.jwks_url is None:
            yield Breach(("caRef",), "has no effect without jwksURL")
        if self.jwks is not None and (fault := key_set_fault(self.jwks)):
            yield Breach(("jwks",), fault)


class ServiceAccountTokens(ApiModel):
    """Tokens of service accounts of the gateway's own cluster. The operator finds out issuer and keys, and follows their rotation."""

    audiences: Audiences
    """The claim `aud` must name one of these, so that a token for the API server is not one for this gateway: pods ask for theirs
    with a projected volume. 1 to 16, of at most 512 characters."""


class StaticToken(ApiModel):
    """A bearer token that stands for one caller by itself, for clients that cannot get others."""

    name: TokenName
    """Who presents it: the claim `sub`. Each once. Letters, digits, `.`, `_`, `:`, `@`, `/` and `-`, at most 128 characters."""
    secret_key_ref: SecretKeyRef
    """The Secret key that holds the token alone, without `Bearer`. A token whose Secret is deleted, changed or no longer labelled is
    refused within seconds."""
    claims: Annotated[Mapping[str, JsonValue], Field(max_length=64)] = {}
    """What `visibility` sees of this caller beside `sub`, as a JSON object. Default: nothing. At most 64 claims, and 8192 bytes as JSON."""

    def breaches(self) -> Iterator[Breach]:
        """Claims are JSON, bounded, and leave ``sub`` alone."""
        if "sub" in self.claims:
            yield Breach(("claims", "sub"), "is the token's name")
        try:
            size = len(json.dumps(dict(self.claims), allow_nan=False, ensure_ascii=False).encode())
        except ValueError:
            yield Breach(("claims",), "must be JSON, which has neither NaN nor infinity")
            return
        if size > MAX_CLAIMS_BYTES:
            yield Breach(("claims",), f"has {size} bytes as JSON; at most {MAX_CLAIMS_BYTES} are allowed")


_A_WAY_IN: Final = "must have at least one of jwt, kubernetes and tokens: otherwise nobody is let in"


class GatewayAuth(ApiModel):
    """Who may use the gateway: whoever presents a token that any of these accepts. Everyone else is answered 401."""

    jwt: Annotated[tuple[JwtIssuer, ...], Field(max_length=8), KeyedBy("issuer")] = ()
    """Issuers of JSON Web Tokens, each once. At most 8."""
    kubernetes: ServiceAccountTokens | None = None
    """Tokens of this cluster's service accounts. Default: they are refused. Outside a cluster, as in `switchyard run`, name the cluster's issuer under
    `jwt` instead (`IssuerUnknown`)."""
    tokens: Annotated[tuple[StaticToken, ...], Field(max_length=64), KeyedBy("name")] = ()
    """Single tokens, each name once. At most 64."""
    authorization_servers: Annotated[tuple[HttpUrl, ...], Field(max_length=8)] = ()
    """Where clients get tokens, as issuer identifiers: told in the protected resource metadata (RFC 9728). Default: those issuers of
    `jwt` that are URLs. At most 8, of at most 2048 characters."""

    rules = (
        Rule(
            "(has(self.jwt) && size(self.jwt) > 0) || has(self.kubernetes) || (has(self.tokens) && size(self.tokens) > 0)",
            _A_WAY_IN,
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """An empty section is a slip, and would be read as its opposite by some."""
        if not self.jwt and self.kubernetes is None and not self.tokens:
            yield Breach((), _A_WAY_IN)
