"""The bytes of a ``tools/list`` result, for either era.

All that does not depend on the request is joined once for each catalog; a request adds its id and what is left of the time
to live. Sources: 2026-07-28 ``server/tools``, ``server/utilities/caching``; 2025-11-25 ``server/tools``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from switchyard_sidecar.catalog.catalog import Catalog, Page
from switchyard_sidecar.protocol import meta
from switchyard_sidecar.protocol.versions import Era

_encode: Final = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class ListWriter:
    """Writes list answers for one catalog and era. ``_tail`` is everything after the page."""

    _era: Era
    _catalog: Catalog
    _tail: bytes

    @classmethod
    def of(cls, catalog: Catalog, era: Era, server_info: bytes) -> "ListWriter":
        """Prepare what all answers from this catalog share."""
        notes: list[bytes] = []
        if era is Era.MODERN:
            notes.append(b"%b:%b" % (_encode(meta.SERVER_INFO), server_info))
        if catalog.degraded:
            notes.append(b"%b:%b" % (_encode(meta.BACKENDS), _encode(_degraded(catalog.degraded))))
        tail = b"" if not notes else b',"_meta":{%b}' % b",".join(notes)
        if era is Era.MODERN:
            tail = b',"cacheScope":%b%b' % (_encode(catalog.scope), tail)
        return cls(era, catalog, tail + b"}}")

    def write(self, request_id: bytes, cursor: str | None, ttl_ms: int) -> bytes:
        """One whole answer.

        Raises:
            McpError: -32602 for a cursor that is none of ours, or that no longer fits.
        """
        projection = self._catalog.modern if self._era is Era.MODERN else self._catalog.legacy
        page: Page = projection.page(cursor)
        after = b"" if page.next_cursor is None else b',"nextCursor":"%b"' % page.next_cursor.encode()
        if self._era is Era.LEGACY:
            parts = (b'{"jsonrpc":"2.0","id":', request_id, b',"result":{"tools":[', page.body, b"]", after, self._tail)
        else:
            head = b',"result":{"resultType":"complete","tools":['
            ttl = b',"ttlMs":%d' % ttl_ms
            parts = (b'{"jsonrpc":"2.0","id":', request_id, head, page.body, b"]", after + ttl, self._tail)
        return b"".join(parts)


def _degraded(entries: Sequence[tuple[str, str]]) -> dict[str, object]:
    return {"unavailable": [{"backend": backend, "reason": reason} for backend, reason in entries]}
