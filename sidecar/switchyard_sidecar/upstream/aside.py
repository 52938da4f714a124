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


async def read(reader: Callable[[bytes], Result], text: bytes) -> Result:
    """Give what ``reader`` makes of ``text``; it raises what the reader raises."""
    return reader(text) if len(text) <= LONG_BYTES else await asyncio.to_thread(reader, text)
