"""From references to credential files."""

import hashlib
import hmac
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.objects import ConfigMap
from switchyard_sidecar.config.load import credentials_of
from unit.operator.declared import AGENTS, KEY, backend, compiled, found, gateway, secret
from unit.operator.pem import CERTIFICATE, PRIVATE_KEY

TOKEN = {"name": "gh", "key": "token"}
BEARER: dict[str, Any] = {"auth": {"type": "Bearer", "secretKeyRef": TOKEN}}
HEADER: dict[str, Any] = {"headers": [{"name": "X-Api-Key", "valueFrom": {"secretKeyRef": TOKEN}}]}
CA: dict[str, Any] = {"tls": {"caRef": {"name": "ca"}}}
CA_SECRET: dict[str, Any] = {"tls": {"caRef": {"kind": "Secret", "name": "ca"}}}
CLIENT: dict[str, Any] = {"tls": {"clientCertificateRef": {"name": "client"}}}
LABEL = {"switchyard.dev/credential": "true"}


def config_map(name: str, **data: bytes) -> ConfigMap:
    return ConfigMap(Key(AGENTS, name), {key.replace("_", "."): value for key, value in data.items()})


@pytest.mark.parametrize(
    ("spec", "objects", "content"),
    [
        (BEARER, [secret("gh", token=b"s3cret")], b"s3cret"),
        (HEADER, [secret("gh", token=b"two words")], b"two words"),
        (CA, [config_map("ca", ca_crt=CERTIFICATE)], CERTIFICATE),
        (CA_SECRET, [secret("ca", ca_crt=CERTIFICATE)], CERTIFICATE),
        (CLIENT, [secret("client", tls_crt=CERTIFICATE, tls_key=PRIVATE_KEY)], CERTIFICATE + PRIVATE_KEY),
        (CLIENT, [secret("client", tls_crt=CERTIFICATE.strip(), tls_key=PRIVATE_KEY)], CERTIFICATE + PRIVATE_KEY),
    ],
)
def test_a_credential_becomes_a_file_and_a_revision(spec: dict[str, Any], objects: list[Any], content: bytes) -> None:
    """The config names the file and an HMAC of its bytes; the bytes are in the file alone."""
    result = compiled(gateway("a"), backend("a", **spec), *objects)
    (credential,) = credentials_of(result.config.backends[0])
    assert result.credentials == {credential.file: content, "cred_key": KEY}
    assert credential.revision == hmac.new(KEY, content, hashlib.sha256).hexdigest()
    assert found(result) == []


def test_files_are_named_after_their_source_and_their_revision() -> None:
    """Old and new content of a rotated secret can lie side by side until the config names the new one."""
    before = compiled(gateway("a"), backend("a", **BEARER), secret("gh", token=b"old"))
    after = compiled(gateway("a"), backend("a", **BEARER), secret("gh", token=b"new"))
    old, new = before.config.backends[0].auth.credential, after.config.backends[0].auth.credential
    assert old is not None
    assert new is not None
    assert old.file == f"cred_72909e31d34ac1e0e791-{old.revision[:12]}"
    assert new.file == f"cred_72909e31d34ac1e0e791-{new.revision[:12]}"
    assert old.revision != new.revision


def test_one_source_used_twice_is_one_file() -> None:
    """And sources of different kinds are different files, whatever their keys are called."""
    result = compiled(
        gateway("a"),
        backend("a", **BEARER, **HEADER, tls=CLIENT["tls"]),
        secret("gh", token=b"s3cret"),
        secret("client", tls_crt=CERTIFICATE, tls_key=PRIVATE_KEY),
    )
    assert len(result.credentials) == 3


