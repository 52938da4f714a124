"""The machine: which core runs what, what a process has cost so far, and what the figures were taken on."""

import contextlib
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SERVER_CORE: Final = "0"
"""Runs what is measured, and nothing else."""
LOAD_CORE: Final = "1"
"""Runs wrk, backends, subscribers and this bench."""
TOOLS: Final = {"nginx": "nginx-light", "wrk": "wrk", "taskset": "util-linux"}
"""Programs that are needed, and the Debian packages that have them."""
STOP_S: Final = 20.0

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """Something does not run, or an answer is wrong; the message says what."""


class Process:
    """A running program, seen through ``/proc``."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self.popen = popen
        self._proc = Path(f"/proc/{popen.pid}")

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU taken so far, in user space and in the kernel."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    @property
    def rss_mib(self) -> float:
        """Resident memory now."""
        return self._status("VmRSS")

    @property
    def peak_rss_mib(self) -> float:
        """The most resident memory so far."""
        return self._status("VmHWM")

    def _status(self, key: str) -> float:
        lines = (self._proc / "status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{key}:"))


@contextlib.contextmanager
def started(
    command: list[str], core: str, *, env: Mapping[str, str] | None = None, pipes: bool = False
) -> Iterator[Process]:
    """A program pinned to one core while the block runs. ``pipes``: its stdin and stdout are ours.

    Raises:
        BenchError: it does not end within :data:`STOP_S` of SIGTERM.
    """
    pipe = subprocess.PIPE if pipes else subprocess.DEVNULL
    with subprocess.Popen(
        ["taskset", "-c", core, *command],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdin=pipe,
        stdout=pipe,
        stderr=None if pipes else subprocess.DEVNULL,
    ) as popen:
        try:
            yield Process(popen)
        finally:
            popen.terminate()
            try:
                popen.wait(STOP_S)
            except subprocess.TimeoutExpired:
                popen.kill()
                raise BenchError(f"{command[:3]} did not end within {STOP_S:g} s") from None


def check() -> None:
    """See that everything needed is here, and make room for ten thousand open files in every program started from now on.

    Raises:
        BenchError: naming what is missing.
    """
    for program, package in TOOLS.items():
        if shutil.which(program) is None:
            raise BenchError(f"{program} is not installed (Debian: apt-get install {package})")
    cores = os.sched_getaffinity(0)
    if not {int(SERVER_CORE), int(LOAD_CORE)} <= cores:
        raise BenchError(f"cores {SERVER_CORE} and {LOAD_CORE} are needed; this process may use {sorted(cores)}")
    os.sched_setaffinity(0, {int(LOAD_CORE)})
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files() -> int:
    """How many files each program may have open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def description() -> dict[str, str]:
    """What the figures were taken on: versions, kind of processor, commit. No names, no paths."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _output("git", "describe", "--always", "--dirty"),
        "python": platform.python_version(),
        "nginx": _output("nginx", "-v").rpartition("/")[2],
        "wrk": _output("wrk", "-v").partition(" [")[0].removeprefix("wrk ").strip(),
        "kernel": platform.release().partition("-")[0],
        "architecture": platform.machine(),
        "processor": model[0].partition(":")[2].strip() if model else "",
        "cores": str(os.cpu_count()),
        "load_before": f"{os.getloadavg()[0]:.2f}",
    }


def lean_python(part: str = "sidecar") -> str:
    """A Python with exactly what the image of that part has, made once: development tools change memory and start-up.

    (structlog imports rich where it finds it.)

    Raises:
        BenchError: pip could not install it.
    """
    home = ROOT / ".venv" / f"bench-{part}"
    python, stamp = home / "bin" / "python", home / "installed"
    requirements = f"requirements/{part}.txt"
    wanted = (ROOT / requirements).read_text()
    if not stamp.is_file() or stamp.read_text() != wanted:
        base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
        install = [str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", requirements]
        for command in ([str(base), "-m", "venv", "--clear", str(home)], install):
            if subprocess.run(command, cwd=ROOT, check=False).returncode:
                raise BenchError(f"{requirements} cannot be installed")
        stamp.write_text(wanted)
    return str(python)


def _output(*command: str) -> str:
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return (result.stdout + result.stderr).strip()
