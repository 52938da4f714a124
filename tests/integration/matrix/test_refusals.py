"""What official SDK clients make of being refused.

Those that sign in know nothing but the gateway's URL: its refusals lead them to the issuer, and back with a token. Those that
were given a token have to say that it is no good.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from fakes.authorization import AuthorizationServer
from fakes.clients import ModernClient
from fakes.gateway import Gateway, gateway
from fakes.modern import ModernBackend
from fakes.ordinary import tools
from fakes.waiting import eventually
from integration.access.doors import QUICK
from integration.matrix.programs import CallFailedError, Connection, Counterparts, Program
from integration.matrix.table import Client

PROGRAMS: Final = {
    "python-2": Program("python/mcp2", ("python/client_v2.py", "--sign-in")),
    "go": Program("go", ("client", "-sign-in")),
    "go-legacy": Program("go", ("client", "-version", "2025-06-18", "-sign-in")),
    "python-2-legacy": Program("python/mcp2", ("python/client_v2.py", "--mode", "legacy", "--sign-in")),
    "python-1": Program("python/mcp1", ("python/client_v1.py", "--sign-in")),
    "node-2": Program("node", ("node/client.mjs", "--sign-in")),
    "node-1": Program("node", ("node/client_legacy.mjs", "--sign-in")),
}
each_client = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


class Door:
    """A gateway that lets in whom one authorization server vouches for."""

    def __init__(self, gw: Gateway, backend: ModernBackend, issuer: AuthorizationServer) -> None:
        self.gw = gw
        self._backend = backend
        self._issuer = issuer

    async def asks_for(self, *scopes: str) -> None:
        """Take tokens that were made for this gateway and have these scopes."""
        section = self._issuer.section(audiences=[self.gw.url], requiredScopes=scopes)
        authentication = {"issuers": [section], "authorizationServers": [self._issuer.name]}
        await self.gw.configure({"x": self._backend}, authentication=authentication)

    async def denied(self) -> dict[str, int]:
        """How many requests were refused so far, by reason."""
        found = re.findall(r'switchyard_requests_denied_total\{reason="(\w+)"\} (\d+)', await self.gw.metrics())
        return {reason: int(count) for reason, count in found if int(count)}


@pytest.fixture
async def issuer() -> AsyncIterator[AuthorizationServer]:
    """Where one signs in."""
    async with AuthorizationServer() as running:
        yield running
        assert running.complaints == []


@pytest.fixture
async def door(issuer: AuthorizationServer, tmp_path: Path) -> AsyncIterator[Door]:
    """It asks for one scope. No client may answer from its own cache: the backend's list is good for no time."""
    async with (
        ModernBackend(*tools("a", "b"), ttl_ms=0) as backend,
        gateway(tmp_path, {"x": backend}, pace=QUICK) as gw,
    ):
        door = Door(gw, backend, issuer)
        await door.asks_for("mcp:read")
        yield door


@asynccontextmanager
async def connected(
    counterparts: Counterparts, program: Program, url: str, token: str | None = None
) -> AsyncIterator[Connection]:
    """A client that is given a URL and perhaps a token."""
    around = (await asyncio.to_thread(counterparts.client, program)).connected(url, token)
    connection = await asyncio.to_thread(around.__enter__)
    try:
        yield connection
    finally:
        await asyncio.to_thread(around.__exit__, None, None, None)


async def names(connection: Connection) -> list[str]:
    """What is listed, asked for beside the gateway, which runs in this thread's loop."""
    listed = await asyncio.to_thread(connection.client.ask, "list")
    return [tool["name"] for tool in listed["tools"]]


@each_client
async def test_a_client_finds_its_way_from_the_url_alone(
    program: Program, counterparts: Counterparts, issuer: AuthorizationServer, door: Door
) -> None:
    """401 and the metadata lead it to the authorization server, for a token for this gateway, with the scopes that it asks for."""
    async with connected(counterparts, program, door.gw.url) as connection:
        assert await names(connection) == ["a", "b"]
        called = await asyncio.to_thread(connection.client.call, "a")
        assert '"tool": "a"' in called["content"][0]["text"]
    (grant,) = issuer.grants
    assert (grant.resource, grant.scope) == (door.gw.url, "mcp:read")
    assert [issuer.asked(path) for path in ("/register", "/authorize", "/token")] == [1, 1, 1]
    assert set(await door.denied()) == {"no_token"}


@each_client
async def test_a_missing_scope_leads_a_client_to_step_up(
    program: Program, counterparts: Counterparts, issuer: AuthorizationServer, door: Door
) -> None:
    """403 names all that is needed; the client signs in again for that, and its request succeeds."""
    async with connected(counterparts, program, door.gw.url) as connection:
        assert await names(connection) == ["a", "b"]
        await door.asks_for("mcp:read", "mcp:call")
        assert await names(connection) == ["a", "b"]
    first, *later = [set(grant.scope.split()) for grant in issuer.grants]
    assert first == {"mcp:read"}
    assert later  # more than one if its stream was let in again before its request
    assert all(scopes == {"mcp:read", "mcp:call"} for scopes in later)
    assert (await door.denied())["insufficient_scope"] >= 1


@each_client
async def test_a_client_that_is_not_granted_a_scope_gives_up(
    program: Program, counterparts: Counterparts, issuer: AuthorizationServer, door: Door
) -> None:
    """It reports a failure instead of an empty list, and does not ask for ever."""
    issuer.withheld.add("mcp:read")
    with pytest.raises(CallFailedError):
        async with connected(counterparts, program, door.gw.url) as connection:
            await names(connection)
    assert {grant.scope for grant in issuer.grants} == {""}
    assert len(issuer.grants) <= 4
    assert set(await door.denied()) == {"no_token", "insufficient_scope"}


@each_client
async def test_a_token_that_is_not_taken_any_more_is_replaced(
    program: Program, counterparts: Counterparts, issuer: AuthorizationServer, door: Door
) -> None:
    """401 with ``invalid_token``, as after a leaked key was withdrawn, leads to a new token."""
    async with connected(counterparts, program, door.gw.url) as connection:
        assert await names(connection) == ["a", "b"]
        before = door.gw.another_modern(issuer.token(aud=door.gw.url, scope="mcp:read"))
        issuer.rotate("second")
        await eventually(lambda: _refused(before))
        assert await names(connection) == ["a", "b"]
    assert len(issuer.grants) >= 2
    assert (await door.denied())["invalid_token"] >= 1


async def test_a_token_that_is_not_taken_any_more_is_reported_by_a_client_that_was_given_it(
    client: Client, counterparts: Counterparts, issuer: AuthorizationServer, door: Door
) -> None:
    """In the middle of a connection, in both eras: a refusal is taken for no answer."""
    token = issuer.token(aud=door.gw.url, scope="mcp:read")
    async with connected(counterparts, client.program, door.gw.url, token) as connection:
        assert await names(connection) == ["a", "b"]
        await door.asks_for("mcp:admin")
        with pytest.raises(CallFailedError):
            await names(connection)
        await door.asks_for("mcp:read")  # to end a session, too, one has to be let in
    assert set(await door.denied()) == {"insufficient_scope"}


async def _refused(client: ModernClient) -> bool:
    return (await client.list()).status == 401
