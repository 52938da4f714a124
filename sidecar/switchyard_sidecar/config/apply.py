"""What a newly read config changes: which backends go on, which start again, and what becomes of their last list.

Pure. The whole of a config is applied as one change, but for one thing: a backend whose credential files have not arrived
yet (config and credentials come from two objects, which the kubelet may project at two moments) is asked where and as whom it
was asked before until they do, and a new one waits, unresolved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from switchyard_sidecar.config.load import Loaded, credentials_of, session_keys_of
from switchyard_sidecar.config.model import Backend, Credential, GatewayConfig, Issuer, StaticToken

CREDENTIAL_PENDING: Final = "CredentialPending"
"""``unresolved`` of a backend that has never had the credentials its section names."""


class Fate(StrEnum):
    """What applying a config does to one backend."""

    UNCHANGED = "unchanged"
    """Its session goes on as if nothing had happened."""
    KEEP = "keep"
    """Its session starts again and keeps the last snapshot: only how it is asked or shown has changed."""
    REPLACE = "replace"
    """Its session starts again as another one (url, transport or what it presents changed). The last snapshot is served
    until the first answer or the list timeout, whichever comes first."""
    EMPTY = "empty"
    """It starts, or starts again, without a snapshot: it is new, or may no longer be asked."""


@dataclass(frozen=True, slots=True)
class AppliedBackend:
    """One backend as it is run."""

    config: Backend
    credentials: Mapping[str, bytes] = field(repr=False)
    """File name to bytes: exactly what ``config`` refers to. Two backends may hold different bytes of one file, while
    one of them waits for another file."""
    fate: Fate
    waiting: bool = False
    """Whether its credentials have not arrived, so that ``config`` is in part its former section, or unresolved."""


@dataclass(frozen=True, slots=True)
class AppliedIssuer:
    """An issuer as its tokens are judged."""

    config: Issuer
    ca: bytes | None = field(default=None, repr=False)
    """Certificates for its ``jwks_url``; ``None``: the system's."""
    waiting: bool = False
    """Whether its certificates have not arrived, so that its keys cannot be read yet."""


@dataclass(frozen=True, slots=True)
class AppliedToken:
    """A static token as callers present it."""

    config: StaticToken
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AppliedAuthentication:
    """Who is let in. What has not arrived lets nobody in.

    What was there before stays until it has, if no more than the credential differs: neither does an old token get new claims, nor
    do old claims meet new rules.
    """

    issuers: tuple[AppliedIssuer, ...]
    tokens: tuple[AppliedToken, ...]
    waiting: tuple[str, ...]
    """The issuers and tokens whose files have not arrived, in words."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A config as it is run."""

    config: GatewayConfig
    """As read, with the sections in ``backends`` that are really in force."""
    backends: Mapping[str, AppliedBackend]
    """By id, in the gateway's order."""
    removed: tuple[str, ...]
    """Ids of backends that were there before and are no more: they end, and their snapshots with them."""
    session_keys: tuple[bytes, ...] = field(repr=False)
    """Keys of session ids; the first signs. None: this process makes one of its own."""
    authentication: AppliedAuthentication | None = None
    """``None``: anyone is let in."""


def plan(old: Applied | None, new: Loaded) -> Applied:
    """What is to run when ``new`` has been read while ``old`` runs."""
    running = old.backends if old else {}
    backends = {section.id: _backend(running.get(section.id), section, new) for section in new.config.backends}
    if old is not None and old.config.egress != new.config.egress:
        backends = {name: _reconnected(each) for name, each in backends.items()}
    return Applied(
        config=new.config.model_copy(update={"backends": tuple(each.config for each in backends.values())}),
        backends=backends,
        removed=tuple(id_ for id_ in running if id_ not in backends),
        session_keys=_session_keys(old, new),
        authentication=_authentication(old.authentication if old else None, new),
    )


def _backend(old: AppliedBackend | None, section: Backend, new: Loaded) -> AppliedBackend:
    if section.id not in new.pending:
        credentials = {each.file: new.credentials[each.file] for each in credentials_of(section)}
        return AppliedBackend(section, credentials, _fate(old, section, credentials))
    if old is None or old.config.unresolved is not None:
        waiting = section.model_copy(update={"unresolved": CREDENTIAL_PENDING})
        return AppliedBackend(waiting, {}, _fate(old, waiting, {}), waiting=True)
    # Who is asked, and as whom, stays as it was; what of it may be shown does not wait.
    shown = {"prefix": section.prefix, "filters": section.filters, "pinning": section.pinning}
    meanwhile = old.config.model_copy(update=shown)
    return AppliedBackend(meanwhile, old.credentials, _fate(old, meanwhile, old.credentials), waiting=True)


