"""What people and their tools see of a running sidecar."""

import asyncio
import json
import socket
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from fakes import hostile
from fakes.gateway import Gateway, gateway, write_config
from fakes.hostile import HostileBackend
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.process import sidecar
from fakes.waiting import eventually
from required import missing

LISTED_BYTES = 2 * len('{"name": "a__a", "description": "Does a.", "inputSchema": {"type": "object"}}')
"""Two tools as the fake backend writes them."""


async def fetched(gw: Gateway, path: str) -> tuple[int, str]:
    """Status and body of an admin page, asked for as a kubelet does: under whatever Host."""
    async with gw.http.get(gw.admin + path, headers={"Host": "10.1.2.3:8812"}) as response:
        return response.status, await response.text()


async def sample(gw: Gateway, name: str, **labels: str) -> float | None:
    """One value as Prometheus reads it."""
    for family in text_string_to_metric_families(await gw.metrics()):
        for each in family.samples:
            if (each.name, each.labels) == (name, labels):
                return float(each.value)
    return None


async def test_health_means_listening_and_not_that_backends_are_well(tmp_path: Path) -> None:
    """An outage elsewhere must restart nothing here."""
    async with HostileBackend(lambda _: hostile.reset()) as dead, gateway(tmp_path, {"a": dead}) as gw:
        assert (await gw.modern.list()).error["code"] == -32603
        assert await fetched(gw, "/healthz") == (200, "ok\n")
        assert await fetched(gw, "/readyz") == (200, "ok\n")
        assert (await fetched(gw, "/nothing"))[0] == 404


async def test_status_tells_of_each_backend_what_a_person_would_ask(tmp_path: Path) -> None:
    """Era, version, state, tools, last error, when it was last well and when it is tried again; and who listens."""
    async with (
        ModernBackend(tool("a"), tool("b")) as new,
        LegacyBackend(tool("c"), version="2025-06-18") as old,
        HostileBackend(lambda _: hostile.reset()) as dead,
        gateway(tmp_path, {"new": new, "old": old, "dead": dead}) as gw,
        gw.modern.listen(),
    ):
        await gw.modern.list()
        await new.listened(1)
        await old.listened(1)

        async def settled() -> bool:
            return {each["stream"] for each in (await gw.status())["backends"].values()} == {"open", "none"}

        await eventually(settled)
        status = await gw.status()
        backends = status["backends"]
        seen = {
            name: tuple(backends[f"tools/{name}"][key] for key in ("state", "era", "version", "tools", "stream"))
            for name in ("new", "old", "dead")
        }
        assert seen == {
            "new": ("ready", "modern", "2026-07-28", 2, "open"),
            "old": ("ready", "legacy", "2025-06-18", 1, "open"),
            "dead": ("failing", None, None, None, "none"),
        }
        assert backends["tools/dead"]["lastError"]
        assert backends["tools/dead"]["nextAttemptAt"] is not None
        assert backends["tools/new"]["lastError"] is None
        assert datetime.fromisoformat(backends["tools/new"]["lastSuccessAt"]).tzinfo is UTC
        assert backends["tools/new"]["serverInfo"]["name"] == "fake"
        assert status["gateway"] == "agents/main"
        assert status["tools"] == {"modern": 3, "legacy": 3}
        assert status["subscribers"]["open"] == 1
        (listed,) = (each for each in status["latencies"]["requests"] if each["method"] == "tools/list")
        assert (listed["era"], listed["count"]) == ("modern", 1)
        assert 0 < listed["p50Ms"] <= listed["p99Ms"] < 60_000
        assert status["latencies"]["calls"] == []
        assert (status["config"]["present"], status["config"]["generation"], status["config"]["refused"]) == (
            True,
            1,
            None,
        )


