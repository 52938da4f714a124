"""What holds of injection for any pod, of those that the API server lets through and some that it would not."""

from copy import deepcopy
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from switchyard_operator.injection.decision import Decision, Result
from unit.operator.injection.pods import MAIN, Tree, decided, gateway, patched

_WORDS: Final = st.sampled_from(["a", "switchyard", "SWITCHYARD_URL", "x/y~z", "switchyard.dev/port", "8811", "ä"])
_JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | _WORDS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(_WORDS, below, max_size=2),
    max_leaves=5,
)


def _tree(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    """Some of these members, and others that nobody knows."""
    unknown = st.dictionaries(st.sampled_from(["fromTheFuture", "x~y/z"]), _JSON, max_size=2)
    return st.builds(lambda own, others: others | own, st.fixed_dictionaries({}, optional=known), unknown)


def _some(each: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | st.lists(each, max_size=3)


_AMOUNTS: Final = st.none() | st.dictionaries(
    st.sampled_from(["cpu", "memory", "x"]), st.sampled_from(["1", "100m", "1Gi", "1024Mi", "?"]), max_size=3
)
_CONTAINER: Final = _tree(
    env=_some(_tree(name=_WORDS, value=_WORDS)),
    ports=_some(_tree(name=_WORDS).map(lambda port: port | {"containerPort": 8812})),
    args=_some(_WORDS),
    resources=st.none() | _tree(limits=_AMOUNTS, requests=_AMOUNTS),
).flatmap(lambda tree: _WORDS.map(lambda name: tree | {"name": name}))
_SPEC: Final = _tree(
    initContainers=_some(_CONTAINER),
    volumes=_some(_tree(name=_WORDS)),
    imagePullSecrets=_some(_tree(name=_WORDS)),
    hostNetwork=st.booleans(),
    os=st.none() | _tree(name=st.sampled_from(["linux", "windows"])),
    securityContext=st.none() | _tree(runAsUser=st.integers(0, 1)),
).flatmap(lambda tree: st.lists(_CONTAINER, max_size=3).map(lambda containers: tree | {"containers": containers}))
_ANNOTATIONS: Final = st.none() | st.dictionaries(
    st.sampled_from(["switchyard.dev/config-format", "switchyard.dev/port", "switchyard.dev/environment", "a/b"]),
    st.sampled_from(["1", "Disabled", "9000"]),
    max_size=3,
)
_PODS: Final = st.builds(
    lambda spec, annotations, others: {
        "metadata": {**others, "labels": {"switchyard.dev/gateway": "main"}, "annotations": annotations},
        "spec": spec,
    },
    _SPEC,
    _ANNOTATIONS,
    _tree(),
)
_GATEWAYS: Final = st.sampled_from(
    [None, MAIN, gateway(sidecar={"imagePullSecrets": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}}})]
)


@settings(deadline=None)
@given(_PODS, _GATEWAYS)
def test_a_pod_that_was_patched_is_not_patched_again(pod: Tree, declared: Any) -> None:
    """Nor is a patch computed from anything that it changes itself."""
    before = deepcopy(pod)
    first = decided(pod, declared)
    assert pod == before
    after = patched(pod, first)
    again = decided(after, declared)
    assert again.patch == ()
    assert again.result is (Result.PRESENT if first.result is Result.INJECTED else first.result)


@settings(deadline=None)
@given(_PODS, _GATEWAYS)
def test_nothing_of_a_pod_is_lost_or_altered(pod: Tree, declared: Any) -> None:
    """What is left when our own additions are taken away is the pod as it was, unknown fields and order included."""
    decision = decided(pod, declared)
    assert _without_ours(patched(pod, decision), pod, decision) == pod


@settings(deadline=None)
@given(_PODS, _GATEWAYS)
def test_an_injected_pod_has_everything_once(pod: Tree, declared: Any) -> None:
    """One sidecar, one volume; each container one variable of that name that is ours or its own."""
    decision = decided(pod, declared)
    if decision.result is Result.INJECTED:
        spec = patched(pod, decision)["spec"]
        everything = [*spec["initContainers"], *spec["containers"]]
        assert [each["name"] for each in everything].count("switchyard") == 1
        assert [each.get("name") for each in spec["volumes"]].count("switchyard") == 1


def _without_ours(after: Tree, before: Tree, decision: Decision) -> Tree:
    """The patch taken back by what it says, last things first, as somebody who knows nothing of pods would."""
    after = deepcopy(after)
    for operation in reversed(decision.patch):
        assert operation["op"] == "add"
        *steps, last = [
            step.replace("~1", "/").replace("~0", "~") for step in operation["path"].removeprefix("/").split("/")
        ]
        parent: Any = after
        origin: Any = before
        for step in steps:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
            origin = origin[int(step)] if isinstance(origin, list) else origin[step]
        if isinstance(parent, list):
            parent.pop(-1 if last == "-" else int(last))
        elif last in origin:
            parent[last] = origin[last]
        else:
            del parent[last]
    return after
