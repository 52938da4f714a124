"""MCPToolAlias: one tool of one backend under a name chosen here."""

from typing import Annotated, Literal

from pydantic import Field

from switchyard_operator.api.merging import KeyedBy
from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.names import BackendName, BackendToolName, DnsLabel, ExposedName, GatewayName
from switchyard_operator.api.resource import Resource
from switchyard_operator.api.scalars import Text

Title = Annotated[str, Text(r"[^\x00-\x1f\x7f]+", 256, "one line of text, not empty")]
Description = Annotated[str, Text(r"(.|[\r\n])+", 16384, "text, not empty")]


class BackendRef(ApiModel):
    """A backend that the gateway includes."""

    name: BackendName
    """The MCPBackend's name, at most 63 characters."""
    namespace: DnsLabel | None = None
    """Its namespace, at most 63 characters. Default: the alias's own."""

    atomic = True


class GatewayRef(ApiModel):
    """A gateway of the alias's namespace."""

    name: GatewayName
    """The MCPGateway's name, at most 40 characters."""


class MCPToolAliasSpec(ApiModel):
    """What to rename, and where."""

    backend_ref: BackendRef
    """The backend whose tool is meant. A gateway that does not include it (or may not) is not changed: the alias reports
    `BackendNotFound` there."""
    tool: BackendToolName
    """The tool's own name at the backend, before any prefix. 1 to 512 characters. A tool that is not there (yet) is no error: the
    alias keeps its name reserved, and says `ToolNotListed`."""
    alias: ExposedName
    """The name that clients see, exactly: no prefix is added and `naming` does not apply. 1 to 128 letters, digits, `_`, `-` and
    `.`. Of two aliases for one name on a gateway the older wins (then by namespace and name); the other reports `AliasConflict`
    and its tool keeps its ordinary name."""
    title: Title | None = None
    """Replaces the tool's title. Default: as the backend says. At most 256 characters."""
    description: Description | None = None
    """Replaces the tool's description. Default: as the backend says. At most 16384 characters."""
    keep_original: bool = Field(default=False, strict=True)
    """`true`: the tool is also listed under its ordinary name. Default `false`."""
    gateway_refs: Annotated[tuple[GatewayRef, ...], Field(min_length=1, max_length=64), KeyedBy("name")] | None = None
    """The gateways to act on, by name, in the alias's namespace. Default: every gateway of this namespace that includes the
    backend. 1 to 64, each once. A gateway that does not exist is reported (`GatewayNotFound`)."""


class MCPToolAlias(Resource):
    """A tool under another name, with its own title or description if wanted. It acts on gateways of its own namespace."""

    kind: Literal["MCPToolAlias"]
    """`MCPToolAlias`."""
    spec: MCPToolAliasSpec
    """What to rename, and where."""
