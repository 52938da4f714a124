"""Read a config directory: all of it at one moment, checked, or an error that says what to do.

The directory is flat: ``gateway.json`` (or ``gateway.json.gz``) and ``cred_*`` files. In a pod it is a projected volume,
where ``..data`` is a link that the kubelet swaps: everything is read from what that link names at one moment, so that a
config is never paired with credentials of another time. What is read is bounded; no secret appears in an error or a repr.
"""

import gzip
import hashlib
import hmac
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
from pydantic import BaseModel, ValidationError

from switchyard_sidecar.config import callers
from switchyard_sidecar.config.model import (
    CONFIG_FILE,
    CREDENTIAL_KEY_FILE,
    FORMAT,
    Authentication,
    AuthType,
    Backend,
    Credential,
    GatewayConfig,
)

DATA_LINK: Final = "..data"
"""The link the kubelet swaps when any file of a volume has changed."""
COMPRESSED_CONFIG_FILE: Final = CONFIG_FILE + ".gz"
MAX_CONFIG_BYTES: Final = 16 * 1024 * 1024
"""Of the config, uncompressed."""
MAX_CREDENTIAL_BYTES: Final = 1024 * 1024
"""Of one credential file: a whole Secret may not be larger."""

_READS: Final = 5
"""How often a directory that is swapped while being read is read again."""
_SHOWN_CHARACTERS: Final = 80
_FOR_OPERATOR: Final = (
    "it is written by the Switchyard operator or `switchyard`; their version and this sidecar's may differ"
)


class ConfigError(Exception):
    """The directory holds no usable config. The message names file, field, value and remedy, and no secret."""

    def __init__(self, file: str, problem: str, remedy: str, *, at: str = "") -> None:
        super().__init__(": ".join(filter(None, (file, at, problem))) + f" ({remedy})")


class ConfigMissing(ConfigError):  # noqa: N818 - the name says it
    """There is no config file at all, or no directory."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A config directory as read at one moment."""

    config: GatewayConfig
    credentials: Mapping[str, bytes] = field(repr=False)
    """Bytes by file name, of those files alone that are what the config says."""
    pending: frozenset[str] = frozenset()
    """Ids of backends of which a credential is missing or is not the revision that the config names."""
    session_keys_pending: bool = False
    """The same for the keys that sign session ids."""
    warnings: tuple[str, ...] = ()
    """What was ignored: unknown keys (as dotted paths), credential files that cannot be read."""


def credentials_of(backend: Backend) -> tuple[Credential, ...]:
    """All credentials that a backend's section refers to; none while it is unresolved."""
    if backend.unresolved is not None:
        return ()
    named = [header.credential for header in backend.headers]
    named += [backend.auth.credential, backend.tls.ca, backend.tls.client_certificate]
    return tuple(credential for credential in named if credential is not None)


def session_keys_of(config: GatewayConfig) -> tuple[Credential, ...]:
    """The keys that session ids are checked with; the first also signs."""
    return tuple(key for key in (config.session_key, config.previous_session_key) if key is not None)


def credentials_of_callers(authentication: Authentication | None) -> tuple[Credential, ...]:
    """What is needed to tell who callers are: static tokens, and certificates for the keys of issuers."""
    if authentication is None:
        return ()
    authorities = [issuer.ca for issuer in authentication.issuers if issuer.ca is not None]
    return (*authorities, *(token.credential for token in authentication.tokens))


def load(directory: Path) -> Loaded:
    """Read the directory.

    Raises :class:`ConfigMissing` when there is no config file, :class:`ConfigError` when it cannot be used. Credentials
    that are missing or of another revision are no error: they are on their way, and ``pending`` says whose.
    """
    for _ in range(_READS):
        root = _root(directory)
        outcome: Loaded | ConfigError
        try:
            outcome = _load(root)
        except ConfigError as error:
            outcome = error
        if _root(directory) != root:
            continue
        if isinstance(outcome, ConfigError):
            raise outcome
        return outcome
    raise ConfigError(str(directory), "it changes faster than it can be read", "see what writes it")


def _root(directory: Path) -> Path:
    try:
        return directory / (directory / DATA_LINK).readlink()
    except OSError:
        return directory


def _load(root: Path) -> Loaded:
    file, content = _config_file(root)
    config, unknown = parse(content, file)
    warnings = [f"{file}: {key} is not known to this sidecar and was ignored" for key in unknown]
    warnings += callers.warnings(config.authentication)
    named = {each for backend in config.backends for each in credentials_of(backend)} | set(session_keys_of(config))
    named |= set(credentials_of_callers(config.authentication))
    files: dict[str, bytes | None] = {}
    for name in sorted({CREDENTIAL_KEY_FILE, *(credential.file for credential in named)}):
        try:
            files[name] = _read(root / name, MAX_CREDENTIAL_BYTES)
        except ConfigError as error:  # costs its backends, not the others
            warnings.append(str(error))
    key = files.get(CREDENTIAL_KEY_FILE) or b""
    arrived = {
        credential: secret
        for credential in named
        if key
        and (secret := files.get(credential.file)) is not None
        and hmac.compare_digest(revision(key, secret), credential.revision)
    }
    return Loaded(
        config=config,
        credentials={credential.file: secret for credential, secret in arrived.items()},
        pending=frozenset(each.id for each in config.backends if not arrived.keys() >= set(credentials_of(each))),
        session_keys_pending=not arrived.keys() >= set(session_keys_of(config)),
        warnings=tuple(warnings),
    )


