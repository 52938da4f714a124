"""What a pod's sidecar has loaded: its admin port's ``/loaded``, asked as one asks a stranger.

The address is the one that the pod's status gives, and whoever made the pod decides what answers there: the answer is bounded in
time and size, redirects and proxies are not followed, and nothing of it is used but a hash that is compared.
"""

import asyncio
from typing import Final

import aiohttp
import msgspec

from switchyard_operator.controller.observed import Pod

ANSWER_S: Final = 1.0
ANSWER_BYTES: Final = 4096
AT_ONCE: Final = 64
"""Pods that are asked at the same time."""


class _Answer(msgspec.Struct):
    config_hash: str = msgspec.field(name="configHash")


class Loaded:
    """Asks sidecars. Close it at the end."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=AT_ONCE, force_close=True),
            timeout=aiohttp.ClientTimeout(total=ANSWER_S),
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, pod: Pod) -> str | None:
        """The hash of the config that it has loaded; ``None`` when it could not be asked."""
        host = f"[{pod.address}]" if ":" in pod.address else pod.address
        try:
            async with (
                self._turns,
                self._session.get(f"http://{host}:{pod.admin_port}/loaded", allow_redirects=False) as response,
            ):
                content = await response.content.read(ANSWER_BYTES)
                if response.status != 200 or not response.content.at_eof():
                    return None
            return msgspec.json.decode(content, type=_Answer).config_hash
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
            return None

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
