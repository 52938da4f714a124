"""The suite's client scenarios: a gateway is a client too."""

import shlex
import sys
from pathlib import Path
from typing import Final

import pytest

from conformance.expected_out import expected_out
from conformance.suite import run

SCENARIOS: Final = (
    ("2026-07-28", "tools_call"),
    ("2026-07-28", "request-metadata"),
    ("2026-07-28", "sep-2322-client-request-state"),
    ("2026-07-28", "http-standard-headers"),
    ("2026-07-28", "http-custom-headers"),
    ("2026-07-28", "http-invalid-tool-headers"),
    ("2026-07-28", "json-schema-ref-no-deref"),
    ("2026-07-28", "json-schema-2020-12-preservation"),
    ("2025-11-25", "initialize"),
    ("2025-11-25", "tools_call"),
    ("2025-11-25", "sse-retry"),
    ("2025-11-25", "json-schema-2020-12-preservation"),
)

"""All but those about OAuth, and the one about elicitation: until that is bridged, the suite's server waits for an answer.
"""


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS, ids=str)
def test_the_gateway_is_a_good_client_but_for_what_the_list_says(
    revision: str, scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every check of the scenario succeeds, or is listed in ``expected_out.yaml``."""
    tests = Path(__file__).resolve().parents[1]
    monkeypatch.setenv("PYTHONPATH", str(tests))
    # exec: the suite starts this in a shell, and at its time limit ends just what it started.
    command = shlex.join(["exec", sys.executable, str(tests / "conformance" / "client.py")])
    asked = ("client", "--command", command, "--scenario", scenario, "--spec-version", revision, "--timeout", "20000")
    outcome = run(asked, tmp_path)
    failing = {check for check, status in outcome.found.items() if status in ("WARNING", "FAILURE")}
    listed = {check for check in expected_out("client", {"revision": revision}) if check.startswith(f"{scenario}/")}
    assert failing == listed
    assert outcome.passed is not bool(listed)