def revision(key: bytes, secret: bytes) -> str:
    """What :attr:`Credential.revision` says of a file with these bytes, under the directory's key."""
    return hmac.new(key, secret, hashlib.sha256).hexdigest()


def _config_file(root: Path) -> tuple[str, bytes]:
    plain = _read(root / CONFIG_FILE, MAX_CONFIG_BYTES)
    if plain is not None:
        return CONFIG_FILE, plain
    compressed = _read(root / COMPRESSED_CONFIG_FILE, MAX_CONFIG_BYTES)
    if compressed is None:
        raise ConfigMissing(CONFIG_FILE, f"not found in {root}", "is the directory the right one, and mounted?")
    try:
        content = gzip.GzipFile(fileobj=io.BytesIO(compressed)).read(MAX_CONFIG_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(COMPRESSED_CONFIG_FILE, f"is not gzip: {error}", _FOR_OPERATOR) from None
    if len(content) > MAX_CONFIG_BYTES:
        raise _too_large(COMPRESSED_CONFIG_FILE, MAX_CONFIG_BYTES)
    return COMPRESSED_CONFIG_FILE, content


def _read(path: Path, limit: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(path.name, f"cannot be read: {error.strerror}", "see its type and permissions") from None
    if len(content) > limit:
        raise _too_large(path.name, limit)
    return content


def _too_large(file: str, limit: int) -> ConfigError:
    return ConfigError(file, f"is larger than {limit} bytes", "split the gateway, or reference fewer resources")


def parse(content: bytes, file: str = CONFIG_FILE) -> tuple[GatewayConfig, tuple[str, ...]]:
    """The config in these bytes, and the unknown keys it contains. Raises :class:`ConfigError` naming ``file``."""
    try:
        tree = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ConfigError(file, f"is not JSON: {error}", _FOR_OPERATOR) from None
    if not isinstance(tree, dict):
        raise ConfigError(file, "is not a JSON object", _FOR_OPERATOR)
    # Before everything else: what a newer format or a required key means cannot be judged by the rest of this file.
    if tree.get("format", FORMAT) != FORMAT:
        raise ConfigError(file, _shown(tree["format"]), f"this sidecar reads format {FORMAT}; upgrade it", at="format")
    requires = tree.get("requires", ())
    for key in requires if isinstance(requires, list) else ():
        if key not in _known_keys(GatewayConfig):
            raise ConfigError(file, f"this sidecar does not know {_shown(key)}", "upgrade it", at="requires")
    try:
        config = GatewayConfig.model_validate(tree)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        # Below "headers" and "tokens" stands what its author may take for a secret.
        hidden = not {"headers", "tokens"}.isdisjoint(first["loc"]) or first["type"] == "missing"
        problem = first["msg"] if hidden else f"{first['msg']}: {_shown(first['input'])}"
        raise ConfigError(file, problem, _FOR_OPERATOR, at=where) from None
    _check(config, file)
    return config, tuple(sorted(set(_unknown_keys(GatewayConfig, tree))))


def _check(config: GatewayConfig, file: str) -> None:
    for at, problem in callers.faults(config.authentication):
        raise ConfigError(file, problem, _FOR_OPERATOR, at=f"authentication.{at}")
    seen: set[str] = set()
    for index, backend in enumerate(config.backends):
        at = f"backends.{index}"
        if backend.id in seen:
            raise ConfigError(file, f"{backend.id} is there twice", _FOR_OPERATOR, at=at)
        seen.add(backend.id)
        if backend.unresolved is not None:
            continue
        if not backend.url.startswith(("http://", "https://")):
            raise ConfigError(file, f"not an http or https URL: {_shown(backend.url)}", _FOR_OPERATOR, at=f"{at}.url")
        if (backend.auth.credential is not None) != (backend.auth.type is AuthType.BEARER):
            raise ConfigError(file, "a credential is for type Bearer, which needs one", _FOR_OPERATOR, at=f"{at}.auth")
        for header in backend.headers:
            if (header.value is None) == (header.credential is None):
                problem = f"{_shown(header.name)} needs either a value or a credential"
                raise ConfigError(file, problem, _FOR_OPERATOR, at=f"{at}.headers")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


@cache
def _parts(model: type[BaseModel]) -> Mapping[str, type[BaseModel] | None]:
    """The keys of a model as written on disk, and the model that stands under each (also within an array)."""
    return {info.alias or name: _model_in(info.annotation) for name, info in model.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


@cache
def _known_keys(model: type[BaseModel]) -> frozenset[str]:
    keys = set(_parts(model))
    for key, part in _parts(model).items():
        keys |= {f"{key}.{below}" for below in (_known_keys(part) if part else ())}
    return frozenset(keys)


def _unknown_keys(model: type[BaseModel], tree: object) -> Iterator[str]:
    """Dotted paths without indices: one unknown key in every backend is one warning."""
    if isinstance(tree, list):
        for element in tree:
            yield from _unknown_keys(model, element)
    if isinstance(tree, dict):
        parts = _parts(model)
        for key, value in tree.items():
            part = parts.get(key)
            if key not in parts:
                yield key
            elif part is not None:
                yield from (f"{key}.{below}" for below in _unknown_keys(part, value))
