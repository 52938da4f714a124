"""What comes of a pod that asks for a gateway."""

from copy import deepcopy
from typing import Any

import pytest

from switchyard_operator.controller.observed import Sidecar
from switchyard_operator.injection.decision import Result
from unit.operator.injection.pods import Tree, container, decided, gateway, injected, patched, pod, sidecar_of

URL = {"name": "SWITCHYARD_URL", "value": "http://127.0.0.1:8811/mcp"}


def test_a_pod_gets_the_sidecar_and_all_that_belongs_to_it() -> None:
    """The whole patch, for the pod that says least."""
    decision = decided(pod())
    assert decision.result is Result.INJECTED
    assert decision.warnings == ()
    assert decision.facts == {"gateway": "team/main", "image": "registry.example/sidecar:1"}
    assert list(decision.patch) == [
        {"op": "add", "path": "/metadata/annotations", "value": {"switchyard.dev/config-format": "1"}},
        {
            "op": "add",
            "path": "/spec/volumes",
            "value": [
                {
                    "name": "switchyard",
                    "projected": {
                        "sources": [
                            {"configMap": {"name": "switchyard-main", "optional": True}},
                            {"secret": {"name": "switchyard-main", "optional": True}},
                        ]
                    },
                }
            ],
        },
        {
            "op": "add",
            "path": "/spec/initContainers",
            "value": [
                {
                    "name": "switchyard",
                    "image": "registry.example/sidecar:1",
                    "restartPolicy": "Always",
                    "args": [
                        *("--config", "/etc/switchyard"),
                        *("--listen", "127.0.0.1:8811"),
                        *("--path", "/mcp"),
                        *("--admin", "0.0.0.0:8812"),
                    ],
                    "ports": [{"name": "admin", "containerPort": 8812, "protocol": "TCP"}],
                    "startupProbe": {
                        "httpGet": {"path": "/readyz", "port": "admin"},
                        "periodSeconds": 1,
                        "failureThreshold": 120,
                    },
                    "readinessProbe": {
                        "httpGet": {"path": "/readyz", "port": "admin"},
                        "periodSeconds": 10,
                        "timeoutSeconds": 3,
                    },
                    "livenessProbe": {
                        "httpGet": {"path": "/healthz", "port": "admin"},
                        "periodSeconds": 10,
                        "timeoutSeconds": 5,
                        "failureThreshold": 6,
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "runAsNonRoot": True,
                        "capabilities": {"drop": ["ALL"]},
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "volumeMounts": [
                        {"name": "switchyard", "mountPath": "/etc/switchyard", "readOnly": True},
                        {
                            "name": "switchyard",
                            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                            "readOnly": True,
                        },
                    ],
                }
            ],
        },
        {"op": "add", "path": "/spec/containers/0/env", "value": [URL]},
    ]


def test_what_a_pod_has_already_stays_where_it_is() -> None:
    """The sidecar comes first among the init containers, its volume last; each list keeps its own."""
    before = pod(
        container(env=[{"name": "A", "value": "$(SWITCHYARD_URL)"}]),
        container("second"),
        annotations={"team.example/a": "b"},
        initContainers=[container("migrate")],
        volumes=[{"name": "data", "emptyDir": {}}],
    )
    after = injected(before)
    assert [each["name"] for each in after["spec"]["initContainers"]] == ["switchyard", "migrate"]
    assert [each["name"] for each in after["spec"]["volumes"]] == ["data", "switchyard"]
    assert after["metadata"]["annotations"] == {"team.example/a": "b", "switchyard.dev/config-format": "1"}
    assert [each["env"] for each in after["spec"]["containers"]] == [
        [URL, {"name": "A", "value": "$(SWITCHYARD_URL)"}],
        [URL],
    ]
    assert "env" not in after["spec"]["initContainers"][1]


def test_a_gateway_decides_what_its_sidecars_are_like() -> None:
    """Image, registry, resources, ports and path."""
    declared = gateway(
        listener={"port": 9000, "path": "/tools"},
        sidecar={
            "image": "mirror.example/sidecar@sha256:1",
            "imagePullPolicy": "Always",
            "imagePullSecrets": [{"name": "registry"}, {"name": "mirror"}],
            "resources": {"requests": {"cpu": "50m"}, "limits": {"memory": "1Gi"}},
            "adminPort": 9001,
        },
    )
    after = injected(pod(imagePullSecrets=[{"name": "registry"}]), declared)
    sidecar = sidecar_of(after)
    assert sidecar["image"] == "mirror.example/sidecar@sha256:1"
    assert sidecar["imagePullPolicy"] == "Always"
    assert sidecar["resources"] == {"requests": {"cpu": "50m"}, "limits": {"memory": "1Gi"}}
    assert sidecar["args"][2:] == ["--listen", "127.0.0.1:9000", "--path", "/tools", "--admin", "0.0.0.0:9001"]
    assert sidecar["ports"] == [{"name": "admin", "containerPort": 9001, "protocol": "TCP"}]
    assert after["spec"]["imagePullSecrets"] == [{"name": "registry"}, {"name": "mirror"}]
    assert after["spec"]["containers"][0]["env"] == [{"name": "SWITCHYARD_URL", "value": "http://127.0.0.1:9000/tools"}]


def test_a_pod_may_come_before_its_gateway() -> None:
    """It gets what the installation says, and whoever makes it is told."""
    decision = decided(pod(), None)
    assert decision.result is Result.INJECTED
    assert sidecar_of(patched(pod(), decision))["image"] == "registry.example/sidecar:1"
    assert decision.warnings == (
        'switchyard: there is no valid MCPGateway "main" in namespace "team" yet: no tools until there is',
    )


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"switchyard.dev/port": "9000"}, {"--listen": "127.0.0.1:9000", "url": "http://127.0.0.1:9000/mcp"}),
        ({"switchyard.dev/admin-port": "9001"}, {"--admin": "0.0.0.0:9001"}),
        ({"switchyard.dev/environment": "Disabled"}, {"url": None}),
        ({"switchyard.dev/environment": "Enabled"}, {"url": "http://127.0.0.1:8811/mcp"}),
        ({"switchyard.dev/position": "Last"}, {"order": ["migrate", "switchyard"]}),
        ({"switchyard.dev/position": "First"}, {"order": ["switchyard", "migrate"]}),
    ],
)
def test_a_pod_decides_some_things_itself(annotations: dict[str, str], expected: dict[str, Any]) -> None:
    """Each option has its effect, and is not complained of."""
    before = pod(annotations=annotations, initContainers=[container("migrate")])
    after = injected(before)
    words = sidecar_of(after)["args"]
    seen = dict(zip(words[::2], words[1::2], strict=True))
    seen["order"] = [each["name"] for each in after["spec"]["initContainers"]]
    seen["url"] = next((each["value"] for each in after["spec"]["containers"][0].get("env", [])), None)
    assert {name: seen[name] for name in expected} == expected
    assert decided(before).warnings == ()


