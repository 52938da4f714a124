"""The published server-everything behind a gateway: a server that nobody wrote for this test, over both of its transports."""

from typing import Any

import pytest

from integration.matrix.asking import Asker, tools_of
from integration.matrix.gateways import Gateways
from integration.matrix.table import EVERYTHING, EVERYTHING_SSE, MODERN, Client, Server

NEEDS_ROOTS = {"get-roots-list"}
"""Offered to clients that declare roots, which a gateway does not relay yet, and so does not declare."""
NEEDS_TASKS = {"simulate-research-query"}
"""Requires task support of 2025-11-25, which the modern revision has not got."""


@pytest.mark.parametrize("everything", [EVERYTHING, EVERYTHING_SSE], ids=str)
def test_everything_is_served_to_every_client(
    everything: Server, client: Client, asker: Asker, gateways: Gateways
) -> None:
    """Definitions as from the server itself; a call with structured output; a long one with progress."""
    # Every client reads the server itself over Streamable HTTP: the definitions are the same on both transports.
    directly = asker.directly(EVERYTHING, client).tools
    left_out = NEEDS_ROOTS | NEEDS_TASKS if client.version == MODERN else NEEDS_ROOTS
    with asker.connected(client, gateways.over(everything).url) as connection:
        expected = {name: tool for name, tool in directly.items() if name not in left_out}
        assert _as_seen_by(client, tools_of(connection)) == _as_seen_by(client, expected)
        weather = connection.client.call("get-structured-content", location="New York")
        assert weather["structuredContent"] == {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
        call = connection.client.start(
            "call", name="trigger-long-running-operation", arguments={"duration": 0.3, "steps": 3}
        )
        assert call.result()["content"][0]["text"].startswith("Long running operation completed.")
        assert [call.event().params["progress"] for _ in range(3)] == [1, 2, 3]


def _as_seen_by(client: Client, tools: dict[str, Any]) -> dict[str, Any]:
    if client.version != MODERN:
        return tools
    # Some SDKs drop `execution` while parsing a modern list, since the revision has no such member.
    return {name: {key: tool[key] for key in tool if key != "execution"} for name, tool in tools.items()}
