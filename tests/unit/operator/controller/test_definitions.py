"""Which definitions of our kinds count as outdated."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from switchyard_operator.api.crd import schema
from switchyard_operator.api.kinds import KINDS
from switchyard_operator.controller.definitions import lacking

BACKEND = schema(KINDS[0])
Change = Callable[[dict[str, Any], dict[str, Any]], object]
"""What is done to a schema, given it and the schema of its spec."""


def less(node: dict[str, Any], *path: str) -> None:
    """Take something out of a schema."""
    for step in path[:-1]:
        node = node[step]
    del node[path[-1]]


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (lambda whole, _: whole["properties"].pop("status"), ["status"]),
        (lambda _, spec: less(spec, "properties", "pinning"), ["spec.pinning"]),
        (lambda _, spec: less(spec, "properties", "tls", "properties", "caRef"), ["spec.tls.caRef"]),
        (lambda _, spec: less(spec, "properties", "headers", "maxItems"), ["spec.headers: maxItems"]),
        (
            lambda _, spec: less(spec, "properties", "headers", "items", "properties", "name", "maxLength"),
            ["spec.headers[].name: maxLength"],
        ),
        (
            lambda _, spec: spec["x-kubernetes-validations"].pop(),
            ["spec: x-kubernetes-validations"],
        ),
    ],
    ids=["no status", "no field", "no field below", "no limit", "no limit in a list", "a rule less"],
)
def test_what_an_older_definition_lacks_is_named(change: Change, missing: list[str]) -> None:
    """By its path: fields that would be dropped, limits and rules that nobody is held to."""
    installed = copy.deepcopy(BACKEND)
    change(installed, installed["properties"]["spec"])
    assert list(lacking(BACKEND, installed)) == missing


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_a_definition_lacks_nothing_of_its_own(kind: Any) -> None:
    """As this release makes it, and everything when there is none."""
    assert list(lacking(schema(kind), schema(kind))) == []
    assert {"spec", "status"} <= set(lacking(schema(kind), {}))


def test_a_newer_definition_may_know_more() -> None:
    """Fields, values and words that we do not know: within a version nothing is taken away."""
    newer = copy.deepcopy(BACKEND)
    spec = newer["properties"]["spec"]
    newer["description"] = "otherwise"
    spec["properties"]["later"] = {"type": "string"}
    spec["properties"]["protocol"]["enum"].append("Later")
    spec["properties"]["headers"]["maxItems"] *= 2
    spec["x-kubernetes-validations"].append({"rule": "true"})
    assert list(lacking(BACKEND, newer)) == []
