"""The operator with CRDs of an earlier release: it works, and says what they lack."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from apiserver.client import BACKENDS, CRDS, EVENTS, GATEWAYS, Client
from apiserver.conftest import CRDS as FILES
from apiserver.declared import SOON_S, Children, backend, gateway
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import eventually

NAME: Final = "mcpbackends.switchyard.dev"


async def outdated(operator: Replica) -> bool:
    """Whether the metric says so of any definition."""
    return await operator.metric("switchyard_operator_crd_outdated") > 0


async def test_older_definitions_are_told_of_until_they_are_replaced(api_server: ApiServer, tmp_path: Path) -> None:
    """One line in the log of each replica, a metric, and an event of the definition; the config is written all the same."""
    server, older = ApiServer(api_server.assets, tmp_path), tmp_path / "older"
    older.mkdir()
    for file in FILES.glob("*.yaml"):
        (older / file.name).write_text(json.dumps(_earlier(yaml.safe_load(file.read_text()))))
    try:
        await asyncio.to_thread(server.start)
        async with aiohttp.ClientSession() as http, replica(server.kubeconfig(), "--list-period=1") as operator:
            client = Client(server, http)
            await client.install_crds(older)
            said = await operator.says("crd_outdated")
            assert (said["level"], said["name"], said["lacks"]) == (
                "warning",
                NAME,
                ["spec: x-kubernetes-validations", "spec.pinning"],
            )
            await client.create(BACKENDS, "default", backend("one"))
            await client.create(GATEWAYS, "default", gateway("main", "one"))
            await Children(client, "default", "main").serve("http://one.example/mcp")
            assert await outdated(operator)

            async def told() -> bool:
                return any(each["reason"] == "CRDOutdated" for each in await client.list(EVENTS, "default"))

            await eventually(told, SOON_S)
            (event,) = [each for each in await client.list(EVENTS, "default") if each["reason"] == "CRDOutdated"]
            assert (event["type"], event["regarding"]["name"]) == ("Warning", NAME)
            assert event["regarding"]["uid"] == (await client.get(CRDS, None, NAME))["metadata"]["uid"]
            assert "spec.pinning" in event["note"]

            await client.install_crds(FILES)
            await operator.says("crd_current")
            assert not await outdated(operator)
            assert len([line for line in operator.said if line["event"] == "crd_outdated"]) == 1
    finally:
        server.close()


def _earlier(crd: dict[str, Any]) -> dict[str, Any]:
    """A definition as an earlier release may have had it."""
    if crd["metadata"]["name"] == NAME:
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        del spec["properties"]["pinning"], spec["x-kubernetes-validations"]
    return crd
