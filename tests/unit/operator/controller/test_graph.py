"""Who is touched by a change, and who is not."""

from collections.abc import Callable
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.graph import Graph
from switchyard_operator.controller.resources import (
    ALIASES,
    BACKENDS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    GATEWAYS,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICES,
)
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.store import Store
from unit.operator.controller.cluster import Cluster
from unit.operator.controller.declaring import LABEL

URL = "http://a.example/"
SELECTOR = {"selector": {"matchLabels": {"team": "a"}}}
TOKEN = {"type": "Bearer", "secretKeyRef": {"name": "s", "key": "token"}}
ISSUER = {"issuer": "i", "audiences": ["a"], "jwksURL": URL, "caRef": {"name": "authority"}}
GUARD = {"jwt": [ISSUER], "tokens": [{"name": "ci", "secretKeyRef": {"name": "guard", "key": "token"}}]}


def put(resource: Any, namespace: str, name: str, **parts: Any) -> Callable[[Cluster], None]:
    def change(cluster: Cluster) -> None:
        cluster.put(resource, Key(namespace, name), **parts)

    return change


def delete(resource: Any, namespace: str, name: str) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.delete(resource, Key(namespace, name))


def backend(name: str, namespace: str = "a", labels: dict[str, str] | None = None, **spec: Any) -> Any:
    return put(BACKENDS, namespace, name, labels=labels or {}, spec={"url": URL, **spec})


def gateway(name: str, *backends: dict[str, Any], namespace: str = "a", **spec: Any) -> Any:
    return put(GATEWAYS, namespace, name, spec={"backends": list(backends), **spec})


def alias(name: str, target: str, namespace: str = "a", **spec: Any) -> Any:
    return put(ALIASES, namespace, name, spec={"backendRef": {"name": target}, "tool": "t", "alias": "x", **spec})


WORLD = [
    backend("x", auth=TOKEN),
    backend("y", labels={"team": "a"}, tls={"caRef": {"name": "c"}}),
    backend("z"),
    backend("f", "b", allowedNamespaces={"from": "Selector", "selector": {}}),
    gateway("one", {"name": "x"}),
    gateway("two", {"name": "x"}, {"name": "z"}),
    gateway("team", SELECTOR),
    gateway("far", {"name": "f", "namespace": "b"}),
    gateway("elsewhere", {"name": "x"}, namespace="b"),
    alias("to-x", "x"),
    alias("one-only", "x", gatewayRefs=[{"name": "one"}]),
    gateway("guarded", auth=GUARD),
    put(SECRETS, "a", "guard", labels=LABEL, data={}),
    put(CONFIG_MAPS, "a", "authority", labels=LABEL, data={}),
    put(SECRETS, "a", "s", labels=LABEL, data={}),
    put(CONFIG_MAPS, "a", "c", labels=LABEL, data={}),
    put(NAMESPACES, "", "a", labels={}),
    put(NAMESPACES, "", "b", labels={}),
    put(PODS, "a", "p", labels={"switchyard.dev/gateway": "one"}),
]


def told(store: Store, graph: Graph, cluster: Cluster, since: int) -> set[str]:
    works: set[str] = set()
    for event in cluster.log[since:]:
        change = store.event(event.resource, event.type, event.raw)
        if change is not None:
            works |= {str(work) for work in graph.touched(change)}
    return works


