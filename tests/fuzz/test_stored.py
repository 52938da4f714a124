"""What a cluster stores: whatever somebody put into an object, the operator takes it in, and it costs that object alone."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.texts import budget, names, values
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.observed import Pod
from switchyard_operator.controller.resources import ALIASES, BACKENDS, GATEWAYS, PODS
from switchyard_operator.controller.store import Store

Steps = tuple[str | int, ...]
ROOT: Final = Path(__file__).parents[2]
RESOURCES: Final = {"MCPBackend": BACKENDS, "MCPGateway": GATEWAYS, "MCPToolAlias": ALIASES}
KEY_SETS: Final = (
    '{"keys":[{"kty":[]}]}',
    '{"keys":[{"kty":null,"d":1}]}',
    '{"keys":[[]]}',
    '{"keys":{"kty":"RSA"}}',
    '"a"',
)
"""Texts to the API server, and more to us."""
ODD: Final = st.sampled_from(
    [
        *KEY_SETS, 2**70, -(2**70), 1e300, "", "\n", "9" * 5_000, "\u0661", "http://[", "http://a:99999/", "https://[fe80::1%25x]/",
        "10.0.0.1/8", "10.0.0.0/33", "::ffff:1.2.3.4/120", "99999h99999h", "1Ki", "[", "*", "~", "/~2", "a" * 70_000, [[]], [{}],
    ]
)  # fmt: skip


def _declared() -> Iterator[dict[str, Any]]:
    """Every object of ours in the examples, and a gateway whose keys are given."""
    for file in sorted((ROOT / "examples").rglob("*.yaml")):
        yield from (each for each in yaml.safe_load_all(file.read_text()) if each and each.get("kind") in RESOURCES)
    jwt = {"issuer": "https://i.example", "audiences": ["a"], "jwks": '{"keys":[]}'}
    yield {"kind": "MCPGateway", "metadata": {"name": "given"}, "spec": {"auth": {"jwt": [jwt]}}}


def _paths(tree: Any, at: Steps = ()) -> Iterator[Steps]:
    for name, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield (*at, name)
        yield from _paths(value, (*at, name))


def _with(tree: Any, path: Steps, value: Any) -> Any:
    changed = copy.deepcopy(tree)
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return changed


DECLARED: Final = tuple(_declared())
PLACES: Final = st.sampled_from(
    [(each["kind"], each.get("spec", {}), path) for each in DECLARED for path in _paths(each.get("spec", {}))]
)
_JWKS: Final = next(
    (each["kind"], each["spec"], path)
    for each in DECLARED
    for path in _paths(each["spec"])
    if each["metadata"]["name"] == "given" and path[-1] == "jwks"
)


@example(_JWKS, KEY_SETS[0])
@given(PLACES, ODD | values | names)
@budget
def test_no_value_of_any_field_stops_the_operator(place: tuple[str, Any, Steps], value: Any) -> None:
    """It is a model, or has faults that say which field is wrong."""
    kind, spec, path = place
    store = Store()
    resource = RESOURCES[kind]
    metadata = {"namespace": "agents", "name": "a", "uid": "u", "resourceVersion": "5", "generation": 1}
    store.event(resource, "ADDED", {"kind": kind, "metadata": metadata, "spec": _with(spec, path, value)})
    item = store.shelf(resource).get(Key("agents", "a"))
    assert item is not None
    assert (item.model is None) is bool(item.faults)


@example(["--listen", ":" + "1" * 5_000], {})
@example(["--listen=\u0661"], {"switchyard.dev/port": "9" * 5_000})
@given(
    st.lists(names | st.sampled_from(["--listen", "--path", "--listen=", "--", "=", "9" * 5_000]), max_size=6),
    st.dictionaries(names.map("switchyard.dev/{}".format), names, max_size=4),
)
@budget
def test_no_pod_stops_the_operator(arguments: list[str], annotations: Mapping[str, str]) -> None:
    """Whoever may make pods decides what its containers are told."""
    store = Store()
    labels = {"switchyard.dev/gateway": "main"}
    metadata = {"namespace": "agents", "name": "p", "uid": "u", "resourceVersion": "5", "labels": labels}
    container = {"name": "switchyard", "args": arguments}
    pod = {
        "metadata": {**metadata, "annotations": {"switchyard.dev/config-format": "1"} | dict(annotations)},
        "spec": {"containers": [container]},
    }
    store.event(PODS, "ADDED", pod)
    (found,) = store.pods_of(Key("agents", "main"))
    assert isinstance(found, Pod)
