"""What users read about injection is true."""

from pathlib import Path

from switchyard_operator.api import pods
from switchyard_operator.injection.decision import Result

PAGE = (Path(__file__).parents[4] / "docs" / "injection.md").read_text()


def rows(heading: str) -> list[str]:
    """The first words of the rows of a section's table."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]


def test_every_option_of_a_pod_is_explained() -> None:
    """There are no others."""
    assert rows("What a pod may decide") == [pods.PORT, pods.ADMIN_PORT, pods.ENVIRONMENT, pods.POSITION]


def test_every_result_without_a_sidecar_is_explained() -> None:
    """By the words of the audit log and the metric."""
    fine = {Result.INJECTED, Result.PRESENT, Result.NOT_ASKED}
    assert rows("Why a pod has none") == [each.value for each in Result if each not in fine]
