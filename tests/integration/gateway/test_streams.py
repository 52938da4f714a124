"""Change streams: who is told what, when, and how often; towards clients and from backends."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from yarl import URL

from fakes import hostile
from fakes.clients import META, OpenStream
from fakes.gateway import Gateway, gateway, section
from fakes.hostile import Exchange
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tool
from fakes.waiting import eventually
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import Pace
from switchyard_sidecar.upstream import pace as upstream_pace

CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
BOTH = pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
BRISK = Pace(clients=downstream_pace.Pace(write_s=1.0, keep_alive_s=0.1), backends=upstream_pace.Pace(poll_floor_s=0.2))
"""For what takes its time: a second instead of half a minute."""
PROMPT = Pace(backends=upstream_pace.Pace(gap_s=0.0, later_look_s=3600))
"""For many changes in a row, each of which is read at once and once."""


def changes(stream: OpenStream) -> int:
    """How often the stream has said that the list changed."""
    return [message.get("method") for message in stream.messages].count(CHANGED)


async def told(stream: OpenStream, times: int, within_s: float = 5.0) -> None:
    """Wait until the stream has said so, at least so many times."""
    await stream._pulse.until(lambda: changes(stream) >= times, within_s)


async def settle(gw: Gateway, stream: OpenStream, backend: OrdinaryBackend, marker: str) -> int:
    """How often the stream had said so before one further, certain change; which it must say exactly once.

    A notification that was under way, or is still to come, would be counted: nothing overtakes on a stream.
    """
    before = changes(stream)
    backend.tools.append(tool(marker))
    await backend.notify()
    await told(stream, before + 1)
    assert any(name.endswith(marker) for name in (await gw.modern.list()).names)
    return changes(stream) - 1


@BOTH
async def test_announced_change_is_told_once_and_can_be_read_at_once(
    tmp_path: Path, make: type[OrdinaryBackend]
) -> None:
    """One change of a backend of either era: each subscriber of either era gets one notification, and the new list."""
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await gw.legacy.initialize()
        await backend.listened(1)
        async with gw.modern.listen() as listening, gw.legacy.listen() as getting:
            await eventually(lambda: subscribers(gw, 2))
            backend.tools.append(tool("b"))
            await backend.notify()
            await told(listening, 1)
            assert (await gw.modern.list()).names == ["a", "b"]
            await told(getting, 1)
            assert (await gw.legacy.list()).names == ["a", "b"]
            assert await settle(gw, listening, backend, "c") == 1
            await told(getting, 2)
            assert changes(getting) == 2
        assert backend.complaints == []


@BOTH
async def test_whoever_is_told_finds_the_new_list_there_each_time(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """Two hundred changes in a row: a client of either era that lists the moment it is told never sees the old list."""
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=PROMPT) as gw:
        await gw.modern.list()
        await gw.legacy.initialize()
        await backend.listened(1)
        async with gw.modern.listen() as listening, gw.legacy.listen() as getting:
            await eventually(lambda: subscribers(gw, 2))
            for number in range(1, 201):
                backend.tools[:] = [tool("a", title=str(number))]
                await backend.notify()
                for stream, client in ((listening, gw.modern), (getting, gw.legacy)):
                    await told(stream, number)
                    assert (await client.list()).result["tools"] == backend.tools
            assert (changes(listening), changes(getting)) == (200, 200)


@BOTH
async def test_silent_stream_is_kept_alive_by_comments(tmp_path: Path, make: type[OrdinaryBackend]) -> None:
    """Proxies cut what says nothing; comments come on streams of both eras, and messages between them as ever."""
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=BRISK) as gw:
        await gw.modern.list()
        await gw.legacy.initialize()
        await backend.listened(1)
        async with gw.modern.listen() as listening, gw.legacy.listen() as getting:
            for stream in (listening, getting):
                await stream.has_comments(3)
            backend.tools.append(tool("b"))
            await backend.notify()
            for stream in (listening, getting):
                await told(stream, 1)
                await stream.has_comments(stream.comments + 1)
                assert changes(stream) == 1


async def subscribers(gw: Gateway, count: int) -> bool:
    """Whether so many streams are open at the gateway."""
    return bool((await gw.status())["subscribers"]["open"] == count)


@pytest.mark.parametrize("id_", [1, "1", "listen-ü", 2**53, -7])
async def test_every_message_of_a_subscription_carries_its_own_id(tmp_path: Path, id_: Any) -> None:
    """The caller's request id, with its JSON type, and never that of the hop to the backend."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen(id=id_) as stream:
            backend.tools.append(tool("b"))
            await backend.notify()
            messages = await stream.has(2)
        assert [message["method"] for message in messages] == [ACKNOWLEDGED, CHANGED]
        assert [message["params"]["_meta"][META + "subscriptionId"] for message in messages] == [id_, id_]
        assert [type(message["params"]["_meta"][META + "subscriptionId"]) for message in messages] == [type(id_)] * 2


