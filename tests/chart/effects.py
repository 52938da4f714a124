"""What each value of the chart does, as a table: a row a value, and in it everything that differs when the value is set.

Facts are as :func:`chart.helm.facts` names them. What is no longer said is ``GONE``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Facts = Mapping[str, Any]

GONE: Final = "<gone>"
_DIGEST: Final = "sha256:" + "0" * 64
_CERT_MANAGER: Final = {"webhook": {"certificates": {"owner": "CertManager", "issuerRef": {"name": "ours"}}}}
_CRDS: Final = [f"{each}.switchyard.dev" for each in ("mcpbackends", "mcpgateways", "mcptoolaliases")]

OPERATOR: Final = "Deployment/switchyard-operator spec.template"
WEBHOOK: Final = "Deployment/switchyard-webhook spec.template"
TEST: Final = "Pod/switchyard-test spec"
ARGS: Final = f"{OPERATOR}.spec.containers[operator].args"
WEBHOOK_ARGS: Final = f"{WEBHOOK}.spec.containers[webhook].args"
HOOKS: Final = "MutatingWebhookConfiguration/switchyard webhooks[pods.injection.switchyard.dev]"
CERTIFICATE: Final = "Certificate/switchyard-webhook spec"


@dataclass(frozen=True)
class Effect:
    """Setting ``value`` at ``path`` makes these facts differ, and, if ``only``, no others."""

    path: str
    value: Any
    facts: Facts
    given: Mapping[str, Any] = field(default_factory=dict)
    """What is set before and after."""
    only: bool = True


def _images(value: str, operator: str, key: str) -> Effect:
    """The operator's image is the webhook's, and the test's."""
    containers = (
        f"{OPERATOR}.spec.containers[operator]",
        f"{WEBHOOK}.spec.containers[webhook]",
        f"{TEST}.containers[test]",
    )
    return Effect(f"operator.image.{key}", value, {f"{each}.image": operator for each in containers})


def _sidecars(path: str, value: Any, flag: str, said: str) -> Effect:
    """Sidecars come from the webhook, and, in Deployments, from the operator."""
    return Effect(f"sidecar.{path}", value, {f"{each}[{flag}]": said for each in (ARGS, WEBHOOK_ARGS)})


def _resources(requests: str, limits: str) -> str:
    return f'{{"limits":{{{limits}}},"requests":{{{requests}}}}}'


def _monitors(path: str, value: Any) -> dict[str, Any]:
    """The same of sidecars in agents' pods and in Deployments."""
    return {f"PodMonitor/switchyard-{each} {path}": value for each in ("sidecars", "deployments")}


