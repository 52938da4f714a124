"""Public keys that signatures are checked with (RFC 7517, RFC 7518). Pure.

Only this module and :mod:`switchyard_sidecar.access.tokens` import cryptography, and a gateway without issuers imports neither.
A key serves one purpose with one algorithm: what a token says of itself chooses among what the set and the config
allow, and nothing else.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from jwt import PyJWK, PyJWTError

from switchyard_sidecar.access.refusals import KeySetError

MAX_KEYS: Final = 64
"""Keys in one set; those after them are not looked at."""
MIN_RSA_BITS: Final = 2048
"""A shorter RSA key is not used (RFC 7518, section 3.3)."""

_FITS: Final[Mapping[str, tuple[str, str | None]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Type and curve of the keys of each algorithm (RFC 7518, section 3.1; RFC 8037, section 3.1)."""
_PRIVATE: Final = frozenset({"d", "k"})
_MATERIAL: Final = ("alg", "crv", "e", "kid", "kty", "n", "x", "y")


@dataclass(frozen=True, slots=True)
class Key:
    """One public key, for one algorithm."""

    jwk: PyJWK
    mark: str
    """A digest by which the same key is known again."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """The usable keys of a set. Those that are of no use here are passed over, as RFC 7517 (section 5) asks."""

    marks: frozenset[str]
    """Of all keys: two sets with the same marks are the same."""
    _keys: Mapping[str, tuple[tuple[str | None, Key], ...]]
    """By algorithm: id and key, in the set's order."""

    @classmethod
    def of(cls, text: bytes | str, algorithms: Collection[str]) -> "KeySet":
        """Read a key set.

        Raises:
            KeySetError: it is none, or has keys and none of them is usable. (One without any says that nobody is trusted.)
        """
        try:
            tree = msgspec.json.decode(text)
            entries = tree["keys"]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            raise KeySetError("not a key set") from None
        if not isinstance(entries, list):
            raise KeySetError("not a key set")
        known = [entry for entry in entries[:MAX_KEYS] if isinstance(entry, dict)]
        keys = {
            algorithm: tuple((_id(entry), key) for entry in known if (key := _usable(entry, algorithm)) is not None)
            for algorithm in algorithms
        }
        marks = frozenset(key.mark for each in keys.values() for _, key in each)
        if entries and not marks:
            raise KeySetError("no usable key in the key set")
        return cls(marks, keys)

    def find(self, key_id: str | None, algorithm: str) -> tuple[Key, ...]:
        """The keys that a token may be signed with: those of its id. One that names none means the only key there is."""
        keys = self._keys.get(algorithm, ())
        if key_id is None:
            return (keys[0][1],) if len(keys) == 1 else ()
        return tuple(key for each, key in keys if each == key_id)


def _id(entry: Mapping[str, Any]) -> str | None:
    value = entry.get("kid")
    return value if isinstance(value, str) else None


def _usable(entry: dict[str, Any], algorithm: str) -> Key | None:
    """The key, if it is a public one for this algorithm and for signatures."""
    kind, curve = _FITS[algorithm]
    operations = entry.get("key_ops")
    if (
        entry.get("kty") != kind
        or (curve is not None and entry.get("crv") != curve)
        or entry.get("alg", algorithm) != algorithm
        or entry.get("use", "sig") != "sig"
        or (operations is not None and not (isinstance(operations, list) and "verify" in operations))
        or not _PRIVATE.isdisjoint(entry)
    ):
        return None
    try:
        jwk = PyJWK(entry, algorithm)
        material = msgspec.json.encode([[name, entry[name]] for name in _MATERIAL if name in entry])
    except (
        PyJWTError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):  # whatever its members are
        return None
    if kind == "RSA" and jwk.key.key_size < MIN_RSA_BITS:
        return None
    return Key(jwk, hashlib.sha256(material).hexdigest())
