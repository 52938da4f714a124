"""What the matrix makes allowance for is the servers' own doing: here no gateway is in between."""

import aiohttp
import pytest

from fakes.clients import LegacyClient
from integration.matrix.programs import Counterparts
from integration.matrix.table import SERVERS, Server


@pytest.mark.parametrize("aside", [server for server in SERVERS if server.logs_aside], ids=str)
async def test_a_call_is_answered_without_its_log_lines(
    aside: Server, counterparts: Counterparts, http: aiohttp.ClientSession
) -> None:
    """They come on the session's own stream, which knows nothing of when the call is over."""
    client = LegacyClient(counterparts.server(aside.program), http)
    await client.initialize()
    await client.request("logging/setLevel", {"level": "info"})
    arguments = {"steps": 2, "delay_ms": 1}
    async with client.listen() as stream:
        answer = await client.request(
            "tools/call", {"name": "slow", "arguments": arguments, "_meta": {"progressToken": "mine"}}
        )
        assert [message.get("method") for message in answer.messages] == ["notifications/progress"] * 2 + [None]
        assert [line["method"] for line in await stream.has(2)] == ["notifications/message"] * 2
