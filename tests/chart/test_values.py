"""The chart's values: each does what it is there for, each is documented and known to the schema, and nothing else can be set."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import yaml

from chart.effects import EFFECTS, GONE, Effect
from chart.helm import CHART, RefusedError, facts, helm, leaves, render, text

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: f"{effect.path}={json.dumps(effect.value)[:40]}")
def test_a_value_has_its_effect_and_no_other(effect: Effect) -> None:
    """What is rendered with the value differs from what is rendered without by what the table says."""
    before = _facts(json.dumps(effect.given))
    after = facts(render(effect.given, "--set-json", f"{effect.path}={json.dumps(effect.value)}"))
    differing = {
        fact: after.get(fact, GONE)
        for fact in before.keys() | after.keys()
        if before.get(fact, GONE) != after.get(fact, GONE)
    }
    assert effect.facts == {fact: differing.get(fact, "<as before>") for fact in effect.facts}
    assert not effect.only or differing.keys() == effect.facts.keys()


def test_every_value_has_a_row() -> None:
    """No value without a test of its effect, and no row for a value that is not there."""
    values = {path.partition("[")[0] for path, _ in leaves(VALUES)}
    assert {effect.path for effect in EFFECTS} == values


def test_the_schema_knows_the_values_and_no_others() -> None:
    """Whatever `values.yaml` has the schema describes, and the other way round; nothing else is let through."""
    assert set(_described(SCHEMA)) - {"enabled", "global"} == set(_sections(VALUES))
    assert set(_required(SCHEMA)) == set(_sections(VALUES)), "--reuse-values of an older release would leave them out"
    for path, each in _schemas(SCHEMA):
        assert each.get("additionalProperties") is False, f"{path} takes any key"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"operator": {"replica": 3}}, "at '/operator': additional properties 'replica' not allowed"),
        ({"podpolicy": {}}, "additional properties 'podpolicy' not allowed"),
        ({"webhook": {"image": {"tag": "x"}}}, "at '/webhook': additional properties 'image' not allowed"),
        ({"operator": {"replicas": "3"}}, "at '/operator/replicas': got string, want integer"),
        ({"operator": {"image": {"tag": 1.1}}}, "at '/operator/image/tag': got number, want string"),
        ({"operator": {"image": {"digest": "sha256:12"}}}, "at '/operator/image/digest': 'sha256:12' does not match"),
        ({"webhook": {"failurePolicy": "fail"}}, "at '/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'"),
        (
            {"webhook": {"certificates": {"owner": "CertManager"}}},
            "at '/webhook/certificates/issuerRef/name': minLength",
        ),
        ({"operator": {"workers": None}}, "at '/operator': missing property 'workers'"),
        ({"namespaces": ["Agents"]}, "at '/namespaces/0': 'Agents' does not match pattern"),
        ({"commonLabels": {"app.kubernetes.io/name": "a"}}, "at '/commonLabels/app.kubernetes.io~1name': false schema"),
        ({"operator": {"tolerations": [{"keys": "a"}]}}, "at '/operator/tolerations/0': additional properties 'keys'"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, Mapping) else "",
)
def test_a_mistake_is_refused_with_its_place(values: dict[str, Any], said: str) -> None:
    """A typo or a wrong type renders nothing, and the message names what is wrong."""
    with pytest.raises(RefusedError) as refused:
        text(values)
    assert said in str(refused.value)


def test_another_chart_may_depend_on_it(tmp_path: Any) -> None:
    """What Helm hands to every dependency is let through, and so is the usual condition."""
    (tmp_path / "Chart.yaml").write_text(
        "{apiVersion: v2, name: umbrella, version: 1.0.0, dependencies: "
        f"[{{name: switchyard, version: 0.1.0, repository: 'file://{CHART}', condition: switchyard.enabled}}]}}"
    )
    helm("dependency", "build", tmp_path)
    values = {"global": {"region": "x"}, "switchyard": {"enabled": True}}
    assert "name: switchyard-operator" in text(values, chart=tmp_path)


@cache
def _facts(values: str) -> dict[str, Any]:
    return facts(render(json.loads(values)))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference: str = schema.get("$ref", "")
    return SCHEMA["definitions"][reference.rpartition("/")[2]] if reference else schema


def _schemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the schema with keys of its own."""
    schema = _resolved(schema)
    if "properties" in schema:
        yield path, schema
        for name, below in schema["properties"].items():
            yield from _schemas(below, f"{path}/{name}")
    if "items" in schema:
        yield from _schemas(schema["items"], f"{path}/0")


_KUBERNETES = {"affinity", "podSecurityContext", "securityContext", "resources"}
"""Kubernetes' own objects: the values name some of their fields, the schema all."""


def _described(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, below in _resolved(schema).get("properties", {}).items():
        yield f"{path}{name}"
        if name not in _KUBERNETES:
            yield from _described(below, f"{path}{name}.")


def _required(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    schema = _resolved(schema)
    for name in schema.get("required", ()):
        yield f"{path}{name}"
        if name not in _KUBERNETES:
            yield from _required(schema["properties"][name], f"{path}{name}.")


def _sections(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, below in values.items():
        yield f"{path}{name}"
        described = name not in _KUBERNETES | {"nodeSelector", "labels"}
        if isinstance(below, Mapping) and described:
            yield from _sections(below, f"{path}{name}.")
