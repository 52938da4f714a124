"""A written config on its way to the pods that run it: the kubelet is nudged, and each sidecar is asked what it has loaded.

A kubelet looks at a changed ConfigMap at its next sync of the pod, up to a minute later; a change of the pod itself makes it
sync at once. So an annotation of the pod says which config it should have. That is a hint: nothing is wrong when it cannot be
written, the config only comes later.

Nothing is asked and nothing written at rest: a gateway is attended to after a write and when one of its pods has changed,
until every pod has confirmed, or for as long as a kubelet may take by itself.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from switchyard_operator.api.pods import CONFIG_HASH
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.election import NotLeading
from switchyard_operator.controller.kube import ApiError, Kube, KubeError
from switchyard_operator.controller.observed import Pod
from switchyard_operator.controller.pacer import Pacer
from switchyard_operator.controller.resources import PODS
from switchyard_operator.controller.status.gateway import PodCounts

WITHDRAWN: Final = "none"
"""In place of a hash: there should be no config any more."""

GATHER_S: Final = 0.1
"""After a write, others for the same gateway often follow; and the kubelet must have heard of the ConfigMap before the pod's sync."""
PAUSES_S: Final = (0.2, 0.3, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Between one look at a gateway's pods and the next; in sum the two minutes that a kubelet may take without a nudge."""
STALE_AFTER: Final = 4
"""After so many looks (2 s) a pod that still has another config is nudged once more."""

log = structlog.get_logger(__name__)


class Asking(Protocol):
    """Asks a pod's sidecar."""

    async def __call__(self, pod: Pod) -> str | None:
        """The hash of the config it has loaded; ``None`` when it could not be asked."""


class Rollout:
    """Attends to the pods of all gateways, for the replica that leads.

    ``pods_of`` gives a gateway's pods as they are now; ``counted`` is told when its counts may have changed; ``may_write`` raises
    :class:`NotLeading` where we may not; ``nudges`` paces the patches, ``None``: pods are never nudged.
    """

    def __init__(
        self,
        kube: Kube,
        pods_of: Callable[[Key], Iterable[Pod]],
        ask: Asking,
        may_write: Callable[[], None],
        counted: Callable[[Key], None],
        nudges: Pacer | None,
    ) -> None:
        self._kube = kube
        self._pods_of = pods_of
        self._ask = ask
        self._may_write = may_write
        self._counted = counted
        self._nudges = nudges
        self._wanted: dict[Key, str] = {}
        self._heard: dict[Key, dict[str, str | None]] = {}
        """What the pods of a gateway have answered, by their uids."""
        self._attending: dict[Key, asyncio.Task[None]] = {}

    def configured(self, gateway: Key, config_hash: str, *, written: bool) -> None:
        """The gateway's config is the one with this hash; ``written``: we have just made it so."""
        former, self._wanted[gateway] = self._wanted.get(gateway), config_hash
        if written or former != config_hash:
            self._attend(gateway, written=written or former is not None)

    def pods_changed(self, gateway: Key) -> None:
        """A pod came, went, or is another than it was."""
        if gateway not in self._wanted:
            return
        heard = self._heard.get(gateway, {})
        if gateway not in self._attending or any(pod.uid not in heard for pod in self._attached(gateway)):
            self._attend(gateway, written=False)

    def withdrawn(self, gateway: Key) -> None:
        """The gateway's config is gone: the sooner the kubelets look, the sooner nobody serves it."""
        self.forget(gateway)
        if any(True for _ in self._attached(gateway)):
            self._attend(gateway, written=True)

    def forget(self, gateway: Key) -> None:
        """The gateway is gone."""
        if self._wanted.pop(gateway, None) is None:
            return
        self._heard.pop(gateway, None)
        if (task := self._attending.pop(gateway, None)) is not None:
            task.cancel()

    def counts(self, gateway: Key) -> PodCounts | None:
        """How many pods run the gateway's sidecar, and how many of them have its config; ``None``: they were not asked yet."""
        standing = list(self._standing(gateway))
        if standing and gateway not in self._heard:
            return None
        return PodCounts(
            attached=len(standing),
            current=sum(each.current for each in standing),
            unknown=sum(each.loaded is None for each in standing),
        )

    def forget_all(self) -> None:
        """Begin anew: what was known is from an earlier time of leading."""
        for gateway in list(self._wanted):
            self.forget(gateway)

    async def close(self) -> None:
        """Stop attending."""
        tasks = list(self._attending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _attend(self, gateway: Key, *, written: bool) -> None:
        if (former := self._attending.get(gateway)) is not None:
            former.cancel()
        task = asyncio.create_task(self._follow(gateway, written=written), name=f"rollout of {gateway}")
        self._attending[gateway] = task
        task.add_done_callback(lambda done: self._ended(gateway, done))

    def _ended(self, gateway: Key, task: asyncio.Task[None]) -> None:
        if self._attending.get(gateway) is task:
            del self._attending[gateway]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("rollout_failed", gateway=str(gateway), exc_info=error)

    async def _follow(self, gateway: Key, *, written: bool) -> None:
        with suppress(NotLeading):
            await self._attend_to(gateway, written=written)

    async def _attend_to(self, gateway: Key, *, written: bool) -> None:
        if written:
            await asyncio.sleep(GATHER_S)
            await self._nudge(gateway, "")
        for looks, pause_s in enumerate(PAUSES_S, start=1):
            if written or looks > 1:
                await asyncio.sleep(pause_s)
            if gateway in self._wanted:
                await self._look(gateway)
            elif looks > STALE_AFTER:
                return
            if all(each.current for each in self._standing(gateway)):
                return
            if looks == STALE_AFTER:
                await self._nudge(gateway, "+")

    async def _look(self, gateway: Key) -> None:
        """Ask every pod that has not confirmed yet."""
        standing = list(self._standing(gateway))
        asked = [each.pod for each in standing if not each.current]
        answers = await asyncio.gather(*map(self._ask, asked))
        heard = {each.pod.uid: each.loaded for each in standing}
        heard |= {pod.uid: answer for pod, answer in zip(asked, answers, strict=True)}
        if heard != self._heard.get(gateway):
            self._heard[gateway] = heard
            self._counted(gateway)

    async def _nudge(self, gateway: Key, mark: str) -> None:
        """Make the kubelets of all pods that are not current sync them. ``mark`` makes a second nudge a change."""
        if self._nudges is None:
            return
        annotation = self._wanted.get(gateway, WITHDRAWN) + mark
        for each in list(self._standing(gateway)):
            if each.current or each.pod.annotations.get(CONFIG_HASH) == annotation:
                continue
            await self._nudges.turn()
            self._may_write()
            patch = {"metadata": {"uid": each.pod.uid, "annotations": {CONFIG_HASH: annotation}}}
            try:
                await self._kube.merge_patch(PODS, each.pod.key.namespace, each.pod.key.name, patch)
            except KubeError as error:
                if not isinstance(error, ApiError) or error.status not in {404, 409}:  # gone, or another of its name
                    log.warning("nudge_failed", pod=str(each.pod.key), error=str(error))

    def _standing(self, gateway: Key) -> Iterator["_Standing"]:
        wanted, heard = self._wanted.get(gateway), self._heard.get(gateway, {})
        for pod in self._attached(gateway):
            loaded = heard.get(pod.uid)
            yield _Standing(pod, loaded, current=loaded is not None and loaded == wanted)

    def _attached(self, gateway: Key) -> Iterator[Pod]:
        return (pod for pod in self._pods_of(gateway) if pod.running and pod.address and pod.admin_port is not None)


@dataclass(frozen=True, slots=True)
class _Standing:
    pod: Pod
    loaded: str | None
    """The hash that it has answered last; ``None``: not known."""
    current: bool
