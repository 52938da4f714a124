"""`switchyard run`: manifests in, a gateway out, and changes followed."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from fakes.clients import ModernClient
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool, tools
from fakes.waiting import eventually
from integration.cli.command import (
    OTHER_KIND,
    START_S,
    SWITCHYARD,
    backend,
    gateway,
    manifests,
    running,
    secret,
    switchyard,
)

BEARER = "auth: {type: Bearer, secretKeyRef: {name: gh, key: token}}"
ALIAS = """\
apiVersion: switchyard.dev/v1alpha1
kind: MCPToolAlias
metadata: {name: find, namespace: agents}
spec: {backendRef: {name: one}, tool: a, alias: find}
"""


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def lists(client: ModernClient, *names: str) -> None:
    """Wait until the list is this."""

    async def as_wanted() -> bool:
        return (await client.list()).names == list(names)

    await eventually(as_wanted)


async def test_a_gateway_is_served_from_manifests(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    """The tools of backends of both eras, in one list, with names as declared, and calls reach them."""
    async with ModernBackend(*tools("a", "b")) as one, LegacyBackend(tool("c")) as two:
        folder = manifests(
            tmp_path / "m",
            g=gateway("{name: one}", "{name: two}"),
            b=backend("one", one.url) + backend("two", two.url),
        )
        async with running("-f", folder, temporary=tmp_path) as run:
            client = ModernClient(run.url, http)
            await lists(client, "one__a", "one__b", "two__c")
            assert "a" in json.dumps((await client.call("one__a")).result)


async def test_an_edited_file_changes_what_is_served(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    """Within a second or so, and subscribers are told."""
    async with ModernBackend(*tools("a", "b")) as one:
        folder = manifests(tmp_path / "m", g=gateway("{name: one}"), b=backend("one", one.url))
        async with running("-f", folder, temporary=tmp_path) as run:
            client = ModernClient(run.url, http)
            await lists(client, "a", "b")
            async with client.listen() as stream:
                manifests(folder, g=gateway("{name: one, prefix: x}"))
                await stream.has(2)
                assert (await client.list()).names == ["x__a", "x__b"]


async def test_files_that_come_and_go_are_followed(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    """A new file in a folder counts from the start, a removed one no longer."""
    async with ModernBackend(*tools("a", "b")) as one:
        folder = manifests(tmp_path / "m", g=gateway("{name: one}"), b=backend("one", one.url))
        async with running("-f", folder, temporary=tmp_path) as run:
            client = ModernClient(run.url, http)
            await lists(client, "a", "b")
            manifests(folder, alias=ALIAS)
            await lists(client, "b", "find")
            (folder / "alias.yaml").unlink()
            await lists(client, "a", "b")


async def test_invalid_files_are_said_once_and_what_runs_goes_on(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    """Whatever is wrong with them; the next valid state is taken over."""
    async with ModernBackend(*tools("a")) as one:
        folder = manifests(tmp_path / "m", g=gateway("{name: one}"), b=backend("one", one.url))
        async with running("-f", folder, temporary=tmp_path) as run:
            client = ModernClient(run.url, http)
            await lists(client, "a")
            manifests(folder, g=gateway("{name: one, prefx: x}"))
            assert "spec.backends[0].prefx: there is no such field; did you mean prefix?" in await run.says("prefx")
            await run.says("these changes are not served; what runs goes on")
            (folder / "g.yaml").unlink()
            await run.says("there is no MCPGateway in these files")
            assert (await client.list()).names == ["a"]
            manifests(folder, g=gateway("{name: one, prefix: x}"))
            await run.says("the files are valid again, and served")
            await lists(client, "x__a")
            assert len([line for line in run.said if "prefx" in line]) == 1


async def test_a_rotated_secret_reaches_the_backend(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    """Without a restart, and the secret is in no output."""
    async with ModernBackend(*tools("a"), ttl_ms=0) as one:
        folder = manifests(
            tmp_path / "m",
            g=gateway("{name: one}"),
            b=backend("one", one.url, BEARER),
            s=secret("gh", token="0ld-t0ken"),
        )
        async with running("-f", folder, temporary=tmp_path) as run:
            await lists(ModernClient(run.url, http), "a")
            manifests(folder, s=secret("gh", token="n3w-t0ken"))

            async def presented() -> bool:
                return one.requests[-1].header("Authorization") == "Bearer n3w-t0ken"

            await eventually(presented)
            assert one.requests[0].header("Authorization") == "Bearer 0ld-t0ken"
        assert [line for line in run.said if "t0ken" in line] == []


async def test_what_does_not_resolve_is_reported_once_and_the_rest_is_served(
    tmp_path: Path, http: aiohttp.ClientSession
) -> None:
    """And again when it is back after having been resolved."""
    async with ModernBackend(*tools("a")) as one, ModernBackend(*tools("b")) as two:
        folder = manifests(
            tmp_path / "m",
            g=gateway("{name: one}", "{name: two}"),
            b=backend("one", one.url, BEARER) + backend("two", two.url),
        )
        async with running("-f", folder, temporary=tmp_path) as run:
            client = ModernClient(run.url, http)
            await lists(client, "two__b")
            manifests(folder, other="# nothing new to say")
            manifests(folder, s=secret("gh", token="x"))
            await lists(client, "one__a", "two__b")
            assert len([line for line in run.said if "SecretNotFound" in line]) == 1
            (folder / "s.yaml").unlink()
            await run.says("SecretNotFound", times=2)
            await lists(client, "two__b")


async def test_the_gateway_chosen_is_the_one_served(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    """When the files declare several."""
    async with ModernBackend(*tools("a")) as one:
        other = gateway().replace("name: main", "name: other")
        folder = manifests(tmp_path / "m", g=gateway("{name: one}"), b=backend("one", one.url), o=other)
        async with running("-f", folder, "--gateway=agents/main", temporary=tmp_path) as run:
            await lists(ModernClient(run.url, http), "a")


async def test_another_port_in_the_files_is_said_not_to_count_yet(tmp_path: Path) -> None:
    """Unless the port was given on the command line, as it is in these tests."""
    folder = manifests(tmp_path / "m", g=gateway())
    async with running("-f", folder, temporary=tmp_path) as run:
        manifests(folder, g=gateway(spec="listener: {port: 9999}, replicas: 3"))
        await run.says("replicas has no effect in mode Sidecar")
        assert [line for line in run.said if "9999" in line] == []


async def test_the_log_format_json_is_json_throughout(tmp_path: Path) -> None:
    """Findings, refusals and the sidecar's own lines."""
    folder = manifests(tmp_path / "m", g=gateway("{name: gone}") + OTHER_KIND)
    async with running("-f", folder, "--log-format=json", temporary=tmp_path) as run:
        manifests(folder, g="kind: [")
        await run.says("manifests_refused")
        assert await run.end() == 0
    lines = [json.loads(line) for line in run.said]
    assert {"manifest_report", "manifests_unused", "manifests_refused", "listening", "stopped"} <= {
        line["event"] for line in lines
    }
    (report,) = (line for line in lines if line["event"] == "manifest_report")
    assert (report["level"], report["reason"], report["field"]) == ("error", "BackendNotFound", "spec.backends[0]")
    assert report["place"] == f"{folder}/g.yaml:5:19"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_cleanly_and_leaves_nothing_behind(
    number: signal.Signals, tmp_path: Path, http: aiohttp.ClientSession
) -> None:
    """Exit code 0, no traceback, and the directory with credentials is gone."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    async with ModernBackend(*tools("a")) as one:
        folder = manifests(
            tmp_path / "m", g=gateway("{name: one}"), b=backend("one", one.url, BEARER), s=secret("gh", token="x")
        )
        async with running("-f", folder, temporary=temporary) as run:
            await lists(ModernClient(run.url, http), "a")
            (private,) = temporary.iterdir()
            assert private.stat().st_mode & 0o077 == 0
            assert await run.end(number) == 0
    assert list(temporary.iterdir()) == []
    assert [line for line in run.said if "Traceback" in line or "Error" in line] == []


def test_a_signal_before_it_serves_ends_it_just_as_cleanly(tmp_path: Path) -> None:
    """It may wait for manifests from a pipe, or read many of them."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen([SWITCHYARD, "run", "-f", pipe], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with pipe.open("wb"):  # opens when the other side reads
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=START_S) == (b"", b"")
    assert process.returncode == 0


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    """With the remedy, and without a traceback."""
    folder = manifests(tmp_path / "m", g=gateway())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = switchyard("run", "-f", folder, "--port", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error:"))
    assert line.startswith(f"error: cannot listen on 127.0.0.1:{port}: ")
    assert line.endswith("choose another port, or 0 for any free one")
    assert "Traceback" not in done.stderr