async def test_metrics_tell_the_same_as_numbers(tmp_path: Path) -> None:
    """Requests by method, era and code; calls by backend and outcome; backends up or not; lists, streams, config."""
    async with (
        ModernBackend(tool("a")) as backend,
        HostileBackend(lambda _: hostile.reset()) as dead,
        gateway(tmp_path, {"a": backend, "dead": dead}) as gw,
    ):
        await gw.modern.list()
        await backend.listened(1)
        await gw.modern.list(cursor="nonsense")
        await gw.modern.call("a__a")
        backend.call = lambda _: hostile.error(-31999)
        await gw.legacy.call("a__a")
        await gw.modern.call("a__a")
        async with gw.modern.listen() as stream:
            backend.tools.append(tool("b"))
            await backend.notify()
            await stream.has(2)
            expected = [
                (1, "switchyard_requests_total", {"method": "tools/list", "era": "modern", "code": "0"}),
                (1, "switchyard_requests_total", {"method": "tools/list", "era": "modern", "code": "-32602"}),
                (1, "switchyard_requests_total", {"method": "tools/call", "era": "modern", "code": "0"}),
                (1, "switchyard_requests_total", {"method": "tools/call", "era": "modern", "code": "other"}),
                (1, "switchyard_requests_total", {"method": "tools/call", "era": "legacy", "code": "other"}),
                (2, "switchyard_request_duration_seconds_count", {"method": "tools/list", "era": "modern"}),
                (1, "switchyard_calls_total", {"backend": "tools/a", "outcome": "result"}),
                (2, "switchyard_calls_total", {"backend": "tools/a", "outcome": "error"}),
                (1, "switchyard_backend_up", {"backend": "tools/a", "era": "modern"}),
                (0, "switchyard_backend_up", {"backend": "tools/dead", "era": "unknown"}),
                (2, "switchyard_tools", {"era": "modern"}),
                (LISTED_BYTES, "switchyard_list_bytes", {"era": "modern"}),
                (LISTED_BYTES, "switchyard_list_bytes", {"era": "legacy"}),
                (1, "switchyard_subscribers", {}),
                (1, "switchyard_list_changed_total", {}),
                (0, "switchyard_calls_running", {}),
                (0, "switchyard_config_refused", {}),
                (1, "switchyard_config_generation", {}),
            ]
            assert [(await sample(gw, name, **labels), name, labels) for _, name, labels in expected] == expected


async def test_every_message_is_counted_also_in_batches_and_unreadable_ones(tmp_path: Path) -> None:
    """Requests of a batch each by its method; what was refused before its method was read as another."""
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": 3, "method": "nonsense"},
        {"jsonrpc": "2.0", "id": 4, "method": 7},
    ]
    async with gateway(tmp_path, {}) as gw:
        _, headers = gw.legacy.frame("ping")
        for body in (json.dumps(batch).encode(), b"{", b"[]"):
            await gw.legacy.send("POST", body, headers)
        await gw.modern.send("POST", b"{", gw.modern.frame("tools/list")[1])
        expected = [
            (1, "switchyard_requests_total", {"method": "tools/list", "era": "legacy", "code": "0"}),
            (1, "switchyard_requests_total", {"method": "ping", "era": "legacy", "code": "0"}),
            (1, "switchyard_requests_total", {"method": "other", "era": "legacy", "code": "-32601"}),
            (2, "switchyard_requests_total", {"method": "other", "era": "legacy", "code": "-32600"}),
            (1, "switchyard_requests_total", {"method": "other", "era": "legacy", "code": "-32700"}),
            (1, "switchyard_requests_total", {"method": "other", "era": "modern", "code": "-32700"}),
        ]
        assert [(await sample(gw, name, **labels), name, labels) for _, name, labels in expected] == expected


async def test_what_is_loaded_is_told_to_anyone_and_nothing_more(tmp_path: Path) -> None:
    """The operator compares hashes; a passer-by learns nothing else."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        async with gw.http.get(gw.admin + "/loaded") as response:
            loaded = await response.json()
        assert sorted(loaded) == ["configHash", "format", "version"]
        assert loaded["configHash"] == (await gw.status())["config"]["hash"]


async def test_looking_changes_nothing(tmp_path: Path) -> None:
    """Status and metrics ask no backend and wake nobody."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.modern.list()
        await backend.listened(1)
        await backend.received("tools/list", 2)
        before = len(backend.requests)
        await asyncio.gather(*(gw.status() for _ in range(10)), *(gw.metrics() for _ in range(10)))
        assert len(backend.requests) == before


async def test_status_is_not_read_through_a_rebound_name(tmp_path: Path) -> None:
    """While what kubelets and Prometheus ask for is answered under any Host."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        status, text = await fetched(gw, "/status")
        assert (status, "backends" in text) == (403, False)
        for path in ("/healthz", "/readyz", "/loaded", "/metrics"):
            assert (await fetched(gw, path))[0] == 200
        assert "tools/a" in (await gw.status())["backends"]


async def test_status_is_not_told_to_the_network(tmp_path: Path) -> None:
    """By whatever name it is asked for; what kubelets, Prometheus and the operator ask for is told."""
    own = _address_of_this_machine()
    async with ModernBackend(tool("a")) as backend, aiohttp.ClientSession() as http:
        write_config(tmp_path, {"a": backend})
        async with sidecar(tmp_path, "--admin", f"{own}:0") as process:
            for path, expected in (
                ("/status", 403),
                ("/healthz", 200),
                ("/readyz", 200),
                ("/loaded", 200),
                ("/metrics", 200),
            ):
                async with http.get(process.admin + path, headers={"Host": "localhost:8812"}) as response:
                    assert (path, response.status) == (path, expected)
                    assert path == "/metrics" or "tools/a" not in await response.text()


def _address_of_this_machine() -> str:
    """One that is not loopback: the one from which it would speak to the internet. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            missing("this machine has no address but loopback")
        return str(asking.getsockname()[0])
