"""Following a config directory: every change of content once, and nothing for what is none."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from switchyard_sidecar.config.load import ConfigError, Loaded
from switchyard_sidecar.config.watch import Observed, Withdrawn, watch
from unit.config.directory import backend, bearer, gateway, project, write


class Over(Exception):  # noqa: N818
    """The steps are done."""


async def observe(directory: Path, *steps: Callable[[], object] | float) -> list[str]:
    """Follow a directory while the steps happen, each once the watcher has looked; a number is seconds that pass."""
    clock = wait = 0.0
    pending = list(steps)
    seen: list[str] = []

    async def sleep(seconds: float) -> None:
        nonlocal clock, wait
        clock += seconds
        wait -= seconds
        if wait > 0:
            return
        if not pending:
            raise Over
        match pending.pop(0):
            case float(duration):
                wait = duration
            case step:
                await asyncio.to_thread(step)

    with suppress(Over):
        async for observed in watch(directory, now=lambda: clock, sleep=sleep):
            seen.append(told(observed))  # noqa: PERF401 - what was seen before the end counts
    return seen


def told(observed: Observed) -> str:
    """An observation in one word, and the names of its backends; ``?``: the credential has not arrived."""
    match observed:
        case Loaded():
            names = [each.name + ("?" if each.id in observed.pending else "") for each in observed.config.backends]
            return "loaded " + ",".join(names)
        case ConfigError():
            return "error"
        case Withdrawn():
            return "withdrawn"


A = gateway(backend("a"))
B = gateway(backend("b"))


async def test_changes_of_plain_files_are_seen(tmp_path: Path) -> None:
    """On a laptop: each saved file is a change, and a broken one is reported until it is mended."""
    file = tmp_path / "gateway.json"
    write(tmp_path, A)
    assert await observe(
        tmp_path, lambda: write(tmp_path, B), lambda: file.write_text("{"), 1.0, lambda: write(tmp_path, A), 1.0
    ) == ["loaded a", "loaded b", "error", "loaded a"]


async def test_swapped_volume_is_seen(tmp_path: Path) -> None:
    """In a pod: the kubelet swaps one link, and config and credentials change together."""
    config = gateway(bearer("a", "cred_a"))
    project(tmp_path, "1", config)
    assert await observe(tmp_path, lambda: project(tmp_path, "2", config, {"cred_a": b"s3cret"})) == [
        "loaded a?",
        "loaded a",
    ]


async def test_changed_credential_alone_is_seen(tmp_path: Path) -> None:
    """The config may stay the same while a credential arrives."""
    write(tmp_path, gateway(bearer("a", "cred_a")))
    assert await observe(tmp_path, lambda: (tmp_path / "cred_a").write_bytes(b"s3cret")) == ["loaded a?", "loaded a"]


async def test_link_to_nowhere_hides_nothing(tmp_path: Path) -> None:
    """It costs whoever needs it, at most: changes of all other files are seen as before."""
    write(tmp_path, A)
    (tmp_path / "cred_old").symlink_to("nowhere")
    assert await observe(tmp_path, lambda: write(tmp_path, B), 60.0, lambda: write(tmp_path, A)) == [
        "loaded a",
        "loaded b",
        "loaded a",
    ]


async def test_rewritten_but_equal_content_is_no_change(tmp_path: Path) -> None:
    """Written again, or swapped for the same: nobody needs to know."""
    plain, volume = tmp_path / "plain", tmp_path / "volume"
    write(plain, A)
    assert await observe(plain, lambda: write(plain, A), 1.0) == ["loaded a"]
    project(volume, "1", A)
    assert await observe(volume, lambda: project(volume, "2", A), 1.0) == ["loaded a"]


async def test_config_gone_for_ten_seconds_is_withdrawn(tmp_path: Path) -> None:
    """Gone is told once, and only after the time that a replacement may take."""
    directory = tmp_path / "config"
    write(directory, A)
    gone = lambda: shutil.rmtree(directory)  # noqa: E731
    assert await observe(directory, gone, 9.5) == ["loaded a"]
    assert await observe(directory) == []
    write(directory, A)
    assert await observe(directory, gone, 60.0) == ["loaded a", "withdrawn"]


async def test_config_file_gone_from_the_volume_is_withdrawn(tmp_path: Path) -> None:
    """The directory may stay while its ConfigMap is deleted."""
    project(tmp_path, "1", A)
    assert await observe(tmp_path, lambda: project(tmp_path, "2", None), 11.0) == ["loaded a", "withdrawn"]


async def test_config_that_is_soon_back_was_never_gone(tmp_path: Path) -> None:
    """Deleted and created anew within ten seconds: nothing has happened, each time."""
    directory = tmp_path / "config"
    write(directory, A)
    back_and_gone: list[Callable[[], object] | float] = [
        lambda: write(directory, A),
        1.0,
        lambda: shutil.rmtree(directory),
        9.0,
    ]
    assert await observe(directory, *(back_and_gone * 3)) == ["loaded a"]


async def test_withdrawn_config_may_return(tmp_path: Path) -> None:
    """The same config after a withdrawal is news."""
    directory = tmp_path / "config"
    write(directory, A)
    assert await observe(directory, lambda: shutil.rmtree(directory), 11.0, lambda: write(directory, A)) == [
        "loaded a",
        "withdrawn",
        "loaded a",
    ]


async def test_broken_config_may_be_withdrawn_too(tmp_path: Path) -> None:
    """It has been there, although it was never of use."""
    (tmp_path / "gateway.json").write_text("{")
    assert await observe(tmp_path, (tmp_path / "gateway.json").unlink, 11.0) == ["error", "withdrawn"]


async def test_config_that_never_was_says_nothing_until_it_comes(tmp_path: Path) -> None:
    """A sidecar may start before its volume is filled, or its directory made."""
    directory = tmp_path / "config"
    assert await observe(directory, 60.0, directory.mkdir, 60.0, lambda: write(directory, A)) == ["loaded a"]
