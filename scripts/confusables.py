"""Write ``catalog/confusables.py`` from Unicode's ``confusables.txt``: ``python scripts/confusables.py PATH``.

The file is https://www.unicode.org/Public/security/latest/confusables.txt. What is taken of it: every character beyond ASCII
that stands for ASCII letters, digits or marks that names have, and that NFKC leaves as it is.
"""

import re
import sys
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Final

TARGET: Final = Path(__file__).parent.parent / "sidecar/switchyard_sidecar/catalog/confusables.py"
_COLUMNS: Final = 106
_MEANT: Final = re.compile(r"[A-Za-z0-9_./-]+")
_HEAD: Final = '''"""Which characters beyond ASCII look like ASCII: made by ``scripts/confusables.py``, not by hand.

From Unicode's ``confusables.txt``, version {version} (UTS #39, Unicode Security Mechanisms), as far as NFKC does not already make
the characters the same. Unicode data files are used under the Unicode License V3 (https://www.unicode.org/license.txt),
copyright Unicode, Inc.
"""

from typing import Final

LOOK_LIKE: Final = {{
'''


def module(text: str) -> str:
    """The module's text."""
    version = re.search(r"# Version: (\S+)", text)
    if version is None:
        raise SystemExit("this is no confusables.txt: it names no version")
    alike: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        if (entry := re.match(r"([0-9A-F]+) ;\t([0-9A-F ]+) ;\tMA", line)) is not None:
            character = chr(int(entry[1], 16))
            prototype = "".join(chr(int(each, 16)) for each in entry[2].split())
            stays = unicodedata.normalize("NFKC", character) == character
            if not character.isascii() and stays and _MEANT.fullmatch(prototype):
                alike[prototype].append(character)
    entries = "".join(_entry(prototype, sorted(characters)) for prototype, characters in sorted(alike.items()))
    return (
        f"{_HEAD.format(version=version[1])}{entries}}}\n" + '"""By what they look like: all characters that do."""\n'
    )


def _entry(prototype: str, characters: list[str]) -> str:
    lines = [""]
    for each in characters:
        escape = f"\\u{ord(each):04x}" if ord(each) <= 0xFFFF else f"\\U{ord(each):08x}"
        if len(lines[-1]) + len(escape) > _COLUMNS:
            lines.append("")
        lines[-1] += escape
    if len(lines) == 1:
        return f'    "{prototype}": "{lines[0]}",\n'
    return f'    "{prototype}": (\n' + "".join(f'        "{line}"\n' for line in lines) + "    ),\n"


if __name__ == "__main__":
    TARGET.write_text(module(Path(sys.argv[1]).read_text(encoding="utf-8-sig")), encoding="utf-8")
