"""No backend, and nobody who can name one, makes the sidecar speak to what lends a machine its identity."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import hostile
from fakes.gateway import gateway, section, write_config
from fakes.hostile import HostileBackend
from fakes.issuer import Issuer
from fakes.modern import ModernBackend
from fakes.ordinary import tools
from fakes.waiting import eventually
from switchyard_sidecar.config.load import load
from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.serving import PACE, Sidecar
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.faults import Unreachable
from switchyard_sidecar.upstream.http import HttpPool

METADATA_URLS = (
    "http://169.254.169.254/mcp",
    "http://0xa9fea9fe/mcp",  # which only looking it up shows to be that address
    "http://[::ffff:169.254.169.254]/mcp",
    "http://[::ffff:a9fe:a9fe]:8080/mcp",
    "http://[64:ff9b::a9fe:a9fe]/mcp",
    "https://[fd00:ec2::254]/mcp",
    "http://100.100.100.200/mcp",
)


@pytest.mark.parametrize("url", METADATA_URLS)
async def test_a_backend_at_a_metadata_service_is_not_connected_to(tmp_path: Path, url: str) -> None:
    """It is said why, and the others are served."""
    async with (
        ModernBackend(*tools("a")) as good,
        gateway(tmp_path, {"good": good, "bad": section(good, url=url)}) as gw,
    ):
        assert (await gw.modern.list()).names == ["good__a"]
        await eventually(lambda: _last_error(gw, "tools/bad", faults.ADDRESS_NOT_ADMITTED))


async def test_what_the_gateway_allows_may_be_connected_to(tmp_path: Path) -> None:
    """As long as it does. Nothing is really connected to: what is there is not the test's."""
    async with asyncio.TaskGroup() as tasks, HttpPool() as http:
        sidecar = Sidecar(tasks, http, PACE, host="127.0.0.1", path=None)
        verdicts = [http.admits("169.254.0.1")]
        for keys in ({"egress": {"allowedAddresses": ["169.254.0.0/24"]}}, {}):
            write_config(tmp_path, {}, **keys)
            sidecar.apply(await asyncio.to_thread(load, tmp_path))
            verdicts += [http.admits("169.254.0.1"), http.admits("169.254.169.254")]
        assert verdicts == [False, True, False, False, False]


async def test_connections_do_not_outlive_the_leave_to_have_them(tmp_path: Path) -> None:
    """With another egress every backend is connected to anew, its change stream too, and its list stays."""
    allowed = {"allowedAddresses": ["169.254.1.0/24"]}
    async with ModernBackend(*tools("a")) as backend, gateway(tmp_path, {"one": backend}, egress=allowed) as gw:
        await backend.listened(1)
        await gw.configure({"one": backend})
        await backend.received("subscriptions/listen", 2)
        assert (await gw.modern.list()).names == ["a"]


async def test_a_name_is_judged_by_each_connection_not_by_the_first() -> None:
    """A name server that gives a good address first and another one later gains nothing by it."""
    answers = ["127.0.0.1", "169.254.169.254"]

    def lookup(_host: str, port: int, **_how: object) -> list[tuple[Any, Any, int, str, Any]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), port))]

    closing = hostile.body(b"{}", fields=[("Connection", "close")])
    async with HostileBackend(lambda _: closing) as backend, HttpPool(lookup=lookup) as http:
        url = backend.url.replace("127.0.0.1", "rebinding.example")
        http._session.connector._use_dns_cache = False  # type: ignore[union-attr] # its 10 s need not be waited for
        endpoint = await http.endpoint(Backend(namespace="ns", name="one", url=url), {})
        async with http.send(endpoint, "POST", {}, b"{}") as reply:
            assert reply.status == 200
        with pytest.raises(Unreachable, match=faults.ADDRESS_NOT_ADMITTED):
            async with http.send(endpoint, "POST", {}, b"{}"):
                pass
        assert len(backend.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_a_metadata_service_is_not_followed(tmp_path: Path, status: int) -> None:
    """Nor to any other place than where it came from."""
    moved = hostile.body(b"", status=status, fields=[("Location", "http://169.254.169.254/latest/meta-data/")])
    async with HostileBackend(lambda _: moved) as backend, gateway(tmp_path, {"one": backend}) as gw:
        await eventually(lambda: _has_failed(gw, "tools/one"))
        error = (await gw.status())["backends"]["tools/one"]["lastError"]
        assert error in {faults.REDIRECTED, f"HTTP {status}"}


@pytest.mark.parametrize("url", ["http://169.254.169.254/jwks", "http://[::ffff:a9fe:a9fe]/jwks"])
async def test_key_sets_are_not_fetched_from_a_metadata_service(tmp_path: Path, url: str) -> None:
    """Tokens wait for keys that do not come, which is 503; the log says why, and the answer does not."""
    async with ModernBackend(*tools("a")) as backend, Issuer() as issuer:
        authentication = {"issuers": [issuer.section(jwksUrl=url)]}
        with capture_logs() as logged:
            async with gateway(tmp_path, {"one": backend}, authentication=authentication) as gw:
                answer = await gw.another_modern(issuer.token()).list()
        assert answer.status == 503
        assert b"169.254" not in answer.body
        assert b"admitted" not in answer.body
        assert [each["reason"] for each in logged if each["event"] == "keys_not_read"] == [faults.ADDRESS_NOT_ADMITTED]


async def _last_error(gw: Any, backend: str, *reasons: str) -> bool:
    return (await gw.status())["backends"][backend].get("lastError") in reasons


async def _has_failed(gw: Any, backend: str) -> bool:
    return (await gw.status())["backends"][backend].get("lastError") is not None