@pytest.mark.parametrize(
    ("annotation", "value", "warning"),
    [
        ("port", "0", 'annotation switchyard.dev/port is ignored: must be a port from 1 to 65535, not "0"'),
        ("port", "65536", 'annotation switchyard.dev/port is ignored: must be a port from 1 to 65535, not "65536"'),
        ("port", "²", 'annotation switchyard.dev/port is ignored: must be a port from 1 to 65535, not "²"'),
        ("admin-port", "", 'annotation switchyard.dev/admin-port is ignored: must be a port from 1 to 65535, not ""'),
        ("environment", "disabled", 'annotation switchyard.dev/environment is ignored: must be Enabled or Disabled, not "disabled"'),
        ("position", "last", 'annotation switchyard.dev/position is ignored: must be First or Last, not "last"'),
        ("enviroment", "Disabled", "annotation switchyard.dev/enviroment means nothing; did you mean switchyard.dev/environment?"),
        ("image", "mine", "annotation switchyard.dev/image means nothing"),
    ],
)  # fmt: skip
def test_a_wrong_option_counts_as_not_given_and_is_complained_of(annotation: str, value: str, warning: str) -> None:
    """The pod starts all the same."""
    before = pod(annotations={f"switchyard.dev/{annotation}": value})
    decision = decided(before)
    assert decision.warnings == (f"switchyard: {warning}",)
    assert sidecar_of(patched(before, decision)) == sidecar_of(injected(pod()))


