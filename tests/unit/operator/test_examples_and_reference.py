"""What users copy works, and what they read is true."""

from pathlib import Path

import pytest

from switchyard_operator.api.resource import Resource
from switchyard_operator.cli.lint.findings import findings
from switchyard_operator.compile import Reason, Severity, compile_gateway
from switchyard_operator.compile.aliases import idle_aliases
from switchyard_operator.compile.authentication import MADE_BY_THE_OPERATOR
from switchyard_operator.manifests.load import load
from switchyard_operator.manifests.sources import Sources
from unit.operator.declared import KEY
from unit.operator.reference import KINDS, rows

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted({path.parent for path in (ROOT / "examples").rglob("*.yaml") if "kind: MCP" in path.read_text()})
LAPTOP = {Reason.ISSUER_UNKNOWN, Reason.SERVICE_IN_CLUSTER_ONLY}
REFERENCE = (ROOT / "docs" / "resources.md").read_text()


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
@pytest.mark.parametrize("cluster", [False, True], ids=["on a laptop", "in a cluster"])
def test_an_example_loads_and_compiles_without_findings(folder: Path, cluster: bool) -> None:
    """Every gateway of it, in both places; but that on a laptop nobody knows the issuer of a cluster."""
    manifests = load(Sources((folder,)).read())
    assert manifests.faults == ()
    assert manifests.objects.gateways
    assert list(idle_aliases(manifests.objects)) == []
    for key in manifests.objects.gateways:
        issuer = MADE_BY_THE_OPERATOR if cluster else None
        compiled = compile_gateway(manifests.objects, key, revision_key=KEY, cluster=cluster, service_accounts=issuer)
        elsewhere = LAPTOP if folder.name == "service-accounts" and not cluster else set()
        assert {each.reason for each in compiled.reports} == elsewhere


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_is_as_lint_advises(folder: Path) -> None:
    """`switchyard lint --strict` lets it pass."""
    found = findings(load(Sources((folder,)).read()))
    assert [each.said for each in found if each.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_describes_every_field_as_the_models_do(kind: type[Resource]) -> None:
    """`docs/resources.md` has each row below, no other, in this order."""
    section = REFERENCE.split(f"## {kind.__name__}\n")[1].split("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("| `")] == rows(kind)


def test_the_reference_describes_every_reason() -> None:
    """Users search for the word they were shown."""
    section = REFERENCE.split("## Findings\n")[1]
    assert [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")] == list(Reason)
