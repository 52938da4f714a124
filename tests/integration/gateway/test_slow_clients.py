"""Clients that take their time: none holds a connection for longer than an idle one may, whatever it dribbles."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fakes.gateway import gateway
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.waiting import PATIENCE_S
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace

HASTY = Pace(clients=downstream_pace.Pace(idle_s=0.3, body_s=0.3))
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\n"


@asynccontextmanager
async def connected(tmp_path: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a gateway that is quickly at the end of its patience."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"one": backend}, pace=HASTY) as gw:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(gw.url.split("/")[2].rpartition(":")[2]))
        try:
            yield reader, writer
        finally:
            writer.close()


async def dribbled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, drop: bytes) -> bytes:
    """Send a little again and again until the other side ends the connection; give what it has said."""

    async def drip() -> None:
        while True:
            writer.write(drop)
            await asyncio.sleep(0.02)

    dripping = asyncio.create_task(drip())
    said = b""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while piece := await reader.read(
                65_536
            ):  # and not all at once: a reset would take along what has come before it
                said += piece
    except ConnectionResetError:
        pass
    finally:
        dripping.cancel()
    return said


@pytest.mark.parametrize(
    ("beginning", "drop"), [(b"", b"\r\n"), (b"POST /", b"a"), (HEAD, b"A"), (HEAD + b"X-Slow: ", b"a")], ids=repr
)
async def test_head_that_never_ends_is_not_waited_for(tmp_path: Path, beginning: bytes, drop: bytes) -> None:
    """However alive it looks (slow loris): a request has to have come within the time that a connection may idle."""
    async with connected(tmp_path) as (reader, writer):
        writer.write(beginning)
        assert await dribbled(reader, writer, drop) == b""


async def test_second_head_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    """Nor on a connection that has been of use."""
    async with connected(tmp_path) as (reader, writer):
        writer.write(b"OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        writer.write(b"POST /")
        assert await dribbled(reader, writer, b"a") == b""


async def test_body_that_never_ends_is_told_so(tmp_path: Path) -> None:
    """Byte by byte it would take days."""
    async with connected(tmp_path) as (reader, writer):
        writer.write(HEAD + b"Content-Length: 1000000\r\n\r\n")
        assert (await dribbled(reader, writer, b" ")).startswith(b"HTTP/1.1 408 ")


async def test_chunks_that_never_end_are_told_so(tmp_path: Path) -> None:
    """A length need not be announced."""
    async with connected(tmp_path) as (reader, writer):
        writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        assert (await dribbled(reader, writer, b"1\r\n \r\n")).startswith(b"HTTP/1.1 408 ")
