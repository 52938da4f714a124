"""The webhook: whatever is sent, it answers, lets every pod through, and adds to it only what makes a good pod a good one."""

import base64
import json
from collections import Counter
from typing import Any, Final

import jsonpatch
import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fuzz.texts import ODDITIES, budget, damaged, names, scalars, values
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import API_VERSION, Key
from switchyard_operator.injection.decision import Result
from switchyard_operator.injection.review import NotAReview, answer, judge, request_in
from switchyard_operator.workloads.settings import Installation

INSTALLATION: Final = Installation(image="registry.example/sidecar:1")
Tree = dict[str, Any]


def gateway(**spec: Any) -> MCPGateway:
    tree = {"apiVersion": API_VERSION, "kind": "MCPGateway", "metadata": {"name": "main", "namespace": "team"}}
    return MCPGateway.model_validate({**tree, "spec": spec})


GATEWAYS: Final = st.sampled_from(
    [
        None,
        gateway(),
        gateway(mode="Deployment"),
        gateway(listener={"port": 9000, "path": "/$(HOME)"}),
        gateway(sidecar={"imagePullSecrets": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}}}),
    ]
)


def reviewed(body: bytes, declared: MCPGateway | None) -> tuple[Result, Tree]:
    """What the webhook answers to a body that is a review, by way of the bytes that it sends."""
    request = request_in(body)
    decision, _ = judge(request, lambda key: declared if key == Key("team", "main") else None, INSTALLATION)
    response = msgspec.json.decode(msgspec.json.encode(answer(request, decision)))["response"]
    assert response["uid"] == request["uid"]
    assert response["allowed"] is True
    return decision.result, response


LABELLED: Final = {"labels": {"switchyard.dev/gateway": "main"}}
REVIEWS: Final = st.builds(
    lambda request, version: json.dumps(
        {"apiVersion": version, "kind": "AdmissionReview", "request": request}
    ).encode(),
    st.fixed_dictionaries(
        {"uid": names},
        optional={
            "operation": st.just("CREATE") | values,
            "kind": st.just({"group": "", "version": "v1", "kind": "Pod"}) | values,
            "namespace": st.just("team") | values,
            "subResource": st.sampled_from(["", "status"]),
            "object": values
            | st.fixed_dictionaries({"metadata": st.just(LABELLED) | values, "spec": values})
            | st.fixed_dictionaries(
                {
                    "metadata": st.builds(
                        lambda other: other | LABELLED, st.dictionaries(st.just("annotations"), values)
                    ),
                    "spec": st.dictionaries(st.sampled_from(["containers", "initContainers", "volumes", "os"]), values),
                }
            ),
        },
    )
    | values,
    st.just("admission.k8s.io/v1") | names,
)


@budget
@given(st.binary() | scalars | st.sampled_from(ODDITIES) | REVIEWS | damaged(REVIEWS), GATEWAYS)
@example(b"[" * 100_000, None)
@example(b'{"request":' * 50_000, None)
def test_any_body_is_answered_or_is_no_review(body: bytes, declared: MCPGateway | None) -> None:
    """Nobody is kept from creating what is beyond us."""
    try:
        reviewed(body, declared)
    except NotAReview:
        return


LABEL: Final = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
ENV_NAME: Final = st.sampled_from(["A", "PATH", "SWITCHYARD_URL", "X_Y"])
AMOUNTS: Final = st.fixed_dictionaries({}, optional={"cpu": st.sampled_from(["1", "250m"]), "memory": st.just("64Mi")})


def containers(least: int, *, init: bool) -> SearchStrategy[list[Tree]]:
    """Containers as an API server accepts them, apart from what no single one can be wrong about."""
    each = st.fixed_dictionaries(
        {"name": LABEL, "image": st.just("agent:1")},
        optional={
            "env": st.lists(
                st.fixed_dictionaries({"name": ENV_NAME, "value": st.text("a$()", max_size=4)}), max_size=2
            ),
            "ports": st.lists(
                st.fixed_dictionaries(
                    {"containerPort": st.integers(1, 65535) | st.sampled_from([8811, 8812, 9000])},
                    optional={"protocol": st.sampled_from(["TCP", "UDP"])},
                ),
                max_size=2,
            ),
            "resources": st.fixed_dictionaries({}, optional={"limits": AMOUNTS}),
            "volumeMounts": st.just([]),
            **({"restartPolicy": st.just("Always")} if init else {}),
        },
    )
    return st.lists(each, min_size=least, max_size=3)


