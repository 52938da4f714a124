"""Keeps the webhook's Secret and the ``caBundle`` of its configuration as :mod:`.holdings` says, while this replica leads.

Both are read every few seconds, and written when they differ: a Secret that somebody has deleted, or a configuration that was made
anew, is as good as one whose time has come. Writes are bound to what was read.
"""

import asyncio
import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import structlog
from yarl import URL

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.children import MANAGED_BY
from switchyard_operator.controller.certificates.holdings import (
    Holdings,
    Lifetimes,
    advanced,
    certificates_in,
    utc_now,
)
from switchyard_operator.controller.election import NotLeading
from switchyard_operator.controller.kube import Kube, KubeError
from switchyard_operator.controller.resources import SECRETS, Resource

CONFIGURATIONS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
LOOK_S: Final = 10.0
"""How often both are read."""
SETTLED_S: Final = 60.0
"""After so long every API server has heard of a changed configuration."""
_MANAGER: Final = "switchyard"

_log = structlog.get_logger()

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Webhook:
    """Whose certificates are kept."""

    configuration: str
    """The MutatingWebhookConfiguration's name."""
    secret: Key
    lifetimes: Lifetimes = field(default_factory=Lifetimes)

    @property
    def look_s(self) -> float:
        """How often to look: often enough for certificates that are meant to be short-lived."""
        return min(LOOK_S, self._hundredth_s)

    @property
    def settled_s(self) -> float:
        """How long to wait until a changed configuration is known everywhere."""
        return min(SETTLED_S, 10 * self._hundredth_s)

    @property
    def _hundredth_s(self) -> float:
        return min(self.lifetimes.certificate, self.lifetimes.authority) / timedelta(seconds=100)


class Keeper:
    """Keeps the certificates of one webhook. ``may_write`` raises :class:`NotLeading` where we may not."""

    def __init__(self, kube: Kube, webhook: Webhook, leading: asyncio.Event, may_write: Callable[[], None]) -> None:
        self._kube = kube
        self._webhook = webhook
        self._leading = leading
        self._may_write = may_write
        self._trusted: bytes | None = None
        """What the whole configuration trusts, if it is all the same."""
        self._trusted_since = 0.0
        self._complaint = ""

    @property
    def is_stuck(self) -> bool:
        """Whether they could not be kept when this replica looked last; its log says why."""
        return bool(self._complaint)

    async def run(self) -> None:
        """Keep them until cancelled."""
        while True:
            await self._leading.wait()
            try:
                await self._look()
                self._complain("")
            except NotLeading:
                self._trusted, self._complaint = None, ""  # another may change it from now on
            except (KubeError, _UnusableError) as error:
                self._complain(str(error))
            await asyncio.sleep(self._webhook.look_s)

    async def _look(self) -> None:
        configuration = await self._kube.get(CONFIGURATIONS, None, self._webhook.configuration)
        if configuration is None:
            raise _UnusableError(f"there is no {CONFIGURATIONS.kind} {self._webhook.configuration} yet")
        names = frozenset(_names(configuration))
        if not names:
            raise _UnusableError(f"{CONFIGURATIONS.kind} {self._webhook.configuration} names no webhook")
        secret = await self._kube.get(SECRETS, *self._webhook.secret)
        held = await self._held(secret, configuration, names)
        self._saw(_bundle(configuration))
        await self._publish(configuration, held.bundle)

    async def _held(self, secret: Raw | None, configuration: Raw, names: frozenset[str]) -> Holdings:
        """The certificates as they should be, in the Secret too when this returns."""
        held = None if secret is None else Holdings.of(_files(secret))
        trusted = [each for entry in _bundles(configuration) for each in certificates_in(entry)]
        settled = held is not None and self._trusts(held.bundle)
        wanted = advanced(held, trusted, names, utc_now(), self._webhook.lifetimes, settled=settled)
        if wanted is not held:
            await self._store(secret, wanted)
            _log.info(
                "certificates_written",
                secret=str(self._webhook.secret),
                names=sorted(names),
                authorities=len(wanted.authorities),
                expires=wanted.certificate.not_valid_after_utc.isoformat(),
            )
        return wanted

    async def _store(self, secret: Raw | None, holdings: Holdings) -> None:
        key = self._webhook.secret
        metadata: dict[str, Any] = {"namespace": key.namespace, "name": key.name, "labels": {MANAGED_BY: _MANAGER}}
        data = {name: base64.b64encode(content).decode() for name, content in holdings.files().items()}
        body = {"apiVersion": SECRETS.api_version, "kind": SECRETS.kind, "type": "kubernetes.io/tls", "data": data}
        self._may_write()
        if secret is None:
            await self._kube.create(SECRETS, {**body, "metadata": metadata})
            return
        if (secret["metadata"].get("labels") or {}).get(MANAGED_BY) != _MANAGER:
            raise _UnusableError(f"Secret {key} is somebody else's: remove it, or let its owner keep caBundle too")
        metadata["resourceVersion"] = secret["metadata"]["resourceVersion"]
        await self._kube.apply(SECRETS, {**body, "metadata": metadata})

    async def _publish(self, configuration: Raw, bundle: bytes) -> None:
        """Let the configuration trust this, and nothing else."""
        encoded = base64.b64encode(bundle).decode()
        changes = [
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": encoded}
            for index, entry in enumerate(configuration["webhooks"])
            if entry["clientConfig"].get("caBundle") != encoded
        ]
        if not changes:
            return
        version = configuration["metadata"]["resourceVersion"]
        patch = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, *changes]
        self._may_write()
        await self._kube.json_patch(CONFIGURATIONS, None, self._webhook.configuration, patch)
        self._saw(bundle)
        _log.info("ca_bundle_written", configuration=self._webhook.configuration)

    def _saw(self, bundle: bytes | None) -> None:
        if bundle != self._trusted:
            self._trusted, self._trusted_since = bundle, asyncio.get_running_loop().time()

    def _trusts(self, bundle: bytes) -> bool:
        """Whether this has been trusted for so long that every API server knows."""
        lasted_s = asyncio.get_running_loop().time() - self._trusted_since
        return bundle == self._trusted and lasted_s >= self._webhook.settled_s

    def _complain(self, complaint: str) -> None:
        if complaint and complaint != self._complaint:
            _log.warning("certificates_not_kept", error=complaint)
        self._complaint = complaint


class _UnusableError(Exception):
    """Nothing can be done as things are. It is looked at again."""


def _names(configuration: Raw) -> Iterator[str]:
    """What an API server calls the webhook by (``clientConfig``)."""
    for entry in configuration.get("webhooks") or ():
        client = entry["clientConfig"]
        if (service := client.get("service")) is not None:
            yield f"{service['name']}.{service['namespace']}.svc"
        elif (host := URL(client["url"]).host) is not None:
            yield host


def _bundles(configuration: Raw) -> Iterator[bytes]:
    for entry in configuration["webhooks"]:
        yield base64.b64decode(entry["clientConfig"].get("caBundle") or "")


def _bundle(configuration: Raw) -> bytes | None:
    """What all webhooks of the configuration trust; ``None`` where they differ."""
    found = set(_bundles(configuration))
    return found.pop() if len(found) == 1 else None


def _files(secret: Raw) -> dict[str, bytes]:
    return {name: base64.b64decode(text) for name, text in (secret.get("data") or {}).items()}
