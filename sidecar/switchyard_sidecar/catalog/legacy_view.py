"""A definition as clients of 2025-11-25 and earlier can read it.

Their revision is narrower in two places, and clients that check it refuse the whole list because of one tool:

1. ``outputSchema`` has ``"type": "object"`` at its root. Any other is left out, and the tool stays.
2. What stands under ``properties`` of ``inputSchema`` and ``outputSchema`` are objects. The boolean schemas of 2020-12 are
   written there as the objects that mean the same: ``true`` as ``{}``, ``false`` as ``{"not":{}}``. Deeper ones are no
   trouble to anybody and stay.

All else stays byte for byte. Sources: ``Tool`` in the JSON Schemas of 2025-11-25 and 2025-06-18; JSON Schema 2020-12 Core,
4.3.2 "Boolean JSON Schemas".
"""

from collections.abc import Mapping
from typing import Any, Final

from switchyard_sidecar.catalog import json_text
from switchyard_sidecar.catalog.splice import spliced

_OBJECTS: Final = {True: b"{}", False: b'{"not":{}}'}


def legible(raw: bytes, definition: Mapping[str, Any]) -> bytes:
    """``raw``, itself if legacy clients can read it as it is. ``definition`` is what it says."""
    changes: dict[str, bytes | None] = {}
    for key in ("inputSchema", "outputSchema"):
        schema = definition.get(key)
        if isinstance(schema, dict) and (key == "inputSchema" or schema.get("type") == "object"):
            if booleans := _boolean_properties(schema):
                changes[key] = _without_booleans(_value(raw, key), booleans)
        elif key in definition:
            changes[key] = None
    return spliced(raw, changes) if changes else raw


def _boolean_properties(schema: Mapping[str, Any]) -> dict[str, bool]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: value for name, value in properties.items() if isinstance(value, bool)}


def _without_booleans(schema: bytes, booleans: Mapping[str, bool]) -> bytes:
    objects = {name: _OBJECTS[value] for name, value in booleans.items()}
    return spliced(schema, {"properties": spliced(_value(schema, "properties"), objects)})


def _value(text: bytes, key: str) -> bytes:
    """The text of a member that is there; of one that is named twice, the last, which is the one that counts."""
    return [text[span.value : span.end] for span in json_text.members(text) if span.key == key][-1]
