"""The real Helm and this project's chart, rendered without a cluster."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from required import missing

Object = dict[str, Any]

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "charts" / "switchyard"
RELEASE: Final = "switchyard"
NAMESPACE: Final = "switchyard-system"
TIMEOUT_S: Final = 30.0


class RefusedError(Exception):
    """Helm said no; the message is what it said."""


def helm(*arguments: str | Path, stdin: str = "") -> str:
    """Run Helm; give what it printed.

    Raises:
        RefusedError: it ended with another status than 0.
    """
    program = shutil.which("helm") or missing("helm is not on the PATH")
    done = subprocess.run(
        [program, *arguments], input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode:
        raise RefusedError(done.stderr + done.stdout)
    return done.stdout


def text(values: Mapping[str, Any] | None = None, *options: str | Path, chart: Path = CHART) -> str:
    """What a chart renders with some values set, as Helm prints it."""
    return helm("template", RELEASE, chart, "-n", NAMESPACE, "-f", "-", *options, stdin=json.dumps(values or {}))


def objects(rendered: str) -> list[Object]:
    """The objects in what was rendered."""
    return [each for each in yaml.load_all(rendered, yaml.CSafeLoader) if each is not None]


def render(values: Mapping[str, Any] | None = None, *options: str | Path) -> dict[str, Object]:
    """The objects that the chart renders, by ``Kind/name``, or ``Kind/namespace/name`` where that is not the release's."""
    return dict(map(_named, objects(text(values, *options))))


def _named(each: Object) -> tuple[str, Object]:
    metadata = each["metadata"]
    elsewhere = [metadata["namespace"]] if metadata.get("namespace", NAMESPACE) != NAMESPACE else []
    return "/".join([each["kind"], *elsewhere, metadata["name"]]), each


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of an object that holds no others, with its path: what has a name, or is a flag, is found by that in lists."""
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from leaves(below, f"{path}[{key}]" if "." in key or "/" in key else f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for index, each in enumerate(value):
            yield from leaves(each, f"{path}[{each.get('name', index)}]")
    elif isinstance(value, list) and path.endswith(".args") and any(each.startswith("--") for each in value):
        for each in value:
            flag, _, argument = each.partition("=")
            yield f"{path}[{flag}]", argument
    else:
        yield path, value


def facts(rendered: Mapping[str, Object]) -> dict[str, Any]:
    """Everything that is said of all objects, each under ``Kind/name path``."""
    return {f"{name} {path}": value for name, each in rendered.items() for path, value in leaves(each)}
