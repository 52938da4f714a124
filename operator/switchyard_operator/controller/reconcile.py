"""CONFIG work: one gateway's children brought in line.

What to read and write is decided in :mod:`.configure`; here it is done. Before each write stands the question whether we
still may, and each answer goes into the store, so that the next look knows what the watch has not brought yet.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.authentication import ServiceAccountIssuer
from switchyard_operator.compile.session_keys import session_key
from switchyard_operator.controller.configure import Command, Outcome, Read, configure, denied
from switchyard_operator.controller.kube import ApiError, Kube, KubeError
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.observed import REVISION_KEY_BYTES, Child
from switchyard_operator.controller.plan import Apply, Create
from switchyard_operator.controller.resources import CONFIG_MAPS, SECRETS, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.store import Store

_CHANGED: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""What an apply that is bound to an object's uid and version is answered when these have changed."""
_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
"""Refusals that say nothing of what was asked for: it is tried again, and nobody has to hear of it."""


class Outdated(Exception):  # noqa: N818 - the name says it
    """Somebody has written since we looked: the work has to begin anew."""


class Configs:
    """Does CONFIG work.

    ``may_write`` raises where we may not; ``seen`` is told what the API server answers to writes; ``service_accounts`` gives the cluster's
    issuer, or raises :class:`.NotReadYet`.
    """

    def __init__(
        self,
        kube: Kube,
        store: Store,
        may_write: Callable[[], None],
        seen: Callable[[Resource, dict[str, Any]], None],
        metrics: Metrics,
        service_accounts: Callable[[], ServiceAccountIssuer | None] = lambda: None,
    ) -> None:
        self._kube = kube
        self._store = store
        self._may_write = may_write
        self._seen = seen
        self._metrics = metrics
        self._service_accounts = service_accounts
        self.outcomes: Final[dict[Key, Outcome]] = {}
        """What came of each gateway, as long as it exists."""

    async def bring_in_line(self, key: Key) -> Outcome | None:
        """Compile the gateway and write what differs; ``None`` when there is no such gateway (any more), or its namespace ends.

        Its children go with it: they are its own, and garbage collection takes them.

        Raises:
            Outdated: others write at the same time.
            Restless: others write as soon as we have written.
            NotReadYet: it lets service accounts in, and their issuer is still to be read.
            KubeError: the API server was not reached, or refuses.
        """
        item = self._store.gateways.get(key)
        if item is None:
            self.outcomes.pop(key, None)
            return None
        auth = item.model.spec.auth if item.model is not None else None
        service_accounts = self._service_accounts() if auth is not None and auth.kubernetes is not None else None
        try:
            outcome = self.outcomes[key] = await self._configure(item, service_accounts)
        except ApiError as error:
            if error.namespace_ends:
                self.outcomes.pop(key, None)
                return None
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR and error.status not in _PASSING:
                self.outcomes[key] = denied(item, self._store.objects, error.reason, service_accounts)
            raise
        return outcome

    async def _configure(self, item: Item[MCPGateway], service_accounts: ServiceAccountIssuer | None) -> Outcome:
        deciding = configure(
            item,
            self._store.objects,
            self._known(CONFIG_MAPS, item.key),
            self._known(SECRETS, item.key),
            secrets.token_bytes(REVISION_KEY_BYTES),
            session_key(int(time.time()), secrets.token_bytes(32)),
            service_accounts,
        )
        answer = None
        while True:
            try:
                command = deciding.send(answer)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            answer = await self._do(command)

    async def _do(self, command: Command) -> dict[str, Any] | None:
        match command:
            case Read(resource, key):
                return await self._kube.get(resource, *key)
            case Create(resource, body):
                self._may_write()
                try:
                    return await self._write(resource, self._kube.create(resource, body))
                except ApiError as error:
                    if error.reason != "AlreadyExists":
                        raise
                return await self._kube.get(resource, body["metadata"]["namespace"], body["metadata"]["name"])
            case Apply(resource, body):
                self._may_write()
                try:
                    return await self._write(resource, self._kube.apply(resource, body))
                except ApiError as error:
                    if error.status in _CHANGED:
                        raise Outdated(str(error)) from error
                    raise

    async def _write(self, resource: Resource, writing: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        try:
            answer = await writing
        except KubeError as error:
            reason = error.reason if isinstance(error, ApiError) else "Unreachable"
            self._metrics.writes.labels(str(resource), reason).inc()
            raise
        self._metrics.writes.labels(str(resource), "Written").inc()
        self._seen(resource, answer)
        return answer

    def _known(self, resource: Resource, gateway: Key) -> Child | None:
        item = self._store.child(resource, gateway)
        return item.model if item is not None else None
