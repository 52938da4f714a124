"""Words on pods: how one asks for a gateway's sidecar, what it may say about it, and by which names the sidecar is found again.

Injection writes them, the operator reads them, and users may: they are as much an interface as the kinds are.
"""

from typing import Final

from switchyard_operator.api.resource import GROUP

GATEWAY_OF_POD: Final = f"{GROUP}/gateway"
"""Label: the MCPGateway of the pod's namespace whose sidecar it asks for."""

DEPLOYMENT_OF: Final = f"{GROUP}/deployment-of"
"""Label, written by the operator: the MCPGateway in mode ``Deployment`` whose replica the pod is. On its Deployment, Service and
PodDisruptionBudget too. Another key than that of agents' pods: no sidecar is added to these."""

PORT: Final = f"{GROUP}/port"
"""Annotation, option: the sidecar's MCP port in this pod, instead of the gateway's ``listener.port``."""
ADMIN_PORT: Final = f"{GROUP}/admin-port"
"""Annotation, option: the sidecar's admin port in this pod, instead of the gateway's ``sidecar.adminPort``."""
ENVIRONMENT: Final = f"{GROUP}/environment"
"""Annotation, option: ``Disabled``: the containers are not told the endpoint's URL. Otherwise ``Enabled``."""
POSITION: Final = f"{GROUP}/position"
"""Annotation, option: ``Last``: the sidecar starts after the other init containers. Otherwise ``First``: they can use it."""

CONFIG_FORMAT: Final = f"{GROUP}/config-format"
"""Annotation, written at injection: which format of the config the sidecar reads."""
CONFIG_HASH: Final = f"{GROUP}/config-hash"
"""Annotation, written by the operator: the hash of the config that the pod should have, to make its kubelet look."""

SIDECAR: Final = "switchyard"
"""The name of the sidecar's container, and of its volume."""
ADMIN_PORT_NAME: Final = "admin"
"""The name of its admin port."""
URL_VARIABLE: Final = "SWITCHYARD_URL"
"""The environment variable with the endpoint's URL."""
