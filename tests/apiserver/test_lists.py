"""Lists of many pages from a real API server."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apiserver import client as tests_client
from apiserver.client import Client
from apiserver.declared import SOON_S
from apiserver.proxy import Answer, Proxy
from apiserver.server import ApiServer
from fakes.waiting import eventually
from switchyard_operator.controller.access import Access
from switchyard_operator.controller.kube import Kube
from switchyard_operator.controller.listing import Lister
from switchyard_operator.controller.resources import CONFIG_MAPS, Stream

COUNT = 501
"""One more than a page holds."""


@dataclass
class Recorded:
    """One list, as it came in."""

    names: list[str] = field(default_factory=list)
    version: str | None = None
    """Of the whole list; ``None``: it was not finished."""

    def add(self, raws: list[dict[str, Any]]) -> None:
        self.names += [raw["metadata"]["name"] for raw in raws]

    def done(self, resource_version: str) -> None:
        self.version = resource_version


async def test_a_list_that_expires_midway_begins_anew(
    api_server: ApiServer, client: Client, namespace: str, tmp_path: Path
) -> None:
    """410 on a later page: what came before it may be gone by now, so that only a list from the first page on counts."""
    lists: list[Recorded] = []

    def begin() -> Recorded:
        lists.append(Recorded())
        return lists[-1]

    async def finished() -> bool:
        return bool(lists) and lists[-1].version is not None

    names = [f"ca-{number:03}" for number in range(COUNT)]
    labels = {"switchyard.dev/credential": "true"}
    bodies = [{"metadata": {"name": name, "labels": labels}} for name in names]
    await asyncio.gather(*(client.create(tests_client.CONFIG_MAPS, namespace, body) for body in bodies))
    async with Proxy(api_server) as proxy, Kube(await Access.load(proxy.kubeconfig(tmp_path))) as kube:
        proxy.answer_once(Answer.refusal(410, "Expired"), lambda asked: "continue" in asked.query)
        lister = Lister(kube, Stream(CONFIG_MAPS, namespace), "switchyard.dev/credential", begin, asyncio.Lock())
        listing = asyncio.create_task(lister.run())
        lister.want()
        await eventually(finished, SOON_S)
        listing.cancel()
        await asyncio.wait([listing])
    assert [(len(each.names), each.version is not None) for each in lists] == [(500, False), (COUNT, True)]
    assert lists[-1].names == names
