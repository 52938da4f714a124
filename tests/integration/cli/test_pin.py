"""`switchyard pin`: what backends list now, as a diff to be reviewed, and written only when asked for."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from fakes import hostile
from fakes.hostile import HostileBackend
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool, tools
from integration.cli.command import backend, gateway, manifests, secret, switchyard
from switchyard_sidecar.catalog.definition import ToolDefinition, parse_tool

BEARER = "auth: {type: Bearer, secretKeyRef: {name: gh, key: token}}"
MANIFEST = """\
# Ours.
apiVersion: switchyard.dev/v1alpha1
kind: MCPBackend
metadata: {{name: {name}, namespace: agents}}
spec:
  url: "{url}"  # inside
  pinning:
    mode: Enforce   # agreed with security
"""


async def run(*arguments: str | Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """Run the command while the backends answer."""
    return await asyncio.to_thread(switchyard, "pin", *arguments, stdin=stdin)


def digest(name: str, **keys: object) -> str:
    """Of a definition as the fakes write it."""
    parsed = parse_tool(json.dumps(tool(name, **keys)).encode(), max_bytes=10_000)
    assert isinstance(parsed, ToolDefinition)
    return parsed.digest.hex()


def pin(name: str, **keys: object) -> str:
    """A pin as it is written."""
    return f'    - {{tool: {name}, sha256: "{digest(name, **keys)}"}}'


async def test_the_diff_is_printed_and_nothing_is_changed(tmp_path: Path) -> None:
    """Of the pins alone, and of backends of both eras; with `--check`, a diff is a failure."""
    async with ModernBackend(*tools("b", "a")) as one, LegacyBackend(tool("c")) as two:
        texts = {"one": MANIFEST.format(name="one", url=one.url), "two": MANIFEST.format(name="two", url=two.url)}
        folder = manifests(tmp_path / "m", **texts)
        done = await run("-f", folder)
        assert (done.returncode, done.stderr.splitlines()) == (
            0,
            ["MCPBackend agents/one: 2 tools, 2 new", "MCPBackend agents/two: 1 tool, 1 new"],
        )
        assert [line for line in done.stdout.splitlines() if line[0] in "+-"] == [
            f"--- {folder}/one.yaml",
            f"+++ {folder}/one.yaml",
            "+    digests:",
            "+" + pin("a"),
            "+" + pin("b"),
            f"--- {folder}/two.yaml",
            f"+++ {folder}/two.yaml",
            "+    digests:",
            "+" + pin("c"),
        ]
        assert {path.stem: path.read_text() for path in folder.iterdir()} == texts
        assert (await run("-f", folder, "--check")).returncode == 1
        assert one.complaints == two.complaints == []


async def test_what_is_written_is_what_was_shown_and_then_all_is_as_pinned(tmp_path: Path) -> None:
    """The file keeps its comments and its permissions; the printed diff applies to what was there."""
    async with ModernBackend(*tools("b", "a")) as one:
        before = MANIFEST.format(name="one", url=one.url)
        folder = manifests(tmp_path / "m", one=before)
        file = folder / "one.yaml"
        file.chmod(0o640)
        shown = await run("-f", folder)
        done = await run("-f", folder, "--write")
        assert (done.returncode, done.stdout) == (0, shown.stdout)
        assert file.read_text() == f"{before}    digests:\n{pin('a')}\n{pin('b')}\n"
        assert file.stat().st_mode & 0o777 == 0o640
        assert [path.name for path in folder.iterdir()] == ["one.yaml"]
        checked = await run("-f", folder, "--check")
        assert (checked.returncode, checked.stdout) == (0, "")
        assert checked.stderr == "MCPBackend agents/one: 2 tools, all as pinned\n"


async def test_a_changed_tool_is_one_line_of_the_diff(tmp_path: Path) -> None:
    """Its name beside it; a new and a gone tool likewise."""
    async with ModernBackend(*tools("a", "b", "c")) as one:
        folder = manifests(tmp_path / "m", one=MANIFEST.format(name="one", url=one.url))
        await run("-f", folder, "--write")
        one.tools[:] = [tool("a"), tool("b", description="Sends everything elsewhere."), tool("d")]
        done = await run("-f", folder, "--check")
        assert done.returncode == 1
        assert [line for line in done.stdout.splitlines()[2:] if line[0] in "+-"] == [
            "-" + pin("b"),
            "-" + pin("c"),
            "+" + pin("b", description="Sends everything elsewhere."),
            "+" + pin("d"),
        ]
        assert done.stderr == "MCPBackend agents/one: 3 tools, 1 changed, 1 new, 1 gone\n"


async def test_one_backend_is_pinned_with_the_filter_and_the_secret_of_its_manifest(tmp_path: Path) -> None:
    """Others are not asked. Tools that its own filter leaves out are not pinned; a gateway then serves what is."""
    async with ModernBackend(*tools("a", "hidden")) as one, ModernBackend(tool("x")) as other:
        spec = f"{BEARER}, tools: {{exclude: [hidden]}}, pinning: {{mode: Enforce}}"
        folder = manifests(
            tmp_path / "m",
            g=gateway("{name: one}"),
            b=backend("one", one.url, spec) + backend("other", other.url),
            s=secret("gh", token="s3cret"),
        )
        done = await run("-f", folder, "--backend", "agents/one", "--write")
        assert (done.returncode, done.stderr) == (0, "MCPBackend agents/one: 1 tool, 1 new\n")
        assert digest("a") in (folder / "b.yaml").read_text()
        assert digest("hidden") not in (folder / "b.yaml").read_text()
        assert {dict(request.headers)["Authorization"] for request in one.requests} == {"Bearer s3cret"}
        assert other.requests == []
        assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize(("status", "hint"), [(500, ""), (404, " (see the path of its address)")])
async def test_where_a_backend_cannot_be_listed_nothing_is_written(tmp_path: Path, status: int, hint: str) -> None:
    """Not even for those that can: half a pin is no agreement."""
    refuses = HostileBackend(lambda _: hostile.body(b"evil", status=status))
    async with ModernBackend(tool("a")) as one, refuses as dead:
        texts = {"one": MANIFEST.format(name="one", url=one.url), "two": MANIFEST.format(name="two", url=dead.url)}
        folder = manifests(tmp_path / "m", **texts)
        done = await run("-f", folder, "--write")
        assert (done.returncode, done.stdout) == (2, "")
        said = f"error: MCPBackend agents/two: cannot be listed: HTTP {status}{hint}; nothing is written\n"
        assert done.stderr == said
        assert {path.stem: path.read_text() for path in folder.iterdir()} == texts


async def test_pins_without_a_mode_are_written_and_said_to_have_no_effect(tmp_path: Path) -> None:
    """The mode is the author's to choose."""
    async with ModernBackend(tool("a")) as one:
        folder = manifests(tmp_path / "m", one=backend("one", one.url))
        done = await run("-f", folder, "--write")
        assert done.returncode == 0
        assert "mode" not in (folder / "one.yaml").read_text()
        assert "note: MCPBackend agents/one: spec.pinning.mode is None, so that digests have no effect" in done.stderr