def _reconnected(backend: AppliedBackend) -> AppliedBackend:
    """The same backend with connections of its own time: those it has may lead to where none may lead any more."""
    return replace(backend, fate=Fate.KEEP) if backend.fate is Fate.UNCHANGED else backend


def _authentication(old: AppliedAuthentication | None, new: Loaded) -> AppliedAuthentication | None:
    section = new.config.authentication
    if section is None:
        return None
    known_issuers = {each.config.issuer: each for each in old.issuers} if old else {}
    known_tokens = {each.config.name: each for each in old.tokens} if old else {}
    issuers, tokens, waiting = [], [], []
    for issuer in section.issuers:
        ca = None if issuer.ca is None else new.credentials.get(issuer.ca.file)
        if issuer.ca is None or ca is not None:
            issuers.append(AppliedIssuer(issuer, ca))
            continue
        waiting.append(f"issuer {issuer.issuer}")
        known = known_issuers.get(issuer.issuer)
        stays = known is not None and known.config.terms == issuer.terms
        issuers.append(known if known is not None and stays else AppliedIssuer(issuer, waiting=True))
    for token in section.tokens:
        secret = new.credentials.get(token.credential.file)
        if secret is not None:
            # The line end that editors and ``echo`` put into secrets is not part of it.
            tokens.append(AppliedToken(token, secret.decode("latin-1").strip()))
            continue
        waiting.append(f"token {token.name}")
        former = known_tokens.get(token.name)
        tokens += [former] if former is not None and former.config.claims == token.claims else []
    return AppliedAuthentication(tuple(issuers), tuple(tokens), tuple(waiting))


def _session_keys(old: Applied | None, new: Loaded) -> tuple[bytes, ...]:
    if new.session_keys_pending:
        return old.session_keys if old else ()
    return tuple(new.credentials[each.file] for each in session_keys_of(new.config))


def _fate(old: AppliedBackend | None, section: Backend, credentials: Mapping[str, bytes]) -> Fate:
    if old is None:
        return Fate.EMPTY
    if old.config == section and old.credentials == credentials:
        return Fate.UNCHANGED
    if _content(old.config) == _content(section) and _secrets(old.config, old.credentials) == _secrets(
        section, credentials
    ):
        return Fate.UNCHANGED
    if old.config.unresolved is not None or section.unresolved is not None:
        return Fate.EMPTY
    if _identity(old.config, old.credentials) == _identity(section, credentials):
        return Fate.KEEP
    return Fate.REPLACE


_CREDENTIAL: Final[Mapping[str, Any]] = {"credential": True}


def _content(section: Backend) -> dict[str, Any]:
    """The section without its credentials: what they stand for is compared itself, so that a new HMAC key restarts nobody."""
    return section.model_dump(
        exclude={
            "headers": {"__all__": _CREDENTIAL},
            "auth": _CREDENTIAL,
            "tls": {"ca": True, "client_certificate": True},
        }
    )


def _secrets(section: Backend, credentials: Mapping[str, bytes]) -> list[bytes | None]:
    """What stands in each place where a section may refer to a credential, whatever the files are called."""
    places = [header.credential for header in section.headers]
    places += [section.auth.credential, section.tls.ca, section.tls.client_certificate]
    return [_bytes(credential, credentials) for credential in places]


def _identity(section: Backend, credentials: Mapping[str, bytes]) -> tuple[object, ...]:
    """Whom we ask, and as whom. Equal identities may share a snapshot.

    Every header counts, also those without a credential: a backend may well show by them what it shows. A rotated secret
    counts as another one, since nothing tells whether it still belongs to the same account.
    """
    presented = [
        (header.name.lower(), header.value, _bytes(header.credential, credentials)) for header in section.headers
    ]
    return (
        section.url,
        section.host_header,
        section.transport,
        section.auth.type,
        _bytes(section.auth.credential, credentials),
        _bytes(section.tls.client_certificate, credentials),
        presented,
    )


def _bytes(credential: Credential | None, credentials: Mapping[str, bytes]) -> bytes | None:
    return None if credential is None else credentials.get(credential.file)
