"""How a place inside an object is named: in code as a tuple of steps, to people as ``spec.backends[1].prefix``."""

import re
from typing import TypeAlias

FieldPath: TypeAlias = tuple[str | int, ...]
"""Steps from an object's root: a string for a member, an integer for a list's item. Names as in YAML (camelCase)."""

_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def dotted(path: FieldPath) -> str:
    """The path as users write it; a key that would be misread with dots is quoted: ``data["tls.crt"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _BARE_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
