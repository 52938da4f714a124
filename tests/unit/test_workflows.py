"""GitHub's workflows, the action and the hook name what there is: verbs of the Makefile, scripts, images, and actions by their commits."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CI, RELEASE = (ROOT / ".github" / "workflows" / f"{name}.yaml" for name in ("ci", "release"))
ACTION = ROOT / "action.yml"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def parsed(file: Path) -> dict[str, Any]:
    """A workflow. YAML 1.1 reads its key `on` as a boolean."""
    tree: dict[Any, Any] = yaml.safe_load(file.read_text())
    return {"on" if key is True else key: value for key, value in tree.items()}


def steps(file: Path) -> Iterator[dict[str, Any]]:
    """All steps, of all jobs."""
    tree = parsed(file)
    for job in [tree["runs"]] if "runs" in tree else tree["jobs"].values():
        yield from job.get("steps", ())


@pytest.mark.parametrize("file", [CI, RELEASE, ACTION], ids=lambda file: file.stem)
def test_what_the_steps_run_is_there(file: Path) -> None:
    """Verbs are the Makefile's, scripts and charts are in the tree."""
    verbs = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = "\n".join(step.get("run", "") for step in steps(file))
    assert set(re.findall(r"\bmake ([a-z0-9]+)", commands)) <= verbs
    for path in re.findall(r"\b((?:scripts|charts|requirements)/[\w./-]+)", commands):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("file", [CI, RELEASE, ACTION], ids=lambda file: file.stem)
def test_actions_are_pinned(file: Path) -> None:
    """To a commit, since a tag can be moved; with the version beside it, for people and for updates."""
    used = re.findall(r"uses: (.+)", file.read_text())
    assert used
    for each in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\.github/workflows/ci\.yaml", each), each


@pytest.mark.parametrize("file", [CI, RELEASE], ids=lambda file: file.stem)
def test_jobs_may_do_little_and_end(file: Path) -> None:
    """Reading is all that a job may do unless it says so; each has a limit of time; checkouts keep no token."""
    tree = parsed(file)
    assert tree["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job or "uses" in job for job in tree["jobs"].values())
    for step in steps(file):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_ci_runs_what_a_contributor_runs() -> None:
    """Lint, all tests, and the cluster's on three minors of Kubernetes, with nothing skipped."""
    jobs = parsed(CI)["jobs"]
    run = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert run["lint"] == ["make lint"]
    assert run["test"][-2:] == [
        "make test ARGS=--junitxml=build/tests.xml",
        ".venv/bin/python scripts/none_skipped.py build/tests.xml",
    ]
    assert run["e2e"][-2:] == [
        "make e2e ARGS=--junitxml=build/e2e.xml",
        ".venv/bin/python scripts/none_skipped.py build/e2e.xml",
    ]
    minors = [
        version.removeprefix("v").rpartition(".")[0] for version in jobs["e2e"]["strategy"]["matrix"]["kubernetes"]
    ]
    assert jobs["test"]["env"]["KUBERNETES"].split() == minors
    assert len(minors) == 3


def test_the_images_are_the_ones_that_the_chart_names() -> None:
    """Targets of the Dockerfile, under the names that the chart's values have."""
    job = parsed(RELEASE)["jobs"]["images"]
    targets = job["strategy"]["matrix"]["target"]
    assert set(targets) <= set(re.findall(r"^FROM .* AS ([\w-]+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    values = yaml.safe_load((ROOT / "charts" / "switchyard" / "values.yaml").read_text())
    named = {f"{values[part]['image']['registry']}/{values[part]['image']['repository']}" for part in targets}
    (build,) = (step["with"] for step in job["steps"] if "build-push" in step.get("uses", ""))
    tag = build["tags"].replace("${{ env.REGISTRY }}", "ghcr.io/mcp-switchyard").partition(":")[0]
    assert {tag.replace("${{ matrix.target }}", target) for target in targets} == named
    assert (build["sbom"], build["provenance"], build["platforms"]) == (True, "mode=max", "linux/amd64,linux/arm64")


@pytest.mark.parametrize(
    ("tag", "code", "output"), [(f"v{VERSION}", 0, f"version={VERSION}\n"), ("v999.0.0", 1, ""), ("main", 1, "")]
)
def test_a_tag_must_be_the_version(tag: str, code: int, output: str) -> None:
    """Of distribution, chart and images alike."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "version.py", tag], capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stdout) == (code, output)


def test_the_documented_versions_are_the_present_one() -> None:
    """What users copy to use the hook and the action."""
    page = (ROOT / "docs" / "lint.md").read_text()
    assert re.findall(r"switchyard@v([\w.]+)|rev: v([\w.]+)", page) == [(VERSION, ""), ("", VERSION)]


def test_the_hook_is_the_command() -> None:
    """On whole folders: the changed files alone would not show where references lead."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["entry"], hook["pass_filenames"]) == ("switchyard-lint", "switchyard lint", False)
    assert re.search(hook["files"], "deploy/agents/gateway.yaml")


def write(file: Path, gateway: str, spec: str, *backends: str) -> None:
    """Write a gateway, in four lines, and backends."""
    objects = [("MCPGateway", gateway, spec), *(("MCPBackend", each, f"url: https://{each}/") for each in backends)]
    file.parent.mkdir()
    file.write_text(
        "---\n".join(
            f"apiVersion: switchyard.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{fields}}}\n"
            for kind, name, fields in objects
        )
    )


@pytest.mark.parametrize(
    ("paths", "against", "strict", "code", "said"),
    [
        ("good\n", "", "false", 0, []),
        ("warned", "", "false", 0, ["::warning title=AnyWebsite,file=warned/a.yaml,line=4,col=19::"]),
        ("good\n\nwarned\n", "", "true", 1, ["::warning title=AnyWebsite,file=warned/a.yaml,line=4,col=19::"]),
        ("good", "old folder", "true", 1, ["::warning title=RenamedTools,file=good/a.yaml,line=4,col=19::"]),
    ],
)
def test_the_action_lints(paths: str, against: str, strict: str, code: int, said: list[str], tmp_path: Path) -> None:
    """Its script, as the runner starts it, with the command where its first step installs it."""
    write(tmp_path / "good" / "a.yaml", "good", "backends: [{name: a}, {name: b}]", "a", "b")
    write(tmp_path / "old folder" / "a.yaml", "good", "backends: [{name: a}]", "a")
    write(tmp_path / "warned" / "a.yaml", "warned", "listener: {allowedOrigins: ['*']}")
    (tmp_path / "switchyard" / "bin").mkdir(parents=True)
    (tmp_path / "switchyard" / "bin" / "switchyard").symlink_to(Path(sys.executable).with_name("switchyard"))
    (step,) = (step for step in steps(ACTION) if step.get("name") == "Lint")
    bash = shutil.which("bash") or "/bin/bash"
    environment = {"RUNNER_TEMP": str(tmp_path), "PATHS": paths, "AGAINST": against, "STRICT": strict}
    done = subprocess.run(
        [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env=environment | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert [line[: len(start)] for line, start in zip(done.stdout.splitlines(), said, strict=True)] == said
