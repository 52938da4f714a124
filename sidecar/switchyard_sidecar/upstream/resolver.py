"""Looking up host names: each in a thread of its own.

The system's lookup blocks, for ten seconds and more where a name server does not answer. The event loop does all of them
in four threads: a few backends whose names hang would keep every other backend from being reached, and the sidecar's own
address from being listened on. A name is looked up once at a time, so there are no more threads than backends.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from aiohttp.abc import AbstractResolver, ResolveResult

Lookup = Callable[..., list[tuple[Any, Any, int, str, Any]]]
"""As :func:`socket.getaddrinfo`."""

_NUMERIC: Final = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV


class Resolver(AbstractResolver):
    """Asks the system, as configured by ``/etc/hosts``, ``resolv.conf`` and ``nsswitch.conf``."""

    def __init__(self, lookup: Lookup = socket.getaddrinfo) -> None:
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name.

        Raises:
            OSError: there are none, or nobody knows.
        """
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[tuple[Any, Any, int, str, Any]]] = loop.create_future()

        def tell(outcome: list[tuple[Any, Any, int, str, Any]] | Exception) -> None:
            if found.done():  # nobody waits any more
                return
            if isinstance(outcome, Exception):
                found.set_exception(outcome)
            else:
                found.set_result(outcome)

        def look_up() -> None:
            outcome: list[tuple[Any, Any, int, str, Any]] | Exception
            try:
                outcome = self._lookup(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
            except (OSError, UnicodeError) as error:  # UnicodeError: a label that is too long
                outcome = error if isinstance(error, OSError) else OSError(f"{host!r} is no name")
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell, outcome)

        threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
        return [_result(host, info_family, proto, address) for info_family, _, proto, _, address in await found]

    async def close(self) -> None:
        """Nothing to close: a lookup under way ends by itself, and keeps nobody waiting."""


def _result(host: str, family: int, proto: int, address: tuple[Any, ...]) -> ResolveResult:
    numeric, port = address[0], address[1]
    if family == socket.AF_INET6 and address[3]:
        numeric = f"{numeric}%{address[3]}"  # link-local: without its interface it leads nowhere
    return ResolveResult(hostname=host, host=numeric, port=port, family=family, proto=proto, flags=_NUMERIC)
