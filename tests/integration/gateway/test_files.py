"""Many clients need many files."""

import asyncio
import resource
import sys
from pathlib import Path

import pytest

from fakes.gateway import write_config

SIDECAR = str(Path(sys.executable).with_name("switchyard-sidecar"))
START_S = 20.0
LOW = 256


@pytest.mark.skipif(sys.platform != "linux", reason="reads a process's limits where Linux has them")
async def test_low_limit_on_open_files_is_raised(tmp_path: Path) -> None:
    """As far as the system allows: a laptop's default would be used up by some hundred clients."""
    write_config(tmp_path, {})
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'ulimit -S -n {LOW} && exec "$0" "$@"', SIDECAR),
        *("--config", str(tmp_path), "--listen", "127.0.0.1:0"),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(START_S):
            while b'"listening"' not in await process.stderr.readline():
                pass
        limits = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
        (soft,) = [int(line.split()[3]) for line in limits if line.startswith("Max open files")]
        assert LOW < soft <= hard
    finally:
        process.kill()
        await process.wait()
