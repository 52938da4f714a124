"""The control plane of these tests is a real one, can be made to fail, and is gone afterwards."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import aiohttp
import pytest

from apiserver.client import CONFIG_MAPS, NAMESPACES, SECRETS, Client, RefusedError
from apiserver.server import ApiServer
from fakes.waiting import eventually

HANGING_S = 0.5
COLLECTED_S = 30.0
"""How long the garbage collector may take to begin."""


async def test_an_account_may_do_what_its_rules_say(client: Client, namespace: str) -> None:
    """And nothing else: what the operator's RBAC lacks must show."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    limited = client.using(await client.new_account(namespace, "limited", rules))
    assert await limited.list(CONFIG_MAPS, namespace) == []
    with pytest.raises(RefusedError) as refusal:
        await limited.list(SECRETS, namespace)
    assert refusal.value.code == 403


async def test_an_api_server_that_crashed_comes_back_as_it_was(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    """With its address, its tokens and what it had stored."""
    token = await client.new_account(namespace, "reader", [{"apiGroups": [""], "resources": ["*"], "verbs": ["get"]}])
    await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "kept"}})
    api_server.stop_apiserver()
    try:
        with pytest.raises(aiohttp.ClientError):
            await client.get(CONFIG_MAPS, namespace, "kept")
    finally:
        api_server.start_apiserver()
    assert (await client.using(token).get(CONFIG_MAPS, namespace, "kept"))["metadata"]["name"] == "kept"


async def test_an_api_server_can_hang(api_server: ApiServer, client: Client, namespace: str) -> None:
    """Connections stand and nothing comes; afterwards what was asked is answered."""
    api_server.pause_apiserver()
    try:
        asked = asyncio.create_task(client.get(NAMESPACES, None, namespace))
        done, _ = await asyncio.wait([asked], timeout=HANGING_S)
    finally:
        api_server.resume_apiserver()
    assert not done
    assert (await asked)["metadata"]["name"] == namespace


async def test_controllers_collect_what_nobody_owns(client: Client, namespace: str, controllers: None) -> None:
    """An object whose owner is deleted goes, and so does a namespace with all that is in it."""
    owner = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    await client.delete(CONFIG_MAPS, namespace, "owner")

    async def is_collected() -> bool:
        return await client.list(CONFIG_MAPS, namespace) == []

    await eventually(is_collected, COLLECTED_S)
    await client.delete(NAMESPACES, None, namespace)

    async def is_gone() -> bool:
        names = {each["metadata"]["name"] for each in await client.list(NAMESPACES)}
        return namespace not in names

    await eventually(is_gone, COLLECTED_S)


@pytest.fixture
def starter(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that has started a program as the tests do, and said its number."""
    code = f"""
        import signal, sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from apiserver.programs import Program
        program = Program(["sleep", "600"], Path({str(tmp_path / "log")!r}))
        program.start()
        print(program.pid, flush=True)
        signal.pause()
    """
    with subprocess.Popen([sys.executable, "-c", dedent(code)], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


async def test_a_program_ends_with_whoever_started_it(starter: "subprocess.Popen[str]") -> None:
    """Also when that was killed and could do nothing about it."""
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    os.kill(pid, 0)
    starter.send_signal(signal.SIGKILL)

    async def is_gone() -> bool:
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"

    await eventually(is_gone)
