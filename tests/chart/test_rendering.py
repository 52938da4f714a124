"""What the chart renders, whatever its values: the same each time, one owner a field, and files that are what they are made of."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from chart.helm import CHART, NAMESPACE, ROOT, helm, leaves, objects, text

VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
"""Files that between them use everything there is."""
CRDS = sorted((ROOT / "crds").glob("*.yaml"))

each_values = pytest.mark.parametrize("values", VALUES, ids=lambda file: file.name.removesuffix("-values.yaml"))


@each_values
def test_helm_finds_nothing_to_complain_of(values: Path) -> None:
    """`helm lint --strict` passes with all values files."""
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, "-f", values)


@each_values
def test_rendered_twice_it_gives_the_same_bytes(values: Path) -> None:
    """Argo CD and Flux render again and again; nothing is looked up, and no certificate or password is made up."""
    assert text(None, "-f", values) == text(None, "-f", values)
    templates = "".join(file.read_text() for file in (CHART / "templates").rglob("*") if file.is_file())
    assert re.findall(r"\b(?:lookup|gen[A-Z]\w+|rand[A-Z]\w+|now|uuidv4|Capabilities)\b", templates) == []


@each_values
def test_fields_of_other_owners_are_not_rendered(values: Path) -> None:
    """The operator, or cert-manager, writes certificates and caBundle: whoever applies the chart anew takes nothing back."""
    rendered = objects(text(None, "-f", values))
    assert [each for each in rendered if each["kind"] == "Secret"] == []
    for each in rendered:
        assert [path for path, _ in leaves(each) if path.endswith("caBundle")] == []


@pytest.mark.parametrize("crd", CRDS, ids=lambda file: file.stem)
def test_crds_are_the_bytes_of_the_files(crd: Path) -> None:
    """Integers of 64 bits included; what keeps them is two lines more."""
    expected = crd.read_text()
    for copies in (CHART / "files" / "crds", ROOT / "deploy" / "crds"):
        assert (copies / crd.name).read_text() == expected
    assert f"---\n# Source: switchyard/templates/crds.yaml\n{expected}" in text({"crds": {"keep": False}})
    kept = expected.replace("\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n", 1)
    assert f"---\n# Source: switchyard/templates/crds.yaml\n{kept}" in text()


def test_a_tenant_makes_nothing_outside_of_its_namespaces() -> None:
    """With the values for whoever owns a few namespaces and no more, nothing else is needed."""
    rendered = objects(text(None, "-f", CHART / "ci" / "tenant-values.yaml"))
    assert {each["metadata"].get("namespace") for each in rendered} == {NAMESPACE, "agents", "tools"}


def test_the_version_is_the_projects() -> None:
    """The chart, the images that it runs by default and the package are one release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    about = dict(line.split(": ") for line in helm("show", "chart", CHART).splitlines() if ": " in line)
    assert (about["version"], about["appVersion"]) == (project, project)


def test_what_is_made_of_the_chart_is_up_to_date(tmp_path: Path) -> None:
    """A change of the chart goes with `make chart`."""
    subprocess.run([sys.executable, ROOT / "scripts" / "chart.py", tmp_path], check=True)
    written = [file.relative_to(tmp_path) for file in sorted(tmp_path.rglob("*")) if file.is_file()]
    assert list(map(str, written)) == ["charts/switchyard/README.md", "deploy/switchyard.yaml"]
    for file in written:
        assert (ROOT / file).read_text() == (tmp_path / file).read_text()
