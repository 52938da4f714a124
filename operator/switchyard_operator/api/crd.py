"""The CustomResourceDefinitions, made from the models. Pure: equal models give equal dicts.

The schema is pydantic's, brought into the form that the API server asks for ("structural"): references written out where they
are used, optional fields as the type they have when they are there, no titles. Bounds, patterns, CEL rules and the way lists
merge come from the models' own annotations.
"""

from collections.abc import Mapping
from typing import Any, Final

from switchyard_operator.api.kinds import Column, Kind
from switchyard_operator.api.resource import API_VERSION, GROUP
from switchyard_operator.api.rules import RULES_KEY
from switchyard_operator.api.status import PENDING

Schema = dict[str, Any]

CATEGORY: Final = "mcp"
"""``kubectl get mcp`` shows all three kinds."""

_KEPT: Final = (
    "type",
    "format",
    "enum",
    "pattern",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "maxProperties",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "required",
)
"""What is taken over as it is, in the order in which it is written."""
_NOTHING: Final[tuple[object, ...]] = (None, [], {})
"""Defaults that are not written: the field is absent."""


def crd(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    group, _, version = API_VERSION.partition("/")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": group,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": [kind.short_name],
                "categories": [CATEGORY],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [_column(column) for column in kind.columns],
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema(kind)},
                }
            ],
        },
    }


def schema(kind: Kind) -> Schema:
    """The structural schema of a kind's objects."""
    root = kind.resource.model_json_schema()
    definitions, members = root["$defs"], root["properties"]
    metadata = _resolved(members["metadata"], definitions)
    status = kind.status.model_json_schema()
    pending = {"conditions": [PENDING.model_dump(mode="json", by_alias=True, exclude_none=True)]}
    return {
        "description": _prose(root["description"]),
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"description": members["apiVersion"]["description"], "type": "string"},
            "kind": {"description": members["kind"]["description"], "type": "string"},
            # Metadata is the API server's own; of its fields the name alone may be bounded.
            "metadata": {"type": "object", "properties": {"name": structural(metadata["properties"]["name"], {})}},
            "spec": structural(members["spec"], definitions),
            "status": structural(status, status["$defs"]) | {"default": pending},
        },
    }


def structural(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """A schema of pydantic's as a structural one: the same values, but for explicit nulls, which the API server prunes."""
    node = _resolved(node, definitions)
    result: Schema = {}
    if "description" in node:
        result["description"] = _prose(node["description"])
    result |= {key: node[key] for key in _KEPT if key in node}
    if RULES_KEY in node:
        result[RULES_KEY] = _rules(node)
    result |= _default(node)
    match node:
        case {"properties": dict(properties)}:
            result["properties"] = {name: structural(below, definitions) for name, below in properties.items()}
        case {"type": "object", "patternProperties": patterns}:
            # A structural schema has no word for keys: what keys look like stays with the models.
            (result["additionalProperties"],) = (structural(below, definitions) for below in patterns.values())
        case {"type": "array", "items": items}:
            result.setdefault("x-kubernetes-list-type", "atomic")
            result["items"] = structural(items, definitions)
        case {"type": "object"}:
            result["x-kubernetes-preserve-unknown-fields"] = True
        case _ if node.keys().isdisjoint({"type", "anyOf"}):
            result["x-kubernetes-preserve-unknown-fields"] = True
    return result


def _resolved(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """The schema behind references and ``Optional``; what is said beside them wins."""
    while True:
        match node:
            case {"$ref": str(reference), **beside}:
                node = definitions[reference.rpartition("/")[2]] | beside
            case {"anyOf": [present, {"type": "null"}], **beside}:
                node = present | beside
            case _:
                return node


def _default(node: Schema) -> Schema:
    """An object's default is empty, since its fields have their own; with rules it is complete, since they judge it as it stands.

    Instead of an empty list or map there is none.
    """
    default = node.get("default")
    if "properties" not in node:
        return {} if default in _NOTHING else {"default": default}
    if default is None:
        return {}
    complete = {name: value for name, value in default.items() if value not in _NOTHING}
    return {"default": complete if RULES_KEY in node else {}}


def _rules(node: Schema) -> list[Schema]:
    return [{key: rule[key] for key in ("rule", "message", "fieldPath") if key in rule} for rule in node[RULES_KEY]]


def _column(column: Column) -> dict[str, Any]:
    described = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    return described | ({"priority": 1} if column.wide else {})


def _prose(docstring: str) -> str:
    """Paragraphs without the line breaks that they have in the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))