@pytest.mark.parametrize(
    ("spec", "objects", "reason", "message"),
    [
        (BEARER, [], "SecretNotFound", "spec.auth.secretKeyRef: there is no Secret agents/gh; the backend is left out"),
        (HEADER, [], "SecretNotFound", "spec.headers[0].valueFrom.secretKeyRef: there is no Secret agents/gh"),
        (BEARER, [secret("gh", "tools", token=b"s3cret")], "SecretNotFound", "there is no Secret agents/gh"),
        (BEARER, [secret("gh", tokn=b"s3cret", b=b"")], "SecretKeyNotFound", "Secret agents/gh has no key token; it has b, tokn"),
        (BEARER, [secret("gh")], "SecretKeyNotFound", "Secret agents/gh has no key token; the backend"),
        (BEARER, [secret("gh", token=b"s3cret\n")], "InvalidCredential", "key token of Secret agents/gh ends in a line break"),
        (BEARER, [secret("gh", token=b"Bearer s3cret")], "InvalidCredential", "contains blanks; it must be the token alone"),
        (HEADER, [secret("gh", token=b"a\r\nX-Evil: s3cret")], "InvalidCredential", "must be printable ASCII on one line"),
        (CA, [], "ConfigMapNotFound", "spec.tls.caRef: there is no ConfigMap agents/ca"),
        (CA, [secret("ca", ca_crt=CERTIFICATE)], "ConfigMapNotFound", "there is no ConfigMap agents/ca"),
        (CA, [config_map("ca", other=b"")], "ConfigMapKeyNotFound", "ConfigMap agents/ca has no key ca.crt; it has other"),
        (CA, [config_map("ca", ca_crt=b"")], "InvalidCertificate", "does not hold certificates in PEM"),
        (CA, [config_map("ca", ca_crt=b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----")], "InvalidCertificate", "does not hold certificates in PEM"),
        (CA, [config_map("ca", ca_crt=b"\xff")], "InvalidCertificate", "does not hold certificates in PEM"),
        (CA_SECRET, [], "SecretNotFound", "there is no Secret agents/ca"),
        (CLIENT, [secret("client", tls_crt=CERTIFICATE)], "SecretKeyNotFound", "Secret agents/client has no key tls.key; it has tls.crt"),
        (CLIENT, [secret("client", tls_crt=b"", tls_key=PRIVATE_KEY)], "InvalidCertificate", "key tls.crt of Secret agents/client does not hold a certificate in PEM"),
        (CLIENT, [secret("client", tls_crt=CERTIFICATE, tls_key=b"s3cret")], "InvalidCertificate", "key tls.key of Secret agents/client does not hold a private key that is not encrypted"),
        (CLIENT, [secret("client", tls_crt=CERTIFICATE, tls_key=PRIVATE_KEY.replace(b"PRIVATE", b"ENCRYPTED PRIVATE"))], "InvalidCertificate", "a private key that is not encrypted"),
    ],
)  # fmt: skip
def test_what_does_not_resolve_costs_that_backend_alone(
    spec: dict[str, Any], objects: list[Any], reason: str, message: str
) -> None:
    """The report names reference, object and remedy, and never the secret; the neighbour is served."""
    result = compiled(gateway("a", "b"), backend("a", **spec), backend("b"), *objects)
    assert [each.unresolved for each in result.config.backends] == [reason, None]
    assert found(result) == [("MCPBackend agents/a", reason)]
    assert message in str(result.reports[0])
    assert "s3cret" not in str(result.reports[0])
    assert b"a.example" not in result.files()["gateway.json"]
    assert list(result.credentials) == ["cred_key"]


def test_everything_that_is_wrong_with_a_backend_is_said_at_once() -> None:
    """One report for each reference."""
    result = compiled(gateway("a"), backend("a", **BEARER, **HEADER, tls=CA["tls"]))
    assert [str(report.reason) for report in result.reports] == [
        "SecretNotFound",
        "SecretNotFound",
        "ConfigMapNotFound",
    ]


def test_a_label_is_asked_for_in_a_cluster_alone() -> None:
    """There the operator watches labelled Secrets only; in files whoever wrote them has consented."""
    objects = gateway("a"), backend("a", **BEARER)
    unlabelled, labelled = secret("gh", token=b"s3cret"), secret("gh", labels=LABEL, token=b"s3cret")
    assert found(compiled(*objects, unlabelled)) == []
    assert found(compiled(*objects, labelled, cluster=True)) == []
    result = compiled(*objects, unlabelled, cluster=True)
    assert found(result) == [("MCPBackend agents/a", "SecretNotLabelled")]
    assert 'Secret agents/gh lacks the label switchyard.dev/credential: "true"' in str(result.reports[0])


def test_secrets_do_not_show_in_a_repr() -> None:
    """A log line or a traceback must not carry them."""
    result = compiled(gateway("a"), backend("a", **BEARER), secret("gh", token=b"s3cret"))
    assert "s3cret" not in repr(result)
