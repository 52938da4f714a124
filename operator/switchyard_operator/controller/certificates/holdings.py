"""Which certificates there are to be, as a function of those there are, without I/O and without a clock.

An API server trusts what ``caBundle`` of a webhook's configuration holds; the webhook shows what lies in a Secret. Both change at
moments of their own, and no pod must fall between them. Hence the order:

1. A new authority is trusted beside the old one, before anything is signed by it.
2. The new authority signs a certificate only when every API server has surely heard of it (``settled``).
3. An old authority stays trusted as long as it is valid, whatever certificate is still shown somewhere. Its key is gone.

The same order makes it harmless to delete the Secret: what the configuration trusts by then goes on to be trusted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BUNDLE_FILE: Final = "ca.crt"
AUTHORITY_KEY_FILE: Final = "ca.key"
CHAIN_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"

AUTHORITY_DAYS: Final = 3 * 365
CERTIFICATE_DAYS: Final = 90
_RENEWED_FROM: Final = 3
"""The last third of its life is when something is renewed."""
_BACKDATED: Final = timedelta(minutes=5)
"""For clocks that are behind ours."""
_MOST_AUTHORITIES: Final = 4
"""Two are ordinary; more come of deleted Secrets."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long new certificates are valid."""

    authority: timedelta = timedelta(days=AUTHORITY_DAYS)
    certificate: timedelta = timedelta(days=CERTIFICATE_DAYS)


@dataclass(frozen=True, slots=True)
class Holdings:
    """All that the Secret holds."""

    authorities: tuple[x509.Certificate, ...]
    """Those that are trusted. The first one signs."""
    authority_key: EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate
    key: EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> "Holdings | None":
        """What these files hold; ``None`` when something is missing, cannot be read, or does not belong together."""
        try:
            held = cls(
                tuple(x509.load_pem_x509_certificates(files[BUNDLE_FILE])),
                _key(files[AUTHORITY_KEY_FILE]),
                x509.load_pem_x509_certificate(files[CHAIN_FILE]),
                _key(files[KEY_FILE]),
            )
        except (KeyError, ValueError):
            return None
        pairs = ((held.authorities[0], held.authority_key), (held.certificate, held.key))
        return held if all(each.public_key() == key.public_key() for each, key in pairs) else None

    @property
    def bundle(self) -> bytes:
        """The authorities, as ``caBundle`` holds them."""
        return b"".join(each.public_bytes(Encoding.PEM) for each in self.authorities)

    def files(self) -> dict[str, bytes]:
        """The contents of the Secret."""
        return {
            BUNDLE_FILE: self.bundle,
            AUTHORITY_KEY_FILE: _pem(self.authority_key),
            CHAIN_FILE: self.certificate.public_bytes(Encoding.PEM),
            KEY_FILE: _pem(self.key),
        }


def advanced(
    held: Holdings | None,
    trusted: Sequence[x509.Certificate],
    names: frozenset[str],
    now: datetime,
    lifetimes: Lifetimes,
    *,
    settled: bool,
) -> Holdings:
    """The holdings that there should be; those that there are, if nothing is to be done.

    ``trusted`` is what the configuration trusts now, ``names`` are those that the webhook is called by. ``settled``: the configuration has
    trusted :attr:`Holdings.bundle` for so long that every API server knows.
    """
    if held is None or _is_over(held.authorities[0], now):
        authority, authority_key = _authority(now, lifetimes)
        certificate, key = _certificate(authority, authority_key, names, now, lifetimes)
        earlier = [*(held.authorities if held is not None else ()), *trusted]
        return Holdings(_valid((authority, *earlier), now), authority_key, certificate, key)
    if _is_due(held.authorities[0], now):
        authority, authority_key = _authority(now, lifetimes)
        return replace(held, authorities=_valid((authority, *held.authorities), now), authority_key=authority_key)
    authorities = _valid(held.authorities, now)
    if authorities != held.authorities:
        return replace(held, authorities=authorities)
    urgent = _is_over(held.certificate, now) or not any(_signed_by(held.certificate, each) for each in authorities)
    renewal = _is_due(held.certificate, now) or not _signed_by(held.certificate, authorities[0])
    if urgent or ((renewal or _names(held.certificate) != names) and settled):
        certificate, key = _certificate(authorities[0], held.authority_key, names, now, lifetimes)
        return replace(held, certificate=certificate, key=key)
    return held


def certificates_in(bundle: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates in a ``caBundle``; none when it cannot be read."""
    try:
        return tuple(x509.load_pem_x509_certificates(bundle))
    except ValueError:
        return ()


def _authority(now: datetime, lifetimes: Lifetimes) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    key = generate_private_key(SECP256R1())
    serial = x509.random_serial_number()
    name = _name(f"switchyard webhook authority {serial & 0xFFFFFFFF:08x}")
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        _builder(name, name, key, serial, now, lifetimes.authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True), critical=True)
        .add_extension(identifier, critical=False)
    )
    return builder.sign(key, SHA256()), key


def _certificate(
    authority: x509.Certificate,
    authority_key: EllipticCurvePrivateKey,
    names: frozenset[str],
    now: datetime,
    lifetimes: Lifetimes,
) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    key = generate_private_key(SECP256R1())
    issuer = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    lifetime = min(lifetimes.certificate, authority.not_valid_after_utc - now)
    builder = (
        _builder(_name("switchyard webhook"), authority.subject, key, x509.random_serial_number(), now, lifetime)
        .add_extension(x509.SubjectAlternativeName([*map(_general_name, sorted(names))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer), critical=False)
    )
    return builder.sign(authority_key, SHA256()), key


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: EllipticCurvePrivateKey,
    serial: int,
    now: datetime,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    begins = now - min(_BACKDATED, lifetime / 10)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(begins)
        .not_valid_after(now + lifetime)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, key_cert_sign: bool = False, digital_signature: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names(certificate: x509.Certificate) -> frozenset[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return frozenset((*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))))


def _valid(authorities: Iterable[x509.Certificate], now: datetime) -> tuple[x509.Certificate, ...]:
    """Each once, without those whose time is over."""
    return tuple(each for each in dict.fromkeys(authorities) if not _is_over(each, now))[:_MOST_AUTHORITIES]


def _is_over(certificate: x509.Certificate, now: datetime) -> bool:
    return now >= certificate.not_valid_after_utc


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now >= ends - (ends - begins) / _RENEWED_FROM


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _key(pem: bytes) -> EllipticCurvePrivateKey:
    key = load_pem_private_key(pem, None)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise ValueError("is not a key of ours")  # noqa: TRY004 - a matter of content
    return key


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def utc_now() -> datetime:
    """The time of day, in whole seconds as certificates have it."""
    return datetime.now(UTC).replace(microsecond=0)
