"""JSON Web Tokens as access tokens (RFC 7519, RFC 8725, RFC 9068): read, verified, and turned into callers.

What a token says before its signature is verified chooses which issuer's rules and which key it is judged by. It is used for
nothing else, kept nowhere and written nowhere. Keys that a token brings along or points to are not looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jwt
from jwt import exceptions

from switchyard_sidecar.access.caller import Caller, digest_of
from switchyard_sidecar.access.keys import Key
from switchyard_sidecar.access.refusals import Denied, insufficient_scope, invalid_token
from switchyard_sidecar.access.terms import Terms

TYPES: Final = frozenset({"jwt", "application/jwt", "at+jwt", "application/at+jwt"})
"""What ``typ`` may say, in lower case, where it says something: a token made for another purpose is none for access (RFC
8725, section 3.11)."""

_WHY: Final[tuple[tuple[type[Exception], str], ...]] = (
    (exceptions.ExpiredSignatureError, "The token has expired"),
    (exceptions.ImmatureSignatureError, "The token is not valid yet"),
    (exceptions.InvalidAudienceError, "The token is meant for others, not for this gateway"),
    (exceptions.MissingRequiredClaimError, "The token lacks a claim it must have: exp, iss, aud and sub"),
    (exceptions.InvalidSignatureError, "The token's signature is wrong"),
)
_UNREADABLE: Final = (jwt.PyJWTError, ArithmeticError, TypeError, ValueError, RecursionError)
"""What comes of a token that holds something else than it should, such as a date beyond all calendars."""


@dataclass(frozen=True, slots=True)
class Presented:
    """A token that was read and not verified: how it wants to be judged."""

    text: str = field(repr=False)
    issuer: str = field(repr=False)
    algorithm: str = field(repr=False)
    key_id: str | None = field(repr=False)


def read(text: str) -> Presented:
    """Read a token without believing it.

    Raises:
        Denied: it is none.
    """
    try:
        parts = jwt.decode_complete(text, options={"verify_signature": False})
    except _UNREADABLE:
        raise invalid_token("The token is not one that is accepted here") from None
    header, claims = parts["header"], parts["payload"]
    issuer, algorithm = claims.get("iss"), header.get("alg")
    if not isinstance(issuer, str) or not isinstance(algorithm, str):
        raise invalid_token("The token is not one that is accepted here")
    return Presented(text, issuer, algorithm, header.get("kid"))


def verified(presented: Presented, keys: Sequence[Key], terms: Terms) -> Caller:
    """The caller whom a token speaks for, if one of these keys has signed it and it is good.

    Raises:
        Denied: it is not.
    """
    refusal = invalid_token("The token's key is not among those that its issuer has published")
    for key in keys:
        try:
            return _caller(presented.text, key, terms)
        except exceptions.InvalidSignatureError as error:
            refusal = _refusal(error)
        except _UNREADABLE as error:
            raise _refusal(error) from None
    raise refusal


def _caller(text: str, key: Key, terms: Terms) -> Caller:
    section, leeway_s = terms.section, terms.section.leeway_ms / 1000
    parts = jwt.decode_complete(
        text,
        key.jwk,
        algorithms=section.algorithms,
        audience=section.audiences,
        issuer=section.issuer,
        leeway=leeway_s,
        options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
    )
    header, claims = parts["header"], parts["payload"]
    if str(header.get("typ", "JWT")).lower() not in TYPES:
        raise invalid_token("The token is of another type than access tokens are")
    if not all(_is_date(claims.get(name, 0)) for name in ("exp", "nbf", "iat")) or not claims["sub"]:
        raise invalid_token("The token has a claim that is not what it must be: exp, nbf, iat or sub")
    scopes = _scopes(claims)
    if missing := [scope for scope in section.required_scopes if scope not in scopes]:
        raise insufficient_scope(section.required_scopes, missing)
    return Caller(
        principal=digest_of("jwt", section.issuer, claims["sub"]),
        claims=claims,
        expires_at=int(claims["exp"]) + leeway_s,
        audiences=frozenset(_texts(claims["aud"])),
        voucher=terms.voucher(key.mark),
    )


def _refusal(error: Exception) -> Denied:
    return invalid_token(next((text for kind, text in _WHY if isinstance(error, kind)), "The token is not valid"))


def _is_date(value: Any) -> bool:
    """Whether it is a NumericDate (RFC 7519, section 2); the library also takes text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    """What the token entitles to: ``scope`` is text with blanks (RFC 9068, section 2.2.3), ``scp`` text or a list."""
    return frozenset(
        scope for name in ("scope", "scp") for text in _texts(claims.get(name)) for scope in text.split(" ")
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
