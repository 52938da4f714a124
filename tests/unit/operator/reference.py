"""The reference of a kind as rows of a Markdown table, made from its models."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Resource

KINDS: tuple[type[Resource], ...] = (MCPBackend, MCPToolAlias, MCPGateway)


def fields(model: type[BaseModel], above: str = "spec") -> Iterator[tuple[str, str]]:
    """Every field below a model, as ``(path, description)``; ``[]`` stands for each entry of a list."""
    for name, info in model.model_fields.items():
        path = f"{above}.{info.alias or name}"
        yield path, info.description or ""
        below = model_in(info.annotation)
        if below is not None:
            yield from fields(below, path + ("[]" if "tuple[" in str(info.annotation) else ""))


def rows(kind: type[Resource]) -> list[str]:
    """The rows that stand in ``docs/resources.md`` for a kind."""
    spec = model_in(kind.model_fields["spec"].annotation)
    assert spec is not None
    return [f"| `{path}` | {' '.join(description.split())} |" for path, description in fields(spec)]


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation, within ``Optional``, ``tuple`` or ``Annotated`` too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(model_in, get_args(annotation))), None)
