"""A config that changes under the running gateway: what goes on, what begins anew, what ends."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from fakes import hostile
from fakes.clients import LegacyClient, ModernClient
from fakes.gateway import Gateway, Section, gateway, section, write_config
from fakes.hostile import Reply, Request
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool
from fakes.process import sidecar
from fakes.waiting import eventually
from switchyard_sidecar.config.load import revision
from switchyard_sidecar.serving import Pace

CONFIG = "dev.switchyard/config"
KEY = b"the key of this directory"


async def listed(client: ModernClient, names: list[str]) -> bool:
    """Whether the list holds exactly these tools."""
    answer = await client.list()
    return "result" in answer.message and answer.names == names


def with_token(backend: ModernBackend, token: bytes) -> Section:
    """A backend that is shown a token from a file."""
    credential = {"file": "cred_token", "revision": revision(KEY, token)}
    return section(backend, auth={"type": "Bearer", "credential": credential})


def store(directory: Path, token: bytes | None) -> None:
    """Write the credential files."""
    (directory / "cred_key").write_bytes(KEY)
    if token is not None:
        (directory / "cred_token").write_bytes(token)


def guarded(backend: ModernBackend) -> None:
    """Let a backend show each token a list of its own, and nobody else any."""
    ordinary = backend.answer

    def answer(request: Request) -> Reply:
        token = (request.header("Authorization") or "").removeprefix("Bearer ")
        if token not in {"old", "new"}:
            return hostile.body(b"", status=401, content_type=None, fields=[("WWW-Authenticate", "Bearer")])
        backend.tools[:] = [tool(f"of_{token}")]
        return ordinary(request)

    backend.answer = answer


async def test_rotated_credential_is_used_at_once(tmp_path: Path) -> None:
    """Config and Secret may arrive in either order: the old token works until both are there, then the new one does."""
    async with ModernBackend() as backend:
        guarded(backend)
        store(tmp_path, b"old")
        async with gateway(tmp_path, {"a": with_token(backend, b"old")}) as gw:
            assert (await gw.modern.list()).names == ["of_old"]
            await gw.configure({"a": with_token(backend, b"new")})
            assert (await gw.status())["config"]["waitingForCredentials"] == ["tools/a"]
            assert (await gw.modern.list()).names == ["of_old"]
            store(tmp_path, b"new")
            await eventually(lambda: listed(gw.modern, ["of_new"]))
            assert (await gw.status())["config"]["waitingForCredentials"] == []


async def test_backend_waits_for_its_first_credential(tmp_path: Path) -> None:
    """Without its file a backend is not asked; with it, it is listed, and who subscribes is told."""
    async with ModernBackend() as backend, ModernBackend(tool("b")) as other:
        guarded(backend)
        store(tmp_path, None)
        async with (
            gateway(tmp_path, {"a": with_token(backend, b"new"), "b": other}) as gw,
            gw.modern.listen() as stream,
        ):
            assert (await gw.modern.list()).names == ["b__b"]
            assert backend.requests == []
            store(tmp_path, b"new")
            await eventually(lambda: listed(gw.modern, ["a__of_new", "b__b"]))
            await stream.has(2)


async def test_secrets_are_shown_nowhere(tmp_path: Path) -> None:
    """Neither status nor metrics nor an error of a failing backend contains a token."""
    async with ModernBackend() as backend:
        backend.answer = lambda _: hostile.body(b"", status=401, content_type=None)
        store(tmp_path, b"s3cret-token")
        async with gateway(tmp_path, {"a": with_token(backend, b"s3cret-token")}) as gw:
            answer = await gw.modern.list()
            shown = answer.body.decode() + str(await gw.status()) + await gw.metrics()
            assert backend.requests[0].header("Authorization") == "Bearer s3cret-token"
            assert "s3cret" not in shown


async def test_invalid_config_leaves_the_running_one_alone(tmp_path: Path) -> None:
    """It is refused whole, status says why, and the next valid one is taken."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        assert (await gw.modern.list()).names == ["a"]
        (tmp_path / "gateway.json").write_text('{"namespace": "agents", "name": "main", "order": "Random"}')

        async def refused() -> bool:
            return "order" in str((await gw.status())["config"]["refused"])

        await eventually(refused)
        assert (await gw.modern.list()).names == ["a"]
        await gw.configure({"a": section(backend, prefix="p")})
        assert (await gw.modern.list()).names == ["p__a"]
        assert (await gw.status())["config"]["refused"] is None


