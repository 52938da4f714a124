"""The bytes of a ``tools/list`` result, for either era.

All that does not depend on the request is joined once for each view; a request adds its id and what is left of the time
to live. Sources: 2026-07-28 ``server/tools``, ``server/utilities/caching``; 2025-11-25 ``server/tools``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from switchyard_sidecar.catalog.catalog import Degraded
from switchyard_sidecar.catalog.projection import Projection
from switchyard_sidecar.catalog.view import View
from switchyard_sidecar.protocol import meta
from switchyard_sidecar.protocol.versions import Era

_encode: Final = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class ListWriter:
    """Writes list answers for one view and era. ``_tail`` is everything after the page."""

    _era: Era
    _projection: Projection
    _tail: bytes

    @classmethod
    def of(cls, view: View, era: Era, server_info: bytes, absence: str | None) -> "ListWriter":
        """Prepare what all answers from this view share. ``absence``: why there is no config, if there is none."""
        notes: list[bytes] = []
        if era is Era.MODERN:
            notes.append(b"%b:%b" % (_encode(meta.SERVER_INFO), server_info))
        if absence is not None:
            notes.append(b"%b:%b" % (_encode(meta.CONFIG), _encode({"reason": absence})))
        if view.degraded:
            notes.append(b"%b:%b" % (_encode(meta.BACKENDS), _encode(_degraded(view.degraded))))
        if era is Era.MODERN and (drifted := _drifted(view)):
            notes.append(b"%b:%b" % (_encode(meta.PINNING), _encode({"drifted": drifted})))
        tail = b"" if not notes else b',"_meta":{%b}' % b",".join(notes)
        projection = view.modern if era is Era.MODERN else view.legacy
        return cls(era, projection, tail + b"}}")

    def write(self, request_id: bytes, cursor: str | None, ttl_ms: int) -> tuple[bytes, ...]:
        """One whole answer, in pieces: the page is not copied.

        Raises:
            McpError: -32602 for a cursor that is none of ours, or that no longer fits.
        """
        page = self._projection.page(cursor)
        after = b"]" if page.next_cursor is None else b'],"nextCursor":"%b"' % page.next_cursor.encode()
        if self._era is Era.LEGACY:
            head = b',"result":{"tools":['
        else:
            head = b',"result":{"resultType":"complete","tools":['
            after += b',"ttlMs":%d,"cacheScope":"%b"' % (ttl_ms, page.scope.encode())
        return (b'{"jsonrpc":"2.0","id":' + request_id + head, page.body, after + self._tail)


def _drifted(view: View) -> list[str]:
    """The exposed names of listed tools whose definition is not the pinned one. One that is withheld is in no answer."""
    listed = set(view.modern.names) if view.drifted else ()
    return [name for name in view.drifted if name in listed]


def _degraded(entries: Sequence[Degraded]) -> dict[str, object]:
    return {"unavailable": [entry._asdict() for entry in entries]}