PODS: Final = st.builds(
    lambda metadata, spec: {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | LABELLED, "spec": spec},
    st.fixed_dictionaries(
        {"generateName": st.just("agent-")},
        optional={
            "annotations": st.dictionaries(
                st.sampled_from(["switchyard.dev/port", "switchyard.dev/environment", "switchyard.dev/order", "a/b"]),
                st.sampled_from(["9000", "Disabled", "First", ""]),
                max_size=2,
            )
        },
    ),
    st.fixed_dictionaries(
        {"containers": containers(1, init=False)},
        optional={
            "initContainers": containers(0, init=True),
            "volumes": st.lists(st.fixed_dictionaries({"name": LABEL, "emptyDir": st.just({})}), max_size=2),
            "imagePullSecrets": st.lists(st.fixed_dictionaries({"name": LABEL}), max_size=2),
            "hostNetwork": st.booleans(),
            "os": st.sampled_from([{"name": "linux"}, {"name": "windows"}]),
            "serviceAccountName": LABEL,
        },
    ),
).filter(lambda pod: not faults(pod))


def faults(pod: Tree) -> list[str]:
    """What an API server has against a pod, of what a patch could spoil (Kubernetes, ``pkg/apis/core/validation``)."""
    spec = pod["spec"]
    everyone = [*spec.get("initContainers", ()), *spec["containers"]]
    volumes = [each["name"] for each in spec.get("volumes", ())]
    found = [
        f"two are called {name}" for named in ([each["name"] for each in everyone], volumes) for name in _twice(named)
    ]
    annotations = pod["metadata"].get("annotations", {})
    found += [f"annotation {name} is no text" for name, value in annotations.items() if not isinstance(value, str)]
    for each in everyone:
        where = f"container {each['name']}"
        mounts = each.get("volumeMounts", ())
        found += [f"{where} mounts {mount['name']}" for mount in mounts if mount["name"] not in volumes]
        found += [f"{where} mounts twice at {path}" for path in _twice([mount["mountPath"] for mount in mounts])]
        found += [f"{where} has no image"] if not each.get("image") else []
        variables = each.get("env", ())
        found += [f"{where} has a variable without name" for variable in variables if not variable.get("name")]
        found += [f"{where} has value and valueFrom" for variable in variables if len(variable) > 2]
        ports = [(port["containerPort"], port.get("protocol", "TCP")) for port in each.get("ports", ())]
        found += [f"{where} has port {port}" for port, _ in ports if not 0 < port < 65536]
        found += [
            f"{where} has a port without end: {name}"
            for name in _twice([port["name"] for port in each.get("ports", ()) if "name" in port])
        ]
    found += [f"pull secret without name: {each}" for each in spec.get("imagePullSecrets", ()) if not each.get("name")]
    return found


def _twice(names_: list[str]) -> list[str]:
    return [name for name, count in Counter(names_).items() if count > 1]


@budget
@given(PODS, GATEWAYS)
def test_a_good_pod_stays_a_good_pod_and_is_patched_once(pod: Tree, declared: MCPGateway | None) -> None:
    """Whatever it is made of, and whatever its gateway wants. A fault of ours there is none."""
    request: Tree = {
        "uid": "1", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": "team",
    }  # fmt: skip

    def review(tree: Tree) -> bytes:
        return json.dumps({"apiVersion": "admission.k8s.io/v1", "request": {**request, "object": tree}}).encode()

    result, response = reviewed(review(pod), declared)
    assert result is not Result.FAILED
    assert all(warning.isprintable() and len(warning) <= 256 for warning in response.get("warnings", ()))
    if "patch" not in response:
        assert result is not Result.INJECTED
        return
    patched = jsonpatch.apply_patch(pod, json.loads(base64.b64decode(response["patch"])))
    assert faults(patched) == []
    again, second = reviewed(review(patched), declared)
    assert again is Result.PRESENT
    assert "patch" not in second