async def test_invalid_config_at_start_is_an_empty_list_until_it_is_mended(tmp_path: Path) -> None:
    """The process is up and says what is wrong: that it is, on the wire to clients of both eras, and what, in the status."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, order="Random") as gw:
        for answer in (await gw.modern.list(), await gw.legacy.list()):
            assert answer.names == []
            assert answer.result["_meta"][CONFIG] == {"reason": "Invalid"}
            assert b"Random" not in answer.body
        await eventually(lambda: refused(gw))
        write_config(tmp_path, {"a": backend})
        await eventually(lambda: listed(gw.modern, ["a"]))
        assert CONFIG not in (await gw.modern.list()).result["_meta"]
        assert "_meta" not in (await gw.legacy.list()).result


async def test_config_that_is_not_there_yet_is_an_empty_list_that_says_so(tmp_path: Path) -> None:
    """An agent that starts before its operator has written anything is told why it has no tools."""
    async with (
        ModernBackend(tool("a")) as backend,
        sidecar(tmp_path) as running,
        aiohttp.ClientSession() as http,
    ):
        modern = ModernClient(running.url, http)
        for client in (modern, LegacyClient(running.url, http)):
            answer = await client.list()
            assert (answer.names, answer.result["_meta"][CONFIG]) == ([], {"reason": "NotFound"})
        assert (await modern.list()).result["ttlMs"] == 0
        write_config(tmp_path, {"a": backend})
        await eventually(lambda: listed(modern, ["a"]))


async def refused(gw: Gateway) -> bool:
    """Whether the present config is refused."""
    return (await gw.status())["config"]["refused"] is not None


async def test_changed_section_keeps_its_list_and_its_calls(tmp_path: Path) -> None:
    """A restart for another timeout: the list stays, and a call under way ends on the old session, which lives until then."""
    gate = asyncio.Event()
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        ordinary = backend.call
        backend.call = lambda request: hostile.after(gate, ordinary(request))
        calling = asyncio.create_task(gw.modern.call("a"))
        await backend.received("tools/call")
        await gw.configure({"a": section(backend, timeouts={"listMs": 4_000})})
        assert (await gw.modern.list()).names == ["a"]
        await backend.received("initialize", 3)  # for discovery, for the call, and for discovery in the new section
        assert backend.of("DELETE") == []
        gate.set()
        assert (await calling).text["tool"] == "a"
        await backend.received("DELETE", 2)


async def test_unchanged_backend_is_left_alone(tmp_path: Path) -> None:
    """A neighbour comes and goes: no new session, no new reading, no lost stream."""
    async with LegacyBackend(tool("a")) as backend, ModernBackend(tool("b")) as other:
        one = section(backend, prefix="one")
        async with gateway(tmp_path, {"one": one}) as gw:
            await gw.modern.list()
            (stream,) = await backend.listened(1)
            await backend.received("tools/list", 2)  # once more for the open stream
            await gw.configure({"one": one, "two": section(other, prefix="two")})
            await eventually(lambda: listed(gw.modern, ["one__a", "two__b"]))
            await gw.configure({"one": one})
            assert (await gw.modern.list()).names == ["one__a"]
            assert backend.streams == [stream]
            assert (len(backend.of("initialize")), len(backend.of("tools/list"))) == (1, 2)


@pytest.mark.parametrize("answers", [True, False])
async def test_backend_at_another_url_replaces_the_old_list(tmp_path: Path, answers: bool) -> None:
    """The old list serves until the new place has answered, or has not within the list timeout."""
    async with ModernBackend(tool("old")) as old, ModernBackend(tool("new")) as new:
        if not answers:
            new.answer = lambda _: hostile.hang()
        async with gateway(tmp_path, {"a": section(old, timeouts={"listMs": 300})}) as gw:
            assert (await gw.modern.list()).names == ["old"]
            await gw.configure({"a": section(new, timeouts={"listMs": 300})})
            if answers:
                await eventually(lambda: listed(gw.modern, ["new"]))
            else:
                await eventually(lambda: is_error(gw.modern))


async def is_error(client: ModernClient) -> bool:
    """Whether the list is an error."""
    return "error" in (await client.list()).message


async def test_revoked_backend_is_gone_at_once(tmp_path: Path) -> None:
    """A backend that may no longer be used keeps neither its tools nor a call's way to it."""
    async with (
        ModernBackend(tool("a")) as backend,
        ModernBackend(tool("b")) as other,
        gateway(tmp_path, {"a": backend, "b": other}) as gw,
    ):
        assert (await gw.modern.list()).names == ["a__a", "b__b"]
        await gw.configure({"a": section(backend, unresolved="RefNotPermitted"), "b": other})
        assert (await gw.modern.list()).names == ["b__b"]
        assert (await gw.modern.call("a__a")).error["code"] == -32602
        assert backend.of("tools/call") == []


async def test_withdrawn_config_empties_the_list_and_tells_who_listens(tmp_path: Path) -> None:
    """Gone for a while: no tools, no sessions with backends; and back again when it is back."""
    soon = Pace(withdrawn_after_s=0.5)
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}, pace=soon) as gw:
        await gw.modern.call("a")
        async with gw.modern.listen() as stream:
            (tmp_path / "gateway.json").unlink()
            await stream.has(2)
            answer = await gw.modern.list()
            assert (answer.names, answer.result["_meta"][CONFIG]) == ([], {"reason": "Withdrawn"})

            async def ended() -> bool:
                return backend.sessions == set()

            await eventually(ended)
            write_config(tmp_path, {"a": backend})
            await eventually(lambda: listed(gw.modern, ["a"]))
