"""Definitions of real servers, byte for byte: what no SDK's client could show, since it has parsed them by then."""

import json

import aiohttp
import msgspec

from fakes.clients import Answer, LegacyClient, ModernClient
from integration.matrix.gateways import Gateways
from integration.matrix.programs import Counterparts
from integration.matrix.table import Server
from switchyard_sidecar.protocol import sse


class Page(msgspec.Struct, rename="camel"):
    """The part of a ``tools/list`` result that this is about."""

    tools: list[msgspec.Raw]
    next_cursor: str | None = None


class Response(msgspec.Struct):
    """A JSON-RPC response that holds one."""

    result: Page


async def test_definitions_reach_either_era_byte_for_byte(
    server: Server, counterparts: Counterparts, gateways: Gateways, http: aiohttp.ClientSession
) -> None:
    """Key order, number lexemes, escapes: nothing of a definition is written anew."""
    directly = await _definitions(await _client(server.era, counterparts.server(server.program), http))
    assert len(directly) >= 10
    gateway = gateways.over(server)
    for era in ("Modern", "Legacy"):
        assert await _definitions(await _client(era, gateway.url, http)) == directly


async def _client(era: str, url: str, http: aiohttp.ClientSession) -> ModernClient | LegacyClient:
    if era == "Modern":
        return ModernClient(url, http)
    client = LegacyClient(url, http)
    await client.initialize()
    return client


async def _definitions(client: ModernClient | LegacyClient) -> dict[str, bytes]:
    """Each tool's definition as it was sent, by its name."""
    found: dict[str, bytes] = {}
    cursor = None
    while True:
        page = msgspec.json.decode(_last_message(await client.list(cursor)), type=Response).result
        found |= {json.loads(bytes(tool))["name"]: bytes(tool) for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            return found


def _last_message(answer: Answer) -> bytes:
    if answer.headers["Content-Type"].startswith("text/event-stream"):
        return [event.data for event in sse.Decoder(1 << 24).feed(answer.body) if event.data][-1]
    return answer.body
