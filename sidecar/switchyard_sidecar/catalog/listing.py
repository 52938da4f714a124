"""Taking one answer to ``tools/list`` apart, so that a fault in one tool costs that tool and nothing else.

The quick way is msgspec's. It refuses a whole text for what one part of it holds (``NaN``, half a surrogate pair, very deep
nesting), so whatever it refuses is taken apart once more by :mod:`switchyard_sidecar.catalog.json_text`, which does not
look inside the parts. Source: 2026-07-28 ``server/utilities/pagination`` and ``server/utilities/caching``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw

from switchyard_sidecar.catalog import json_text
from switchyard_sidecar.catalog.json_text import JsonTextError

_INTEGER: Final = re.compile(rb"-?[0-9]{1,18}")
"""More digits than these are no time anybody means, and cost time to convert."""

_result: Final = msgspec.json.Decoder(dict[str, Raw])
_array: Final = msgspec.json.Decoder(list[Raw])


class MalformedListError(ValueError):
    """The answer holds no list of tools; the message says why. Never to be taken for an empty list."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page as the backend wrote it. What its tools hold is not checked yet."""

    tools: list[bytes]
    """The entries of ``tools``, whatever they are, without the white space around them."""
    next_cursor: str | None
    """The next page's cursor; ``None`` when there is none. An empty text is a cursor."""
    ttl_ms: int | None
    """``ttlMs`` if it is an integer, negative ones included."""
    cache_scope: str | None
    """``cacheScope`` if it is a text, known or not."""


def split_message(body: bytes) -> dict[str, bytes]:
    """The members of a JSON-RPC message, values raw: for a message that a parser refused as a whole.

    Raises:
        MalformedListError: the brackets or strings of the message do not match, or it is no object.
    """
    try:
        return {member.key: body[member.value : member.end] for member in json_text.members(body)}
    except JsonTextError as error:
        raise MalformedListError(f"the message is not a JSON object: {error}") from None


def split_tools_result(result: bytes) -> ListPage:
    """Take the ``result`` of one ``tools/list`` apart.

    Raises:
        MalformedListError: it has no array ``tools``, or a ``nextCursor`` that is neither text nor null: to go on as if
            the list ended there would lose tools silently.
    """
    members = _members(result)
    if "tools" not in members:
        raise MalformedListError("the result has no tools")
    return ListPage(
        tools=_elements(members["tools"]),
        next_cursor=_next_cursor(members),
        ttl_ms=_integer(members.get("ttlMs")),
        cache_scope=_text(members.get("cacheScope")),
    )


def _members(result: bytes) -> Mapping[str, bytes | Raw]:
    try:
        return _result.decode(result)
    except (msgspec.DecodeError, RecursionError):
        return split_message(result)


def _elements(tools: bytes | Raw) -> list[bytes]:
    try:
        return [bytes(entry) for entry in _array.decode(tools)]
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return list(json_text.elements(bytes(tools)))
    except JsonTextError as error:
        raise MalformedListError(f"tools is not an array: {error}") from None


def _next_cursor(members: Mapping[str, bytes | Raw]) -> str | None:
    raw = members.get("nextCursor")
    cursor = _text(raw)
    if cursor is None and raw is not None and bytes(raw) != b"null":
        raise MalformedListError("nextCursor is not a string")
    return cursor


def _text(raw: bytes | Raw | None) -> str | None:
    try:
        return None if raw is None else json_text.string(bytes(raw))
    except JsonTextError:
        return None


def _integer(raw: bytes | Raw | None) -> int | None:
    return int(bytes(raw)) if raw is not None and _INTEGER.fullmatch(bytes(raw)) else None
