"""The manifests as they were: from other files, or from a commit that git knows."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from switchyard_operator.cli.unusable import UnusableInput
from switchyard_operator.manifests.sources import Source, Sources, in_folder

_REGULAR_FILES: Final = frozenset({"100644", "100755"})
_GIT_S: Final = 60.0
"""How long git may take for one answer."""


def before(named: str, files: Sequence[str]) -> list[Source]:
    """The old version: what lies at the path ``named``, or else what ``files`` held at the commit of that name.

    A file that was not there then is left out. Raises :class:`UnusableInput` when neither is there.
    """
    if Path(named).exists():
        return list(Sources.of([named]).read())
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
    top = _git("rev-parse", "--show-toplevel")
    if commit is None or top is None:
        raise UnusableInput([f"error: --against {named}: there is no such file, and no such commit in git here"])
    root = Path(os.fsdecode(top).removesuffix("\n"))
    return list(_at(os.fsdecode(commit).strip(), root, files))


def _at(commit: str, root: Path, files: Sequence[str]) -> Iterator[Source]:
    listed = _git("-C", str(root), "ls-tree", "-r", "-z", "--full-tree", commit) or b""
    wanted = [PurePosixPath(os.path.relpath(os.path.realpath(each), os.path.realpath(root))) for each in files]
    for entry in filter(None, os.fsdecode(listed).split("\0")):
        described, _, name = entry.partition("\t")
        mode, _, blob = described.split(" ")
        if mode in _REGULAR_FILES and any(_is_meant(PurePosixPath(name), each) for each in wanted):
            yield Source(name, _git("-C", str(root), "cat-file", "blob", blob) or b"")


def _is_meant(file: PurePosixPath, named: PurePosixPath) -> bool:
    """Whether ``-f named`` reads the file, as it does today."""
    return file == named or (file.is_relative_to(named) and in_folder(file.relative_to(named)))


def _git(*arguments: str) -> bytes | None:
    """What git answers, or ``None`` when it refuses or is not there."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, timeout=_GIT_S, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
