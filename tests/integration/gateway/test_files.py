"""Many clients need many files, and must not take those that others need."""

import asyncio
import resource
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from fakes.clients import ModernClient
from fakes.gateway import section, write_config
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.process import sidecar
from fakes.waiting import eventually

LOW = 256
FEW = 192
"""Connections that clients may have where a process may have LOW files."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads a process's limits where Linux has them")


async def test_low_limit_on_open_files_is_raised(tmp_path: Path) -> None:
    """As far as the system allows: a laptop's default would be used up by some hundred clients."""
    write_config(tmp_path, {})
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with sidecar(tmp_path, limits=f"-S -n {LOW}") as running:
        limits = Path(f"/proc/{running.process.pid}/limits").read_text().splitlines()
        (soft,) = [int(line.split()[3]) for line in limits if line.startswith("Max open files")]
        assert LOW < soft <= hard


async def test_clients_leave_files_for_backends_and_the_config(tmp_path: Path) -> None:
    """Where the limit cannot be raised: more connections than it allows, and calls and a new config go through all the same."""
    async with (
        ModernBackend(tool("a")) as backend,
        AsyncExitStack() as stack,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
    ):
        write_config(tmp_path, {"a": backend})
        running = await stack.enter_async_context(sidecar(tmp_path, limits=f"-n {LOW}"))
        client = ModernClient(running.url, http)
        assert (await client.list()).names == ["a"]
        connecting = [asyncio.open_connection("127.0.0.1", running.port) for _ in range(2 * LOW)]
        for _, writer in await asyncio.gather(*connecting):
            stack.callback(writer.close)
        assert (await client.call("a")).text["tool"] == "a"
        assert running.descriptors < FEW + 32
        write_config(tmp_path, {"b": section(backend, prefix="b")})

        async def has_changed() -> bool:
            return (await client.list()).names == ["b__a"]

        await eventually(has_changed)
    assert [each["event"] for each in running.log if each["level"] != "info"] == []