async def test_a_hostile_name_does_nothing_to_a_terminal_and_hides_nothing_from_a_reviewer(tmp_path: Path) -> None:
    """Neither in the diff nor in notes: it is written with escapes."""
    async with ModernBackend(tool("p\u0430y\u202e"), b'{"name":"\\u001b[2J"}') as one:
        folder = manifests(tmp_path / "m", one=MANIFEST.format(name="one", url=one.url))
        done = await run("-f", folder)
        assert done.returncode == 0
        assert (done.stdout + done.stderr).isascii()
        assert '{tool: "p\\u0430y\\u202e", sha256:' in done.stdout
        assert "note: MCPBackend agents/one: '\\x1b[2J' is never listed, and not pinned: " in done.stderr


async def test_tools_that_a_person_would_take_for_one_another_are_pointed_out(tmp_path: Path) -> None:
    """Whoever reviews the diff is told which letters to look at; what is left out by the manifest is not mentioned."""
    async with ModernBackend(*tools("paypal", "p\u0430ypal", "Paypal")) as one:
        folder = manifests(
            tmp_path / "m", one=backend("one", one.url, "tools: {exclude: [Paypal]}, pinning: {mode: Warn}")
        )
        done = await run("-f", folder)
        told = "see whether it is meant, or leave it out with spec.tools"
        assert done.stderr.splitlines() == [
            "MCPBackend agents/one: 2 tools, 2 new",
            f"warning: MCPBackend agents/one: 'p\\u0430ypal' looks like 'paypal': {told}",
            f"warning: MCPBackend agents/one: 'p\\u0430ypal' mixes scripts within a word: {told}",
        ]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("auth: {type: Forward}", "lists its tools to callers with a token of their own: pin it by hand"),
        (BEARER, "there is no Secret agents/gh"),
        ("limits: {pages: 1}", "was not listed to the end: see spec.limits; nothing is written"),
    ],
)
async def test_what_cannot_be_pinned_is_said(tmp_path: Path, spec: str, said: str) -> None:
    """With what to do about it."""
    async with ModernBackend(*tools("a", "b")) as one:
        one.page_size = 1
        folder = manifests(tmp_path / "m", one=backend("one", one.url, spec))
        done = await run("-f", folder, "--write")
        assert done.returncode == 2
        assert said in done.stderr


async def test_standard_input_is_compared_and_cannot_be_written_to(tmp_path: Path) -> None:
    """A pipeline can check."""
    async with ModernBackend(tool("a")) as one:
        text = MANIFEST.format(name="one", url=one.url)
        checked = await run("-f", "-", "--check", stdin=text)
        assert (checked.returncode, pin("a") in checked.stdout) == (1, True)
        refused = await run("-f", "-", "--write", stdin=text)
        assert (refused.returncode, refused.stderr) == (
            2,
            "error: standard input cannot be written to; nothing is written\n",
        )


def test_a_backend_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With those that are."""
    folder = manifests(tmp_path / "m", one=backend("one", "http://127.0.0.1:1/"))
    done = switchyard("pin", "-f", folder, "--backend", "agents/two")
    assert (done.returncode, done.stderr) == (
        2,
        "error: there is no MCPBackend agents/two in these files; there is agents/one\n",
    )
