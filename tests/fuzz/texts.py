"""Texts to throw at whatever reads texts: JSON as people and machines write it, JSON that is damaged, and no JSON at all."""

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from switchyard_sidecar.protocol.errors import McpError

T = TypeVar("T")

budget: Final = settings(max_examples=2 * (settings.default.max_examples if settings.default else 100), deadline=None)
"""Twice what an ordinary property test gets: seconds. ``--hypothesis-profile=long`` multiplies it."""

ODDITIES: Final = (
    b"1e400",
    b"-0",
    b"1.0E+2",
    b"123456789012345678901234567890",
    b"NaN",
    b"-Infinity",
    b'"\\ud800"',
    b'"\\ud83d\\ude00"',
    b'"\\u0000"',
    b'"\xff"',
    b'"\\x"',
    b'"a\nb"',
    b"[" * 300 + b"]" * 300,
    b"[" * 5_000 + b"]" * 5_000,
    b'{"a":1,"a":2}',
    b"'a'",
    b"01",
    b"+1",
    b".5",
    b"\xef\xbb\xbf1",
    b"nul",
    b"",
)
"""Values that one parser or another trips over; about half of them are JSON."""

names: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""Any text that UTF-8 can carry."""

values: Final[SearchStrategy[Any]] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=10,
)
"""JSON values."""

_blanks: Final = st.sampled_from([b"", b"", b" ", b"\n", b"\t\r\n "])


@st.composite
def strings(draw: DrawFn, texts: SearchStrategy[str] = names) -> bytes:
    """A JSON string, escaped more or less."""
    return json.dumps(draw(texts), ensure_ascii=draw(st.booleans())).encode()


scalars: Final = st.one_of(values.map(lambda value: json.dumps(value).encode()), strings(), st.sampled_from(ODDITIES))
"""Texts of values, or of what somebody took for one."""


@st.composite
def objects(draw: DrawFn, members: SearchStrategy[list[tuple[bytes, bytes]]]) -> bytes:
    """An object of these members (texts of key and value), in any order, with any white space."""
    parts = draw(members)
    order = draw(st.permutations(parts))
    blank = [draw(_blanks) for _ in range(4)]
    text = b",".join(blank[0] + key + blank[1] + b":" + blank[2] + value + blank[3] for key, value in order)
    return b"{" + text + b"}"


@st.composite
def damaged(draw: DrawFn, texts: SearchStrategy[bytes]) -> bytes:
    """A text with some bytes cut out, doubled or replaced."""
    text = draw(texts)
    for _ in range(draw(st.integers(min_value=0, max_value=3))):
        start = draw(st.integers(min_value=0, max_value=len(text)))
        end = min(len(text), start + draw(st.integers(min_value=0, max_value=4)))
        text = text[:start] + draw(st.binary(max_size=3) | st.sampled_from(ODDITIES)) + text[end:]
    return text


@st.composite
def cut(draw: DrawFn, streams: SearchStrategy[bytes]) -> list[bytes]:
    """A stream in chunks of any size, empty ones too."""
    stream = draw(streams)
    places = sorted(draw(st.lists(st.integers(min_value=0, max_value=len(stream)), max_size=8)))
    return [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]


def outcome(attempt: Callable[[], T]) -> T | McpError:
    """What an attempt brings; an ``McpError`` is an outcome, any other exception a fault."""
    try:
        return attempt()
    except McpError as error:
        return error


def is_json(text: bytes) -> bool:
    """Whether it is JSON as RFC 8259 has it, by a reading that is not ours."""
    try:
        json.loads(text.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
