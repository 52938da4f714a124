"""Who signs the tokens of the cluster's service accounts: asked of the API server, and asked again, since keys are rotated.

What was read last stays while it cannot be read again: an outage shuts nobody out. What comes of it goes into configs, so that sidecars
need neither an API server nor permissions to check a token.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog

from switchyard_operator.compile.authentication import ServiceAccountIssuer
from switchyard_operator.controller.kube import ApiError, KubeError
from switchyard_sidecar.config.callers import key_set_fault

PERIOD_S: Final = 120.0
"""Between two readings. Tokens are signed with a new key only after every API server accepts it, which takes longer."""
_RETRY_S: Final = 5.0
"""After a reading that failed, as long as nothing is known."""
_DISCOVERY: Final = "/.well-known/openid-configuration"
_KEY_SET: Final = "/openid/v1/jwks"
"""Both are what KEP-1393 lets an API server say of itself, whatever ``jwks_uri`` it gives to the world outside."""
_REFUSALS: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

_log = structlog.get_logger()


class NotReadYet(Exception):  # noqa: N818 - the name says it
    """The API server has not answered yet whether it tells its issuer, so that nothing may be said of it."""


class ServiceAccounts:
    """The issuer of one cluster.

    ``read`` gives what the API server has at a path; ``changed`` is called when the issuer is another than before, or becomes known.
    """

    def __init__(self, read: Callable[[str], Awaitable[Mapping[str, Any]]], changed: Callable[[], None]) -> None:
        self._read = read
        self._changed = changed
        self._issuer: ServiceAccountIssuer | None = None
        self._answered = False
        self._said = ""

    def issuer(self) -> ServiceAccountIssuer | None:
        """The issuer; ``None``: the API server does not tell. Raises :class:`NotReadYet`."""
        if not self._answered:
            raise NotReadYet
        return self._issuer

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_RETRY_S if self._issuer is None else PERIOD_S)

    async def look(self) -> None:
        """Read once. What goes wrong is logged, each fault once in a row."""
        try:
            found = issuer_of(await self._read(_DISCOVERY), await self._read(_KEY_SET))
        except (KubeError, ValueError) as error:
            self._failed(error)
            return
        self._answered, self._said = True, ""
        if found != self._issuer:
            _log.info("service_account_issuer", issuer=found.issuer, known_before=self._issuer is not None)
            self._issuer = found
            self._changed()

    def _failed(self, error: KubeError | ValueError) -> None:
        refused = isinstance(error, ValueError) or (isinstance(error, ApiError) and error.status in _REFUSALS)
        self._answered = self._answered or refused
        if str(error) != self._said:
            effect = "what was read before stays" if self._issuer else "spec.auth.kubernetes lets nobody in"
            _log.warning("service_account_issuer_not_read", error=str(error), effect=effect)
            self._said = str(error)


def issuer_of(discovery: Mapping[str, Any], key_set: Mapping[str, Any]) -> ServiceAccountIssuer:
    """The issuer in the API server's two documents (OpenID Connect Discovery 1.0 section 3; RFC 7517). Raises ``ValueError``.

    Equal documents give equal text, in whatever order the API server writes it.
    """
    issuer = discovery.get("issuer")
    if not isinstance(issuer, str) or not issuer:
        raise ValueError(f"{_DISCOVERY} names no issuer")
    if fault := key_set_fault(_canonical(key_set)):
        raise ValueError(f"{_KEY_SET} {fault}")
    if not key_set["keys"]:
        raise ValueError(f"{_KEY_SET} holds no key")
    return ServiceAccountIssuer(issuer, _canonical({"keys": sorted(key_set["keys"], key=_canonical)}))


def _canonical(tree: object) -> str:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))
