"""One gateway's config, from what is declared to what its children hold: what to read and write, and what came of it.

No I/O: :func:`configure` yields what is to be read or written and is sent the API server's answer. Whatever it was started
with may be old by then; every write is bound to what was read, and what changes meanwhile is work of its own.

What a gateway's children should hold:

- of a valid gateway, what compiling makes of it;
- of one that is being deleted, a config without backends: others may hold it for long (finalizers), and it need not serve until they
  let go;
- of one that is invalid, or too large for its objects, what they hold already, less the backends and tokens that may not be used any
  more; but a config without anything, for nobody, if what they hold would let in or show more than the gateway says now.
"""

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.compile import CompiledGateway, Objects, compile_gateway
from switchyard_operator.compile.authentication import ServiceAccountIssuer
from switchyard_operator.compile.children import TooLarge, child_key
from switchyard_operator.compile.gateway import withdrawn
from switchyard_operator.compile.rendering import render
from switchyard_operator.compile.reports import Reason
from switchyard_operator.compile.revocation import (
    emptied,
    guards_as_well,
    revocation,
    valid_tokens,
    without_revoked,
)
from switchyard_operator.compile.session_keys import session_keys, session_keys_in
from switchyard_operator.controller.observed import REVISION_KEY_BYTES, Child, content_of, usable_revision_key
from switchyard_operator.controller.plan import (
    Apply,
    Blocked,
    Create,
    Desired,
    Raw,
    credential_files,
    next_step,
    settled,
)
from switchyard_operator.controller.resources import CONFIG_MAPS, SECRETS, Resource
from switchyard_operator.controller.shelf import GUARDS, Item
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.gateway import Writing, Written
from switchyard_sidecar.config.load import ConfigError, parse
from switchyard_sidecar.config.model import CONFIG_FILE, CREDENTIAL_KEY_FILE, GatewayConfig

_MOST_STEPS: Final = 6
"""Create and fill both children, then take from the Secret what is no longer needed; and one to spare."""


@dataclass(frozen=True, slots=True)
class Read:
    """Read an object; the answer is ``None`` when there is none."""

    resource: Resource
    key: Key


Command: TypeAlias = Read | Create | Apply


class Restless(Exception):  # noqa: N818 - the name says it
    """Somebody changes a child as soon as it is written. The message says which gateway's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of configuring one gateway."""

    uid: str
    generation: int
    """Of the gateway that was looked at."""
    composition: Composition
    writing: Writing | None
    """``None``: there was nothing to write, and nothing is there."""
    wrote: bool = False
    """Whether something differed, and was written."""


def configure(
    item: Item[MCPGateway],
    objects: Objects,
    known_config_map: Child | None,
    known_secret: Child | None,
    new_revision_key: bytes,
    new_session_key: bytes,
    service_accounts: ServiceAccountIssuer | None = None,
) -> Generator[Command, Raw | None, Outcome]:
    """Bring the children of a gateway in line, if they are not.

    ``known_*`` are the children as the store knows them: where they are as they should be, nothing is asked. ``new_revision_key``
    is used when there is no key of revisions yet, ``new_session_key``, made now, when another key of sessions is due;
    ``service_accounts`` is the cluster's issuer, if it is known. Raises :class:`Restless`.
    """
    key = (known_secret.revision_key if known_secret else None) or new_revision_key
    sessions = session_keys(known_secret.session_keys if known_secret else (), new_session_key)
    goal = _goal(item, objects, key, sessions, service_accounts)
    if goal.desired is not None and settled(goal.desired, known_config_map, known_secret):
        return _outcome(item, goal, goal.desired)
    config_map = yield Read(CONFIG_MAPS, child_key(item.key))
    secret = yield Read(SECRETS, child_key(item.key))
    held = content_of(SECRETS, secret) if secret is not None else {}
    found_key, found_sessions = usable_revision_key(held), session_keys(session_keys_in(held), new_session_key)
    if found_key not in {None, key} or found_sessions != sessions:
        goal = _goal(item, objects, found_key or key, found_sessions, service_accounts)
    if item.deleting and (config_map is None or secret is None):
        return Outcome(
            item.uid, item.generation, goal.composition, None
        )  # garbage collection is about to take the other
    desired = goal.desired or _remaining(item, objects, config_map, secret, goal)
    if desired is None:
        return _outcome(item, goal, None)
    for steps in range(_MOST_STEPS):
        step = next_step(desired, config_map, secret)
        if step is None:
            return replace(_outcome(item, goal, desired), wrote=steps > 0)
        if isinstance(step, Blocked):
            blocked = Writing(Written(step.obstacle.value), step.message)
            return Outcome(item.uid, item.generation, goal.composition, blocked)
        answer = yield step
        if step.resource == CONFIG_MAPS:
            config_map = answer
        else:
            secret = answer
    raise Restless(f"the ConfigMap or Secret of MCPGateway {item.key} is changed by others as soon as it is written")


