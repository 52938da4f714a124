"""Finds credentials in what was written somewhere, also where they were written in another way. Pure."""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

BEGINNING = 16
"""Characters of a credential that are one already."""


class Scanner:
    """Knows credentials by name. Those of several lines (keys) are known by each line."""

    def __init__(self, secrets: Mapping[str, bytes]) -> None:
        self._traces = {name: set(_traces(secret)) for name, secret in secrets.items()}

    def find(self, channels: Mapping[str, bytes], expected: Iterable[str] = ()) -> list[str]:
        """What was found where: empty if nothing was. ``expected``: names that may be there, with what others have in common with them."""
        allowed = set().union(*(self._traces[name] for name in expected))
        return [
            f"{name} in {channel}: {trace!r}"
            for channel, written in channels.items()
            for name, traces in self._traces.items()
            for trace in sorted(traces - allowed)
            if trace in written
        ]


def _traces(secret: bytes) -> Iterator[bytes]:
    lines = [line for line in secret.splitlines() if line and not line.startswith(b"-----")]
    for line in lines:
        yield from _forms(line)
        yield line[:BEGINNING]
        for part in line.split(b"."):  # of a JSON Web Token: claims and signature
            if len(part) > BEGINNING:
                yield from _forms(part)


def _forms(text: bytes) -> Iterator[bytes]:
    written = text.decode()
    yield text
    yield json.dumps(written)[1:-1].replace("/", "\\/").encode()
    yield from (each.encode() for each in (quote(written, safe=""), quote_plus(written)))
    yield "".join(f"%{byte:02x}" for byte in text).encode()
    yield from (text.hex().encode(), text.hex().upper().encode())
    yield hashlib.sha256(text).hexdigest().encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):  # wherever in a longer text it stands
            whole = encode(b"\0" * before + text).rstrip(b"=")
            first, rest = (0, 2, 3)[before], (before + len(text)) % 3
            yield whole[first : len(whole) - 1 if rest else None]