@pytest.mark.parametrize(
    ("change", "works"),
    [
        pytest.param(backend("x"), ["backend_status a/x", "config a/one", "config a/two"], id="a named backend"),
        pytest.param(delete(BACKENDS, "a", "x"), ["config a/one", "config a/two"], id="its end"),
        pytest.param(backend("new"), ["backend_status a/new"], id="a backend that nobody names"),
        pytest.param(
            backend("new", labels={"team": "a"}), ["backend_status a/new", "config a/team"], id="one that is selected"
        ),
        pytest.param(backend("y"), ["backend_status a/y", "config a/team"], id="one that is selected no more"),
        pytest.param(backend("y", labels={"team": "b"}), ["backend_status a/y", "config a/team"], id="by its labels"),
        pytest.param(backend("y", "b", {"team": "a"}), ["backend_status b/y"], id="selectors look at home only"),
        pytest.param(backend("f", "b"), ["backend_status b/f", "config a/far"], id="a backend of elsewhere"),
        pytest.param(gateway("one", {"name": "z"}), ["config a/one"], id="a gateway"),
        pytest.param(
            put(SECRETS, "a", "guard", labels=LABEL, data={"token": "eA=="}),
            ["config a/guarded"],
            id="a token of a gateway",
        ),
        pytest.param(delete(SECRETS, "a", "guard"), ["config a/guarded"], id="its end"),
        pytest.param(
            put(CONFIG_MAPS, "a", "authority", data={"ca.crt": "x"}),
            ["config a/guarded"],
            id="the authority of an issuer",
        ),
        pytest.param(
            delete(GATEWAYS, "a", "one"),
            ["alias_status a/one-only", "alias_status a/to-x", "config a/one"],
            id="a gateway's end",
        ),
        pytest.param(
            delete(GATEWAYS, "a", "two"),
            ["alias_status a/to-x", "config a/two"],
            id="aliases that name others do not mind",
        ),
        pytest.param(
            alias("to-x", "x", title="T"),
            ["alias_status a/to-x", "config a/one", "config a/two"],
            id="an alias on all gateways that include its backend",
        ),
        pytest.param(
            alias("to-x", "z"),
            ["alias_status a/to-x", "config a/one", "config a/two"],
            id="an alias that moves to another backend",
        ),
        pytest.param(
            alias("one-only", "x", gatewayRefs=[{"name": "two"}]),
            ["alias_status a/one-only", "config a/one", "config a/two"],
            id="an alias that moves to another gateway",
        ),
        pytest.param(delete(ALIASES, "a", "one-only"), ["config a/one"], id="an alias's end"),
        pytest.param(
            alias("to-y", "y"), ["alias_status a/to-y", "config a/team"], id="an alias for a selected backend"
        ),
        pytest.param(alias("idle", "nothing"), ["alias_status a/idle"], id="an alias for nothing"),
        pytest.param(
            put(SECRETS, "a", "s", labels=LABEL, data={"token": "eA=="}),
            ["backend_status a/x", "config a/one", "config a/two"],
            id="a credential",
        ),
        pytest.param(
            delete(SECRETS, "a", "s"), ["backend_status a/x", "config a/one", "config a/two"], id="a credential's end"
        ),
        pytest.param(put(SECRETS, "b", "s", labels=LABEL, data={}), [], id="a credential of elsewhere"),
        pytest.param(put(SECRETS, "a", "c", labels=LABEL, data={}), [], id="a Secret of a ConfigMap's name"),
        pytest.param(
            put(CONFIG_MAPS, "a", "c", labels=LABEL, data={"ca.crt": "x"}),
            ["backend_status a/y", "config a/team"],
            id="a CA",
        ),
        pytest.param(put(NAMESPACES, "", "a", labels={"x": "y"}), ["config a/far"], id="a namespace's labels"),
        pytest.param(put(NAMESPACES, "", "b", labels={"x": "y"}), [], id="a namespace that borrows nothing"),
        pytest.param(
            put(CONFIG_MAPS, "a", "switchyard-one", labels={"switchyard.dev/credential": "child"}, data={}),
            ["config a/one"],
            id="a child",
        ),
        pytest.param(
            put(CONFIG_MAPS, "a", "switchyard-gone", labels={"switchyard.dev/credential": "child"}, data={}),
            [],
            id="a child of no gateway",
        ),
        pytest.param(
            put(PODS, "a", "p", labels={"switchyard.dev/gateway": "two"}),
            ["gateway_status a/one", "gateway_status a/two"],
            id="a pod that moves",
        ),
        pytest.param(delete(PODS, "a", "p"), ["gateway_status a/one"], id="a pod's end"),
        pytest.param(put(PODS, "a", "q", labels={"switchyard.dev/gateway": "gone"}), [], id="a pod of no gateway"),
        pytest.param(
            put(DEPLOYMENTS, "a", "switchyard-one", labels={"switchyard.dev/deployment-of": "one"}, spec={}),
            ["deployment a/one"],
            id="a Deployment",
        ),
        pytest.param(
            put(SERVICES, "a", "switchyard-gone", labels={"switchyard.dev/deployment-of": "gone"}, spec={}),
            [],
            id="a Service of no gateway",
        ),
        pytest.param(put(GATEWAYS, "a", "one", status={"x": 1}), [], id="a status"),
    ],
)
def test_a_change_touches_whom_it_concerns(change: Callable[[Cluster], None], works: list[str]) -> None:
    """And nobody else."""
    cluster = Cluster()
    for each in WORLD:
        each(cluster)
    store = Store()
    graph = Graph(store)
    told(store, graph, cluster, 0)
    since = len(cluster.log)
    change(cluster)
    assert sorted(told(store, graph, cluster, since)) == works


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (alias("new", "x"), {"to-x", "one-only", "new"}),
        (alias("to-x", "y"), {"one-only"}),
        (delete(ALIASES, "a", "to-x"), {"one-only"}),
    ],
)
def test_a_backends_aliases_are_known(change: Callable[[Cluster], None], names: set[str]) -> None:
    """As they are declared now: what a look at the backend brings may concern them."""
    cluster = Cluster()
    for each in (*WORLD, change):
        each(cluster)
    store = Store()
    graph = Graph(store)
    told(store, graph, cluster, 0)
    assert {key.name for key in graph.aliases_of(Key("a", "x"))} == names


