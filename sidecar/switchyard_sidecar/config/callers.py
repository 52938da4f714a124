"""What must be true of the section that says who is let in, beyond its shape. Pure, and without cryptography.

A section that cannot be relied on is refused with the whole file: a gateway that authenticates is never served as one that does not.
"""

import ipaddress
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec

from switchyard_sidecar.config.model import SIGNATURE_ALGORITHMS, Authentication, Issuer

_PUBLIC: Final = ("RSA", "EC", "OKP")
"""Types of keys that have a public part (RFC 7518, section 6.1; RFC 8037). No set: what is looked for in it may be anything."""
_PRIVATE: Final = frozenset({"d", "k"})


def faults(section: Authentication | None) -> Iterator[tuple[str, str]]:
    """What is wrong: where in the section, and what."""
    if section is None:
        return
    seen: set[str] = set()
    for index, issuer in enumerate(section.issuers):
        for at, problem in _issuer_faults(issuer):
            yield f"issuers.{index}.{at}", problem
        if issuer.issuer in seen:
            yield f"issuers.{index}.issuer", f"{issuer.issuer!r} is there twice"
        seen.add(issuer.issuer)
    names = [token.name for token in section.tokens]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"tokens.{index}.name", f"{name!r} is there twice"


def warnings(section: Authentication | None) -> Iterator[str]:
    """What works, and should not be as it is."""
    for issuer in section.issuers if section else ():
        if issuer.jwks_url is not None and issuer.jwks_url.startswith("http://") and not _is_loopback(issuer.jwks_url):
            yield (
                f"the keys of {issuer.issuer} are read over http: whoever is on the way can put others in their place, and be "
                f"any caller; use https"
            )


def _issuer_faults(issuer: Issuer) -> Iterator[tuple[str, str]]:
    if not issuer.issuer:
        yield "issuer", "is empty"
    if not all(issuer.audiences):
        yield "audiences", "one of them is empty"
    for algorithm in issuer.algorithms:
        if algorithm not in SIGNATURE_ALGORITHMS:
            known = ", ".join(sorted(SIGNATURE_ALGORITHMS))
            yield "algorithms", f"{algorithm!r} is no asymmetric signature algorithm that is known here: {known}"
    if (issuer.jwks is None) == (issuer.jwks_url is None):
        yield "jwks", "needs either keys or a URL (jwksUrl) where they are"
    if issuer.jwks is not None and (problem := key_set_fault(issuer.jwks)):
        yield "jwks", problem
    if issuer.jwks_url is not None and not _is_url(issuer.jwks_url):
        yield "jwksUrl", "is no absolute http or https URL"


def key_set_fault(text: str) -> str | None:
    """Why this is no key set (RFC 7517, section 5) to check signatures with. Never quotes it."""
    try:
        tree = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # UnicodeError: half of a surrogate pair
        return "is not JSON"
    keys = tree.get("keys") if isinstance(tree, dict) else None
    if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
        return 'is no key set: {"keys": [...]}'
    if any(key.get("kty") == "oct" or not _PRIVATE.isdisjoint(key) for key in keys):
        return "holds a symmetric or private key, with which whoever reads this can sign; give public keys alone"
    if keys and not any(key.get("kty") in _PUBLIC for key in keys):
        return "holds no public key (kty RSA, EC or OKP)"
    return None


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def _is_loopback(text: str) -> bool:
    host = urlsplit(text).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
