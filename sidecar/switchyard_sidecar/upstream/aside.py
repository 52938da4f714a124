"""Reading long texts in a thread, so that one backend's megabytes hold up nobody else.

Most texts are short and are read where they stand. Python code in a thread lets the event loop have its turn every few
milliseconds; what msgspec does in one go is quick enough.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

Result = TypeVar("Result")

LONG_BYTES: Final = 32 * 1024
"""Of what is read where it stands; at worst that takes some ten milliseconds."""


def is_long(text: bytes) -> bool:
    """Whether a text is better read in a thread."""
    return len(text) > LONG_BYTES


async def read(reader: Callable[[bytes], Result], text: bytes) -> Result:
    """Give what ``reader`` makes of ``text``; it raises what the reader raises."""
    return await asyncio.to_thread(reader, text) if is_long(text) else reader(text)
