"""Tools, snapshots and gateways for the catalog's tests, with as little said as each test needs."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from switchyard_sidecar.catalog import snapshot
from switchyard_sidecar.catalog.catalog import BackendView
from switchyard_sidecar.catalog.definition import Rejection, ToolDefinition, parse_tool
from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.config.model import Alias, Backend, GatewayConfig, Naming, ToolFilter
from switchyard_sidecar.protocol.versions import Era

OBJECT: dict[str, Any] = {"type": "object"}
MAX_BYTES = 1024 * 1024


def tool(name: str, **members: Any) -> ToolDefinition:
    """A tool, with an ``inputSchema`` that accepts anything unless given."""
    return accepted(json.dumps({"name": name, "inputSchema": OBJECT} | members).encode())


def accepted(raw: bytes) -> ToolDefinition:
    """The definition in a text that must be acceptable."""
    definition = parse_tool(raw, max_bytes=MAX_BYTES)
    assert isinstance(definition, ToolDefinition), definition
    return definition


def snapshot_of(
    backend: str,
    *tools: ToolDefinition | str,
    rejected: Iterable[Rejection] = (),
    scope: Literal["public", "private"] = "public",
    complete: bool = True,
    max_tools: int = 20_000,
    previous: Snapshot | None = None,
) -> Snapshot:
    """What one walk found; a tool may be given by its name alone."""
    return snapshot.make(
        backend=f"ns/{backend}",
        tools=[each if isinstance(each, ToolDefinition) else tool(each) for each in tools],
        rejected=rejected,
        ttl_ms=1_000,
        scope=scope,
        era=Era.MODERN,
        version="2026-07-28",
        fetched_at=0.0,
        complete=complete,
        max_tools=max_tools,
        previous=previous,
    )


def answered(backend: str, *tools: ToolDefinition | str, scope: Literal["public", "private"] = "public") -> BackendView:
    """A backend that is well and lists these tools."""
    return BackendView(snapshot_of(backend, *tools, scope=scope), settled=True)


def views(**lists: Iterable[ToolDefinition | str]) -> dict[str, BackendView]:
    """Backends that are well, with their tools."""
    return {f"ns/{backend}": answered(backend, *tools) for backend, tools in lists.items()}


def alias(name: str, backend: str, tool_name: str, **settings: Any) -> Alias:
    """An alias; its resource is called like the name it gives, unless ``resource`` says otherwise."""
    resource = settings.pop("resource", name)
    return Alias(namespace="ns", name=resource, backend=f"ns/{backend}", tool=tool_name, alias=name, **settings)


def gateway(
    prefixes: Mapping[str, str | None],
    *aliases: Alias,
    separator: str = "__",
    max_length: int = 64,
    charset: Literal["Keep", "Safe"] = "Keep",
    filters: Mapping[str, tuple[ToolFilter, ...]] | None = None,
    **settings: Any,
) -> GatewayConfig:
    """A gateway of these backends (name and prefix), in this order."""
    return GatewayConfig(
        namespace="ns",
        name="main",
        naming=Naming(separator=separator, max_length=max_length, charset=charset),
        backends=tuple(
            Backend(
                namespace="ns", name=name, url="http://backend", prefix=prefix, filters=(filters or {}).get(name, ())
            )
            for name, prefix in prefixes.items()
        ),
        aliases=aliases,
        **settings,
    )
