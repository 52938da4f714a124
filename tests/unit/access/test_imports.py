"""A gateway that asks nobody for signed tokens does not pay for cryptography."""

import subprocess
import sys

LOOK = """
import sys
import switchyard_sidecar.main, switchyard_sidecar.serving
found = {name.partition(".")[0] for name in sys.modules} & {"jwt", "cryptography", "cffi"}
print(sorted(found))
"""


def test_sidecar_starts_without_cryptography() -> None:
    """Neither its start nor its memory: it is imported with the first issuer's keys, in a thread."""
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
