"""What crosses the gateway: of a caller's request only its message, of a definition only its text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import hostile
from fakes.clients import LegacyClient, ModernClient
from fakes.gateway import gateway
from fakes.hostile import HostileBackend
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool, tools
from fakes.waiting import eventually

SENT = {
    "Authorization": "Bearer gateway-token",
    "Proxy-Authorization": "Basic cHJveHk6cHJveHk=",
    "Cookie": "sid=of-the-caller",
    "X-Mcp-Auth": "Bearer other-token",
    "X-Api-Key": "key-of-the-caller",
    "X-Forwarded-For": "10.9.8.7",
    "X-Real-Ip": "10.9.8.7",
    "Forwarded": "for=10.9.8.7",
    "Via": "1.1 callers-proxy",
    "Origin": "http://localhost",
    "Referer": "http://callers-page.example",
    "User-Agent": "callers-agent/1",
    "Last-Event-ID": "callers-event",
    "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "X-Request-Id": "callers-request",
}
"""What a caller, or whatever stands before the gateway, may send along."""
OWN = {
    "accept", "accept-encoding", "content-length", "content-type", "host", "mcp-method", "mcp-name", "mcp-protocol-version",
    "mcp-session-id", "user-agent",
}  # fmt: skip
"""The names of all headers that a backend without configured ones gets. A name that is not here is a leak until it is found to be none."""


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_no_header_of_a_caller_reaches_a_backend(
    tmp_path: Path, make: Callable[..., OrdinaryBackend], era: str
) -> None:
    """By what is allowed, not by what is forbidden: list, call, stream and good-bye; nor does any value of one."""
    async with make(*tools("a")) as backend:
        async with gateway(tmp_path, {"one": backend}, listener={"allowedOrigins": ["*"]}) as gw:
            await backend.listened(1)
            client: ModernClient | LegacyClient = gw.modern
            if era == "legacy":
                client = gw.legacy
                await gw.legacy.initialize()
            await client.list(headers=SENT)
            assert (await client.call("a", headers=SENT)).text["tool"] == "a"
            async with client.listen():
                await client.list(headers=SENT)
        assert backend.complaints == []
        for request in backend.requests:
            assert {name.lower() for name, _ in request.headers} <= OWN
            assert request.header("Host") == backend.url.split("/")[2]
            values = {value for _, value in request.headers}
            assert values.isdisjoint({*SENT.values(), gw.legacy.session, gw.url.split("/")[2]})


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_no_address_in_a_definition_is_asked(tmp_path: Path, make: Callable[..., OrdinaryBackend]) -> None:
    """Schemas are not resolved and icons not fetched, whoever lists or calls the tool: it could be any place that only we reach."""
    async with HostileBackend(lambda _: hostile.body(b"{}")) as canary:
        url = canary.url.removesuffix("/mcp")
        schema = {
            "$schema": f"{url}/schema", "$id": f"{url}/id", "type": "object",
            "properties": {"a": {"$ref": f"{url}/ref"}, "b": {"$dynamicRef": f"{url}/dynamic"}},
            "allOf": [{"$ref": f"{url}/all#/x"}],
        }  # fmt: skip
        pointing = {
            "inputSchema": schema,
            "outputSchema": {"type": "object", "$ref": f"{url}/out"},
            "icons": [{"src": f"{url}/icon.png", "mimeType": "image/png"}],
            "_meta": {"url": f"{url}/meta"},
            "annotations": {"title": url},
        }
        async with make(tool("a", **pointing), tool("b")) as backend, gateway(tmp_path, {"one": backend}) as gw:
            for client in (gw.modern, gw.legacy):
                if isinstance(client, LegacyClient):
                    await client.initialize()
                assert "a" in (await client.list()).names
                assert (await client.call("a", {"a": 1, "b": f"{url}/argument"})).status == 200
            await gw.status()
            assert canary.requests == []


async def test_a_tool_that_comes_later_is_shown_by_the_rules_as_the_first_ones(tmp_path: Path) -> None:
    """What is visible follows from the rules each time, and not from what was found when: in list, call and stream, in both eras."""
    visibility = {"default": "Deny", "rules": [{"tools": {"include": ["public_*"]}}]}
    async with (
        ModernBackend(tool("public_a"), tool("secret_a")) as backend,
        gateway(tmp_path, {"one": backend}, visibility=visibility) as gw,
        gw.modern.listen() as stream,
    ):
        await backend.listened(1)
        read = len(backend.of("tools/list"))
        backend.tools.append(tool("secret_b"))
        await backend.notify()
        await backend.received("tools/list", read + 1)
        backend.tools.append(tool("public_b"))
        await backend.notify()
        await stream.has(2)  # the acknowledgement, and one change: of the other nobody is to know
        for client in (gw.modern, gw.legacy):
            assert (await client.list()).names == ["public_a", "public_b"]
            assert (await client.call("public_b")).text["tool"] == "public_b"
            refused = await client.call("secret_b")
            assert refused.error == {"code": -32602, "message": "Unknown tool: secret_b"}
        assert len(stream.messages) == 2

        async def hides_again() -> bool:
            return (await gw.modern.list()).names == ["public_a"]

        backend.tools[:] = [tool("public_a"), tool("secret_b")]
        await backend.notify()
        await eventually(hides_again)
