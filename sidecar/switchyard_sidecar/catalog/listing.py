"""Taking one answer to ``tools/list`` apart, so that a fault in one tool costs that tool and nothing else.

The quick way is msgspec's. It refuses a whole text for what one part of it holds (``NaN``, half a surrogate pair, very deep
nesting), so whatever it refuses is taken apart once more by :mod:`switchyard_sidecar.catalog.json_text`, which does not
look inside the parts. That one also stops where enough was taken: the quick way makes an object of each part, which would be
thirty million for a list of ones that takes no more bytes than is allowed. Source: 2026-07-28 ``server/utilities/pagination`` and ``server/utilities/caching``.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from switchyard_sidecar.catalog import json_text
from switchyard_sidecar.catalog.json_text import JsonTextError

_INTEGER: Final = re.compile(rb"-?[0-9]{1,18}")
"""More digits than these are no time anybody means, and cost time to convert."""

_QUICK_COMMAS: Final = 500_000
"""A text with more of them is not taken apart the quick way: it costs some 100 bytes for each part."""


class _Result(msgspec.Struct, rename="camel", gc=False):
    """What is read of a result. Whatever else it holds costs nothing."""

    tools: Raw | UnsetType = UNSET
    next_cursor: Raw | UnsetType = UNSET
    ttl_ms: Raw | UnsetType = UNSET
    cache_scope: Raw | UnsetType = UNSET


_result: Final = msgspec.json.Decoder(_Result)
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


def split_message(body: bytes, only: Container[str] | None = None) -> dict[str, bytes]:
    """The members of a JSON-RPC message, values raw: for a message that a parser refused as a whole.

    ``only``: the keys of those that are wanted; ``None``: all.

    Raises:
        MalformedListError: the brackets or strings of the message do not match, or it is no object.
    """
    try:
        return {
            member.key: body[member.value : member.end]
            for member in json_text.members(body)
            if only is None or member.key in only
        }
    except JsonTextError as error:
        raise MalformedListError(f"the message is not a JSON object: {error}") from None


def split_tools_result(result: bytes, max_tools: int) -> ListPage:
    """Take the ``result`` of one ``tools/list`` apart. Of more than ``max_tools`` entries all but one are left out.

    Raises:
        MalformedListError: it has no array ``tools``, or a ``nextCursor`` that is neither text nor null: to go on as if
            the list ended there would lose tools silently.
    """
    read = _read(result)
    if read.tools is UNSET:
        raise MalformedListError("the result has no tools")
    return ListPage(
        tools=split_array(bytes(read.tools), max_tools + 1),
        next_cursor=_next_cursor(read.next_cursor),
        ttl_ms=_integer(read.ttl_ms),
        cache_scope=_text(read.cache_scope),
    )


def split_array(text: bytes, limit: int) -> list[bytes]:
    """The first ``limit`` elements of a JSON array, as they are written, whatever they are.

    Raises:
        MalformedListError: it is no array, as far as it was read.
    """
    try:
        if text.count(b",") <= _QUICK_COMMAS:
            return [bytes(entry) for entry in islice(_array.decode(text), limit)]
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return list(islice(json_text.elements(text), limit))
    except JsonTextError as error:
        raise MalformedListError(f"not an array: {error}") from None


def _read(result: bytes) -> _Result:
    try:
        return _result.decode(result)
    except (msgspec.DecodeError, RecursionError):
        pass
    keys = _Result.__struct_encode_fields__
    members = split_message(result, only=keys)
    return _Result(*(Raw(members[key]) if key in members else UNSET for key in keys))


def _next_cursor(raw: Raw | UnsetType) -> str | None:
    cursor = _text(raw)
    if cursor is None and raw is not UNSET and bytes(raw) != b"null":
        raise MalformedListError("nextCursor is not a string")
    return cursor


def _text(raw: Raw | UnsetType) -> str | None:
    try:
        return None if raw is UNSET else json_text.string(bytes(raw))
    except JsonTextError:
        return None


def _integer(raw: Raw | UnsetType) -> int | None:
    return int(bytes(raw)) if raw is not UNSET and _INTEGER.fullmatch(bytes(raw)) else None
