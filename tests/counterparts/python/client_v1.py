"""A client on ``mcp`` 1.x: legacy alone. ``--sign-in`` lets the SDK get tokens by itself."""

import argparse
import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from driving import Event, authorization, drive
from mcp import ClientSession, types
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from pydantic import BaseModel
from signing_in import REDIRECT_URI, Browser, Memory


def dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


class SdkConnection:
    def __init__(self, session: ClientSession, changes: asyncio.Queue[None]) -> None:
        self._session = session
        self._changes = changes

    async def list_page(self, cursor: str | None) -> dict[str, Any]:
        return dumped(await self._session.list_tools(params=types.PaginatedRequestParams(cursor=cursor)))

    async def call(self, name: str, arguments: dict[str, Any], event: Event) -> dict[str, Any]:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            event("progress", {"progress": done, "total": total, "message": message})

        # The SDK tells the server of a cancelled call only when asked to, and keeps the request's id to itself.
        request_id = self._session._request_id
        try:
            return dumped(await self._session.call_tool(name, arguments, progress_callback=progress))
        except asyncio.CancelledError:
            params = types.CancelledNotificationParams(requestId=request_id, reason="the test asked for it")
            await self._session.send_notification(
                types.ClientNotification(types.CancelledNotification(method="notifications/cancelled", params=params))
            )
            raise

    @contextlib.asynccontextmanager
    async def listen(self, event: Event) -> AsyncIterator[dict[str, Any]]:
        async def relay() -> None:
            while True:
                await self._changes.get()
                event("list_changed", {})

        task = asyncio.create_task(relay())
        try:
            yield {}
        finally:
            task.cancel()


def signing_in(url: str) -> OAuthClientProvider:
    browser = Browser()

    async def came_back() -> tuple[str, str | None]:
        return browser.said["code"], browser.said.get("state")

    metadata = OAuthClientMetadata(redirect_uris=[REDIRECT_URI], client_name="counterpart")
    return OAuthClientProvider(url, metadata, Memory(), browser.open, came_back)


@contextlib.asynccontextmanager
async def connect(url: str, token: str | None, event: Event) -> AsyncIterator[tuple[SdkConnection, dict[str, Any]]]:
    changes: asyncio.Queue[None] = asyncio.Queue()

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        event("log", dumped(params))

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ServerNotification) and isinstance(
            message.root, types.ToolListChangedNotification
        ):
            changes.put_nowait(None)

    async with (
        create_mcp_http_client(authorization(token), auth=signing_in(url) if signs_in else None) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write, logging_callback=on_log, message_handler=on_message) as session,
    ):
        result = await session.initialize()
        if result.capabilities.logging:
            await session.set_logging_level("info")
        yield (
            SdkConnection(session, changes),
            {
                "version": str(result.protocolVersion),
                "serverInfo": dumped(result.serverInfo),
                "capabilities": dumped(result.capabilities),
            },
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sign-in", action="store_true")
    signs_in = parser.parse_args().sign_in
    drive(connect)
