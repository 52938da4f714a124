"""Which files are meant, and whether they have changed."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from switchyard_operator.manifests import sources
from switchyard_operator.manifests.sources import Sources


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(paths: list[Path], below: Path) -> list[str]:
    read = Sources.of([str(path) for path in paths]).read()
    return [str(Path(source.name).relative_to(below)) for source in read]


def test_a_folder_is_read_in_order_of_name_without_what_is_hidden(tmp_path: Path) -> None:
    """YAML and JSON, folders below too; not .git, nor the double links of a mounted ConfigMap."""
    for name in ("b.yaml", "a.yml", "c.json", "README.md", "sub/d.yaml", ".git/x.yaml", "..2026/a.yml", ".hidden.yaml"):
        write(tmp_path / name)
    assert names([tmp_path], tmp_path) == ["a.yml", "b.yaml", "c.json", "sub/d.yaml"]


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    """Only who names a pipe means that somebody writes into it."""
    write(tmp_path / "a.yaml")
    os.mkfifo(tmp_path / "b.yaml")
    assert names([tmp_path], tmp_path) == ["a.yaml"]


def test_an_empty_argument_names_nothing() -> None:
    """It is a variable that is not set; the folder one happens to be in was not meant."""
    (source,) = Sources.of([""]).read()
    assert (source.name, source.fault) == ("-f ''", "names no file")


def test_a_file_named_itself_may_be_called_anything_and_is_read_once(tmp_path: Path) -> None:
    """Also when a folder around it is named too."""
    file = write(tmp_path / "gateway.conf")
    other = write(tmp_path / "a.yaml")
    assert names([file, other, tmp_path, other], tmp_path) == ["gateway.conf", "a.yaml"]


def test_what_cannot_be_read_is_a_fault_of_that_file(tmp_path: Path) -> None:
    """A missing file does not keep the others from being read."""
    write(tmp_path / "a.yaml", "x")
    missing, there = Sources.of([str(tmp_path / "missing"), str(tmp_path / "a.yaml")]).read()
    assert (missing.fault, missing.content) == ("cannot be read: No such file or directory", b"")
    assert (there.fault, there.content) == (None, b"x")


def test_a_file_too_large_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log file named by mistake is refused."""
    monkeypatch.setattr(sources, "MAX_FILE_BYTES", 1024 * 1024)
    with (tmp_path / "a.yaml").open("wb") as file:
        file.truncate(1024 * 1024 + 1)
    (source,) = Sources.of([str(tmp_path)]).read()
    assert (source.fault, source.content) == ("is larger than 1 MiB", b"")


def test_a_pipe_is_read_once_and_stays_as_it_was(tmp_path: Path) -> None:
    """`-f <(helm template ...)` gives its text once only."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("kind: x",))
    writer.start()
    made = Sources.of([str(pipe)])
    writer.join()
    assert [source.content for source in made.read()] == [b"kind: x"]
    assert [source.content for source in made.read()] == [b"kind: x"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: write(folder / "a.yaml", "longer"), id="another size"),
        pytest.param(lambda folder: os.utime(folder / "a.yaml", (1, 1)), id="another time"),
        pytest.param(lambda folder: (folder / "a.yaml").unlink(), id="removed"),
        pytest.param(lambda folder: write(folder / "b.yaml"), id="added"),
        pytest.param(lambda folder: write(folder / "sub" / "b.yaml"), id="added below"),
        pytest.param(lambda folder: write(folder / "new").replace(folder / "a.yaml"), id="replaced by rename"),
    ],
)
def test_every_change_of_the_files_changes_the_fingerprint(change: Callable[[Path], object], tmp_path: Path) -> None:
    """Whatever way an editor or a Git checkout writes."""
    write(tmp_path / "a.yaml", "x")
    made = Sources.of([str(tmp_path)])
    before = made.fingerprint()
    assert made.fingerprint() == before
    change(tmp_path)
    assert made.fingerprint() != before


def test_a_named_file_that_comes_and_goes_changes_the_fingerprint(tmp_path: Path) -> None:
    """It is looked for even while it is not there."""
    made = Sources.of([str(tmp_path / "a.yaml")])
    before = made.fingerprint()
    write(tmp_path / "a.yaml")
    assert made.fingerprint() != before


def test_files_that_are_not_read_do_not_change_the_fingerprint(tmp_path: Path) -> None:
    """An editor's swap file is none of our business."""
    made = Sources.of([str(tmp_path)])
    before = made.fingerprint()
    write(tmp_path / ".a.yaml.swp")
    write(tmp_path / "notes.txt")
    assert made.fingerprint() == before
