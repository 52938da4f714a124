"""How requests go to the API server."""

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from kubernetes.aio.client import Configuration

from switchyard_operator.controller.access import Access


class Confused(AbstractResolver):
    """Raises on the way to a connection what an event loop does when it takes a new descriptor for one in use."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:  # noqa: ARG002 - the interface
        """Never brings an address."""
        raise RuntimeError("File descriptor 20 is used by transport <TCPTransport>")

    async def close(self) -> None:
        """Nothing to close."""


async def test_an_event_loops_confusion_is_a_connection_that_could_not_be_made() -> None:
    """Whoever asks the API server tries again then; any other error would end the process."""
    access = Access(Configuration(), None)
    connector = aiohttp.TCPConnector(resolver=Confused())
    async with aiohttp.ClientSession(connector=connector, middlewares=(access.authorize,)) as http:
        with pytest.raises(aiohttp.ClientConnectionError, match="File descriptor 20 is used"):
            await http.get("http://api.example/version")
