"""Whatever happens, in whatever order it is heard of: in the end the children are what compiling the last state gives."""

import asyncio
import base64
from collections import deque
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.compile import Objects, compile_gateway
from switchyard_operator.compile.objects import ConfigMap, Namespace, Secret
from switchyard_operator.controller.configure import Outcome, configure
from switchyard_operator.controller.graph import Graph
from switchyard_operator.controller.queue import WorkQueue
from switchyard_operator.controller.resources import (
    ALIASES,
    BACKENDS,
    CONFIG_MAPS,
    GATEWAYS,
    NAMESPACES,
    SECRETS,
    WATCHED,
    Resource,
)
from switchyard_operator.controller.shelf import Change
from switchyard_operator.controller.store import Store
from switchyard_operator.controller.work import Task, Work
from unit.operator.controller.cluster import Cluster, Conflict, Event, carried_out, children
from unit.operator.controller.declaring import NEW_SESSION_KEY
from unit.operator.pem import CERTIFICATE

NEW_KEY = b"k" * 32
URL = "http://x.example/mcp"
TOKEN = {"type": "Bearer", "secretKeyRef": {"name": "s", "key": "token"}}
LABELS: list[dict[str, str]] = [{}, {"team": "1"}]

BACKEND_SPECS: list[dict[str, Any]] = [
    {"url": URL},
    {"url": "http://y.example/mcp", "allowedNamespaces": {"from": "All"}},
    {"url": URL, "auth": TOKEN, "allowedNamespaces": {"from": "All", "credentials": "Share"}},
    {"url": URL, "allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "1"}}}},
    {"url": URL, "auth": TOKEN, "allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "1"}}}},
    {"url": URL, "tls": {"caRef": {"name": "c"}}},
    {"url": URL, "service": {"name": "both", "port": 1}},
]
GATEWAY_SPECS: list[dict[str, Any]] = [
    {"backends": [{"name": "x"}]},
    {"backends": [{"name": "x"}, {"name": "x", "namespace": "a"}, {"name": "x", "namespace": "b"}]},
    {"backends": [{"name": "x", "namespace": "b"}, {"name": "x", "namespace": "a"}, {"name": "y", "namespace": "a"}]},
    {"backends": [{"selector": {"matchLabels": {"team": "1"}}}, {"name": "y"}]},
    {"backends": [{"name": "x"}], "auth": {}},
    {"backends": [{"name": "x"}], "mode": "Deployment"},
    {"backends": [{"name": "x", "selector": {}}]},
]
ALIAS_SPECS: list[dict[str, Any]] = [
    {"backendRef": {"name": "x"}, "tool": "t", "alias": "one"},
    {"backendRef": {"name": "x", "namespace": "b"}, "tool": "u", "alias": "one", "gatewayRefs": [{"name": "g"}]},
    {"backendRef": {"name": "y"}, "tool": "t", "alias": "two"},
]
SECRET_DATA: list[dict[str, str]] = [
    {"token": base64.b64encode(text).decode()} for text in (b"first", b"second", b"\n")
] + [{}]
CONFIG_MAP_DATA: list[dict[str, str]] = [{"ca.crt": CERTIFICATE.decode()}, {"ca.crt": "none"}]
MARKS: list[dict[str, str]] = [{"switchyard.dev/credential": "true"}, {"switchyard.dev/credential": "no"}]

PLACES: list[tuple[Resource, Key]] = [
    *((BACKENDS, Key(*key)) for key in (("a", "x"), ("a", "y"), ("b", "x"))),
    *((GATEWAYS, Key(*key)) for key in (("a", "g"), ("a", "h"), ("b", "g"))),
    *((ALIASES, Key(*key)) for key in (("a", "l"), ("a", "m"), ("b", "l"))),
    *((SECRETS, Key(*key)) for key in (("a", "s"), ("b", "s"))),
    (CONFIG_MAPS, Key("a", "c")),
    *((NAMESPACES, Key("", name)) for name in ("a", "b")),
]


def puts(place: tuple[Resource, Key]) -> st.SearchStrategy[tuple[str, Resource, Key, dict[str, Any]]]:
    """Some version of the object at a place."""
    resource, key = place
    choices: Mapping[Resource, Mapping[str, list[Any]]] = {
        BACKENDS: {"spec": BACKEND_SPECS, "labels": LABELS},
        GATEWAYS: {"spec": GATEWAY_SPECS, "status": [{"n": n} for n in range(3)]},
        ALIASES: {"spec": ALIAS_SPECS},
        SECRETS: {"data": SECRET_DATA, "labels": MARKS},
        CONFIG_MAPS: {"data": CONFIG_MAP_DATA, "labels": MARKS[:1]},
        NAMESPACES: {"labels": LABELS},
    }
    parts = st.fixed_dictionaries({part: st.sampled_from(values) for part, values in choices[resource].items()})
    return st.tuples(st.just("put"), st.just(resource), st.just(key), parts)


RESOURCES = st.sampled_from(list(WATCHED))
STEPS = st.one_of(
    st.sampled_from(PLACES).flatmap(puts),
    st.sampled_from(PLACES).flatmap(puts),
    st.sampled_from(PLACES).map(lambda place: ("delete", *place)),
    st.tuples(st.just("hear"), st.integers(0, 20)),
    st.tuples(st.just("again"), st.integers(0, 20)),
    st.tuples(st.just("lose"), RESOURCES, st.integers(0, 2)),
    st.tuples(st.just("list"), RESOURCES),
    st.tuples(st.just("page"), RESOURCES, st.integers(1, 3)),
    st.tuples(st.just("work"), st.integers(1, 4)),
    st.tuples(st.just("collect")),
    st.tuples(
        st.sampled_from(["drop", "spoil", "unlabel"]), st.sampled_from([CONFIG_MAPS, SECRETS]), st.integers(0, 2)
    ),
)


class Operator:
    """The pure parts of the operator together, hearing of a cluster as late and as badly as Kubernetes allows."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.store = Store()
        self.graph = Graph(self.store)
        self.queue = WorkQueue[Work](rank=lambda work: work.task)
        self.outcomes: dict[Key, Outcome] = {}
        self._read = 0
        self._coming: dict[tuple[Resource, str], deque[Event]] = {}
        """Events on their way: in order for each object, in any order between objects."""
        self._heard: list[Event] = []
        self._lists: dict[Resource, tuple[Any, deque[dict[str, Any]], str]] = {}
        self._lossy: set[Resource] = set()

    def notice(self, change: Change | None) -> None:
        if change is not None:
            for work in self.graph.touched(change):
                self.queue.add(work)

    def _send(self) -> None:
        for event in self.cluster.log[self._read :]:
            self._coming.setdefault((event.resource, event.uid), deque()).append(event)
        self._read = len(self.cluster.log)

    def hear(self, which: int) -> bool:
        """One event arrives."""
        self._send()
        waiting = [key for key, events in self._coming.items() if events]
        if not waiting:
            return False
        event = self._coming[waiting[which % len(waiting)]].popleft()
        self._heard.append(event)
        self.notice(self.store.event(event.resource, event.type, event.raw))
        return True

    def again(self, which: int) -> None:
        """An event arrives once more."""
        if self._heard:
            event = self._heard[-1 - which % len(self._heard)]
            self.notice(self.store.event(event.resource, event.type, event.raw))

    def lose(self, resource: Resource, kept: int) -> None:
        """410 Gone: what was on its way is lost, but for a few events of each object. A list follows."""
        self._send()
        for (of, uid), events in self._coming.items():
            if of == resource:
                self._coming[of, uid] = deque(list(events)[:kept])
        self._lossy.add(resource)

    def list(self, resource: Resource) -> None:
        """A list of ours begins; one that is under way is given up."""
        raws, version = self.cluster.list(resource)
        self._lists[resource] = self.store.listing(resource), deque(raws), version
        self._lossy.discard(resource)

    def page(self, resource: Resource, size: int) -> bool:
        """A page of a list arrives, perhaps the last. Returns whether it was."""
        if resource not in self._lists:
            return False
        listing, raws, version = self._lists[resource]
        for _ in range(size):
            if raws:
                self.notice(listing.add(raws.popleft()))
        if raws:
            return False
        for change in listing.done(version):
            self.notice(change)
        del self._lists[resource]
        return True

    async def work(self, most: int) -> int:
        """Workers take what is due."""
        done = 0
        while done < most and len(self.queue) and self.store.complete:
            task, key = work = await self.queue.take()
            done += 1
            if task is Task.CONFIG:
                try:
                    self._configure(key)
                except Conflict:
                    self.queue.add(work)
            self.queue.done(work)
        return done

    def _configure(self, key: Key) -> None:
        item = self.store.gateways.get(key)
        if item is None:
            self.outcomes.pop(key, None)
            return
        known = [self.store.child(resource, key) for resource in (CONFIG_MAPS, SECRETS)]
        config_map, secret = (each.model if each else None for each in known)
        self.outcomes[key] = carried_out(
            configure(item, self.store.objects, config_map, secret, NEW_KEY, NEW_SESSION_KEY), self.cluster
        )

    async def do(self, step: Any) -> None:
        """One step of a history."""
        match step:
            case ("put", resource, key, parts):
                self.cluster.put(resource, key, **parts)
            case ("delete", resource, key):
                self.cluster.delete(resource, key)
            case ("hear", which):
                self.hear(which)
            case ("again", which):
                self.again(which)
            case ("lose", resource, kept):
                self.lose(resource, kept)
            case ("list", resource):
                self.list(resource)
            case ("page", resource, size):
                self.page(resource, size)
            case ("work", most):
                await self.work(most)
            case ("collect",):
                self.cluster.collect_garbage()
            case (how, resource, which):
                self.cluster.meddle(how, resource, which)

    async def settle(self) -> None:
        """Everything on its way arrives, what was lost is listed, and the work is done."""
        for resource in WATCHED:
            if not self.store.shelf(resource).was_listed() or resource in self._lossy or resource in self._lists:
                self.list(resource)
                while not self.page(resource, 3):
                    pass
        for _ in range(100):
            while self.hear(0):
                pass
            self.cluster.collect_garbage()
            if not await self.work(1000) and not self.hear(0):
                return
        raise AssertionError("it does not come to rest")


def declared(cluster: Cluster) -> Objects:
    """The valid objects of a cluster, read without the store."""
    found: list[Any] = []
    for (resource, key), raw in cluster.objects.items():
        labels = raw["metadata"].get("labels") or {}
        if "ownerReferences" in raw["metadata"]:
            continue  # a child
        if resource == SECRETS:
            data = {name: base64.b64decode(text) for name, text in raw["data"].items()}
            found.append(Secret(key, data, labels))
        elif resource == CONFIG_MAPS:
            found.append(ConfigMap(key, {name: text.encode() for name, text in raw["data"].items()}))
        elif resource == NAMESPACES:
            found.append(Namespace(key.name, labels | {"kubernetes.io/metadata.name": key.name}))
        else:
            kinds: Mapping[Resource, Any] = {BACKENDS: MCPBackend, ALIASES: MCPToolAlias, GATEWAYS: MCPGateway}
            try:
                found.append(kinds[resource].model_validate({**raw, "status": None}))
            except ValidationError:
                continue
    return Objects.of(found)


ROUNDS = st.lists(st.lists(STEPS, min_size=1, max_size=8), min_size=4, max_size=8)
"""After each round everything is given the time it needs, and looked at: what one round misses, the next must not hide."""


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.tuples(*map(puts, PLACES)), st.lists(STEPS, max_size=30), ROUNDS)
def test_any_history_ends_in_what_the_last_state_compiles_to(
    before: list[Any], starting: list[Any], rounds: list[list[Any]]
) -> None:
    """Late, doubled and lost events, lists that are read while objects change, deletions and objects made anew."""
    asyncio.run(_history(before, [starting, *rounds]))


async def _history(before: list[Any], rounds: list[list[Any]]) -> None:
    cluster = Cluster()
    operator = Operator(cluster)
    for _, resource, key, parts in before:
        cluster.put(resource, key, **parts)
    for steps in rounds:
        for step in steps:
            await operator.do(step)
        await operator.settle()
        assert_settled(operator)
    cluster.writes.clear()
    for work in operator.graph.everything():
        operator.queue.add(work)
    await operator.settle()
    assert cluster.writes == []


def assert_settled(operator: Operator) -> None:
    """The store knows what is in the cluster, and the children are what that compiles to."""
    objects = declared(operator.cluster)
    for kind in ("backends", "aliases", "gateways", "secrets", "config_maps", "namespaces"):
        assert dict(getattr(operator.store.objects, kind)) == dict(getattr(objects, kind)), kind
    for gateway, declaration in objects.gateways.items():
        files = children(operator.cluster, gateway)
        sessions = (NEW_SESSION_KEY,) if declaration.spec.mode == "Deployment" else ()
        key = files.get("cred_key", NEW_KEY)
        compiled = compile_gateway(objects, gateway, revision_key=key, session_keys=sessions, cluster=True)
        assert files == compiled.files()
