"""A client on ``mcp`` 1.x: legacy alone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from driving import Event, drive
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel


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


@contextlib.asynccontextmanager
async def connect(url: str, event: Event) -> AsyncIterator[tuple[SdkConnection, dict[str, Any]]]:
    changes: asyncio.Queue[None] = asyncio.Queue()

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        event("log", dumped(params))

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ServerNotification) and isinstance(
            message.root, types.ToolListChangedNotification
        ):
            changes.put_nowait(None)

    async with (
        streamable_http_client(url) as (read, write, _),
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
    drive(connect)
