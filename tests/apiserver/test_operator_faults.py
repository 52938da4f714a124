"""The operator when networks fail and the API server is away, busy or forgetful."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import aiohttp
import pytest
import pytest_asyncio

from apiserver.charted import operators_rules
from apiserver.client import BACKENDS, CLUSTER_ROLES, CRDS, EVENTS, GATEWAYS, SECRETS, Client
from apiserver.declared import SOON_S, Children, backend, bearer, credential, gateway
from apiserver.proxy import GONE, Answer, Proxy
from apiserver.proxy import Asked as Request
from apiserver.replica import Replica, replica
from apiserver.server import ApiServer
from fakes.waiting import eventually
from switchyard_operator.controller.access import Access
from switchyard_operator.controller.resources import BACKENDS as WATCHED_BACKENDS
from switchyard_operator.controller.resources import Stream
from switchyard_operator.controller.watching import Asked, Forbidden, Listed, Sight, Watching

pytestmark = pytest.mark.newest_kubernetes

BUSY: Final = Answer.refusal(429, "TooManyRequests", Retry_After="1")
FORBIDDEN: Final = Answer.refusal(403, "Forbidden")
BROKEN: Final = Answer.refusal(500, "InternalError")
ONE: Final = "http://one.example/mcp"
KINDS: Final = ("mcpbackends", "mcpgateways", "mcptoolaliases")
DEFINITIONS: Final = Path(__file__).parents[2] / "crds"


@pytest_asyncio.fixture
async def proxy(api_server: ApiServer) -> AsyncIterator[Proxy]:
    """What the operator speaks to in the API server's place."""
    async with Proxy(api_server) as between:
        yield between


@pytest_asyncio.fixture
async def children(client: Client, namespace: str) -> Children:
    """The children of a gateway with one backend, which has a credential."""
    await client.create(SECRETS, namespace, credential("token", "s3cret"))
    await client.create(BACKENDS, namespace, backend("one", auth=bearer("token")))
    await client.create(GATEWAYS, namespace, gateway("main", "one"))
    return Children(client, namespace, "main")


async def test_what_is_deleted_while_the_watch_is_cut_is_gone(
    proxy: Proxy, client: Client, namespace: str, children: Children, tmp_path: Path
) -> None:
    """When history is lost too, no event tells of the deletion, and the list that follows is empty: still it is noticed."""
    async with replica(proxy.kubeconfig(tmp_path), namespace=namespace) as operator:
        await children.serve(ONE)
        proxy.cut()
        await client.delete(BACKENDS, namespace, "one")
        await client.delete(SECRETS, namespace, "token")
        proxy.heal()
        proxy.answer_once(GONE, lambda asked: asked.watch)
        await children.serve(None)
        await operator.idle()
        assert await children.credentials() == set()


async def test_a_silent_watch_is_begun_anew(
    proxy: Proxy, client: Client, namespace: str, children: Children, tmp_path: Path
) -> None:
    """A connection that stands and brings nothing is given up after the time of inactivity; what happened meanwhile comes."""
    async with replica(proxy.kubeconfig(tmp_path), "--watch-inactivity=2", namespace=namespace):
        await children.serve(ONE)
        proxy.hang_watches()
        await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
        await children.serve("http://moved.example/mcp")


async def test_lists_bring_what_a_watch_does_not(
    proxy: Proxy, client: Client, namespace: str, children: Children, tmp_path: Path
) -> None:
    """Where a silent watch is not noticed, the periodic list finds changes and deletions."""
    async with replica(proxy.kubeconfig(tmp_path), "--list-period=1", namespace=namespace) as operator:
        await children.serve(ONE)
        proxy.hang_watches()
        await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
        await children.serve("http://moved.example/mcp")
        await client.delete(BACKENDS, namespace, "one")
        await children.serve(None)
        assert await operator.metric("switchyard_operator_missed_changes_total") > 0


