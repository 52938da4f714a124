"""Change members of a JSON object and leave every other byte of it as it was."""

import json
from collections.abc import Mapping
from typing import Final

from switchyard_sidecar.catalog import json_text

_quote: Final = json.JSONEncoder(ensure_ascii=False).encode


def spliced(raw: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """``raw`` with these members' values (JSON texts) changed in their place, or appended; ``None`` takes a member out."""
    spans = list(json_text.members(raw))
    missing = {key: value for key, value in changes.items() if value is not None}
    pieces: list[bytes] = []
    before = 0  # the end of the member before; what separates two members belongs to the later one
    for span in spans:
        value = changes.get(span.key, b"")
        if value is not None:
            if pieces:
                pieces.append(raw[before : span.start])
            pieces.append(raw[span.start : span.value] + value if value else raw[span.start : span.end])
            missing.pop(span.key, None)
        before = span.end
    for key, value in missing.items():
        pieces.append((b"," if pieces else b"") + quoted(key) + b":" + value)
    start, end = (spans[0].start, spans[-1].end) if spans else (raw.index(b"{") + 1,) * 2
    return raw[:start] + b"".join(pieces) + raw[end:]


def quoted(text: str) -> bytes:
    """A JSON string."""
    return _quote(text).encode()
