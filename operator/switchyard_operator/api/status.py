"""What the operator says about each kind: conditions, and counts and digests, never one entry for each pod or tool.

Status is read by programs of every age, so these models ignore fields they do not know, where the models of what users write
refuse them. The API server lets in what they describe.
"""

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from switchyard_operator.api.merging import KeyedBy
from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.names import GatewayName, ObjectName

MAX_CONFLICTS: Final = 16
"""The most conflicts that a status names; there may be more."""

Count = Annotated[int, Field(strict=True, ge=0)]
Generation = Annotated[int, Field(strict=True, ge=0, json_schema_extra={"format": "int64"})]
Digest = Annotated[str, Field(max_length=128)]
Reason = Annotated[str, Field(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", max_length=1024)]


class StatusModel(ApiModel):
    """A part of a status."""

    model_config = ConfigDict(extra="ignore")


class Condition(StatusModel):
    """One aspect of the object's state, with the moment of its last change."""

    type: Annotated[str, Field(pattern=r"^[A-Za-z]([-A-Za-z0-9_./]*[A-Za-z0-9])?$", max_length=316)]
    """The aspect, in CamelCase, such as `Ready`. At most 316 characters."""
    status: Literal["True", "False", "Unknown"]
    """`True`, `False` or `Unknown`."""
    observed_generation: Generation | None = None
    """The `metadata.generation` that this was found on; when it is older than the object's, the condition is out of date."""
    last_transition_time: AwareDatetime
    """When `status` last changed."""
    reason: Reason
    """Why, in one word that programs can rely on. At most 1024 characters."""
    message: Annotated[str, Field(max_length=32768)]
    """A sentence for people: what is the case, which field to look at. May be empty. At most 32768 characters."""


Conditions = Annotated[tuple[Condition, ...], Field(max_length=16), KeyedBy("type")]


class Status(StatusModel):
    """What the status of every kind has, beside conditions."""

    observed_generation: Generation | None = None
    """The `metadata.generation` that this status is about."""


class BackendProtocol(StatusModel):
    """What the server speaks, as the operator found out."""

    era: Literal["Modern", "Legacy"]
    """`Modern`: MCP 2026-07-28. `Legacy`: 2025-11-25 and earlier."""
    version: Annotated[str, Field(max_length=128)]
    """The protocol version in use, as the server writes it. At most 128 characters, the rest is cut off."""
    list_changed: bool = Field(strict=True)
    """Whether the server says that it announces changes of its list (the `listChanged` capability). They are looked for in any case."""


class ServerInfo(StatusModel):
    """How the server calls itself. Not to be trusted."""

    name: Annotated[str, Field(max_length=128)]
    """Its name. At most 128 characters, the rest is cut off."""
    version: Annotated[str, Field(max_length=128)]
    """Its own version. At most 128 characters, the rest is cut off."""


class BackendTools(StatusModel):
    """What the server listed when the operator last asked."""

    count: Count
    """How many tools the backend's own filter keeps."""
    digest: Digest
    """Changes exactly when one of their definitions does. At most 128 characters."""


class MCPBackendStatus(Status):
    """What the operator says about a backend."""

    conditions: Conditions = ()
    """`Accepted`: the resource is valid, and nothing it asks for is refused. `ResolvedRefs`: the Secrets and ConfigMaps it names
    are there and usable. `Reachable`: it answers the operator, which may see it from elsewhere than an agent does; `Unknown`
    where it is not probed; never part of `Ready`. `Pinned`: where `spec.pinning.mode` is not `None`, every tool it listed last is what
    was pinned; `Unknown` where the operator has no list; never part of `Ready`. `NamesLookAlike`: a person would take tools it lists for
    one another; there only while it is true, never part of `Ready`. `Ready`: accepted and resolved. At most 16."""
    protocol: BackendProtocol | None = None
    """What the server speaks. Absent until it has answered."""
    server_info: ServerInfo | None = None
    """How the server calls itself. Absent until it has answered."""
    tools: BackendTools | None = None
    """What the server lists. Absent until it has answered."""


class AliasGateways(StatusModel):
    """On how many gateways the alias acts."""

    total: Count
    """Gateways that it is meant for."""
    accepted: Count
    """Of these, gateways that list the tool under this name, as soon as the backend has it."""
    conflicted: Count
    """Of these, gateways where an older alias has the name."""


class AliasConflict(StatusModel):
    """A gateway where another alias has the name."""

    gateway: GatewayName
    """The MCPGateway, in the alias's namespace. At most 40 characters."""
    winner: ObjectName
    """The MCPToolAlias that has the name there, in the alias's namespace. At most 253 characters."""


class MCPToolAliasStatus(Status):
    """What the operator says about an alias."""

    conditions: Conditions = ()
    """`Accepted`: the name is its own on every gateway it is meant for. `ResolvedRefs`: these gateways exist and include the
    backend. `Ready`: both. At most 16."""
    gateways: AliasGateways | None = None
    """On how many gateways it acts."""
    conflicts: Annotated[tuple[AliasConflict, ...], Field(max_length=MAX_CONFLICTS), KeyedBy("gateway")] = ()
    """Gateways where another alias has the name, in order of their names. At most 16; `gateways.conflicted` counts all."""


class GatewayBackends(StatusModel):
    """Of how many backends the gateway consists."""

    total: Count
    """Backends that it names or selects."""
    resolved: Count
    """Of these, backends that are there, may be used from here, and have all that they refer to."""


class GatewayTools(StatusModel):
    """What the gateway lists, as far as the operator knows."""

    count: Count
    """Tools of its resolved backends, less those that filters leave out and pins withhold, when the operator last asked the servers."""


class GatewayPods(StatusModel):
    """Running pods with this gateway's sidecar."""

    attached: Count
    """All of them."""
    current: Count
    """Of these, pods that have confirmed the config of `configHash`."""
    unknown: Count
    """Of these, pods that could not be asked."""
    missing: Count | None = None
    """Pods with this gateway's label and no sidecar. Absent: none."""
    outdated: Count | None = None
    """Pods whose sidecar is not what it would be if they were created now: another image, port, path, or format of the config. Absent:
    none."""


class GatewayConflict(StatusModel):
    """Something that more than one object claims on this gateway."""

    reason: Reason
    """Which kind of conflict, as in `docs/resources.md`: `AliasConflict`, `SharedNames` and the like. At most 1024 characters."""
    message: Annotated[str, Field(max_length=1024)]
    """Who claims what, and who has it. At most 1024 characters."""


class MCPGatewayStatus(Status):
    """What the operator says about a gateway."""

    conditions: Conditions = ()
    """`Accepted`: the resource is valid, and nothing it asks for is refused. `ResolvedRefs`: every backend it names is there, may be
    used from here and has all that it refers to. `Programmed`: the config is written, in mode `Deployment` its objects too.
    `Available`: in mode `Deployment`, enough replicas answer. `Ready`: all of these; under `failurePolicy: Partial` an unresolved
    backend leaves it `True` with reason `Degraded`. `Injected`: every pod with its label has a sidecar as it would be given now;
    never part of `Ready`. At most 16."""
    backends: GatewayBackends | None = None
    """Of how many backends it consists."""
    tools: GatewayTools | None = None
    """How many tools it lists."""
    pods: GatewayPods | None = None
    """How many pods have it, and how many of them are up to date."""
    config_hash: Digest | None = None
    """The hash of the config that was written last, as sidecars report it. At most 128 characters."""
    conflicts: Annotated[tuple[GatewayConflict, ...], Field(max_length=MAX_CONFLICTS)] = ()
    """What more than one object claims: names, prefixes. At most 16; there may be more."""


PENDING: Final = Condition(
    type="Ready",
    status="Unknown",
    last_transition_time=datetime(1970, 1, 1, tzinfo=UTC),
    reason="Pending",
    message="the operator has not looked at it yet",
)
"""What the API server says of an object until the operator does: without a status, Flux and ``helm --wait`` would take it for ready."""