@pytest.mark.parametrize("answer", [BUSY, BROKEN], ids=["busy", "broken"])
async def test_refused_reads_and_writes_are_done_later(
    answer: Answer, proxy: Proxy, client: Client, namespace: str, children: Children, tmp_path: Path
) -> None:
    """An API server that refuses everything for a while, at the start and later, delays the config and ends nothing."""

    async def was_refused(wanted: str) -> bool:
        return any(asked.method == wanted and asked.path.startswith("/api") for asked in proxy.asked)

    proxy.answer(answer, lambda asked: asked.list or asked.writes)
    async with replica(proxy.kubeconfig(tmp_path), namespace=namespace) as operator:
        await eventually(lambda: was_refused("GET"), SOON_S)
        assert (await operator.answers("/readyz"))[0] == 503
        assert (await operator.answers("/healthz"))[0] == 200
        proxy.heal()
        await children.serve(ONE)

        proxy.answer(answer, lambda asked: asked.method == "PATCH" or asked.watch)
        await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
        await eventually(lambda: was_refused("PATCH"), SOON_S)
        proxy.heal()
        await children.serve("http://moved.example/mcp")
        await operator.idle()


async def test_a_busy_api_server_is_no_news_for_users(
    proxy: Proxy, client: Client, namespace: str, children: Children, tmp_path: Path
) -> None:
    """Where writing a config is put off by 429, nobody is told that it failed: no status flips, and no event is made."""

    async def conditions() -> list[tuple[str, str, str]]:
        status = (await client.get(GATEWAYS, namespace, "main"))["status"]
        return [(each["type"], each["status"], each["reason"]) for each in status["conditions"]]

    async def is_ready() -> bool:
        return ("Ready", "True", "Ready") in await conditions()

    def is_config(asked: Request) -> bool:
        return asked.method == "PATCH" and asked.path.endswith("/configmaps/switchyard-main")

    async def was_put_off() -> bool:
        return sum(map(is_config, proxy.asked)) >= 4

    async with replica(proxy.kubeconfig(tmp_path), "--probes=Disabled", namespace=namespace) as operator:
        await children.serve(ONE)
        await eventually(is_ready, SOON_S)
        await operator.idle()
        before = await conditions()
        proxy.asked.clear()
        proxy.answer(BUSY, is_config)
        await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
        await eventually(was_put_off, SOON_S)
        assert await conditions() == before
        proxy.heal()
        await children.serve("http://moved.example/mcp")
        await operator.idle()
    assert await client.list(EVENTS, namespace) == []


async def test_a_watch_that_cannot_go_on_ends_the_process(
    proxy: Proxy, namespace: str, children: Children, tmp_path: Path
) -> None:
    """An answer that kopf gives up on, such as 404 for a kind that is no more, ends with status 1: to be started anew."""
    async with replica(proxy.kubeconfig(tmp_path), namespace=namespace) as operator:
        await children.serve(ONE)
        proxy.answer(Answer.refusal(404, "NotFound"), lambda asked: asked.watch and asked.path.endswith("/mcpbackends"))
        proxy.answer_once(GONE, lambda asked: asked.watch)
        proxy.cut()
        proxy.resume()
        assert await operator.ended() == 1


@pytest.mark.parametrize("away", [KINDS, ("mcptoolaliases",)], ids=["all", "one"])
async def test_kinds_that_are_no_more_end_the_process_and_the_next_waits_for_them(
    away: tuple[str, ...], api_server: ApiServer, client: Client, namespace: str, children: Children
) -> None:
    """However long they are away: nothing goes on that would see no change of them any more."""
    try:
        async with replica(api_server.kubeconfig()) as operator:
            await children.serve(ONE)
            for plural in away:
                await client.delete(CRDS, None, f"{plural}.switchyard.dev")
            assert await operator.ended() == 1
            assert "404" in (await operator.says("ended"))["error"]
        async with replica(api_server.kubeconfig()) as anew:
            await anew.says("waiting_for_kinds")
            await client.install_crds(DEFINITIONS)
            await client.create(BACKENDS, namespace, backend("two"))
            await client.create(GATEWAYS, namespace, gateway("other", "two"))
            await Children(client, namespace, "other").serve("http://two.example/mcp")
            assert (await anew.answers("/healthz"))[0] == 200
    finally:
        await client.install_crds(DEFINITIONS)


