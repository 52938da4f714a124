"""Certificates and Secrets as cert-manager makes them, seen of 1.21.1: what differs from what the operator makes itself."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.client import Object

LIFETIME: Final = timedelta(days=90)


@dataclass(frozen=True)
class Authority:
    """Signs certificates, for an issuer of kind CA."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey
    parent: "Authority | None" = None

    @classmethod
    def named(cls, name: str, parent: "Authority | None" = None) -> "Authority":
        """A new one; without a parent it has signed itself."""
        key = generate_private_key(SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer, signer = (subject, key) if parent is None else (parent.certificate.subject, parent.key)
        builder = _builder(subject, issuer, key)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        return cls(builder.sign(signer, SHA256()), key, parent)

    @property
    def root(self) -> bytes:
        """What is trusted: ``ca.crt``."""
        return self.pem if self.parent is None else self.parent.root

    @property
    def pem(self) -> bytes:
        """Its certificate."""
        return self.certificate.public_bytes(Encoding.PEM)

    def secret(self, name: str, address: str) -> Object:
        """A Secret for a server at an IP address.

        The certificate says nothing of its subject but the names, is followed by those of the authorities between it and the root, and
        its key is in the form of SEC 1.
        """
        key = generate_private_key(SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = _builder(x509.Name([]), self.certificate.subject, key)
        builder = builder.add_extension(names, critical=True).add_extension(usage, critical=False)
        chain = builder.sign(self.key, SHA256()).public_bytes(Encoding.PEM) + self._between
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        files = {"ca.crt": self.root, "tls.crt": chain, "tls.key": pem}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "annotations": {"cert-manager.io/certificate-name": "switchyard-webhook"},
                "labels": {"controller.cert-manager.io/fao": "true"},
            },
            "type": "kubernetes.io/tls",
            "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
        }

    @property
    def _between(self) -> bytes:
        return b"" if self.parent is None else self.pem + self.parent._between


def _builder(subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + LIFETIME)
    )
