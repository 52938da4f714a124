"""From references of backends and gateways to the bytes of credential files.

Each reference is resolved on its own, so that all that is wrong with an object is said at once. A file is named after what it
was read from; where revisions are known, a part of the revision is added (:mod:`.backends`).
"""

import hashlib
import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.http import bearer_token_fault, header_value_fault
from switchyard_operator.api.references import CaRef, ClientCertificateRef, SecretKeyRef
from switchyard_operator.api.resource import CREDENTIAL_LABEL, Key
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Reason

Reference: TypeAlias = SecretKeyRef | CaRef | ClientCertificateRef

_AUTH: Final[FieldPath] = ("spec", "auth")
"""Below, a Secret's key holds a token and nothing else."""


def secrets_of(declared: MCPBackend | MCPGateway) -> set[Key]:
    """The Secrets that an object refers to."""
    return {
        Key(declared.key.namespace, ref.name)
        for _, ref in references_of(declared)
        if not isinstance(ref, CaRef) or ref.kind == "Secret"
    }


def references_of(declared: MCPBackend | MCPGateway) -> Iterator[tuple[FieldPath, Reference]]:
    """All references of an object to Secrets and ConfigMaps, by the paths of their fields."""
    return _of_gateway(declared) if isinstance(declared, MCPGateway) else _of_backend(declared)


def _of_gateway(gateway: MCPGateway) -> Iterator[tuple[FieldPath, Reference]]:
    auth = gateway.spec.auth
    if auth is None:
        return
    for index, issuer in enumerate(auth.jwt):
        if issuer.ca_ref is not None:
            yield (*_AUTH, "jwt", index, "caRef"), issuer.ca_ref
    for index, token in enumerate(auth.tokens):
        yield (*_AUTH, "tokens", index, "secretKeyRef"), token.secret_key_ref


def _of_backend(backend: MCPBackend) -> Iterator[tuple[FieldPath, Reference]]:
    spec = backend.spec
    for index, header in enumerate(spec.headers):
        if header.value_from is not None:
            yield ("spec", "headers", index, "valueFrom", "secretKeyRef"), header.value_from.secret_key_ref
    if spec.auth.secret_key_ref is not None:
        yield (*_AUTH, "secretKeyRef"), spec.auth.secret_key_ref
    if spec.tls.ca_ref is not None:
        yield ("spec", "tls", "caRef"), spec.tls.ca_ref
    if spec.tls.client_certificate_ref is not None:
        yield ("spec", "tls", "clientCertificateRef"), spec.tls.client_certificate_ref


@dataclass(frozen=True, slots=True)
class Material:
    """A credential's file name and content."""

    file: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A reference that cannot be followed, and why. Says nothing of a secret's content."""

    field: FieldPath
    reason: Reason
    message: str