def _pods(component: str) -> list[Effect]:
    """The values that operator and webhook have each for itself; the pod of `helm test` is where the operator is."""
    deployment = f"Deployment/switchyard-{component} spec"
    pod = f"{deployment}.template.spec"
    labels = f"{deployment}.template.metadata"
    container = f"{pod}.containers[{component}]"
    account = f"ServiceAccount/switchyard-{component}"
    budget = f"PodDisruptionBudget/switchyard-{component}"
    spread = f"{pod}.topologySpreadConstraints[0]"
    affinity = "nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    tested = [TEST] if component == "operator" else []
    both = [pod, *tested]
    containers = [container, *(f"{each}.containers[test]" for each in tested)]
    security = [f"{each}.securityContext" for each in both]
    container_security = [f"{each}.securityContext" for each in containers]
    rows: dict[str, tuple[Any, Facts]] = {
        "replicas": (3, {f"{deployment}.replicas": 3}),
        "log.format": ("console", {f"{container}.args[--log-format]": "console"}),
        "log.level": ("debug", {f"{container}.args[--log-level]": "debug"}),
        "extraArgs": (["--more=1"], {f"{container}.args[--more]": "1"}),
        "extraEnv": (
            [{"name": "A", "value": "b"}],
            {f"{container}.env[A].name": "A", f"{container}.env[A].value": "b"},
        ),
        "serviceAccount.annotations": ({"a": "b"}, {f"{account} metadata.annotations.a": "b"}),
        "resources.requests.cpu": (1, {f"{container}.resources.requests.cpu": 1}),
        "resources.requests.memory": ("1Gi", {f"{container}.resources.requests.memory": "1Gi"}),
        "resources.limits.memory": ("2Gi", {f"{container}.resources.limits.memory": "2Gi"}),
        "podLabels": ({"a": "b"}, {f"{labels}.labels.a": "b"}),
        "podAnnotations": ({"a": "b"}, {f"{labels}.annotations.a": "b"}),
        "podSecurityContext.runAsNonRoot": (False, {f"{each}.runAsNonRoot": False for each in security}),
        "podSecurityContext.seccompProfile.type": ("Own", {f"{each}.seccompProfile.type": "Own" for each in security}),
        "securityContext.allowPrivilegeEscalation": (
            True,
            {f"{each}.allowPrivilegeEscalation": True for each in container_security},
        ),
        "securityContext.readOnlyRootFilesystem": (
            False,
            {f"{each}.readOnlyRootFilesystem": False for each in container_security},
        ),
        "securityContext.capabilities.drop": (
            ["KILL"],
            {f"{each}.capabilities.drop": ["KILL"] for each in container_security},
        ),
        "priorityClassName": ("high", {f"{pod}.priorityClassName": "high"}),
        "nodeSelector": ({"a": "b"}, {f"{each}.nodeSelector.a": "b" for each in both}),
        "tolerations": ([{"key": "a"}], {f"{each}.tolerations[0].key": "a" for each in both}),
        "affinity": (
            {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            {f"{pod}.affinity.{affinity}": []},
        ),
        "topologySpreadConstraints": (
            [{"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}],
            {f"{spread}.topologyKey": "zone", f"{spread}.maxSkew": 2, f"{spread}.whenUnsatisfiable": "DoNotSchedule"},
        ),
        "terminationGracePeriodSeconds": (7, {f"{pod}.terminationGracePeriodSeconds": 7}),
        "podDisruptionBudget.maxUnavailable": ("50%", {f"{budget} spec.maxUnavailable": "50%"}),
    }
    return [
        *(Effect(f"{component}.{path}", value, facts) for path, (value, facts) in rows.items()),
        Effect(f"{component}.podDisruptionBudget.enabled", False, {f"{budget} kind": GONE}, only=False),
        Effect(f"{component}.serviceAccount.create", False, {f"{account} kind": GONE}, only=False),
        Effect(
            f"{component}.serviceAccount.name",
            "theirs",
            {
                f"{pod}.serviceAccountName": "theirs",
                "ServiceAccount/theirs kind": "ServiceAccount",
                f"{account} kind": GONE,
                f"ClusterRoleBinding/switchyard-{component} subjects[switchyard-{component}].name": GONE,
                f"ClusterRoleBinding/switchyard-{component} subjects[theirs].name": "theirs",
            },
            only=False,
        ),
    ]


EFFECTS: Final[list[Effect]] = [
    Effect(
        "nameOverride",
        "mesh",
        {
            f"{OPERATOR}.metadata.labels[app.kubernetes.io/name]": GONE,
            "Deployment/switchyard-mesh-operator spec.template.metadata.labels[app.kubernetes.io/name]": "mesh",
        },
        only=False,
    ),
    Effect(
        "fullnameOverride",
        "yard",
        {
            "Deployment/switchyard-operator kind": GONE,
            "Deployment/yard-operator kind": "Deployment",
            "Deployment/yard-operator spec.template.metadata.labels[app.kubernetes.io/name]": "switchyard",
            "MutatingWebhookConfiguration/yard webhooks[pods.injection.switchyard.dev].clientConfig.service.name": (
                "yard-webhook"
            ),
            "Deployment/yard-operator spec.template.spec.containers[operator].args[--webhook-configuration]": "yard",
        },
        only=False,
    ),
    Effect(
        "commonLabels",
        {"a": "b"},
        {
            "Service/switchyard-operator metadata.labels.a": "b",
            "ValidatingAdmissionPolicy/switchyard-operator-pods metadata.labels.a": "b",
            f"{WEBHOOK}.metadata.labels.a": "b",
        },
        only=False,
    ),
    Effect(
        "namespaces",
        ["agents"],
        {
            f"{ARGS}[--namespace]": "agents",
            f"{WEBHOOK_ARGS}[--namespace]": "agents",
            "ClusterRole/switchyard-operator kind": GONE,
            "ClusterRoleBinding/switchyard-operator kind": GONE,
            "ClusterRole/switchyard-webhook kind": GONE,
            "Role/agents/switchyard-operator rules[2].resources": ["configmaps", "secrets"],
            "RoleBinding/agents/switchyard-operator subjects[switchyard-operator].namespace": "switchyard-system",
            "Role/agents/switchyard-webhook rules[0].resources": ["mcpgateways"],
            f"{HOOKS}.namespaceSelector.matchExpressions[0].operator": "In",
            f"{HOOKS}.namespaceSelector.matchExpressions[0].values": ["agents"],
        },
        only=False,
    ),
    Effect(
        "namespaces",
        ["agents"],
        {
            **_monitors("spec.namespaceSelector.any", GONE),
            **_monitors("spec.namespaceSelector.matchNames", ["agents"]),
        },
        {"podMonitor": {"enabled": True}},
        only=False,
    ),
    Effect(
        "ipFamily",
        "IPv6",
        {
            f"{ARGS}[--health]": "[::]:8080",
            f"{WEBHOOK_ARGS}[--listen]": "[::]:9443",
            f"{WEBHOOK_ARGS}[--health]": "[::]:8080",
        },
    ),
    Effect(
        "imagePullSecrets",
        [{"name": "pull"}],
        {f"{each}.imagePullSecrets[pull].name": "pull" for each in (f"{OPERATOR}.spec", f"{WEBHOOK}.spec", TEST)},
    ),
    Effect("crds.install", False, {f"CustomResourceDefinition/{each} kind": GONE for each in _CRDS}, only=False),
    Effect(
        "crds.keep",
        False,
        {f"CustomResourceDefinition/{each} metadata.annotations[helm.sh/resource-policy]": GONE for each in _CRDS},
    ),
    _images("local:5000", "local:5000/mcp-switchyard/switchyard-operator:0.1.0", "registry"),
    _images("", "mcp-switchyard/switchyard-operator:0.1.0", "registry"),
    _images("mine", "ghcr.io/mine:0.1.0", "repository"),
    _images("nightly", "ghcr.io/mcp-switchyard/switchyard-operator:nightly", "tag"),
    _images(_DIGEST, f"ghcr.io/mcp-switchyard/switchyard-operator@{_DIGEST}", "digest"),
    Effect(
        "operator.image.pullPolicy",
        "Always",
        {
            f"{OPERATOR}.spec.containers[operator].imagePullPolicy": "Always",
            f"{WEBHOOK}.spec.containers[webhook].imagePullPolicy": "Always",
            f"{TEST}.containers[test].imagePullPolicy": "Always",
        },
    ),
    *_pods("operator"),
    Effect(
        "operator.leaseName",
        "other",
        {f"{ARGS}[--lease-name]": "other", "Role/switchyard-operator-election rules[0].resourceNames": ["other"]},
    ),
    Effect("operator.leaseDurationSeconds", 30, {f"{ARGS}[--lease-duration]": "30"}),
    Effect("operator.workers", 8, {f"{ARGS}[--workers]": "8"}),
    Effect("operator.listPeriodSeconds", 60, {f"{ARGS}[--list-period]": "60"}),
    Effect("operator.watchInactivitySeconds", 30, {f"{ARGS}[--watch-inactivity]": "30"}),
    Effect("operator.probes", "Disabled", {f"{ARGS}[--probes]": "Disabled"}),
    Effect("operator.nudgesPerSecond", 5, {f"{ARGS}[--nudges]": "5"}),
    Effect(
        "operator.nudgesPerSecond",
        0,
        {
            f"{ARGS}[--nudges]": "0",
            "ClusterRole/switchyard-operator rules[4].apiGroups": ["events.k8s.io"],
            "ClusterRole/switchyard-operator rules[4].resources": ["events"],
            "ClusterRole/switchyard-operator rules[4].verbs": ["create"],
        },
        only=False,
    ),
    Effect(
        "operator.port",
        9090,
        {
            f"{ARGS}[--health]": "0.0.0.0:9090",
            f"{OPERATOR}.spec.containers[operator].ports[health].containerPort": 9090,
            "Service/switchyard-operator spec.ports[health].port": 9090,
            f"{TEST}.containers[test].args": [
                "http://switchyard-operator.switchyard-system.svc:9090/readyz",
                "http://switchyard-webhook.switchyard-system.svc:8080/readyz",
                "https://switchyard-webhook.switchyard-system.svc:443",
            ],
        },
    ),
    *_pods("webhook"),
    Effect(
        "webhook.enabled",
        False,
        {
            "Deployment/switchyard-webhook kind": GONE,
            "Service/switchyard-webhook kind": GONE,
            "ServiceAccount/switchyard-webhook kind": GONE,
            "PodDisruptionBudget/switchyard-webhook kind": GONE,
            "MutatingWebhookConfiguration/switchyard kind": GONE,
            "ClusterRole/switchyard-webhook kind": GONE,
            "ClusterRole/switchyard-operator-ca-bundle kind": GONE,
            "Role/switchyard-operator-certificates kind": GONE,
            f"{ARGS}[--webhook-configuration]": GONE,
            f"{TEST}.containers[test].args": ["http://switchyard-operator.switchyard-system.svc:8080/readyz"],
        },
        only=False,
    ),
    Effect("webhook.failurePolicy", "Fail", {f"{HOOKS}.failurePolicy": "Fail"}),
    Effect("webhook.timeoutSeconds", 2, {f"{HOOKS}.timeoutSeconds": 2}),
    Effect(
        "webhook.excludedNamespaces",
        ["a", "switchyard-system"],
        {f"{HOOKS}.namespaceSelector.matchExpressions[0].values": ["a", "switchyard-system"]},
    ),
    Effect(
        "webhook.certificates.owner",
        "CertManager",
        {
            "Certificate/switchyard-webhook spec.secretName": "switchyard-webhook-certificates",
            "Certificate/switchyard-webhook spec.dnsNames": ["switchyard-webhook.switchyard-system.svc"],
            "Certificate/switchyard-webhook spec.usages": ["digital signature", "server auth"],
            "MutatingWebhookConfiguration/switchyard metadata.annotations[cert-manager.io/inject-ca-from]": (
                "switchyard-system/switchyard-webhook"
            ),
            f"{ARGS}[--webhook-configuration]": GONE,
            f"{ARGS}[--webhook-ca-lifetime]": GONE,
            "ClusterRole/switchyard-operator-ca-bundle kind": GONE,
            "Role/switchyard-operator-certificates kind": GONE,
        },
        {"webhook": {"certificates": {"issuerRef": {"name": "ours"}}}},
        only=False,
    ),
    Effect(
        "webhook.certificates.secretName",
        "other",
        {
            f"{ARGS}[--webhook-secret]": "other",
            "Role/switchyard-operator-certificates rules[0].resourceNames": ["other"],
            f"{WEBHOOK}.spec.volumes[certificates].secret.secretName": "other",
        },
    ),
    Effect(
        "webhook.certificates.secretName", "other", {f"{CERTIFICATE}.secretName": "other"}, _CERT_MANAGER, only=False
    ),
    Effect("webhook.certificates.caLifetimeDays", 365, {f"{ARGS}[--webhook-ca-lifetime]": "31536000"}),
    Effect("webhook.certificates.lifetimeDays", 30, {f"{ARGS}[--webhook-certificate-lifetime]": "2592000"}),
    Effect(
        "webhook.certificates.lifetimeDays",
        30,
        {f"{CERTIFICATE}.duration": "720h", f"{CERTIFICATE}.renewBefore": "240h"},
        _CERT_MANAGER,
    ),
    Effect("webhook.certificates.issuerRef.name", "a", {f"{CERTIFICATE}.issuerRef.name": "a"}, _CERT_MANAGER),
    Effect(
        "webhook.certificates.issuerRef.kind",
        "ClusterIssuer",
        {f"{CERTIFICATE}.issuerRef.kind": "ClusterIssuer"},
        _CERT_MANAGER,
    ),
    Effect(
        "webhook.certificates.issuerRef.group",
        "a.example",
        {f"{CERTIFICATE}.issuerRef.group": "a.example"},
        _CERT_MANAGER,
    ),
    Effect(
        "webhook.port",
        8443,
        {
            f"{WEBHOOK_ARGS}[--listen]": "0.0.0.0:8443",
            f"{WEBHOOK}.spec.containers[webhook].ports[webhook].containerPort": 8443,
        },
    ),
    Effect(
        "webhook.healthPort",
        9090,
        {
            f"{WEBHOOK_ARGS}[--health]": "0.0.0.0:9090",
            f"{WEBHOOK}.spec.containers[webhook].ports[health].containerPort": 9090,
            "Service/switchyard-webhook spec.ports[health].port": 9090,
            f"{TEST}.containers[test].args": [
                "http://switchyard-operator.switchyard-system.svc:8080/readyz",
                "http://switchyard-webhook.switchyard-system.svc:9090/readyz",
                "https://switchyard-webhook.switchyard-system.svc:443",
            ],
        },
    ),
    Effect("webhook.drainSeconds", 1.5, {f"{WEBHOOK_ARGS}[--drain]": "1.5"}),
    _sidecars("image.registry", "local:5000", "--sidecar-image", "local:5000/mcp-switchyard/switchyard-sidecar:0.1.0"),
    _sidecars("image.repository", "mine", "--sidecar-image", "ghcr.io/mine:0.1.0"),
    _sidecars("image.tag", "nightly", "--sidecar-image", "ghcr.io/mcp-switchyard/switchyard-sidecar:nightly"),
    Effect(
        "sidecar.image.tag",
        "nightly",
        {f"{ARGS}[--sidecar-image]": "ghcr.io/mcp-switchyard/switchyard-sidecar:nightly"},
        {"webhook": {"enabled": False}},
    ),
    _sidecars("image.digest", _DIGEST, "--sidecar-image", f"ghcr.io/mcp-switchyard/switchyard-sidecar@{_DIGEST}"),
    _sidecars("image.pullPolicy", "Never", "--sidecar-pull-policy", "Never"),
    _sidecars("imagePullSecrets", ["pull"], "--sidecar-pull-secret", "pull"),
    *(
        _sidecars(f"resources.{path}", value, "--sidecar-resources", _resources(requests, limits))
        for path, value, requests, limits in [
            ("requests.cpu", "1", '"cpu":"1","memory":"64Mi"', '"memory":"256Mi"'),
            ("requests.memory", "1Gi", '"cpu":"100m","memory":"1Gi"', '"memory":"256Mi"'),
            ("limits.memory", "2Gi", '"cpu":"100m","memory":"64Mi"', '"memory":"2Gi"'),
        ]
    ),
    Effect(
        "rbac.create",
        False,
        {
            f"{kind}/{name} kind": GONE
            for kind, name in [
                ("ClusterRole", "switchyard-operator"),
                ("ClusterRole", "switchyard-operator-definitions"),
                ("ClusterRole", "switchyard-operator-ca-bundle"),
                ("ClusterRole", "switchyard-webhook"),
                ("Role", "switchyard-operator-election"),
                ("Role", "switchyard-operator-certificates"),
                ("Role/default", "switchyard-operator-information"),
            ]
        },
        only=False,
    ),
    Effect(
        "rbac.deployments",
        False,
        {
            "ClusterRole/switchyard-operator rules[6].resources": ["namespaces"],
            "ClusterRole/switchyard-operator rules[7].resources": GONE,
            "ClusterRole/switchyard-operator rules[8].resources": GONE,
            "ClusterRole/switchyard-operator rules[9].resources": GONE,
        },
        only=False,
    ),
    Effect(
        "rbac.aggregate",
        False,
        {"ClusterRole/switchyard-view kind": GONE, "ClusterRole/switchyard-edit kind": GONE},
        only=False,
    ),
    Effect(
        "rbac.clusterInformation",
        False,
        {
            "ClusterRole/switchyard-operator-definitions kind": GONE,
            "Role/default/switchyard-operator-information kind": GONE,
        },
        only=False,
    ),
    Effect(
        "podPolicy.enabled",
        False,
        {
            "ValidatingAdmissionPolicy/switchyard-operator-pods kind": GONE,
            "ValidatingAdmissionPolicyBinding/switchyard-operator-pods kind": GONE,
        },
        only=False,
    ),
    Effect(
        "networkPolicy.enabled",
        True,
        {
            "NetworkPolicy/switchyard-operator spec.policyTypes": ["Ingress"],
            "NetworkPolicy/switchyard-operator spec.ingress[0].ports[0].port": "health",
            "NetworkPolicy/switchyard-webhook spec.ingress[0].ports[0].port": "webhook",
        },
        only=False,
    ),
    Effect(
        "networkPolicy.scrapers",
        [{"namespaceSelector": {"matchLabels": {"team": "a"}}}],
        {
            "NetworkPolicy/switchyard-operator spec.ingress[0].from[0].namespaceSelector.matchLabels.team": "a",
            "NetworkPolicy/switchyard-webhook spec.ingress[1].from[0].namespaceSelector.matchLabels.team": "a",
            **{
                f"NetworkPolicy/switchyard-{policy}.from[1].podSelector.matchLabels[app.kubernetes.io/{label}]": value
                for policy in ("operator spec.ingress[0]", "webhook spec.ingress[1]")
                for label, value in (("instance", "switchyard"), ("component", "test"))
            },
        },
        {"networkPolicy": {"enabled": True}},
    ),
    Effect(
        "networkPolicy.operatorEgress",
        [{"ports": [{"port": 443}]}],
        {
            "NetworkPolicy/switchyard-operator spec.policyTypes": ["Ingress", "Egress"],
            "NetworkPolicy/switchyard-operator spec.egress[0].ports[0].port": 443,
        },
        {"networkPolicy": {"enabled": True}},
    ),
    Effect(
        "serviceMonitor.enabled",
        True,
        {
            "ServiceMonitor/switchyard spec.endpoints[0].port": "health",
            "ServiceMonitor/switchyard spec.selector.matchLabels[app.kubernetes.io/instance]": "switchyard",
        },
        only=False,
    ),
    Effect(
        "serviceMonitor.labels",
        {"release": "prometheus"},
        {"ServiceMonitor/switchyard metadata.labels.release": "prometheus"},
        {"serviceMonitor": {"enabled": True}},
    ),
    Effect(
        "serviceMonitor.interval",
        "1m",
        {"ServiceMonitor/switchyard spec.endpoints[0].interval": "1m"},
        {"serviceMonitor": {"enabled": True}},
    ),
    Effect(
        "podMonitor.enabled",
        True,
        {
            **_monitors("spec.podMetricsEndpoints[0].port", "admin"),
            **_monitors("spec.podMetricsEndpoints[0].relabelings[0].targetLabel", "gateway"),
            **_monitors("spec.namespaceSelector.any", True),
            "PodMonitor/switchyard-sidecars spec.selector.matchExpressions[0].key": "switchyard.dev/gateway",
            "PodMonitor/switchyard-deployments spec.selector.matchExpressions[0].key": "switchyard.dev/deployment-of",
            "PodMonitor/switchyard-deployments spec.podMetricsEndpoints[0].relabelings[0].sourceLabels": [
                "__meta_kubernetes_pod_label_switchyard_dev_deployment_of"
            ],
        },
        only=False,
    ),
    Effect(
        "podMonitor.labels",
        {"release": "prometheus"},
        _monitors("metadata.labels.release", "prometheus"),
        {"podMonitor": {"enabled": True}},
    ),
    Effect(
        "podMonitor.interval",
        "1m",
        _monitors("spec.podMetricsEndpoints[0].interval", "1m"),
        {"podMonitor": {"enabled": True}},
    ),
    Effect(
        "dashboards.enabled",
        True,
        {
            "ConfigMap/switchyard-dashboard-gateways metadata.labels.grafana_dashboard": "1",
            "ConfigMap/switchyard-dashboard-operator metadata.labels.grafana_dashboard": "1",
        },
        only=False,
    ),
    Effect(
        "dashboards.labels.grafana_dashboard",
        "yes",
        {
            "ConfigMap/switchyard-dashboard-gateways metadata.labels.grafana_dashboard": "yes",
            "ConfigMap/switchyard-dashboard-operator metadata.labels.grafana_dashboard": "yes",
        },
        {"dashboards": {"enabled": True}},
    ),
    Effect(
        "dashboards.annotations",
        {"folder": "mcp"},
        {
            "ConfigMap/switchyard-dashboard-gateways metadata.annotations.folder": "mcp",
            "ConfigMap/switchyard-dashboard-operator metadata.annotations.folder": "mcp",
        },
        {"dashboards": {"enabled": True}},
    ),
    Effect(
        "extraObjects",
        [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-a"}},
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: {{ .Release.Namespace }}}",
        ],
        {
            "ConfigMap/switchyard-a apiVersion": "v1",
            "ConfigMap/switchyard-a kind": "ConfigMap",
            "ConfigMap/switchyard-a metadata.name": "switchyard-a",
            "ConfigMap/b apiVersion": "v1",
            "ConfigMap/b kind": "ConfigMap",
            "ConfigMap/b metadata.name": "b",
            "ConfigMap/b metadata.namespace": "switchyard-system",
        },
    ),
]
