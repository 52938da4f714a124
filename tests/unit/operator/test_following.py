"""Noticing that manifests have changed, and taking over what can be taken over."""

import asyncio
from pathlib import Path

import pytest

from fakes.waiting import PATIENCE_S
from switchyard_operator.api.resource import Key
from switchyard_operator.cli.following import changes
from switchyard_operator.cli.publishing import Publisher
from switchyard_operator.cli.unusable import UnusableInput
from switchyard_operator.cli.voice import Voice
from switchyard_operator.manifests.sources import Sources
from switchyard_sidecar.config.load import load

GATEWAY = "{{apiVersion: switchyard.dev/v1alpha1, kind: MCPGateway, metadata: {{name: {name}}}, spec: {spec}}}\n---\n"
MAIN = Key("default", "main")


def write(folder: Path, name: str = "main", spec: str = "{}") -> Sources:
    """A folder with one gateway in ``NAME.yaml``."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(GATEWAY.format(name=name, spec=spec))
    return Sources((folder,))


async def test_each_change_is_noticed(tmp_path: Path) -> None:
    """One that came before the first look too."""
    sources = write(tmp_path)
    following = changes(sources, sources.fingerprint())
    for name in ("main", "other"):
        write(tmp_path, name, spec="{pageSize: 1}")
        async with asyncio.timeout(PATIENCE_S):
            await anext(following)


def published(publisher: Publisher) -> int:
    """The page size that the sidecar is told."""
    return load(publisher.directory).config.page_size


def test_the_gateway_chosen_first_stays_chosen(tmp_path: Path) -> None:
    """A second gateway in the files does not make an only one ambiguous."""
    publisher = Publisher(write(tmp_path / "m"), None, tmp_path / "c", Voice("console"))
    assert publisher.publish() == MAIN
    write(tmp_path / "m", "another")
    write(tmp_path / "m", spec="{pageSize: 5}")
    assert publisher.publish() == MAIN
    assert published(publisher) == 5


@pytest.mark.parametrize("spec", ["{pageSize: x}", "{auth: {}}", "[", "{"])
def test_what_cannot_be_used_leaves_everything_as_it_was(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mistakes and refusals alike."""
    publisher = Publisher(write(tmp_path / "m", spec="{pageSize: 3}"), None, tmp_path / "c", Voice("console"))
    publisher.publish()
    write(tmp_path / "m", spec=spec)
    with pytest.raises(UnusableInput):
        publisher.publish()
    publisher.publish_if_usable()
    assert published(publisher) == 3
    *faults, last = capsys.readouterr().err.splitlines()
    assert faults
    assert last == "error: these changes are not served; what runs goes on"


def test_a_finding_is_said_once_while_it_lasts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not at every change of something else, though its line may move; again when it comes back."""
    said: list[int] = []
    publisher = Publisher(write(tmp_path / "m"), None, tmp_path / "c", Voice("console"))
    for spec in (
        "{backends: [{name: gone}]}",
        "{pageSize: 1,\n backends: [{name: gone}]}",
        "{}",
        "{backends: [{name: gone}]}",
    ):
        write(tmp_path / "m", spec=spec)
        publisher.publish()
        said.append(len(capsys.readouterr().err.splitlines()))
    assert said == [1, 0, 0, 1]


@pytest.mark.parametrize(("uses_port", "said"), [(True, ["counts when `switchyard run` is started anew"]), (False, [])])
def test_another_port_is_said_not_to_count_yet(
    uses_port: bool, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless the manifests' port is not the one that is listened on."""
    publisher = Publisher(write(tmp_path / "m"), None, tmp_path / "c", Voice("console"), uses_port=uses_port)
    publisher.publish()
    write(tmp_path / "m", spec="{listener: {port: 9999}}")
    publisher.publish()
    lines = capsys.readouterr().err.splitlines()
    assert [part for line, part in zip(lines, said, strict=True) if part in line] == said


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """For example because the disk is full."""
    (tmp_path / "c").write_text("in the way")
    with pytest.raises(UnusableInput, match="cannot be written: File exists"):
        Publisher(write(tmp_path / "m"), None, tmp_path / "c", Voice("console")).publish()
