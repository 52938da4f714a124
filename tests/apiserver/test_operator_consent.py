"""Backends of other namespaces on a real API server: used with their owners' consent, and given up within ten seconds of its end."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pytest
import pytest_asyncio

from apiserver.client import BACKENDS, GATEWAYS, NAMESPACES, SECRETS, Client
from apiserver.declared import SOON_S, Children, backend, bearer, credential, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import eventually

pytestmark = pytest.mark.newest_kubernetes

TOKEN: Final = "t0ken-of-the-owner"
LABEL: Final = "agents.example/allowed"
REVOKED_WITHIN_S: Final = 10.0
"""What owners are promised."""


@dataclass(frozen=True)
class Sides:
    """A backend with a credential, in one namespace, and a gateway in another that uses it."""

    client: Client
    owner: str
    user: str

    @property
    def children(self) -> Children:
        """Of the gateway."""
        return Children(self.client, self.user, "main")

    async def status(self) -> dict[str, tuple[str, str]]:
        """Status and reason of each of the gateway's conditions."""
        found = await self.client.get(GATEWAYS, self.user, "main")
        return {each["type"]: (each["status"], each["reason"]) for each in found["status"]["conditions"]}

    async def patch(self, **spec: Any) -> None:
        """Change the backend."""
        await self.client.patch(BACKENDS, self.owner, "shared", {"spec": spec})


@pytest_asyncio.fixture
async def sides(client: Client) -> Sides:
    owner, user = await client.new_namespace("owner"), await client.new_namespace("user", {LABEL: "true"})
    consent = {"from": "Selector", "selector": {"matchLabels": {LABEL: "true"}}, "credentials": "Share"}
    await client.create(SECRETS, owner, credential("token", TOKEN))
    await client.create(BACKENDS, owner, backend("shared", auth=bearer("token"), allowedNamespaces=consent))
    await client.create(BACKENDS, user, backend("own"))
    await client.create(GATEWAYS, user, gateway("main", "own", {"name": "shared", "namespace": owner}))
    return Sides(client, owner, user)


@pytest_asyncio.fixture
async def operator(api_server: ApiServer, sides: Sides) -> AsyncIterator[Replica]:
    """A replica that sees all namespaces and has given the gateway what it may have."""
    async with replica(api_server.kubeconfig(), *flags(sides)) as running:
        await given(sides)
        yield running


def flags(sides: Sides) -> list[str]:
    return [f"--lease-namespace={sides.owner}", "--probes=Disabled"]


async def given(sides: Sides) -> None:
    """Wait until the gateway has the backend and its credential."""
    await sides.children.serve("http://own.example/mcp", "http://shared.example/mcp")
    assert await sides.children.credentials() == {TOKEN.encode()}


async def withhold(sides: Sides) -> None:
    await sides.patch(allowedNamespaces={"credentials": "Withhold"})


async def admit_nobody_else(sides: Sides) -> None:
    await sides.patch(allowedNamespaces={"from": "Same", "selector": None, "credentials": "Withhold"})


async def take_the_label(sides: Sides) -> None:
    await sides.client.patch(NAMESPACES, None, sides.user, {"metadata": {"labels": {LABEL: None}}})


async def delete_the_backend(sides: Sides) -> None:
    await sides.client.delete(BACKENDS, sides.owner, "shared")


async def hide_the_secret(sides: Sides) -> None:
    labels = {"switchyard.dev/credential": None}
    await sides.client.patch(SECRETS, sides.owner, "token", {"metadata": {"labels": labels}})


Revoking: TypeAlias = Callable[[Sides], Awaitable[None]]
REVOKING: Final[list[Revoking]] = [
    withhold,
    admit_nobody_else,
    take_the_label,
    delete_the_backend,
    hide_the_secret,
]
REASONS: Final[dict[Revoking, str]] = {withhold: "CredentialsWithheld", hide_the_secret: "BackendNotResolved"}
"""What the gateway's owner is told. Whether there is a backend that does not admit him he does not learn."""


async def taken(sides: Sides) -> None:
    """Wait until neither address nor credential of the backend is left."""

    async def is_taken() -> bool:
        urls = await sides.children.urls()
        return urls == ["http://own.example/mcp", None] and await sides.children.credentials() == set()

    await eventually(is_taken, REVOKED_WITHIN_S)


@pytest.mark.parametrize("revoke", REVOKING)
async def test_what_is_no_longer_shared_goes_within_ten_seconds(
    operator: Replica, sides: Sides, revoke: Revoking
) -> None:
    """Whichever way consent ends, address and credential go, the gateway's own backend stays, and its status says why."""
    await revoke(sides)
    await taken(sides)
    wanted = REASONS.get(revoke, "BackendNotFound")

    async def is_told() -> bool:
        status = await sides.status()
        return status["ResolvedRefs"] == ("False", wanted) and status["Ready"] == ("True", "Degraded")

    await eventually(is_told, SOON_S)


async def test_what_was_no_longer_shared_while_nobody_ran_goes_with_the_operators_return(
    api_server: ApiServer, sides: Sides
) -> None:
    """Consent ends while there is no operator; ten seconds after one has started the copy is gone."""
    async with replica(api_server.kubeconfig(), *flags(sides)) as before:
        await given(sides)
        assert await before.end() == 0
    await withhold(sides)
    assert await sides.children.credentials() == {TOKEN.encode()}
    began = time.monotonic()
    async with replica(api_server.kubeconfig(), *flags(sides)):
        await taken(sides)
    assert time.monotonic() - began < REVOKED_WITHIN_S


async def test_what_is_shared_again_comes_back(operator: Replica, sides: Sides) -> None:
    """Consent is a state: nothing remembers that it was withdrawn."""
    await withhold(sides)
    await taken(sides)
    await sides.patch(allowedNamespaces={"credentials": "Share"})
    await given(sides)
