"""A client on ``mcp`` 2.x. ``--mode auto`` (the default) finds the era; ``--mode legacy`` initializes without asking.

``--sign-in`` lets the SDK get tokens by itself.
"""

import argparse
import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
from driving import Event, authorization, drive
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import BaseModel
from signing_in import REDIRECT_URI, Browser, Memory

warnings.simplefilter("ignore", MCPDeprecationWarning)


def dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


class SdkConnection:
    def __init__(self, client: Client, changes: asyncio.Queue[None]) -> None:
        self._client = client
        self._changes = changes

    async def list_page(self, cursor: str | None) -> dict[str, Any]:
        return dumped(await self._client.list_tools(cursor=cursor, cache_mode="bypass"))

    async def call(self, name: str, arguments: dict[str, Any], event: Event) -> dict[str, Any]:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            event("progress", {"progress": done, "total": total, "message": message})

        return dumped(await self._client.call_tool(name, arguments, progress_callback=progress))

    @contextlib.asynccontextmanager
    async def listen(self, event: Event) -> AsyncIterator[dict[str, Any]]:
        async with contextlib.AsyncExitStack() as stack:
            if self._client.protocol_version >= "2026-07-28":
                subscription = await stack.enter_async_context(self._client.listen(tools_list_changed=True))
                honoured = dumped(subscription.honored)

                async def changes() -> AsyncIterator[Any]:
                    async for change in subscription:
                        yield change
            else:
                honoured = {}

                async def changes() -> AsyncIterator[Any]:
                    while True:
                        yield await self._changes.get()

            async def relay() -> None:
                async for _ in changes():
                    event("list_changed", {})

            task = asyncio.create_task(relay())
            stack.callback(task.cancel)
            yield honoured


def signing_in(url: str) -> OAuthClientProvider:
    browser = Browser()

    async def came_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(browser.said)

    metadata = OAuthClientMetadata(redirect_uris=[REDIRECT_URI], client_name="counterpart")
    return OAuthClientProvider(url, metadata, Memory(), browser.open, came_back)


@contextlib.asynccontextmanager
async def connect(url: str, token: str | None, event: Event) -> AsyncIterator[tuple[SdkConnection, dict[str, Any]]]:
    changes: asyncio.Queue[None] = asyncio.Queue()

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        event("log", dumped(params))

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changes.put_nowait(None)

    async with (
        create_mcp_http_client(authorization(token), auth=signing_in(url) if signs_in else None) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,
            logging_callback=on_log,
            log_level="info",
            message_handler=on_message,
        ) as client,
    ):
        if client.protocol_version < "2026-07-28" and client.server_capabilities.logging:
            await client.set_logging_level("info")
        info = client.server_info
        yield (
            SdkConnection(client, changes),
            {
                "version": client.protocol_version,
                "serverInfo": dumped(info) if info else None,
                "capabilities": dumped(client.server_capabilities),
            },
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("auto", "legacy"), default="auto")
    parser.add_argument("--sign-in", action="store_true")
    options = parser.parse_args()
    mode, signs_in = options.mode, options.sign_in
    drive(connect)
