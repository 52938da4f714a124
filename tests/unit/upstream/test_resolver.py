"""Looking up names."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from switchyard_sidecar.upstream.resolver import Resolver

FOUND = [
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 80)),
    (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 80, 0, 3)),
]


async def test_name_that_hangs_keeps_no_other_waiting() -> None:
    """However many names hang, the next one is looked up at once."""
    answered = threading.Event()

    def lookup(host: str, *_: Any, **__: Any) -> list[Any]:
        if host.startswith("slow"):
            answered.wait(10)
        return FOUND

    resolver = Resolver(lookup)
    slow = [asyncio.create_task(resolver.resolve(f"slow{number}.example", 80)) for number in range(100)]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        results = await resolver.resolve("quick.example", 80)
    assert [(result["hostname"], result["host"], result["port"], result["family"]) for result in results] == [
        ("quick.example", "192.0.2.1", 80, socket.AF_INET),
        ("quick.example", "fe80::1%3", 80, socket.AF_INET6),
    ]
    assert not any(task.done() for task in slow)
    slow[0].cancel()
    answered.set()
    outcomes = await asyncio.gather(*slow, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert outcomes[1:] == [
        [*map(dict, await resolver.resolve(f"slow{number}.example", 80))] for number in range(1, 100)
    ]


@pytest.mark.parametrize("fault", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")])
async def test_name_that_is_not_known_is_an_os_error(fault: Exception) -> None:
    """Which is what a connection that does not come about is told by."""

    def lookup(*_: Any, **__: Any) -> list[Any]:
        raise fault

    with pytest.raises(OSError, match=r"[nN]ame"):
        await Resolver(lookup).resolve("nowhere.example", 80)


async def test_system_is_asked() -> None:
    """The names of this machine are found."""
    assert {result["host"] for result in await Resolver().resolve("localhost", 80)} <= {"127.0.0.1", "::1"}