class _Failure(Exception):  # noqa: N818 - internal, turned into Unresolved
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Credentials:
    """Follows the references of one object."""

    objects: Objects
    namespace: str
    require_label: bool
    """Whether what is referred to must carry the label ``switchyard.dev/credential``, as in a cluster."""
    hidden: Collection[Key] = ()
    """Secrets that are known to exist without the label."""

    def of(self, declared: MCPBackend | MCPGateway) -> Iterator[tuple[FieldPath, Material | Unresolved]]:
        """Every reference of the object by the path of its field, resolved or not."""
        for path, ref in references_of(declared):
            yield path, self._follow(path, ref, bearer=path[:2] == _AUTH)

    def held(self) -> Iterator[Material]:
        """Every key of every Secret that may be referred to."""
        for place, secret in self.objects.secrets.within(self.namespace).items():
            if not self.require_label or secret.labels.get(CREDENTIAL_LABEL) == "true":
                yield from (self._material("Secret", place.name, key, each) for key, each in secret.data.items())

    def _follow(self, path: FieldPath, ref: Reference, *, bearer: bool) -> Material | Unresolved:
        try:
            match ref:
                case SecretKeyRef():
                    return self._header_value(ref, bearer=bearer)
                case CaRef():
                    return self._authorities(ref)
                case ClientCertificateRef():
                    return self._client_certificate(ref)
        except _Failure as failure:
            return Unresolved(path, failure.reason, failure.message)

    def _header_value(self, ref: SecretKeyRef, *, bearer: bool) -> Material:
        content = self._secret(ref.name, ref.key)
        fault = bearer_token_fault(content) if bearer else header_value_fault(content)
        if fault:
            raise _Failure(Reason.INVALID_CREDENTIAL, f"key {ref.key} of Secret {self._at(ref.name)} {fault}")
        return self._material("Secret", ref.name, ref.key, content)

    def _authorities(self, ref: CaRef) -> Material:
        read = self._secret if ref.kind == "Secret" else self._config_map
        content = read(ref.name, ref.key)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=content.decode("ascii"))
        except (UnicodeDecodeError, ValueError, ssl.SSLError):
            message = f"key {ref.key} of {ref.kind} {self._at(ref.name)} does not hold certificates in PEM"
            raise _Failure(Reason.INVALID_CERTIFICATE, message) from None
        return self._material(ref.kind, ref.name, ref.key, content)

    def _client_certificate(self, ref: ClientCertificateRef) -> Material:
        chain, key = self._secret(ref.name, "tls.crt"), self._secret(ref.name, "tls.key")
        for name, content, wanted in (
            ("tls.crt", chain, b"-----BEGIN CERTIFICATE-----"),
            ("tls.key", key, b" PRIVATE KEY-----"),
        ):
            if wanted not in content or b"ENCRYPTED" in content:
                what = "a certificate" if name == "tls.crt" else "a private key that is not encrypted"
                message = f"key {name} of Secret {self._at(ref.name)} does not hold {what} in PEM"
                raise _Failure(Reason.INVALID_CERTIFICATE, message)
        return self._material("ClientCertificate", ref.name, "", chain.rstrip() + b"\n" + key.rstrip() + b"\n")

    def _secret(self, name: str, key: str) -> bytes:
        place = Key(self.namespace, name)
        secret = self.objects.secrets.get(place)
        if secret is None and place not in self.hidden:
            raise _Failure(Reason.SECRET_NOT_FOUND, self._absent("Secret", name))
        if secret is None or (self.require_label and secret.labels.get(CREDENTIAL_LABEL) != "true"):
            message = f'Secret {self._at(name)} lacks the label {CREDENTIAL_LABEL}: "true"'
            raise _Failure(Reason.SECRET_NOT_LABELLED, message)
        if key not in secret.data:
            message = f"Secret {self._at(name)} has no key {key}{_keys(secret.data)}"
            raise _Failure(Reason.SECRET_KEY_NOT_FOUND, message)
        return secret.data[key]

    def _config_map(self, name: str, key: str) -> bytes:
        config_map = self.objects.config_maps.get(Key(self.namespace, name))
        if config_map is None:
            raise _Failure(Reason.CONFIG_MAP_NOT_FOUND, self._absent("ConfigMap", name))
        if key not in config_map.data:
            message = f"ConfigMap {self._at(name)} has no key {key}{_keys(config_map.data)}"
            raise _Failure(Reason.CONFIG_MAP_KEY_NOT_FOUND, message)
        return config_map.data[key]

    def _material(self, kind: str, name: str, key: str, content: bytes) -> Material:
        source = f"{kind}\0{self.namespace}\0{name}\0{key}".encode()
        return Material(f"cred_{hashlib.sha256(source).hexdigest()[:20]}", content)

    def _absent(self, kind: str, name: str) -> str:
        # In a cluster, one without the label is not seen at all.
        label = f' with the label {CREDENTIAL_LABEL}: "true"' if self.require_label else ""
        return f"there is no {kind} {self._at(name)}{label}"

    def _at(self, name: str) -> str:
        return f"{self.namespace}/{name}"


def _keys(data: Mapping[str, bytes]) -> str:
    names = ", ".join(sorted(data))
    return f"; it has {names}" if names else ""
