"""The examples for Argo CD and Flux name what there is: chart, version and values, and kinds of their own APIs."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "switchyard"


def documents(file: str) -> dict[str, Any]:
    """The objects of an example, by kind."""
    text = (ROOT / "examples" / file).read_text()
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def merged(own: Any, given: Any) -> Any:
    """The chart's own values with those that are given on top, as Helm lays them."""
    if not isinstance(own, dict) or not isinstance(given, dict):
        return given
    return own | {name: merged(own.get(name), value) for name, value in given.items()}


@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        ("argocd/switchyard.yaml", {"Application": "argoproj.io/v1alpha1"}),
        ("argocd/agents.yaml", {"Application": "argoproj.io/v1alpha1"}),
        ("argocd/argocd-cm.yaml", {"ConfigMap": "v1"}),
        (
            "flux/switchyard.yaml",
            {
                "Namespace": "v1",
                "OCIRepository": "source.toolkit.fluxcd.io/v1",
                "HelmRelease": "helm.toolkit.fluxcd.io/v2",
            },
        ),
        (
            "flux/agents.yaml",
            {
                "GitRepository": "source.toolkit.fluxcd.io/v1",
                "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
            },
        ),
    ],
)
def test_each_file_holds_objects_of_these_apis(file: str, kinds: dict[str, str]) -> None:
    """With the parts that every object has."""
    found = documents(file)
    assert {kind: each["apiVersion"] for kind, each in found.items()} == kinds
    for each in found.values():
        assert each["metadata"]["name"]
        assert each.keys() >= ({"data"} if each["kind"] == "ConfigMap" else set())
        assert "spec" in each or each["kind"] in {"Namespace", "ConfigMap"}


def test_the_chart_is_the_one_of_this_repository() -> None:
    """By name and version; the release workflow publishes it there."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    source = documents("argocd/switchyard.yaml")["Application"]["spec"]["source"]
    assert (source["chart"], source["targetRevision"]) == (chart["name"], chart["version"])
    flux = documents("flux/switchyard.yaml")["OCIRepository"]["spec"]
    assert flux["url"] == f"oci://{source['repoURL']}/{chart['name']}"
    assert flux["ref"]["semver"].removesuffix(".x") == chart["version"].rpartition(".")[0]


@pytest.mark.parametrize("kind", ["Application", "HelmRelease"])
def test_the_values_are_the_charts(kind: str) -> None:
    """As its schema says, which knows of no others; like Helm, it is asked when the chart's own values stand beside them."""
    if kind == "Application":
        values = documents("argocd/switchyard.yaml")[kind]["spec"]["source"]["helm"]["valuesObject"]
    else:
        values = documents("flux/switchyard.yaml")[kind]["spec"]["values"]
    schema = json.loads((CHART / "values.schema.json").read_text())
    Draft202012Validator(schema).validate(merged(yaml.safe_load((CHART / "values.yaml").read_text()), values))


def test_what_flux_names_is_there() -> None:
    """References within an example lead somewhere."""
    release, agents = documents("flux/switchyard.yaml"), documents("flux/agents.yaml")
    chart = release["HelmRelease"]["spec"]["chartRef"]
    assert release[chart["kind"]]["metadata"]["name"] == chart["name"]
    assert release[chart["kind"]]["metadata"]["namespace"] == release["Namespace"]["metadata"]["name"]
    source = agents["Kustomization"]["spec"]["sourceRef"]
    assert agents[source["kind"]]["metadata"]["name"] == source["name"]
