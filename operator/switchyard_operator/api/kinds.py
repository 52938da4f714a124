"""The three kinds as resources of the API server: what they are called there, what ``kubectl get`` shows of them."""

from dataclasses import dataclass
from typing import Final

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Resource
from switchyard_operator.api.status import MCPBackendStatus, MCPGatewayStatus, MCPToolAliasStatus, Status


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``."""

    name: str
    path: str
    """Where the value stands (Kubernetes' JSONPath)."""
    description: str
    type: str = "string"
    wide: bool = False
    """Shown with ``-o wide`` alone."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind."""

    resource: type[Resource]
    status: type[Status]
    plural: str
    short_name: str
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        """Such as ``MCPBackend``."""
        return self.resource.__name__

    @property
    def singular(self) -> str:
        """Such as ``mcpbackend``."""
        return self.name.lower()


def _condition(type_: str, member: str) -> str:
    return f'.status.conditions[?(@.type=="{type_}")].{member}'


_READY: Final = Column("Ready", _condition("Ready", "status"), "Whether it works as declared.")
_REASON: Final = Column("Reason", _condition("Ready", "reason"), "Why, in one word.")
_MESSAGE: Final = Column("Message", _condition("Ready", "message"), "Why, in a sentence.", wide=True)
_AGE: Final = Column("Age", ".metadata.creationTimestamp", "When it was created.", type="date")

KINDS: Final = (
    Kind(
        MCPBackend,
        MCPBackendStatus,
        "mcpbackends",
        "mcpb",
        (
            _READY,
            _REASON,
            Column("Reachable", _condition("Reachable", "status"), "Whether the server answers the operator."),
            Column("Era", ".status.protocol.era", "Which era of MCP the server speaks."),
            Column("Tools", ".status.tools.count", "How many tools it lists.", type="integer"),
            Column("Version", ".status.protocol.version", "Which version of MCP it speaks.", wide=True),
            Column("URL", ".spec.url", "Where the server is, when it is no Service.", wide=True),
            Column("Service", ".spec.service.name", "The Service in front of the server.", wide=True),
            _MESSAGE,
            _AGE,
        ),
    ),
    Kind(
        MCPToolAlias,
        MCPToolAliasStatus,
        "mcptoolaliases",
        "mcpa",
        (
            _READY,
            _REASON,
            Column("Alias", ".spec.alias", "The name that clients see."),
            Column("Backend", ".spec.backendRef.name", "The backend whose tool is meant."),
            Column("Tool", ".spec.tool", "The tool's own name."),
            Column("Gateways", ".status.gateways.accepted", "On how many gateways it acts.", type="integer"),
            Column("Conflicted", ".status.gateways.conflicted", "On how many it does not.", type="integer", wide=True),
            _MESSAGE,
            _AGE,
        ),
    ),
    Kind(
        MCPGateway,
        MCPGatewayStatus,
        "mcpgateways",
        "mcpgw",
        (
            _READY,
            _REASON,
            Column("Backends", ".status.backends.resolved", "How many backends it serves.", type="integer"),
            Column("Tools", ".status.tools.count", "How many tools it lists.", type="integer"),
            Column("Pods", ".status.pods.attached", "How many pods carry its sidecar.", type="integer"),
            Column("Current", ".status.pods.current", "How many of them have the latest config.", type="integer"),
            Column("Declared", ".status.backends.total", "How many backends it names.", type="integer", wide=True),
            Column("Mode", ".spec.mode", "Where it runs.", wide=True),
            _MESSAGE,
            _AGE,
        ),
    ),
)