async def test_permission_that_is_withdrawn_for_a_while_is_waited_for(
    proxy: Proxy, client: Client, namespace: str, children: Children, tmp_path: Path
) -> None:
    """The API server refuses one kind when its watch is next begun; once it is allowed again, what happened meanwhile comes."""
    rules = operators_rules()
    less = [rule for rule in rules if "mcpbackends" not in rule.get("resources", ())]
    assert less != rules
    token = await client.new_account(namespace, "operator", rules)
    role = f"{namespace}-operator"
    flags = f"--lease-namespace={namespace}", "--list-period=1"
    async with replica(proxy.kubeconfig(tmp_path, token), *flags, namespace=namespace) as operator:
        await children.serve(ONE)
        await client.patch(CLUSTER_ROLES, None, role, {"rules": less})
        await operator.says("list_failed")
        proxy.cut()
        proxy.resume()
        await eventually(lambda: was_forbidden(operator), SOON_S)
        await client.patch(BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}})
        assert (await operator.answers("/healthz"))[0] == 200
        await client.patch(CLUSTER_ROLES, None, role, {"rules": rules})
        await children.serve("http://moved.example/mcp")
        await operator.idle()


async def test_watches_tell_that_they_ask_and_that_they_are_forbidden(
    proxy: Proxy, namespace: str, tmp_path: Path
) -> None:
    """By which one that has ended, or is refused for good, is told from one that waits."""
    stream = Stream(WATCHED_BACKENDS, namespace)
    sights: list[Sight] = []

    async def seen(*wanted: Sight) -> None:
        async def all_are() -> bool:
            return all(each in sights for each in wanted)

        await eventually(all_are, SOON_S)

    proxy.answer(FORBIDDEN, lambda asked: asked.list)
    access = await Access.load(proxy.kubeconfig(tmp_path))
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(Watching(access, {WATCHED_BACKENDS: ""}, [namespace], sights.append).run())
        await seen(Asked(stream), Forbidden(stream))
        assert Listed(stream) not in sights
        proxy.heal()
        await seen(Listed(stream))
        sights.clear()
        proxy.cut()
        await seen(Asked(stream))
        watching.cancel()


async def was_forbidden(operator: Replica) -> bool:
    """Whether a watch of backends was."""
    return any("mcpbackends?watch=true" in line["event"] and "status=403" in line["event"] for line in operator.said)


async def test_the_api_server_may_be_restarted(
    api_server: ApiServer, client: Client, namespace: str, children: Children
) -> None:
    """The same process goes on where it was, and what is declared from then on arrives."""
    async with replica(api_server.kubeconfig(), namespace=namespace) as operator:
        await children.serve(ONE)
        api_server.stop_apiserver()
        api_server.start_apiserver()
        async with aiohttp.ClientSession() as http:  # without the connections of before
            await Client(api_server, http).patch(
                BACKENDS, namespace, "one", {"spec": {"url": "http://moved.example/mcp"}}
            )
        await children.serve("http://moved.example/mcp")
        await operator.idle()


async def test_nothing_is_written_before_everything_is_known(
    proxy: Proxy, client: Client, namespace: str, tmp_path: Path
) -> None:
    """At a restart one kind comes late: no gateway is written without it, and none needs to be written at all."""
    await client.create(BACKENDS, namespace, backend("one"))
    for number in range(30):
        await client.create(GATEWAYS, namespace, gateway(f"g{number}", "one"))
    kubeconfig = proxy.kubeconfig(tmp_path)
    async with replica(kubeconfig, namespace=namespace) as first:
        for number in range(30):
            await Children(client, namespace, f"g{number}").serve(ONE)
        await first.idle()
        assert await first.end() == 0
    proxy.asked.clear()

    def late(asked: Request) -> bool:
        return asked.list and asked.path.endswith("/mcpbackends")

    async def came_late() -> bool:
        return sum(map(late, proxy.asked)) >= 3

    proxy.answer(BUSY, late)
    async with replica(kubeconfig, namespace=namespace) as second:
        await second.leads()
        await eventually(came_late, SOON_S)
        assert (await second.answers("/readyz"))[0] == 503
        proxy.heal()
        await second.idle()
        assert await second.metric("switchyard_operator_work_total") >= 30
    assert [asked for asked in proxy.asked if asked.writes] == []