@pytest.mark.parametrize(
    ("asked", "honoured"),
    [
        ({}, {}),
        ({"toolsListChanged": False}, {}),
        ({"toolsListChanged": True}, {"toolsListChanged": True}),
        ({"resourceSubscriptions": []}, {}),
        (
            {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a:b"]},
            {"toolsListChanged": True},
        ),
    ],
)
async def test_what_is_not_relayed_is_left_out_of_the_acknowledgement(
    tmp_path: Path, asked: dict[str, Any], honoured: dict[str, Any]
) -> None:
    """All members are optional; an empty subscription stays open and says nothing."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen(asked) as stream, gw.modern.listen() as other:
            assert stream.messages[0]["params"]["notifications"] == honoured
            backend.tools.append(tool("b"))
            await backend.notify()
            await told(other, 1)
            assert not stream.ended
            if not honoured:
                assert len(stream.messages) == 1


async def test_stream_asks_proxies_not_to_hold_it_back(tmp_path: Path) -> None:
    """The acknowledgement is the first thing on the stream, and nothing in between may buffer it."""
    async with gateway(tmp_path, {}) as gw, gw.modern.listen() as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        assert stream.headers["X-Accel-Buffering"] == "no"
        assert (stream.messages[0]["method"], stream.comments) == (ACKNOWLEDGED, 0)


async def test_listing_tells_nobody(tmp_path: Path) -> None:
    """A list that is read again and again, and is the same, is no change; and asking is no cause of one."""
    async with ModernBackend(tool("a"), ttl_ms=0) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen() as stream:
            for _ in range(30):
                await gw.modern.list()
            assert await settle(gw, stream, backend, "z") == 0


async def test_equal_definitions_written_otherwise_are_no_change(tmp_path: Path) -> None:
    """Other blanks, other key order, other escapes: the first bytes are kept and nobody is told."""
    first = b'{"name":"a","description":"\xc3\xbc","inputSchema":{"type":"object"}}'
    second = b'{ "inputSchema": {"type": "object"}, "name": "a", "description": "\\u00fc" }'
    async with ModernBackend(first) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen() as stream:
            backend.tools[:] = [second]
            await backend.notify()
            await backend.received("tools/list", 2)
            assert first in (await gw.modern.list()).body
            assert await settle(gw, stream, backend, "z") == 0


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Other."},
        {"title": "A"},
        {"inputSchema": {"type": "object", "additionalProperties": False}},
        {"annotations": {"readOnlyHint": True}},
        {"_meta": {"vendor/k": 1}},
        {"icons": [{"src": "data:,"}]},
        {"unknown": 1.0},
    ],
)
async def test_silent_change_of_any_part_is_noticed_and_told(tmp_path: Path, change: dict[str, Any]) -> None:
    """A backend that changes a definition and announces nothing is found out at the next reading."""
    async with (
        ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}) as gw,
    ):
        await gw.modern.list()
        async with gw.modern.listen() as stream:
            backend.tools[:] = [tool("a", **change)]
            assert (await gw.modern.list()).result["tools"] == [tool("a", **change)]
            await told(stream, 1)


@BOTH
async def test_silent_change_reaches_subscribers_although_nobody_lists(
    tmp_path: Path, make: type[OrdinaryBackend]
) -> None:
    """While anyone subscribes, every backend is looked at by itself, as its list ages."""
    async with make(tool("a")) as backend:
        short = section(backend, cache={"maxTtlMs": 100, "defaultTtlMs": 100})
        async with gateway(tmp_path, {"a": short}, pace=BRISK) as gw:
            await gw.modern.list()
            await backend.listened(1)
            await backend.received("tools/list", 2)  # the stream is open, and the list was read again for it
            async with gw.modern.listen() as stream:
                backend.tools.append(tool("b"))
                await told(stream, 1)
                assert (await gw.modern.list()).names == ["a", "b"]


async def listed(gw: Gateway, names: list[str]) -> bool:
    """Whether the list holds exactly these tools."""
    answer = await gw.modern.list()
    return "result" in answer.message and answer.names == names


async def test_change_only_the_other_era_sees_is_told_to_it_alone(tmp_path: Path) -> None:
    """Each subscriber hears of changes of its own view."""
    schema = {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await gw.legacy.initialize()
        await backend.listened(1)
        async with gw.modern.listen() as modern, gw.legacy.listen() as legacy:
            await eventually(lambda: subscribers(gw, 2))
            backend.tools.append(tool("legacy-only", inputSchema=schema))
            await backend.notify()
            await told(legacy, 1)
            assert await settle(gw, modern, backend, "z") == 0


@BOTH
async def test_burst_of_notifications_costs_few_readings_and_loses_none(
    tmp_path: Path, make: type[OrdinaryBackend]
) -> None:
    """However many announcements come, the last state is what is served, and the backend is not flooded."""
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen() as stream:
            for number in range(200):
                backend.tools[:] = [tool("a", title=str(number))]
                await backend.notify()
            await eventually(lambda: titled(gw, "199"))
            await told(stream, 1)
            assert len(backend.of("tools/list")) <= 20
            assert changes(stream) <= 20


async def titled(gw: Gateway, title: str) -> bool:
    """Whether the one tool of the list has this title."""
    return bool((await gw.modern.list()).result["tools"][0].get("title") == title)


async def test_backend_that_announces_too_early_is_looked_at_once_more(tmp_path: Path) -> None:
    """A notification that brings nothing new is followed by one later look, which finds the change."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen() as stream:
            await backend.notify()
            await backend.received("tools/list", 2)
            backend.tools.append(tool("b"))
            await told(stream, 1)
            assert (await gw.modern.list()).names == ["a", "b"]


async def test_backend_that_announces_whenever_it_is_listed_makes_no_storm(tmp_path: Path) -> None:
    """Its announcements are believed ever less, subscribers hear nothing, and a real change is still found."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        ordinary = backend.answer

        def announcing(request: hostile.Request) -> hostile.Reply:
            async def play(exchange: Exchange) -> None:
                await ordinary(request)(exchange)
                await backend.notify()

            return play if request.kind == "tools/list" else ordinary(request)

        await gw.modern.list()
        await backend.listened(1)
        backend.answer = announcing
        async with gw.modern.listen() as stream:
            await backend.notify()
            await backend.received("tools/list", 5)
            assert changes(stream) == 0
            backend.tools.append(tool("b"))
            await told(stream, 1)
            assert len(backend.of("tools/list")) <= 12


@BOTH
@pytest.mark.parametrize("how", ["reset", "ended"])
async def test_lost_stream_is_opened_again_and_the_list_read(
    tmp_path: Path, make: type[OrdinaryBackend], how: str
) -> None:
    """Cut or ended in order, a stream is not the backend's end: what changed meanwhile is found."""
    async with make(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        (stream,) = await backend.listened(1)
        async with gw.modern.listen() as listening:
            backend.tools.append(tool("b"))
            if how == "reset":
                stream.reset()
            elif isinstance(backend, ModernBackend):
                await backend.end_streams()
            else:
                await stream.end()
            await told(listening, 1)
            assert (await gw.modern.list()).names == ["a", "b"]
            await eventually(lambda: reopened(backend, stream))
            assert backend.complaints == []


async def reopened(backend: OrdinaryBackend, former: Any) -> bool:
    """Whether another change stream than the former one is open."""
    return len(backend.streams) == 1 and backend.streams[0] is not former


async def test_restarted_legacy_backend_gets_a_new_session(tmp_path: Path) -> None:
    """All sessions forgotten, as after a restart: initialize anew, open the stream anew, read the list; no empty id."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen() as listening:
            await backend.stop()
            backend.sessions.clear()
            backend.tools.append(tool("b"))
            await backend.start()
            await told(listening, 1, within_s=10)
            await backend.listened(1)
            assert (await gw.modern.list()).names == ["a", "b"]
            assert len(backend.of("GET")) <= 6
            assert backend.complaints == []


@pytest.mark.parametrize("status", [404, 400, 405, 501])
async def test_backend_without_change_streams_is_a_good_backend(tmp_path: Path, status: int) -> None:
    """subscriptions/listen is unknown to it: it is asked once, listed and called as ever."""
    async with ModernBackend(tool("a"), ttl_ms=0) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.always("subscriptions/listen", hostile.error(-32601, status=status))
        await backend.received("subscriptions/listen")
        for _ in range(5):
            assert (await gw.modern.list()).names == ["a"]
        assert (await gw.modern.call("a")).text["tool"] == "a"
        backend.tools.append(tool("b"))
        assert (await gw.modern.list()).names == ["a", "b"]
        assert len(backend.of("subscriptions/listen")) == 1 or status == 501
        assert len(backend.of("server/discover")) == 1


async def test_stream_that_honours_nothing_is_given_up(tmp_path: Path) -> None:
    """An acknowledgement without tools costs a connection for nothing: it is closed, and not opened again."""
    discovered = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": True}},
    }
    async with ModernBackend(tool("a"), list_changed=False) as backend:
        backend.always("server/discover", hostile.result(discovered))
        async with gateway(tmp_path, {"a": backend}) as gw:
            await backend.received("subscriptions/listen")
            await backend.listened(0)
            assert (await gw.modern.list()).names == ["a"]
            assert len(backend.of("subscriptions/listen")) == 1


async def test_get_answered_405_means_no_stream_and_no_storm(tmp_path: Path) -> None:
    """A legacy backend need not have a stream: it is asked once, and nobody is told of changes that are none."""
    async with LegacyBackend(tool("a")) as backend:
        backend.with_stream = False
        async with gateway(tmp_path, {"a": backend}) as gw, gw.modern.listen() as stream:
            await backend.received("GET")
            await eventually(lambda: listed(gw, ["a"]))
            before = changes(stream)
            for _ in range(20):
                await gw.modern.list()
            assert (len(backend.of("GET")), changes(stream)) == (1, before)


async def test_second_get_of_a_session_takes_over(tmp_path: Path) -> None:
    """A client whose old stream was cut unnoticed opens another: it gets the messages, the old one ends; no 409.

    What the old one was told may have been lost, and is told again.
    """
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await gw.legacy.initialize()
        await backend.listened(1)
        async with gw.legacy.listen() as first, gw.legacy.listen() as second:
            assert second.status == 200
            await first.end()
            backend.tools.append(tool("b"))
            await backend.notify()
            await told(second, 1)
            assert changes(first) == 0
            async with gw.legacy.listen() as third:
                await told(third, 1)


async def test_change_between_two_streams_of_a_session_is_told(tmp_path: Path) -> None:
    """What changed while a session had no stream is told when it has one again."""
    async with (
        ModernBackend(tool("a"), ttl_ms=0, list_changed=False) as backend,
        gateway(tmp_path, {"a": backend}) as gw,
    ):
        await gw.modern.list()
        await gw.legacy.initialize()
        async with gw.legacy.listen():
            await eventually(lambda: subscribers(gw, 1))
        await eventually(lambda: subscribers(gw, 0))
        backend.tools.append(tool("b"))
        await eventually(lambda: listed(gw, ["a", "b"]))
        async with gw.legacy.listen() as stream:
            await told(stream, 1)


async def test_peer_that_never_reads_holds_up_nobody(tmp_path: Path) -> None:
    """Each subscriber is written to by itself; one that takes nothing is dropped after a while, and costs little until then."""
    any_id = replace(BRISK, clients=replace(BRISK.clients, subscription_id_bytes=2_000_002))
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=any_id) as gw:
        await gw.modern.list()
        await backend.listened(1)
        # Every message repeats the subscription's id: with a large one the buffers between are soon full.
        body, headers = gw.modern.frame(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id="x" * 2_000_000
        )
        host, port = gw.url.split("/")[2].split(":")
        _, stuck = await asyncio.open_connection(host, int(port), limit=1)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        stuck.write(f"POST /mcp HTTP/1.1\r\nHost: {host}\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await eventually(lambda: subscribers(gw, 1))
        async with gw.modern.listen() as stream:
            for number in range(1, 11):
                backend.tools.append(tool(f"b{number}"))
                await backend.notify()
                await told(stream, number)
            await eventually(lambda: subscribers(gw, 1))
            assert not stream.ended
        stuck.close()


async def test_config_of_many_backends_is_one_change(tmp_path: Path) -> None:
    """Eight backends applied at once: one list, and at most one notification for each that answered, and changed it."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"b0": backend}) as gw:
        await gw.modern.list()
        async with gw.modern.listen() as stream:
            await gw.configure({f"b{number}": backend for number in range(8)})
            await eventually(lambda: listed(gw, [f"b{number}__a" for number in range(8)]))
            await told(stream, 1)
            assert (await gw.status())["subscribers"]["toldTotal"] <= 8


async def test_backend_added_and_removed_is_told(tmp_path: Path) -> None:
    """Config changes take the same way as changes of backends."""
    async with ModernBackend(tool("a")) as one, ModernBackend(tool("b")) as two:
        keys = {"one": section(one, prefix="one"), "two": section(two, prefix="two")}
        async with gateway(tmp_path, {"one": keys["one"]}) as gw:
            await gw.modern.list()
            async with gw.modern.listen() as stream:
                await gw.configure(keys)
                await told(stream, 1)
                await eventually(lambda: listed(gw, ["one__a", "two__b"]))
                before = changes(stream)
                await gw.configure({"two": keys["two"]})
                await told(stream, before + 1)
                assert (await gw.modern.list()).names == ["two__b"]


async def test_backends_that_come_up_after_the_gateway_are_found(tmp_path: Path) -> None:
    """Started before its backends, the gateway lists them when they are there, and tells who waits."""
    async with ModernBackend(tool("a")) as backend:
        await backend.stop()
        async with gateway(tmp_path, {"a": backend}) as gw, gw.modern.listen() as stream:
            assert (await gw.modern.list()).error["code"] == -32603
            await backend.start()
            await told(stream, 1, within_s=10)
            assert (await gw.modern.list()).names == ["a"]


async def test_outage_of_a_backend_ends_no_subscription(tmp_path: Path) -> None:
    """The last good list is served meanwhile, and what the backend brings back is told."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        async with gw.modern.listen() as stream:
            await backend.stop()
            assert (await gw.modern.list()).names == ["a"]
            backend.tools.append(tool("b"))
            await backend.start()
            await told(stream, 1, within_s=10)
            assert not stream.ended
            assert changes(stream) == 1


async def test_shutdown_ends_streams_in_order(tmp_path: Path) -> None:
    """Every subscription gets its result with its id, GET streams end, and the process does not wait for their clients."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        async with gw.modern.listen(id="mine") as listening, gw.legacy.listen() as getting:
            await eventually(lambda: subscribers(gw, 2))
            gw.running.cancel()
            (*_, last) = await listening.end()
            await getting.end()
        assert last == {
            "jsonrpc": "2.0",
            "id": "mine",
            "result": {"resultType": "complete", "_meta": {META + "subscriptionId": "mine"}},
        }
        await asyncio.wait({gw.running}, timeout=5)
        assert gw.running.done()


async def test_client_that_leaves_is_forgotten(tmp_path: Path) -> None:
    """A closed stream costs nothing any more, however many there were."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        for _ in range(50):
            async with gw.modern.listen():
                pass
        await eventually(lambda: subscribers(gw, 0))
        assert backend.connections <= 3


async def test_upstream_stream_has_its_own_subscription(tmp_path: Path) -> None:
    """One stream to the backend serves any number of clients, under an id that is ours."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        async with gw.modern.listen(id="x"), gw.modern.listen(id="y"):
            (stream,) = await backend.listened(1)
            assert json.loads(stream.request.body)["id"] not in {"x", "y"}
            assert len(backend.of("subscriptions/listen")) == 1


async def test_client_that_leaves_at_once_is_no_failure_of_ours(tmp_path: Path) -> None:
    """Clients come and go: the log would be full of it, and a failure would be lost among them."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        body, headers = gw.modern.frame("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        fields = {"Host": "localhost", "Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        url = URL(gw.url)
        with capture_logs() as written:
            for _ in range(50):
                _, writer = await asyncio.open_connection(url.host, url.port)
                writer.write(b"POST /mcp HTTP/1.1\r\n" + head.encode() + b"\r\n" + body)
                await writer.drain()
                writer.transport.abort()
            await eventually(lambda: subscribers(gw, 0))
            assert (await gw.modern.list()).names == ["a"]
        assert [entry for entry in written if entry["log_level"] == "error"] == []
