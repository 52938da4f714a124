"""Which files are meant, their contents, and whether they have changed. The one place that reads users' files."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import IO, Final, TypeAlias

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""What is read in a folder. A file named itself may be called anything."""
STANDARD_INPUT: Final = "-"

MAX_FILE_BYTES: Final = 32 * 1024 * 1024
"""The largest file that is read; Kubernetes takes no object over a few MiB."""

Fingerprint: TypeAlias = Mapping[Path, tuple[int, int, int] | None]
"""Modification time, size and inode of every file that is meant; None for one that is not there."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file's text, or why there is none."""

    name: str
    content: bytes = field(default=b"", repr=False)
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Sources:
    """The paths that ``-f`` named: files, folders (all below, without hidden ones), or ``-`` for standard input.

    What can be read only once (standard input, a pipe) is read when this is made by :meth:`of`, and stays as it is.
    """

    paths: tuple[Path, ...]
    streams: tuple[Source, ...] = ()

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "Sources":
        """The sources that these arguments name."""
        paths, streams = [], []
        for argument in dict.fromkeys(arguments):
            path = Path(argument)
            if not argument:  # a shell's unset variable, and not the folder one happens to be in
                streams.append(Source("-f ''", fault="names no file"))
            elif argument == STANDARD_INPUT:
                streams.append(_read("standard input", sys.stdin.buffer))
            elif path.is_fifo():
                streams.append(_open(path))
            else:
                paths.append(path)
        return cls(tuple(paths), tuple(streams))

    def read(self) -> Iterator[Source]:
        """All files' texts, each file once, folders in order of name."""
        yield from self.streams
        seen: set[str] = set()
        for path in self._files():
            real = os.path.realpath(path)  # Path.resolve() raises on links in a circle before Python 3.13
            if real not in seen:
                seen.add(real)
                yield _open(path)

    def fingerprint(self) -> Fingerprint:
        """What tells a change: of any file, and of which files there are. Cheap: contents are not read."""
        return {path: _identity(path) for path in self._files()}

    def _files(self) -> Iterator[Path]:
        for named in self.paths:
            if named.is_dir():
                yield from _below(named)
            else:
                yield named


def in_folder(below: PurePath) -> bool:
    """Whether naming a folder reads the file that lies at this path below it."""
    return below.name.endswith(SUFFIXES) and not any(part.startswith(".") for part in below.parts)


def _below(folder: Path) -> Iterator[Path]:
    """The files in a folder, and the folders that cannot be read (so that reading them says why)."""
    unreadable: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=lambda error: unreadable.append(Path(error.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(parent, name)
            if in_folder(PurePath(name)) and not path.is_fifo():  # a pipe waits for its writer
                yield path
    yield from unreadable


def _open(path: Path) -> Source:
    try:
        with path.open("rb") as stream:
            return _read(str(path), stream)
    except OSError as error:
        return Source(str(path), fault=f"cannot be read: {error.strerror}")


def _read(name: str, stream: IO[bytes]) -> Source:
    content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        return Source(name, fault=f"is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
    return Source(name, content)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
