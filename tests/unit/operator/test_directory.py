"""The config directory is written as the kubelet writes a volume."""

import os
import stat
from pathlib import Path

import pytest

from switchyard_operator.compile.directory import write

FIRST = {"gateway.json": b"1", "cred_a": b"a", "cred_key": b"k"}
SECOND = {"gateway.json": b"2", "cred_key": b"k"}


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.startswith("..")}


def generations(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.is_dir() and not path.is_symlink()]


def test_files_are_links_through_one_link(tmp_path: Path) -> None:
    """Whoever reads through `..data` sees one generation whole."""
    write(tmp_path / "config", FIRST)
    directory = tmp_path / "config"
    assert content(directory) == FIRST
    assert str((directory / "gateway.json").readlink()) == "..data/gateway.json"
    assert (directory / "..data").is_symlink()
    assert [path.name for path in generations(directory)] == [str((directory / "..data").readlink())]


def test_a_change_is_one_swap_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Old generations, links that lead nowhere and the half-made link are gone."""
    write(tmp_path, FIRST)
    before = str((tmp_path / "..data").readlink())
    assert write(tmp_path, SECOND) is True
    assert str((tmp_path / "..data").readlink()) != before
    assert content(tmp_path) == SECOND
    assert len(generations(tmp_path)) == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_symlink()) == [
        "..data",
        "cred_key",
        "gateway.json",
    ]


def test_a_reader_keeps_its_generation_while_it_has_it_open(tmp_path: Path) -> None:
    """A file that is open is read to its end, whatever is written meanwhile."""
    write(tmp_path, FIRST)
    with (tmp_path / "gateway.json").open("rb") as file:
        write(tmp_path, SECOND)
        assert file.read() == b"1"


def test_equal_content_changes_nothing(tmp_path: Path) -> None:
    """So that the sidecar has nothing to read again."""
    assert write(tmp_path, FIRST) is True
    before = str((tmp_path / "..data").readlink())
    assert write(tmp_path, dict(FIRST)) is False
    assert str((tmp_path / "..data").readlink()) == before


def test_what_was_left_by_a_crash_is_overwritten(tmp_path: Path) -> None:
    """A dangling half-made link and a generation nobody names do no harm."""
    write(tmp_path, FIRST)
    (tmp_path / "..data_tmp").symlink_to("..nowhere")
    (tmp_path / "..2026_01_01_00_00_00.x").mkdir()
    write(tmp_path, SECOND)
    assert content(tmp_path) == SECOND
    assert len(generations(tmp_path)) == 1
    assert not (tmp_path / "..data_tmp").is_symlink()


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    """Not under a generous umask, nor when the directory was there before."""
    directory = tmp_path / "config"
    directory.mkdir(mode=0o755)
    umask = os.umask(0)
    try:
        write(directory, FIRST)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in generations(directory)] == [0o700]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (directory / "..data").iterdir()} == {0o600}


def test_a_directory_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    """The caller says so to its user."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        write(tmp_path / "file" / "config", FIRST)