def test_a_variable_that_a_container_has_is_never_replaced() -> None:
    """Wherever its value comes from."""
    own = [{"name": "SWITCHYARD_URL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    after = injected(pod(container(env=own), container("second")))
    assert [each["env"] for each in after["spec"]["containers"]] == [own, [URL]]


@pytest.mark.parametrize(
    ("result", "before", "why"),
    [
        (Result.NAME_INVALID, pod(label=""), 'no MCPGateway can be called ""'),
        (Result.NAME_INVALID, pod(label="Main"), 'no MCPGateway can be called "Main"'),
        (Result.NAME_INVALID, pod(label="a" * 41), f'no MCPGateway can be called "{"a" * 41}"'),
        (
            Result.HOST_NETWORK,
            pod(hostNetwork=True),
            "the pod uses the network of its node (hostNetwork), where everybody could reach the sidecar",
        ),
        (Result.WINDOWS, pod(os={"name": "windows"}), "the pod runs on Windows"),
        (Result.WINDOWS, pod(nodeSelector={"kubernetes.io/os": "windows"}), "the pod runs on Windows"),
        (
            Result.STATIC,
            pod(annotations={"kubernetes.io/config.mirror": "0"}),
            "the pod is a static one, which belongs to its node",
        ),
        (Result.NAME_TAKEN, pod(container("switchyard")), 'the pod has a container "switchyard" of its own'),
        (
            Result.NAME_TAKEN,
            pod(initContainers=[container("switchyard")]),
            'the pod has a container "switchyard" of its own',
        ),
        (
            Result.NAME_TAKEN,
            pod(volumes=[{"name": "switchyard", "emptyDir": {}}]),
            'the pod has a volume "switchyard" of its own',
        ),
        (
            Result.PORT_TAKEN,
            pod(container(ports=[{"containerPort": 8811}])),
            'container "app" has port 8811; annotation switchyard.dev/port chooses another for the sidecar',
        ),
        (
            Result.PORT_TAKEN,
            pod(container(), initContainers=[container("proxy", ports=[{"containerPort": 8812, "protocol": "TCP"}])]),
            'container "proxy" has port 8812; annotation switchyard.dev/admin-port chooses another for the sidecar',
        ),
        (
            Result.PORT_TAKEN,
            pod(annotations={"switchyard.dev/port": "8812"}),
            "port 8812 is to be the sidecar's for two purposes",
        ),
    ],
)
def test_a_pod_that_cannot_have_a_sidecar_goes_without_and_says_so(result: Result, before: Tree, why: str) -> None:
    """Nothing else of it is touched either."""
    decision = decided(before)
    assert decision.result is result
    assert decision.patch == ()
    assert decision.warnings == (f"switchyard: no sidecar is added: {why}",)


@pytest.mark.parametrize(
    "before",
    [
        pod(container(ports=[{"containerPort": 8811, "protocol": "UDP"}])),
        pod(container(ports=[{"containerPort": 8811}]), annotations={"switchyard.dev/port": "8813"}),
        pod(os={"name": "linux"}, nodeSelector={"kubernetes.io/os": "linux"}, hostNetwork=False),
    ],
)
def test_what_only_looks_like_an_obstacle_is_none(before: Tree) -> None:
    """Another protocol, another port, another system."""
    assert decided(before).result is Result.INJECTED


def test_a_gateway_of_its_own_pods_needs_no_sidecars() -> None:
    """Clients use its Service."""
    decision = decided(pod(), gateway(mode="Deployment"))
    assert decision.result is Result.DEPLOYMENT_MODE
    assert decision.patch == ()
    assert decision.warnings == (
        'switchyard: no sidecar is added: MCPGateway "main" runs as a Deployment: use its Service',
    )


def test_a_pod_without_the_label_is_let_through() -> None:
    """As when the configuration of the webhook selects too much."""
    before = pod()
    del before["metadata"]["labels"]
    decision = decided(before)
    assert (decision.result, decision.patch, decision.warnings) == (Result.NOT_ASKED, (), ())


def test_a_gateway_of_another_namespace_is_another() -> None:
    """A pod uses a gateway of its own namespace."""
    decision = decided(pod(), gateway(sidecar={"image": "theirs"}), namespace="elsewhere")
    assert sidecar_of(patched(pod(), decision))["image"] == "registry.example/sidecar:1"
    assert 'no valid MCPGateway "main" in namespace "elsewhere"' in decision.warnings[0]


def test_containers_that_another_webhook_adds_later_are_told_too() -> None:
    """Where the sidecar listens that is there, though the gateway's port has changed in between."""
    after = injected(pod())
    after["spec"]["containers"].append(container("late"))
    again = decided(deepcopy(after), gateway(listener={"port": 9000}))
    assert again.result is Result.PRESENT
    assert list(again.patch) == [{"op": "add", "path": "/spec/containers/1/env", "value": [URL]}]


def test_a_static_pod_with_a_sidecar_is_left_as_it_is() -> None:
    """Somebody has written it into the manifest, with our annotation; the node's kubelet would not have the pod changed."""
    after = injected(pod())
    after["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "0"
    after["spec"]["containers"].append(container("late"))
    again = decided(after)
    assert (again.result, again.patch, again.warnings) == (Result.PRESENT, (), ())


def test_a_copy_of_an_injected_pod_gets_the_sidecar_that_it_has_lost() -> None:
    """Our annotation alone proves nothing."""
    copy = pod(annotations={"switchyard.dev/config-format": "0"})
    after = injected(copy)
    assert sidecar_of(after)["image"] == "registry.example/sidecar:1"
    assert after["metadata"]["annotations"] == {"switchyard.dev/config-format": "1"}


def test_what_a_kubelet_would_replace_in_a_path_is_kept_from_it() -> None:
    """``$(HOME)`` is a legal path, and what came of it is found again."""
    declared = gateway(listener={"path": "/a$(HOME)$$"})
    after = injected(pod(), declared)
    assert sidecar_of(after)["args"][5] == "/a$$(HOME)$$$$"
    assert after["spec"]["containers"][0]["env"][0]["value"] == "http://127.0.0.1:8811/a$$(HOME)$$$$"
    assert Sidecar.of(sidecar_of(after)).path == "/a$(HOME)$$"


def test_a_pod_of_root_does_not_make_the_sidecar_root() -> None:
    """Otherwise its user is left to the pod and the cluster."""
    assert sidecar_of(injected(pod(securityContext={"runAsUser": 0})))["securityContext"]["runAsUser"] == 65532
    assert "runAsUser" not in sidecar_of(injected(pod(securityContext={"runAsUser": 1000})))["securityContext"]
