"""`switchyard lint`, as a pull request sees it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.cli.command import OTHER_KIND, SWITCHYARD, backend, gateway, manifests, secret, switchyard

ROOT = Path(__file__).parents[3]
UNKNOWN = gateway("{name: githb}")
CLEAR = backend("github", "http://github.example/mcp", "auth: {type: Bearer, secretKeyRef: {name: gh, key: token}}")
TOKEN = secret("gh", token="x")


@pytest.mark.parametrize(
    ("texts", "options", "code", "said"),
    [
        pytest.param({"a": gateway("{name: a}"), "b": backend("a", "https://a/") + OTHER_KIND}, [], 0, ["0 errors, 0 warnings, 0 notes"], id="well"),
        pytest.param({}, [], 0, ["0 errors, 0 warnings, 0 notes"], id="an empty folder"),
        pytest.param(
            {"a": UNKNOWN, "b": CLEAR, "c": TOKEN},
            [],
            1,
            [
                "error: FOLDER/a.yaml:5:19: MCPGateway agents/main: spec.backends[0]: there is no MCPBackend agents/githb; did you mean github? [BackendNotFound]",
                "warning: FOLDER/b.yaml:5:8: MCPBackend agents/github: spec.url: sends a credential without encryption: use https [CredentialInClear]",
                "1 error, 1 warning, 0 notes",
            ],
            id="an error and a warning",
        ),
        pytest.param(
            {"b": CLEAR, "c": TOKEN},
            [],
            0,
            [
                "warning: FOLDER/b.yaml:5:8: MCPBackend agents/github: spec.url: sends a credential without encryption: use https [CredentialInClear]",
                "0 errors, 1 warning, 0 notes",
            ],
            id="a warning",
        ),
        pytest.param(
            {"b": CLEAR, "c": TOKEN},
            ["--strict", "--format=github"],
            1,
            ["::warning title=CredentialInClear,file=FOLDER/b.yaml,line=5,col=8::MCPBackend agents/github: spec.url: sends a credential without encryption: use https [CredentialInClear]"],
            id="a warning where warnings fail",
        ),
        pytest.param(
            {"a": backend("a", "https://a/", "transport: SSE")},
            ["--strict"],
            0,
            [
                "note: FOLDER/a.yaml:5:27: MCPBackend agents/a: spec.transport: HTTP+SSE is deprecated in MCP since 2025-03-26; move the server to Streamable HTTP when it can [DeprecatedTransport]",
                "0 errors, 0 warnings, 1 note",
            ],
            id="a note",
        ),
    ],
)  # fmt: skip
def test_findings_are_printed_and_decide_the_exit_code(
    texts: dict[str, str], options: list[str], code: int, said: list[str], tmp_path: Path
) -> None:
    """On standard output, since they are what the command is for."""
    folder = manifests(tmp_path / "m", **texts)
    done = switchyard("lint", "-f", folder, *options)
    assert [line.replace(str(folder), "FOLDER") for line in done.stdout.splitlines()] == said
    assert (done.returncode, done.stderr) == (code, "")


def test_json_is_for_programs() -> None:
    """From standard input, as a template engine would pipe it."""
    done = switchyard("lint", "-f", "-", "--format", "json", stdin=UNKNOWN + CLEAR)
    assert [(each["file"], each["line"], each["reason"]) for each in json.loads(done.stdout)] == [
        ("standard input", 5, "BackendNotFound"),
        ("standard input", 10, "CredentialInClear"),
        ("standard input", 10, "SecretNotFound"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-f", "gone.yaml"], "error: gone.yaml: cannot be read: No such file or directory\n"),
        (["-f", ""], "error: -f '': names no file\n"),
        (
            ["-f", ".", "--against", "no-such-branch"],
            "error: --against no-such-branch: there is no such file, and no such commit in git here\n",
        ),
        (
            ["-f", ".", "--against", "--help"],
            None,
        ),
    ],
)
def test_where_nothing_can_be_looked_at_the_exit_code_is_2(
    arguments: list[str], said: str | None, tmp_path: Path
) -> None:
    """A mistyped path must not look like manifests without a mistake, nor like some with one."""
    done = lint_in(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said is None or done.stderr == said


def lint_in(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [SWITCHYARD, "lint", *arguments], cwd=folder, capture_output=True, text=True, timeout=20, check=False
    )


def git(folder: Path, *arguments: str) -> None:
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example", "GIT_CONFIG_GLOBAL": os.devnull}
    committer = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example", "PATH": os.environ["PATH"]}
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=identity | committer)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose commit `main` has one backend in `deploy/`, and whose work tree has two."""
    manifests(tmp_path / "deploy", a=gateway("{name: a}"), b=backend("a", "https://a/"))
    manifests(tmp_path / "deploy" / ".hidden", a="kind: [")
    manifests(tmp_path / "other", c="kind: [")
    (tmp_path / "deploy" / "README.md").write_text("kind: [")
    (tmp_path / "deploy" / "link.yaml").symlink_to("a.yaml")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=first")
    manifests(tmp_path / "deploy", a=gateway("{name: a}", "{name: c}"), c=backend("c", "https://c/"))
    return tmp_path


RENAMED = (
    "warning: {}a.yaml:5:19: MCPGateway agents/main: spec.backends[0]: tools of agents/a are renamed: * is now a__* "
    "[RenamedTools]\n0 errors, 1 warning, 0 notes\n"
)


@pytest.mark.parametrize(
    ("within", "named", "shown"),
    [(".", "deploy", "deploy/"), (".", "deploy/a.yaml", None), ("deploy", ".", ""), ("other", "../deploy", "../deploy/")],
)  # fmt: skip
def test_tools_that_a_change_renames_are_pointed_out(
    within: str, named: str, shown: str | None, repository: Path
) -> None:
    """Compared with a commit, wherever in the repository the command is run; a file alone is compared with itself."""
    done = lint_in(repository / within, "-f", named, "--against", "main")
    if shown is None:
        assert "RenamedTools" in done.stdout
    else:
        assert (done.stdout, done.returncode) == (RENAMED.format(shown), 0)


def test_the_old_version_can_be_a_path(repository: Path, tmp_path: Path) -> None:
    """Where there is no git, or the old version is what a template engine made of it."""
    old = manifests(tmp_path / "old", a=gateway("{name: a}"))
    assert lint_in(repository, "-f", "deploy", "--against", str(old)).stdout == RENAMED.format("deploy/")
    assert lint_in(repository, "-f", "deploy", "--against", "deploy").stdout == "0 errors, 0 warnings, 0 notes\n"


def test_what_is_new_is_compared_with_nothing(repository: Path) -> None:
    """Neither a gateway that was not there, nor a file."""
    manifests(repository / "new", a=gateway("{name: a}"), b=backend("a", "https://a/"))
    assert lint_in(repository, "-f", "new", "--against", "main").stdout == "0 errors, 0 warnings, 0 notes\n"


def test_the_hook_and_the_action_need_the_cli_extra_alone() -> None:
    """Neither kopf nor a Kubernetes client nor jsonschema is imported."""
    program = (
        "import sys\n"
        "for name in ('kopf', 'kubernetes', 'jsonschema'): sys.modules[name] = None\n"
        "from switchyard_operator.cli.main import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "lint", "-f", str(ROOT / "examples" / "quickstart"), "--strict"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, "0 errors, 0 warnings, 0 notes\n")
