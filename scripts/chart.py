"""Write what is made of the chart: the table of values in its README, and the manifests in `deploy` for whoever has no Helm.

    chart.py [FOLDER]

Into the project's folder, or another one. Needs `helm`. A test fails when the project's files are not what this writes.
"""

import argparse
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
CHART = Path("charts") / "switchyard"
README = CHART / "README.md"
MANIFESTS = Path("deploy") / "switchyard.yaml"
BEGIN, END = "<!-- values -->\n", "<!-- /values -->\n"
HEADER = "# Made by `make chart` from charts/switchyard. Change it there, or in a kustomization of your own.\n"
NAMESPACE = "switchyard-system"


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    folder: Path = parser.parse_args().folder
    for file, content in ((README, readme()), (MANIFESTS, manifests())):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content)


def readme() -> str:
    """The chart's README, with a row for each value."""
    before, _, rest = (ROOT / README).read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "".join(f"| `{path}` | {meaning} | `{default}` |\n" for path, meaning, default in values())
    return f"{before}{BEGIN}| value | meaning | default |\n|---|---|---|\n{rows}{END}{after}"


def values() -> Iterator[tuple[str, str, str]]:
    """Path, meaning and default of every value that `values.yaml` describes: what the comment above it says."""
    text = (ROOT / CHART / "values.yaml").read_text()
    root = yaml.compose(text, yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)  # noqa: S101 - it is ours
    yield from _values(root, text.splitlines(), "")


def _values(node: yaml.MappingNode, lines: list[str], prefix: str) -> Iterator[tuple[str, str, str]]:
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        if meaning := _comment(lines, key.start_mark.line):
            default = yaml.safe_load(yaml.serialize(value))
            yield path, meaning.replace("|", "\\|"), json.dumps(default, ensure_ascii=False).replace("|", "\\|")
        elif isinstance(value, yaml.MappingNode):
            yield from _values(value, lines, f"{path}.")
        else:
            raise SystemExit(f"values.yaml, line {key.start_mark.line + 1}: no comment says what {path} is for")


def _comment(lines: list[str], line: int) -> str:
    """The comment right above a line."""
    found: list[str] = []
    while line and (text := lines[line - 1].strip()).startswith("#"):
        found.insert(0, text.removeprefix("#").strip())
        line -= 1
    return " ".join(found)


def manifests() -> str:
    """What the chart renders with its defaults, without what only Helm understands."""
    command = ["helm", "template", "switchyard", str(ROOT / CHART), "--namespace", NAMESPACE]
    # Without a cluster an older Helm takes for granted the Kubernetes that it was made with.
    options = ["--kube-version=1.33.0", "--skip-tests", "--set=crds.install=false"]
    done = subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE, text=True)
    # Versions of Helm differ in the empty lines between objects.
    return HEADER + re.sub(r"\s+(?=\n---\n)", "", done.stdout).rstrip() + "\n"


if __name__ == "__main__":
    main()
