"""Write the CustomResourceDefinitions into folders, one file a kind, made from the models of the operator.

    crds.py [FOLDER...]

Without one: into `crds`, and into the chart and `deploy`, which carry the same bytes. Tests fail when the files there are not what this writes.
"""

import argparse
from pathlib import Path
from typing import Any

import yaml

from switchyard_operator.api.crd import crd
from switchyard_operator.api.kinds import KINDS
from switchyard_operator.api.resource import GROUP

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "crds", ROOT / "charts" / "switchyard" / "files" / "crds", ROOT / "deploy" / "crds")
HEADER = "# Made by `make crds` from operator/switchyard_operator/api. Change it there.\n"
WIDTH = 120


class Dumper(yaml.SafeDumper):
    """Writes long texts as folded blocks, and nothing as a reference to something above."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        """An object that occurs twice is written twice."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    long = " " in text and len(text) > WIDTH * 2 // 3
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">" if long else None)


Dumper.add_representer(str, _text)


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS, metavar="FOLDER")
    for folder in parser.parse_args().folders:
        write(folder)


def write(folder: Path) -> None:
    """Write one file a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        text = yaml.dump(crd(kind), Dumper=Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)
        (folder / f"{GROUP}_{kind.plural}.yaml").write_text(HEADER + text)


if __name__ == "__main__":
    main()