def denied(
    item: Item[MCPGateway], objects: Objects, reason: str, service_accounts: ServiceAccountIssuer | None = None
) -> Outcome:
    """What came of a gateway whose children the API server does not let us read or write, for a reason in its own one word."""
    message = f"the API server refuses to let the config be written ({reason}); it is tried again"
    composition = _goal(item, objects, bytes(REVISION_KEY_BYTES), (), service_accounts).composition
    return Outcome(item.uid, item.generation, composition, Writing(Written.WRITE_FAILED, message))


@dataclass(frozen=True, slots=True)
class _Goal:
    composition: Composition
    writing: Writing | None
    """What is to be said when it is reached."""
    desired: Desired | None
    """``None``: what is there already, less what is revoked."""
    why_revoked: Callable[[Key], str | None] = lambda _: None
    """For what reason a backend may not be used any more, if it may not."""
    guards: Callable[[GatewayConfig], bool] = lambda _: True
    """Whether a config of before limits who is let in, and who sees what, as the gateway says now."""


def _goal(
    item: Item[MCPGateway],
    objects: Objects,
    revision_key: bytes,
    sessions: tuple[bytes, ...],
    service_accounts: ServiceAccountIssuer | None,
) -> _Goal:
    if item.model is None:
        why_revoked = partial(revocation, namespace=item.key.namespace, objects=objects)
        return _Goal(Composition(), None, None, why_revoked, partial(_has_guards, item.guards))
    if item.deleting:
        nothing = withdrawn(item.model, revision_key=revision_key)
        return _Goal(Composition(), Writing(Written.WITHDRAWN, "is being deleted"), _desired(item, nothing))
    # A sidecar's sessions are its own, and end with it: it makes a key for itself.
    shared = sessions if item.model.spec.mode == "Deployment" else ()
    compiled = compile_gateway(
        objects,
        item.key,
        revision_key=revision_key,
        session_keys=shared,
        cluster=True,
        service_accounts=service_accounts,
    )
    composition = Composition.of(compiled)
    try:
        return _Goal(composition, Writing(Written.PROGRAMMED, "the config is written"), _desired(item, compiled))
    except TooLarge as error:
        message = f"{error}; the config before it stays, less what may not be used any more"
        guards = partial(guards_as_well, other=compiled.config)
        return _Goal(composition, Writing(Written.TOO_LARGE, message), None, _why_unresolved(compiled.config), guards)


def _desired(item: Item[MCPGateway], compiled: CompiledGateway) -> Desired:
    config = compiled.config
    return Desired(item.key, item.uid, config.config_hash, render(config), compiled.credentials)


def _why_unresolved(new: GatewayConfig) -> Callable[[Key], str | None]:
    reasons = {Key(each.namespace, each.name): each.unresolved for each in new.backends}
    return lambda backend: reasons.get(backend, Reason.BACKEND_NOT_FOUND)


def _has_guards(asked_for: Collection[str], config: GatewayConfig) -> bool:
    return all(getattr(config, GUARDS[each]) is not None for each in asked_for)


def _remaining(
    item: Item[MCPGateway], objects: Objects, config_map: Raw | None, secret: Raw | None, goal: _Goal
) -> Desired | None:
    """What the children hold, less what is revoked; ``None`` when they hold nothing that can be read."""
    content = content_of(CONFIG_MAPS, config_map).get(CONFIG_FILE) if config_map is not None else None
    if content is None:
        return None
    try:
        old, _ = parse(content)
    except ConfigError:
        return None
    held = content_of(SECRETS, secret) if secret is not None else {}
    key = usable_revision_key(held)
    new = without_revoked(old, goal.why_revoked, valid_tokens(item.key.namespace, objects, key) if key else ())
    if not goal.guards(new):
        new = emptied(new)
    # As it is, if it stays: a later release may have written what this one does not know.
    rendered = content if new is old else render(new)
    needed = {CREDENTIAL_KEY_FILE, *credential_files(new)}
    files = {name: held[name] for name in held if name in needed}
    return Desired(item.key, item.uid, new.config_hash, rendered, files)


def _outcome(item: Item[MCPGateway], goal: _Goal, reached: Desired | None) -> Outcome:
    writing = goal.writing and replace(goal.writing, config_hash=reached.config_hash if reached else "")
    return Outcome(item.uid, item.generation, goal.composition, writing)
