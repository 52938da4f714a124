"""Run the official conformance suite, and read what it found."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from integration.matrix.programs import Program, installed

PACKAGE: Final = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
LIMIT_S: Final = 120
"""For one run; a run of all server scenarios takes some five seconds."""

Found = Mapping[str, str]
"""The status of each check, by ``scenario/check``. Of several with one name the gravest counts."""

_GRAVITY: Final = ("SKIPPED", "INFO", "SUCCESS", "WARNING", "FAILURE")


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    found: Found
    passed: bool
    """The suite's own verdict: every check it requires succeeded, and a client under test ended well and in time."""


def run(arguments: Sequence[str], results: Path) -> Outcome:
    """Run the suite. Skips the test where it is not installed, and fails it where CI requires it."""
    command = Program("node", ("",)).command()[:1]
    package = Path(str(installed()["node"]), PACKAGE)
    # The suite starts further programs by the name of `node`.
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*command, package, *arguments, "--output-dir", results],
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        check=False,
    )
    found = read(results)
    assert found, done.stdout.decode()
    return Outcome(found, done.returncode == 0)


def read(results: Path) -> Found:
    """What the suite wrote into its results folder: one folder a scenario."""
    found: dict[str, str] = {}
    for file in results.rglob("checks.json"):
        scenario = re.sub(r"^(server-)?(.*)-\d{4}-\d\d-\d\dT[-\dZ]+$", r"\2", str(file.parent.relative_to(results)))
        for check in json.loads(file.read_bytes()):
            key = f"{scenario}/{check['id']}"
            found[key] = max(found.get(key, "SKIPPED"), check["status"], key=_GRAVITY.index)
    return found


def worse(directly: Found, through: Found) -> set[str]:
    """Checks that succeed directly and not through the gateway, and such as complain only through it."""
    lost = {key for key, status in directly.items() if status == "SUCCESS" and through.get(key) != "SUCCESS"}
    complaints = {key for key, status in through.items() if status in ("WARNING", "FAILURE")}
    return lost | {key for key in complaints if directly.get(key) not in ("WARNING", "FAILURE")}