INVALID = {"name": "x", "selector": {}}


@pytest.mark.parametrize(
    "change",
    [
        backend("z", labels={"x": "y"}),
        delete(BACKENDS, "b", "f"),
        put(SECRETS, "a", "s", labels=LABEL, data={"token": "eA=="}),
        put(NAMESPACES, "", "a", labels={"x": "y"}),
    ],
)
def test_an_invalid_gateway_is_touched_by_whatever_might_be_revoked(change: Callable[[Cluster], None]) -> None:
    """Its children go on with the backends they have, and only they know which."""
    cluster = Cluster()
    for each in (*WORLD, gateway("one", INVALID)):
        each(cluster)
    store = Store()
    graph = Graph(store)
    told(store, graph, cluster, 0)
    since = len(cluster.log)
    change(cluster)
    assert "config a/one" in told(store, graph, cluster, since)


def test_aliases_hear_when_a_gateway_becomes_valid_or_invalid() -> None:
    """Those that name it have it, or have it no more."""
    cluster = Cluster()
    for each in WORLD:
        each(cluster)
    store = Store()
    graph = Graph(store)
    told(store, graph, cluster, 0)
    for entry in (INVALID, {"name": "x"}):
        since = len(cluster.log)
        gateway("one", entry)(cluster)
        assert {"alias_status a/one-only", "alias_status a/to-x"} <= told(store, graph, cluster, since)


def test_whoever_begins_to_write_does_everything_once() -> None:
    """Statuses of gateways follow their configs."""
    cluster = Cluster()
    for each in WORLD:
        each(cluster)
    store = Store()
    graph = Graph(store)
    told(store, graph, cluster, 0)
    assert sorted(map(str, graph.everything())) == [
        *("alias_status a/one-only", "alias_status a/to-x"),
        *("backend_status a/x", "backend_status a/y", "backend_status a/z", "backend_status b/f"),
        *("config a/far", "config a/guarded", "config a/one", "config a/team", "config a/two", "config b/elsewhere"),
    ]


ONE, OTHER = Key("a", "one-only"), Key("a", "to-x")


@pytest.mark.parametrize(
    ("before", "after", "touched"),
    [
        (None, Composition(), {ONE, OTHER}),
        (Composition(aliases={ONE: None}), Composition(aliases={ONE: None}), set()),
        (Composition(aliases={ONE: None}), Composition(aliases={ONE: OTHER, OTHER: None}), {ONE, OTHER}),
        (Composition(aliases={ONE: None, OTHER: ONE}), Composition(aliases={ONE: None}), {OTHER}),
        (Composition(aliases={ONE: None}), Composition(aliases={ONE: None}, idle={ONE: "SecretNotFound"}), {ONE}),
        (
            Composition(aliases={ONE: None}, idle={ONE: "BackendNotFound"}),
            Composition(aliases={ONE: None}, idle={ONE: "SecretNotFound"}),
            {ONE},
        ),
        (Composition(aliases={Key("a", "gone"): None}), Composition(), set()),
    ],
)
def test_aliases_hear_when_they_stand_otherwise(
    before: Composition | None, after: Composition, touched: set[Key]
) -> None:
    """On this gateway, after it was compiled."""
    cluster = Cluster()
    for each in WORLD:
        each(cluster)
    store = Store()
    graph = Graph(store)
    told(store, graph, cluster, 0)
    assert graph.aliases_touched(Key("a", "one"), before, after) == touched
