"""Write a config directory as the kubelet writes a volume, so that a reader sees all of one generation or all of another.

The files of a generation lie in a directory of their own, ``..<time>.<random>``; the link ``..data`` names the current one and
is replaced by a rename; ``gateway.json`` and the others are links through it. Everything is readable by the owner alone.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

DATA: Final = "..data"
_NEXT_DATA: Final = "..data_tmp"


def write(directory: Path, files: Mapping[str, bytes]) -> bool:
    """Make ``directory`` hold exactly ``files`` (flat names to contents). Returns whether anything had to change.

    ``directory`` is created if need be. Only one writer at a time. Raises ``OSError``.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    if _current(directory) == files:
        return False
    generation = _write_generation(directory, files)
    upcoming = directory / _NEXT_DATA
    upcoming.unlink(missing_ok=True)
    upcoming.symlink_to(generation.name)
    upcoming.replace(directory / DATA)
    _link(directory, files)
    for entry in directory.iterdir():
        if entry.name.startswith("..") and entry.is_dir() and not entry.is_symlink() and entry != generation:
            shutil.rmtree(entry)
    return True


def _current(directory: Path) -> dict[str, bytes] | None:
    try:
        return {entry.name: entry.read_bytes() for entry in (directory / DATA).iterdir()}
    except FileNotFoundError:
        return None


def _write_generation(directory: Path, files: Mapping[str, bytes]) -> Path:
    stamp = datetime.now(UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    generation = Path(tempfile.mkdtemp(prefix=stamp, dir=directory))  # mode 0700
    for name, content in files.items():
        descriptor = os.open(generation / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    return generation


def _link(directory: Path, files: Mapping[str, bytes]) -> None:
    """Make the visible links: one for each file, none that leads nowhere."""
    for name in files:
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(Path(DATA) / name)
    for entry in directory.iterdir():
        if entry.is_symlink() and not entry.name.startswith("..") and entry.name not in files:
            entry.unlink()
