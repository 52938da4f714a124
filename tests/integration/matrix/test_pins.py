"""Pins of real servers: what is pinned once stays as pinned, however the server writes its definitions."""

import subprocess
import sys
from pathlib import Path

from integration.matrix.programs import PATIENCE_S, Counterparts
from integration.matrix.table import Server

SWITCHYARD = str(Path(sys.executable).with_name("switchyard"))
MANIFEST = """\
apiVersion: switchyard.dev/v1alpha1
kind: MCPBackend
metadata: {{name: one}}
spec:
  url: {url}
  transport: {transport}
  pinning:
    mode: Enforce
"""


def pin(folder: Path, flag: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [SWITCHYARD, "pin", "-f", str(folder), flag], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_a_servers_definitions_have_the_same_digests_each_time(
    server: Server, counterparts: Counterparts, tmp_path: Path
) -> None:
    """A second look finds nothing that differs, whichever SDK wrote the list."""
    url = counterparts.server(server.program)
    (tmp_path / "one.yaml").write_text(MANIFEST.format(url=url, transport=server.transport))
    written = pin(tmp_path, "--write")
    assert (written.returncode, " new" in written.stderr) == (0, True), written.stderr
    checked = pin(tmp_path, "--check")
    assert (checked.returncode, checked.stdout, "all as pinned" in checked.stderr) == (0, "", True)
