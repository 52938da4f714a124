"""The resources that the controller reads and writes, where the API server has them, and what is watched of each."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from switchyard_operator.api.pods import DEPLOYMENT_OF, GATEWAY_OF_POD
from switchyard_operator.api.resource import CREDENTIAL_LABEL, GROUP


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of one API version, as discovery lists it."""

    group: str
    """Empty for Kubernetes' core."""
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects say it: ``v1``, ``switchyard.dev/v1alpha1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path on the API server. Without ``namespace``: of all namespaces; without ``name``: of all objects."""
        steps = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace is not None and self.namespaced:
            steps += ["namespaces", namespace]
        steps.append(self.plural)
        return "/" + "/".join([*steps, *(step for step in (name, subresource) if step is not None)])

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class Stream:
    """What one watch or list covers: a resource, in one namespace or (``None``) in all."""

    resource: Resource
    namespace: str | None

    def __str__(self) -> str:
        return f"{self.resource} in {self.namespace}" if self.namespace is not None else str(self.resource)


def streams(resources: Collection[Resource], namespaces: Collection[str]) -> Iterator[Stream]:
    """The streams that cover these resources; ``namespaces`` empty: all of them."""
    for resource in resources:
        for namespace in namespaces if resource.namespaced and namespaces else (None,):
            yield Stream(resource, namespace)


BACKENDS: Final = Resource(GROUP, "v1alpha1", "mcpbackends", "MCPBackend")
ALIASES: Final = Resource(GROUP, "v1alpha1", "mcptoolaliases", "MCPToolAlias")
GATEWAYS: Final = Resource(GROUP, "v1alpha1", "mcpgateways", "MCPGateway")
SECRETS: Final = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
PODS: Final = Resource("", "v1", "pods", "Pod")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
SERVICES: Final = Resource("", "v1", "services", "Service")
DISRUPTION_BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")

WORKLOADS: Final = (DEPLOYMENTS, SERVICES, DISRUPTION_BUDGETS)
"""What a gateway in mode ``Deployment`` consists of."""

WATCHED: Final[dict[Resource, str]] = {
    BACKENDS: "",
    ALIASES: "",
    GATEWAYS: "",
    SECRETS: CREDENTIAL_LABEL,
    CONFIG_MAPS: CREDENTIAL_LABEL,
    PODS: GATEWAY_OF_POD,
    NAMESPACES: "",
    **dict.fromkeys(WORKLOADS, DEPLOYMENT_OF),
}
"""What is watched, with the label selector that the API server applies; empty: everything.

Users' credentials and CAs carry ``switchyard.dev/credential: "true"``, our own children ``child``: one selector finds both.
kopf has one selector for a resource, and of pods that is the label by which agents' pods ask for a sidecar. Pods of Deployments are
not watched but listed when their Deployment, which is, has changed (:mod:`.replicas`).
Namespaces are watched only where all namespaces are served, workloads only where we may.
"""
