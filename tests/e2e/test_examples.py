"""The examples, applied as their readers apply them, on a real cluster."""

from pathlib import Path

import pytest
import yaml

from e2e.images import ROOT
from e2e.kind import Cluster

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    "folder", [EXAMPLES / "quickstart", EXAMPLES / "demo" / "manifests"], ids=["quickstart", "demo"]
)
def test_an_example_just_works(operator: Cluster, folder: Path) -> None:
    """One `kubectl apply` is enough, everything becomes ready, and a second one finds nothing to change."""
    applied = operator.kubectl("apply", "-f", folder).splitlines()
    try:
        assert [line for line in applied if line.startswith("mcpgateway")] == ["mcpgateway.switchyard.dev/main created"]
        for kind, namespace in _declared(folder):
            operator.kubectl("wait", kind, "--all", "-n", namespace, "--for=condition=Ready", "--timeout=60s")
        again = operator.kubectl("apply", "-f", folder).splitlines()
        assert [line for line in again if line.startswith("mcp") and not line.endswith(" unchanged")] == []
    finally:
        operator.kubectl("delete", "-f", folder, "--ignore-not-found", "--timeout=60s")


def _declared(folder: Path) -> list[tuple[str, str]]:
    """The kinds of ours in a folder, each with the namespaces where it has some."""
    declared = [each for file in folder.glob("*.yaml") for each in yaml.safe_load_all(file.read_text())]
    ours = (each for each in declared if each["apiVersion"].startswith("switchyard.dev/"))
    return sorted({(each["kind"], each["metadata"].get("namespace", "default")) for each in ours})
