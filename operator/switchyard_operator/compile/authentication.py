"""Who a gateway lets in: its section of the sidecar's config.

Where ``spec.auth`` is, the section is, whatever becomes of its parts. A part that does not resolve is left out and reported: so it lets
nobody in and takes nothing from the others, and where none resolves nobody is let in.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.gateway_auth import JwtIssuer
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.backends import credential_for
from switchyard_operator.compile.credentials import Credentials, Material, Unresolved
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_sidecar.access.refusals import KeySetError
from switchyard_sidecar.config import model as config

_SERVICE_ACCOUNT_ALGORITHMS: Final = ("RS256", "ES256", "ES384", "ES512")
"""With which an API server signs tokens, by itself or by an external signer (KEP-740)."""


_KEY_SETS_REMEMBERED: Final = 64
"""Given key sets of which it is remembered whether they are usable: to find out takes up to some milliseconds for each."""


@dataclass(frozen=True, slots=True)
class ServiceAccountIssuer:
    """Who signs the tokens of a cluster's service accounts."""

    issuer: str
    """The claim ``iss`` of the tokens."""
    jwks: str
    """The keys that signatures are checked with, as JSON (RFC 7517). Equal keys are equal text."""


MADE_BY_THE_OPERATOR: Final = ServiceAccountIssuer("made-by-the-operator", '{"keys":[]}')
"""Stands for the cluster's issuer where no cluster is at hand."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The section, the credential files it needs, and what is to be said."""

    section: config.Authentication | None
    """``None``: the gateway is for everyone."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    reports: tuple[Report, ...] = ()


def admits_nobody(section: config.Authentication | None) -> bool:
    """Whether whatever a caller presents is refused."""
    return section is not None and not section.issuers and not section.tokens


def authentication(
    gateway: MCPGateway,
    objects: Objects,
    *,
    cluster: bool,
    revision_key: bytes | None,
    service_accounts: ServiceAccountIssuer | None,
) -> Admission:
    """Who the gateway lets in. The arguments are those of compiling it."""
    auth = gateway.spec.auth
    if auth is None:
        return Admission(None)
    followed = dict(Credentials(objects, gateway.key.namespace, cluster).of(gateway))
    material = {
        path: (credential_for(each, revision_key), each)
        for path, each in followed.items()
        if isinstance(each, Material)
    }

    def credential(*path: str | int) -> config.Credential | None:
        known = material.get(("spec", "auth", *path))
        return None if known is None else known[0]

    issuers = [
        _issuer(each, ca)
        for index, each in enumerate(auth.jwt)
        if ((ca := credential("jwt", index, "caRef")) is not None or each.ca_ref is None) and _may_verify(each)
    ]
    if auth.kubernetes is not None and service_accounts is not None and not _is_named(gateway, service_accounts):
        issuers.append(
            config.Issuer(
                issuer=service_accounts.issuer,
                audiences=auth.kubernetes.audiences,
                algorithms=_SERVICE_ACCOUNT_ALGORITHMS,
                jwks=service_accounts.jwks,
            )
        )
    tokens = [
        config.StaticToken(name=each.name, credential=known, claims=dict(each.claims))
        for index, each in enumerate(auth.tokens)
        if (known := credential("tokens", index, "secretKeyRef")) is not None
    ]
    servers = auth.authorization_servers or tuple(each.issuer for each in auth.jwt if each.issuer.startswith("http"))
    return Admission(
        config.Authentication(issuers=tuple(issuers), tokens=tuple(tokens), authorization_servers=servers),
        {known.file: each.content for known, each in material.values()},
        tuple(_reports(gateway, followed, service_accounts, cluster=cluster)),
    )


def knowing(
    reports: tuple[Report, ...], gateway: MCPGateway, objects: Objects, hidden: Collection[Key]
) -> tuple[Report, ...]:
    """The reports on a gateway of a cluster, where ``hidden`` are Secrets that exist without the label by which they are seen."""
    followed = dict(Credentials(objects, gateway.key.namespace, require_label=True, hidden=hidden).of(gateway))
    better = {each.field: each for each in _unresolved(gateway, followed)}
    return tuple(better.get(each.field, each) for each in reports)


def _may_verify(jwt: JwtIssuer) -> bool:
    """Whether there may be a key to check tokens with. Of one that publishes its keys only the sidecar finds out."""
    return jwt.jwks is None or _is_usable(jwt.jwks, jwt.algorithms)


@lru_cache(maxsize=_KEY_SETS_REMEMBERED)
def _is_usable(jwks: str, algorithms: tuple[str, ...]) -> bool:
    from switchyard_sidecar.access.keys import KeySet  # noqa: PLC0415 - cryptography, for few gateways alone

    try:
        return bool(KeySet.of(jwks, algorithms).marks)
    except KeySetError:
        return False


def _issuer(jwt: JwtIssuer, ca: config.Credential | None) -> config.Issuer:
    return config.Issuer(
        issuer=jwt.issuer,
        audiences=jwt.audiences,
        algorithms=jwt.algorithms,
        jwks=jwt.jwks,
        jwks_url=jwt.jwks_url,
        ca=ca,
        leeway_ms=jwt.leeway.ms,
        required_scopes=jwt.required_scopes,
    )


def _reports(
    gateway: MCPGateway,
    followed: Mapping[FieldPath, Material | Unresolved],
    service_accounts: ServiceAccountIssuer | None,
    *,
    cluster: bool,
) -> Iterator[Report]:
    yield from _unresolved(gateway, followed)
    auth = gateway.spec.auth
    for index, jwt in enumerate(auth.jwt if auth is not None else ()):
        if not _may_verify(jwt):
            path: FieldPath = ("spec", "auth", "jwt", index, "jwks")
            message = f"holds no public key for {', '.join(jwt.algorithms)} (an RSA key needs 2048 bits); nobody is let in by it"
            yield Report(Severity.ERROR, Ref("MCPGateway", *gateway.key), path, Reason.NO_USABLE_KEY, message)
    if auth is not None and auth.kubernetes is not None and service_accounts is None:
        message = (
            "the API server does not let the operator read issuer and keys of its service accounts (ClusterRole "
            "system:service-account-issuer-discovery); nobody is let in by it"
            if cluster
            else "issuer and keys are known inside a cluster alone; nobody is let in by it: name the cluster's issuer under "
            "spec.auth.jwt, with its keys (`kubectl get --raw /openid/v1/jwks`)"
        )
        yield _on_kubernetes(gateway, Reason.ISSUER_UNKNOWN, message)
    elif service_accounts is not None and _is_named(gateway, service_accounts):
        message = (
            f"{service_accounts.issuer} is named under spec.auth.jwt, by whose rules its tokens are judged; nobody is let in by "
            "this: remove one of them"
        )
        yield _on_kubernetes(gateway, Reason.DUPLICATE_ISSUER, message)


def _is_named(gateway: MCPGateway, service_accounts: ServiceAccountIssuer) -> bool:
    """Whether the cluster's issuer is let in by ``kubernetes`` and named under ``jwt`` too: a token is judged by one set of rules."""
    auth = gateway.spec.auth
    return (
        auth is not None
        and auth.kubernetes is not None
        and any(each.issuer == service_accounts.issuer for each in auth.jwt)
    )


def _on_kubernetes(gateway: MCPGateway, reason: Reason, message: str) -> Report:
    return Report(Severity.ERROR, Ref("MCPGateway", *gateway.key), ("spec", "auth", "kubernetes"), reason, message)


def _unresolved(gateway: MCPGateway, followed: Mapping[FieldPath, Material | Unresolved]) -> Iterator[Report]:
    for each in followed.values():
        if isinstance(each, Unresolved):
            message = f"{each.message}; nobody is let in by it"
            yield Report(Severity.ERROR, Ref("MCPGateway", *gateway.key), each.field, each.reason, message)
