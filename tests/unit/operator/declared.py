"""Objects as tests declare them: valid, small, in namespace ``agents`` unless said otherwise."""

from typing import Any

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import API_VERSION, Key
from switchyard_operator.compile import CompiledGateway, compile_gateway
from switchyard_operator.compile.objects import ConfigMap, Namespace, Objects, Secret

AGENTS = "agents"
MAIN = Key(AGENTS, "main")
KEY = b"the key of revisions"


def metadata(name: str, namespace: str, labels: dict[str, str] | None, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "labels": labels or {}, **more}


def backend(name: str, namespace: str = AGENTS, labels: dict[str, str] | None = None, **spec: Any) -> MCPBackend:
    """A backend; ``spec`` wins over a URL made of its name."""
    address = {} if "service" in spec else {"url": f"http://{name}.example/mcp"}
    tree = {"kind": "MCPBackend", "metadata": metadata(name, namespace, labels), "spec": address | spec}
    return MCPBackend.model_validate({"apiVersion": API_VERSION, **tree})


def gateway(*backends: str | dict[str, Any], **spec: Any) -> MCPGateway:
    """The gateway ``agents/main``; a string stands for a backend by name."""
    entries = [{"name": each} if isinstance(each, str) else each for each in backends]
    tree = {"kind": "MCPGateway", "metadata": metadata("main", AGENTS, None), "spec": {"backends": entries, **spec}}
    return MCPGateway.model_validate({"apiVersion": API_VERSION, **tree})


def alias(name: str, target: str, tool: str, exposed: str, *, created: str | None = None, **spec: Any) -> MCPToolAlias:
    """An alias of ``agents``; ``target`` may be ``namespace/name``."""
    namespace, _, backend_name = target.rpartition("/")
    ref = {"name": backend_name, **({"namespace": namespace} if namespace else {})}
    tree = {
        "kind": "MCPToolAlias",
        "metadata": metadata(name, AGENTS, None, creationTimestamp=created),
        "spec": {"backendRef": ref, "tool": tool, "alias": exposed, **spec},
    }
    return MCPToolAlias.model_validate({"apiVersion": API_VERSION, **tree})


def secret(name: str, namespace: str = AGENTS, labels: dict[str, str] | None = None, **data: bytes) -> Secret:
    return Secret(Key(namespace, name), {key.replace("_", "."): value for key, value in data.items()}, labels or {})


def compiled(
    *objects: MCPBackend | MCPToolAlias | MCPGateway | Secret | ConfigMap | Namespace,
    cluster: bool = False,
    key: bytes | None = KEY,
) -> CompiledGateway:
    """The gateway ``agents/main`` of these objects, compiled."""
    return compile_gateway(Objects.of(objects), MAIN, revision_key=key, cluster=cluster)


def found(result: CompiledGateway) -> list[tuple[str, str]]:
    """The reports as ``(object, reason)``."""
    return [(str(report.object), str(report.reason)) for report in result.reports]
