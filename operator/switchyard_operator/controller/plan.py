"""What to write next, so that a gateway's ConfigMap and Secret become what they should be.

1. One step at a time, decided by what the API server holds at that moment: whoever is interrupted, or finds that others have
   written meanwhile, looks again and goes on.
2. A config never names a credential that is not there: the Secret first gains what the new config needs and keeps what the
   old one needs; then the ConfigMap changes; then the Secret loses what nobody needs. Sidecars may read at any moment.
3. Only what this gateway controls is written. A child is created without content, which fails where a stranger's object
   has its name; content comes by server-side apply, bound to the uid and the version that were looked at.
4. Nothing is written where nothing differs in what we own (:func:`.observed.content_of`).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from switchyard_operator.api.resource import API_VERSION, Key
from switchyard_operator.compile.children import TooLarge, bare, config_map, secret
from switchyard_operator.controller.observed import Child, content_of, controller_uid, digest
from switchyard_operator.controller.resources import CONFIG_MAPS, SECRETS, Resource
from switchyard_sidecar.config.load import ConfigError, credentials_of, credentials_of_callers, parse, session_keys_of
from switchyard_sidecar.config.model import CONFIG_FILE, GatewayConfig

Raw: TypeAlias = Mapping[str, Any]
"""An object of the API server, with its ``managedFields``."""


@dataclass(frozen=True, slots=True)
class Desired:
    """What a gateway's children should hold. Raises :class:`TooLarge` when they cannot."""

    gateway: Key
    uid: str
    """Of the gateway, which controls them."""
    config_hash: str
    content: bytes = field(repr=False)
    """Of ``gateway.json``."""
    files: Mapping[str, bytes] = field(repr=False)
    """The ``cred_*`` files, with the key of revisions."""
    config_map: Raw = field(init=False, repr=False, compare=False)
    secret: Raw = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config_map", config_map(self.gateway, self.content, self.uid))
        object.__setattr__(self, "secret", secret(self.gateway, self.files, self.uid))


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object without content. That it exists already (409) is news: read it, and look again."""

    resource: Resource
    body: Raw


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply an object by server-side apply, with force. That it has changed (409) or gone (404) is a reason to begin anew."""

    resource: Resource
    body: Raw = field(repr=False)
    """With ``uid`` and ``resourceVersion``, so that it changes what was looked at and nothing else."""


Step: TypeAlias = Create | Apply


class Obstacle(StrEnum):
    """Why nothing can be written."""

    NAME_CONFLICT = "NameConflict"
    """An object of a child's name is not this gateway's."""
    BEING_DELETED = "BeingDeleted"
    """A child is on its way out, or its owner is gone already; its deletion will be an event."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Nothing can be written until something happens that is not ours to do."""

    obstacle: Obstacle
    message: str


def credential_files(config: GatewayConfig) -> Iterator[str]:
    """The names of all credential files that a config refers to."""
    for key in session_keys_of(config):
        yield key.file
    for backend in config.backends:
        yield from (credential.file for credential in credentials_of(backend))
    yield from (credential.file for credential in credentials_of_callers(config.authentication))


def settled(desired: Desired, known_config_map: Child | None, known_secret: Child | None) -> bool:
    """Whether the children, as the store knows them, are what they should be. Otherwise they have to be read."""
    return _is_settled(known_config_map, desired.uid, {CONFIG_FILE: desired.content}) and _is_settled(
        known_secret, desired.uid, desired.files
    )


def next_step(desired: Desired, config_map_: Raw | None, secret_: Raw | None) -> Step | Blocked | None:
    """What to do now, given the children as read from the API server; ``None``: nothing.

    After each step, ask again with the API server's answer in place of what was there before.
    """
    for resource, raw in ((CONFIG_MAPS, config_map_), (SECRETS, secret_)):
        blocked = raw and obstacle(resource, raw, desired.gateway, desired.uid)
        if blocked:
            return blocked
    if secret_ is None:
        return Create(SECRETS, bare(SECRETS.kind, desired.gateway, desired.uid))
    held = content_of(SECRETS, secret_)
    if not _is_settled(_child(CONFIG_MAPS, config_map_), desired.uid, {CONFIG_FILE: desired.content}):
        if not desired.files.items() <= held.items():
            return _apply(SECRETS, _with_what_is_needed(desired, config_map_, held), secret_)
        if config_map_ is None:
            return Create(CONFIG_MAPS, bare(CONFIG_MAPS.kind, desired.gateway, desired.uid))
        return _apply(CONFIG_MAPS, desired.config_map, config_map_)
    if not _is_settled(_child(SECRETS, secret_), desired.uid, desired.files):
        return _apply(SECRETS, desired.secret, secret_)
    return None


def _is_settled(child: Child | None, uid: str, files: Mapping[str, bytes]) -> bool:
    return (
        child is not None
        and (child.owner, child.labelled, child.deleting) == (uid, True, False)
        and child.digest == digest(files)
    )


def _child(resource: Resource, raw: Raw | None) -> Child | None:
    return None if raw is None else Child.of(resource, raw)


def obstacle(resource: Resource, raw: Raw, gateway: Key, uid: str) -> Blocked | None:
    """Why an object of a child's name is not to be written by the gateway of this uid, if it is not."""
    owner = controller_uid(raw)
    name = f"{resource.kind} {raw['metadata']['namespace']}/{raw['metadata']['name']}"
    if owner != uid and _is_a_predecessors(raw, gateway):
        message = f"{name} is of an earlier gateway of this name; it is made anew when garbage collection has taken it"
        return Blocked(Obstacle.BEING_DELETED, message)
    if owner != uid:
        message = (
            f"{name} is not controlled by this gateway and is left alone: delete it, or name the gateway otherwise"
        )
        return Blocked(Obstacle.NAME_CONFLICT, message)
    if "deletionTimestamp" in raw["metadata"]:
        return Blocked(Obstacle.BEING_DELETED, f"{name} is being deleted; it is made anew when it is gone")
    return None


def looked_at(body: Raw, seen: Raw) -> Raw:
    """The body of an apply that changes an object as it was seen, and nothing else."""
    identity = {name: seen["metadata"][name] for name in ("uid", "resourceVersion")}
    return {**body, "metadata": {**body["metadata"], **identity}}


def _is_a_predecessors(raw: Raw, gateway: Key) -> bool:
    owners = raw["metadata"].get("ownerReferences") or ()
    wanted = {"apiVersion": API_VERSION, "kind": "MCPGateway", "name": gateway.name, "controller": True}
    return any(wanted.items() <= owner.items() for owner in owners)


def _with_what_is_needed(desired: Desired, old: Raw | None, held: Mapping[str, bytes]) -> Raw:
    """The Secret while the config changes: with what the new one needs and what the old one needs."""
    needed = {name: held[name] for name in _needed_by(old) if name in held}
    try:
        return secret(desired.gateway, {**needed, **desired.files}, desired.uid)
    except TooLarge:
        # There is no room for both. Running sidecars keep what they have read until the ConfigMap follows.
        return desired.secret


def _needed_by(old: Raw | None) -> Iterator[str]:
    """The credential files of a ConfigMap's config, as far as it has one that sidecars can read."""
    content = content_of(CONFIG_MAPS, old).get(CONFIG_FILE) if old is not None else None
    if content is not None:
        with suppress(ConfigError):
            yield from credential_files(parse(content)[0])


def _apply(resource: Resource, body: Raw, seen: Raw) -> Apply:
    return Apply(resource, looked_at(body, seen))
