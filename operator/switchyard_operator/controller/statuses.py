"""GATEWAY_STATUS, BACKEND_STATUS and ALIAS_STATUS work: what is known of one object brought together, assessed and written.

Nothing is said of a gateway before it was compiled as it is now, nor of an alias while a gateway that matters to it is still to
be compiled: to readers, ``observedGeneration`` and the API server's default of a status say that something is under way.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.aliases import target
from switchyard_operator.compile.authentication import knowing
from switchyard_operator.compile.credentials import secrets_of
from switchyard_operator.controller.configure import Outcome
from switchyard_operator.controller.deployments import Deployed
from switchyard_operator.controller.resources import ALIASES, BACKENDS, DEPLOYMENTS, GATEWAYS, SECRETS, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.alias import Listed, assess_alias, listed, standings
from switchyard_operator.controller.status.answering import not_answering
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.backend import assess_backend
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.conditions import READY, Truth
from switchyard_operator.controller.status.deployment import Standing
from switchyard_operator.controller.status.gateway import PodCounts, assess_gateway
from switchyard_operator.controller.status.probed import Answer, Reach
from switchyard_operator.controller.status.sidecars import Sidecars
from switchyard_operator.controller.status.tools import tools_listed
from switchyard_operator.controller.status.writer import StatusWriter
from switchyard_operator.controller.store import Store
from switchyard_operator.controller.work import Task, Work


class Statuses:
    """Does the work on statuses.

    ``outcomes`` and ``pods`` tell of gateways; ``reaches`` of backends, by uid, as far as they were probed; ``exists`` whether there is an
    object that may not be seen; ``awaited`` whether some work is still to be done; ``due`` has work done, not before so many seconds
    have passed; ``sidecar_image`` is that of sidecars whose gateway names none, if it is known. Every method raises what
    :meth:`.StatusWriter.write` does.
    """

    def __init__(
        self,
        store: Store,
        outcomes: Mapping[Key, Outcome],
        pods: Callable[[Key], PodCounts | None],
        reaches: Mapping[str, Reach],
        exists: Callable[[Resource, Key], Awaitable[bool]],
        awaited: Callable[[Work], bool],
        due: Callable[[Work, float], None],
        writer: StatusWriter,
        sidecar_image: str | None = None,
        deployed: Callable[[Key], Deployed | None] = lambda _: None,
    ) -> None:
        self._store = store
        self._outcomes = outcomes
        self._pods = pods
        self._reaches = reaches
        self._exists = exists
        self._awaited = awaited
        self._due = due
        self._writer = writer
        self._sidecar_image = sidecar_image
        self._deployed = deployed
        self._held_back: dict[str, set[Key]] = {}
        """By namespace: aliases of which nothing could be said, since a gateway was still to be compiled."""

    def configured(self, gateway: Key) -> None:
        """The gateway was compiled, or is gone: there may be something to say now."""
        self._due(Work(Task.GATEWAY_STATUS, gateway), 0.0)
        for alias in self._held_back.pop(gateway.namespace, ()):
            self._due(Work(Task.ALIAS_STATUS, alias), 0.0)

    async def gateway(self, key: Key) -> None:
        """The status of a gateway."""
        item, outcome = self._store.gateways.get(key), self._outcomes.get(key)
        if item is None or outcome is None or (item.uid, item.generation) != (outcome.uid, outcome.generation):
            return
        if not self._is_known(item, deployed := self._deployed(key)):
            return
        composed, tools, silent, sidecars = outcome.composition, None, 0, Sidecars()
        if item.model is not None:
            composed = replace(composed, at_fault=self._as_told(key, composed.at_fault))
            if hidden := await self._hidden(item.model):
                composed = replace(composed, reports=knowing(composed.reports, item.model, self._store.objects, hidden))
            if self._store.gateways.get(key) is not item or self._outcomes.get(key) is not outcome:
                return  # changed meanwhile, which is work of its own
            tools = tools_listed(item.model, self._store.objects, composed.left_out, self._answer)
            silent = not_answering(item.model, self._store.objects, composed.left_out, self._reach_of)
            sidecars = Sidecars.of(item.model, self._store.pods_of(key), self._sidecar_image)
        standing = self._standing(key, deployed)
        assessment = assess_gateway(item, composed, outcome.writing, self._pods(key), tools, sidecars, standing, silent)
        await self._write(Work(Task.GATEWAY_STATUS, key), GATEWAYS, item, assessment)

    async def backend(self, key: Key) -> None:
        """The status of a backend."""
        item = self._store.backends.get(key)
        if item is None:
            return
        hidden = set() if item.model is None else await self._hidden(item.model)
        if self._store.backends.get(key) is not item:
            return  # changed meanwhile, which is work of its own
        assessment = assess_backend(item, self._store.objects, self._reach(item), hidden)
        await self._write(Work(Task.BACKEND_STATUS, key), BACKENDS, item, assessment)
        if assessment.refusal is not None and assessment.refusal != _refusal(item):
            for gateway, outcome in self._outcomes.items():
                if gateway.namespace == key.namespace and key in outcome.composition.at_fault:
                    self._due(Work(Task.GATEWAY_STATUS, gateway), 0.0)

    async def alias(self, key: Key) -> None:
        """The status of an alias."""
        item = self._store.aliases.get(key)
        if item is None:
            return
        gateways = self._store.objects.gateways.within(key.namespace)
        found = () if item.model is None else standings(item.model, gateways, self._composition)
        if found is None:
            self._held_back.setdefault(key.namespace, set()).add(key)
            return
        tool = Listed.UNKNOWN if item.model is None else self._listed(item.model)
        await self._write(Work(Task.ALIAS_STATUS, key), ALIASES, item, assess_alias(item, found, tool))

    def _as_told(self, gateway: Key, at_fault: Mapping[Key, str]) -> dict[Key, str]:
        """Why backends are left out, in the word of their own statuses, which know more.

        Not of other namespaces' backends: which Secrets there are is nothing to be learnt elsewhere.
        """
        told = dict(at_fault)
        for key in at_fault:
            item = self._store.backends.get(key) if key.namespace == gateway.namespace else None
            if item is not None and (reason := _refusal(item)) is not None:
                told[key] = reason
        return told

    def _is_known(self, item: Item[MCPGateway], deployed: Deployed | None) -> bool:
        """Whether the gateway's Deployment, where it is to have one, was looked at as the gateway is now."""
        if item.model is None or item.model.spec.mode != "Deployment":
            return True
        return deployed is not None and (item.uid, item.generation) == (deployed.uid, deployed.generation)

    def _standing(self, gateway: Key, deployed: Deployed | None) -> Standing | None:
        if deployed is None or deployed.placing is None:
            return None
        found = self._store.workload(DEPLOYMENTS, gateway)
        return Standing(deployed.placing, found.model.state if found is not None and found.model is not None else None)

    async def _hidden(self, declared: MCPBackend | MCPGateway) -> set[Key]:
        """The Secrets it refers to that exist and are not seen. Asked for, since nothing else tells a slip from what may come."""
        missing = sorted(secrets_of(declared) - self._store.objects.secrets.keys())
        return {key for key in missing if await self._exists(SECRETS, key)}

    def _reach(self, item: Item[MCPBackend]) -> Reach:
        return self._reaches.get(item.uid) or Reach.recalled(item.status)

    def _reach_of(self, backend: Key) -> Reach | None:
        item = self._store.backends.get(backend)
        return None if item is None else self._reach(item)

    def _answer(self, backend: Key) -> Answer | None:
        reach = self._reach_of(backend)
        return None if reach is None else reach.answer

    def _listed(self, alias: MCPToolAlias) -> Listed:
        return listed(alias.spec.tool, self._reach_of(target(alias)))

    def _composition(self, gateway: Key) -> Composition | None:
        if gateway not in self._outcomes or self._awaited(Work(Task.CONFIG, gateway)):
            return None
        return self._outcomes[gateway].composition

    async def _write(self, work: Work, resource: Resource, item: Item[Any], assessment: Assessment) -> None:
        again_s = await self._writer.write(resource, item, assessment)
        if again_s is not None:
            self._due(work, again_s)


def _refusal(item: Item[MCPBackend]) -> str | None:
    """Why the backend is not ready, as its stored status says of it as it is now; ``None``: it is, or nothing is said."""
    if item.status.get("observedGeneration") != item.generation:
        return None
    stored = item.status.get("conditions") or ()
    return next((each["reason"] for each in stored if each["type"] == READY and each["status"] == Truth.FALSE), None)
