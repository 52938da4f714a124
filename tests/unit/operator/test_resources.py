"""The three kinds: their fields, their rules, and what Kubernetes' conventions ask of them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.explain import explain
from switchyard_operator.api.fields import dotted
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Resource
from unit.operator.declared import backend, gateway
from unit.operator.reference import KINDS, fields, model_in
from unit.operator.verdicts import ACCEPTED, FORMS, MODELS, MODELS_ALONE, RULES, Case, Refused

YAML_1_1_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"}


def spec_of(kind: type[Resource]) -> type[BaseModel]:
    model = model_in(kind.model_fields["spec"].annotation)
    assert model is not None
    return model


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            MCPBackend,
            "url service hostHeader protocol transport headers auth tls timeouts tools cache limits pinning allowedNamespaces",
        ),
        (MCPToolAlias, "backendRef tool alias title description keepOriginal gatewayRefs"),
        (
            MCPGateway,
            (
                "backends naming order pageSize failurePolicy protocols instructions listener egress auth visibility mode "
                "replicas service sidecar"
            ),
        ),
    ],
)
def test_each_kind_has_exactly_the_fields_of_its_reference(kind: type[Resource], names: str) -> None:
    """A field more or less is a decision, not an accident."""
    assert [info.alias for info in spec_of(kind).model_fields.values()] == names.split()


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_says_what_it_means(kind: type[Resource]) -> None:
    """Descriptions become the CRD's, so that `kubectl explain` answers."""
    assert [path for path, description in fields(spec_of(kind)) if len(description) < 10] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_property_or_enum_value_is_a_boolean_in_yaml_1_1(kind: type[Resource]) -> None:
    """`mode: Off` would arrive as false."""
    words = set(_words(kind.model_json_schema()))
    assert "None" in words or kind is not MCPBackend
    assert {word for word in words if word.lower() in YAML_1_1_WORDS} == set()


def _words(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (each for each in schema.get("enum", ()) if isinstance(each, str))
        yield from schema.get("properties", ())
        yield from (schema["const"],) if isinstance(schema.get("const"), str) else ()
        for below in schema.values():
            yield from _words(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from _words(below)


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_are_within_what_the_api_server_understands(kind: type[Resource]) -> None:
    """RE2 knows neither look-around nor back references."""
    patterns = set(_patterns(kind.model_json_schema()))
    assert patterns
    assert [pattern for pattern in patterns if re.search(r"\(\?[=!<]|\\[1-9]", pattern)] == []


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (schema["pattern"],) if isinstance(schema.get("pattern"), str) else ()
    for below in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _patterns(below)


@pytest.mark.parametrize("case", [*RULES, *FORMS, *MODELS_ALONE], ids=str)
def test_what_is_wrong_is_refused_and_the_field_named(case: Refused) -> None:
    """The message says what to correct, and where."""
    model = MODELS[case.kind]
    with pytest.raises(ValidationError) as refusal:
        model.model_validate(case.tree())
    (found,) = explain(model, refusal.value)
    assert dotted(found.field) == case.at
    assert case.says in found.message


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_what_is_right_is_accepted(case: Case) -> None:
    """At the bounds too."""
    assert MODELS[case.kind].model_validate(case.tree()).metadata.name == case.name


def test_an_empty_prefix_and_no_backends_are_valid() -> None:
    """Both mean what they say."""
    assert gateway({"name": "a", "prefix": ""}).spec.backends[0].prefix == ""
    assert gateway().spec.backends == ()


def test_null_means_not_given() -> None:
    """As the API server prunes it: the default holds, also below."""
    declared = backend("a", headers=None, auth=None, timeouts={"call": None})
    assert declared == backend("a")
    assert gateway(auth=None).spec.auth is None


def test_a_null_does_not_hide_a_misspelt_field() -> None:
    """Only fields that exist may be null."""
    with pytest.raises(ValidationError, match="hedaers"):
        backend("a", hedaers=None)


def test_what_the_cluster_adds_is_accepted() -> None:
    """An object exported from a cluster carries status and more metadata."""
    tree = {
        "apiVersion": "switchyard.dev/v1alpha1",
        "kind": "MCPGateway",
        "metadata": {"name": "main", "uid": "1", "managedFields": [{}], "creationTimestamp": "2026-07-28T00:00:00Z"},
        "spec": {},
        "status": {"conditions": []},
    }
    assert MCPGateway.model_validate(tree).metadata.creation_timestamp is not None
