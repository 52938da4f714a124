"""The three kinds: their fields, their rules, and what Kubernetes' conventions ask of them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from switchyard_operator.api.alias import MCPToolAlias
from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Resource
from unit.operator.declared import alias, backend, gateway
from unit.operator.reference import KINDS, fields, model_in

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
                "backends naming order pageSize failurePolicy protocols instructions listener auth visibility mode "
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


BACKEND_RULES = [
    ({"url": None}, "must have exactly one of url and service"),
    ({"url": "http://a/", "service": {"name": "a", "port": 80}}, "must have exactly one of url and service"),
    ({"transport": "SSE", "protocol": "Modern"}, "protocol: cannot be Modern with transport SSE"),
    (
        {"headers": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}]},
        r"spec\.headers\n +\[1\]\.name: x-a is given more than once",
    ),
    ({"headers": [{"name": "X-A"}]}, "must have exactly one of value and valueFrom"),
    ({"auth": {"type": "Bearer"}}, "secretKeyRef: is required with type Bearer"),
    ({"auth": {"secretKeyRef": {"name": "a", "key": "b"}}}, "did you mean type: Bearer?"),
    ({"tls": {"insecureSkipVerify": True, "caRef": {"name": "a"}}}, "makes caRef pointless"),
    ({"timeouts": {"call": "20m"}}, r"callMax: \(10m\) is less than call \(20m\)"),
    ({"timeouts": {"connect": "0s"}}, "must be from 1ms to 1m"),
    ({"cache": {"minTTL": "11m"}}, r"maxTTL: \(10m\) is less than minTTL \(11m\)"),
    ({"limits": {"bytes": "1Ki"}}, r"toolBytes: \(1Mi\) is more than bytes \(1Ki\)"),
    ({"limits": {"pages": 0}}, "greater than or equal to 1"),
    ({"tools": {"include": []}}, "at least 1 item"),
    ({"allowedNamespaces": {"from": "Selector"}}, "selector: is required with from: Selector"),
    ({"allowedNamespaces": {"selector": {}}}, "did you mean from: Selector?"),
    ({"pinning": {"digests": [{"tool": "a", "sha256": "AB"}]}}, "64 hexadecimal digits"),
    ({"colour": "red"}, "colour"),
]


@pytest.mark.parametrize(("spec", "complaint"), BACKEND_RULES)
def test_a_backend_that_contradicts_itself_is_refused(spec: dict[str, Any], complaint: str) -> None:
    """Each rule names the field to correct."""
    with pytest.raises(ValidationError, match=complaint):
        backend("a", **spec)


GATEWAY_RULES = [
    ([{}], {}, "must have exactly one of name and selector"),
    ([{"name": "a", "selector": {}}], {}, "must have exactly one of name and selector"),
    ([{"selector": {}, "prefix": "x"}], {}, "prefix: is not allowed with selector"),
    ([{"selector": {}, "namespace": "x"}], {}, "namespace: is not allowed with selector"),
    ([{"name": "a", "prefix": "jr__x"}], {}, r'backends\[0\].prefix: must not contain the separator "__"'),
    ([{"name": "a", "prefix": "jr_"}], {}, r'backends\[0\].prefix: must not end in "_"'),
    ([{"name": "a", "prefix": "my-jr"}], {"naming": {"separator": "-"}}, 'must not contain the separator "-"'),
    ([{"name": "a", "prefix": "p" * 53}], {}, "has 53 characters; at most 52 fit with naming.maxLength 64"),
    ([{"name": "a", "prefix": "p" * 13}], {"naming": {"maxLength": 24}}, "has 13 characters; at most 12 fit"),
    (
        [{"name": "a", "prefix": "a.b"}],
        {"naming": {"charset": "Safe"}},
        "must not contain '.' with naming.charset Safe",
    ),
    ([{"name": "a", "prefix": "a b"}], {}, "letters, digits, '_', '-' and '.'"),
    ([], {"naming": {"maxLength": 23}}, "greater than or equal to 24"),
    ([], {"naming": {"separator": "::"}}, "one to four '_', or one to four '-'"),
    ([], {"naming": {"separator": "_-"}}, "one to four '_', or one to four '-'"),
    ([], {"protocols": ["Modern", "Modern"]}, "protocols: names an era twice"),
    ([], {"protocols": []}, "at least 1 item"),
    ([], {"pageSize": True}, "valid integer"),
    ([], {"listener": {"port": "8811"}}, "valid integer"),
    ([], {"listener": {"path": "mcp"}}, "a path that begins with '/'"),
]


@pytest.mark.parametrize(("backends", "spec", "complaint"), GATEWAY_RULES)
def test_a_gateway_that_contradicts_itself_is_refused(
    backends: list[dict[str, Any]], spec: dict[str, Any], complaint: str
) -> None:
    """Each rule names the field to correct."""
    with pytest.raises(ValidationError, match=complaint):
        gateway(*backends, **spec)


def test_an_empty_prefix_and_no_backends_are_valid() -> None:
    """Both mean what they say."""
    assert gateway({"name": "a", "prefix": ""}).spec.backends[0].prefix == ""
    assert gateway().spec.backends == ()


@pytest.mark.parametrize("exposed", ["", "find repo", "a/b", "ä", "x" * 129])
def test_an_alias_is_a_name_that_clients_accept(exposed: str) -> None:
    """MCP recommends 1 to 128 of these characters, and this name is ours to choose."""
    with pytest.raises(ValidationError, match=r"letters, digits, '_', '-' and '\.'|128 are allowed"):
        alias("a", "github", "search", exposed)


@pytest.mark.parametrize(
    ("kind", "name", "fits"),
    [
        ("MCPBackend", "a" * 63, True),
        ("MCPBackend", "a" * 64, False),
        ("MCPBackend", "a.b", True),
        ("MCPBackend", "A", False),
        ("MCPGateway", "a" * 40, True),
        ("MCPGateway", "a" * 41, False),
        ("MCPGateway", "a.b", False),
        ("MCPToolAlias", "a" * 253, True),
        ("MCPToolAlias", "a" * 254, False),
    ],
)
def test_names_are_bounded_by_what_is_made_of_them(kind: str, name: str, fits: bool) -> None:
    """Prefixes, label values and names of children."""
    models: dict[str, tuple[type[Resource], dict[str, Any]]] = {
        "MCPBackend": (MCPBackend, {"url": "http://a/"}),
        "MCPGateway": (MCPGateway, {}),
        "MCPToolAlias": (MCPToolAlias, {"backendRef": {"name": "a"}, "tool": "t", "alias": "t"}),
    }
    model, spec = models[kind]
    tree = {"apiVersion": "switchyard.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    if fits:
        assert model.model_validate(tree).metadata.name == name
    else:
        with pytest.raises(ValidationError, match=r"metadata\.name"):
            model.model_validate(tree)


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
