"""One look of the operator at a backend, over real sockets: what it finds out, and in which words it says what went wrong."""

from collections.abc import Callable

import pytest

from fakes import hostile
from fakes.hostile import HostileBackend, Reply
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, tools
from switchyard_operator.controller.probing.addresses import Guard
from switchyard_operator.controller.probing.look import look
from switchyard_operator.controller.status.probed import Probe, ProbeReason
from switchyard_sidecar.config.model import Auth, Backend, Credential, Era, Limits, ToolFilter, Transport
from switchyard_sidecar.upstream.pace import Pace

FAST = Pace(probe_s=0.3, answer_s=0.3, walk_s=1.0, farewell_s=0.5)


def anywhere(_: str) -> bool:
    """The fakes listen on loopback, where the operator looks at nothing."""
    return True


def backend(url: str, **more: object) -> Backend:
    return Backend.model_validate({"namespace": "ns", "name": "one", "url": url, **more})


async def looked(target: Backend, credentials: dict[str, bytes] | None = None) -> Probe:
    return await look(target, credentials or {}, anywhere, FAST)


async def test_a_modern_backend_is_described() -> None:
    """Era, version, who it is, and how many tools pass its filters; no stream is opened, no session made."""
    async with ModernBackend(*tools("one", "two", "hidden")) as server:
        probe = await looked(backend(server.url, filters=(ToolFilter(exclude=("hidden",)),)))
        kinds = [request.kind for request in server.requests]
    assert probe.reason is ProbeReason.ANSWERED
    assert probe.answer is not None
    assert (probe.answer.era, probe.answer.version, probe.answer.tools) == ("Modern", "2026-07-28", 2)
    assert probe.answer.list_changed
    assert kinds == ["server/discover", "tools/list"]


async def test_a_legacy_backend_is_described_and_its_session_ended() -> None:
    """The session that was made for the look is deleted."""
    async with LegacyBackend(*tools("one")) as server:
        probe = await looked(backend(server.url))
        kinds = [request.kind for request in server.requests]
    assert probe.answer is not None
    assert (probe.answer.era, probe.answer.version, probe.answer.tools) == ("Legacy", "2025-11-25", 1)
    assert kinds[-1] == "DELETE"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "SameShape"),
        ({"filters": (ToolFilter(exclude=("\u0440*",)),)}, None),
        ({"pinning": {"mode": "Enforce"}}, None),
        ({"pinning": {"mode": "Warn"}}, "SameShape"),
    ],
)
async def test_names_that_look_alike_are_found(more: dict[str, object], reason: str | None) -> None:
    """Of tools that sidecars may list: neither those that are filtered away, nor those that are withheld."""
    async with ModernBackend(*tools("pay", "\u0440\u0430\u0443")) as server:
        probe = await looked(backend(server.url, **more))
    assert probe.answer is not None
    assert (probe.answer.alike and probe.answer.alike.reason) == reason


async def test_equal_lists_have_equal_digests_and_other_lists_others() -> None:
    """The digest covers definitions, not their order."""
    digests = []
    for definitions in (tools("a", "b"), tools("b", "a"), tools("a", "c")):
        async with ModernBackend(*definitions) as server:
            probe = await looked(backend(server.url))
        assert probe.answer is not None
        digests.append(probe.answer.digest)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(("pages", "complete"), [(3, True), (2, False)])
async def test_whether_the_list_was_read_to_its_end_is_known(pages: int, complete: bool) -> None:
    """What a list that was not has no word of may still be there."""
    async with ModernBackend(*tools("a", "b", "c")) as server:
        server.page_size = 1
        probe = await looked(backend(server.url, limits=Limits(pages=pages)))
    assert probe.answer is not None
    assert (probe.answer.complete, len(probe.answer.names)) == (complete, pages)


@pytest.mark.parametrize("make", [ModernBackend, LegacyBackend])
async def test_what_differs_from_the_pins_is_said(make: type[OrdinaryBackend]) -> None:
    """What is listed, by the backend's own filter, beside what is pinned."""
    async with make(*tools("one", "two", "hidden")) as server:
        listed = await looked(backend(server.url))
        assert listed.answer is not None
        assert listed.answer.pinned is None
        pinning = {
            "mode": "Enforce",
            "digests": [{"tool": "one", "sha256": "0" * 64}, {"tool": "hidden", "sha256": "0" * 64}],
        }
        probe = await looked(backend(server.url, filters=(ToolFilter(exclude=("hidden",)),), pinning=pinning))
    assert probe.answer is not None
    assert probe.answer.withheld == frozenset({"one", "two"})
    assert probe.answer.pinned is not None
    assert (probe.answer.pinned.status, probe.answer.pinned.reason) == ("False", "Drifted")
    assert probe.answer.pinned.message.startswith("not as pinned: one; without a digest: 1 tool; tools that are not")


async def test_the_credential_is_presented() -> None:
    """As sidecars present it."""
    credential = Credential(file="cred_token", revision="any")
    async with ModernBackend(*tools("one")) as server:
        target = backend(server.url, auth=Auth.model_validate({"type": "Bearer", "credential": credential}))
        await looked(target, {"cred_token": b"secret"})
        sent = {request.header("authorization") for request in server.requests}
    assert sent == {"Bearer secret"}


def always(reply: Reply) -> HostileBackend:
    return HostileBackend(lambda _: reply)


def page(status: int) -> Reply:
    return hostile.body(b"<html>", status=status, fields=(("Content-Type", "text/html"),))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda: page(200), ProbeReason.NOT_MCP),
        (lambda: hostile.raw(b"SSH-2.0-OpenSSH_9.2\r\n"), ProbeReason.NOT_MCP),
        (lambda: hostile.body(b"", status=307, fields=(("Location", "http://169.254.169.254/"),)), ProbeReason.REDIRECTED),
        (hostile.hang, ProbeReason.TIMED_OUT),
        (hostile.reset, ProbeReason.CONNECTION_FAILED),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_one_of_a_few_words(answer: Callable[[], Reply], reason: ProbeReason) -> None:
    """Nothing that the backend wrote gets out."""
    async with always(answer()) as server:
        assert await looked(backend(server.url)) == Probe(reason)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (302, ProbeReason.REDIRECTED),
        (400, ProbeReason.HTTP_ERROR),
        (401, ProbeReason.UNAUTHORIZED),
        (403, ProbeReason.UNAUTHORIZED),
        (404, ProbeReason.NOT_MCP),
        (405, ProbeReason.NOT_MCP),
        (406, ProbeReason.HTTP_ERROR),
        (421, ProbeReason.HTTP_ERROR),
        (429, ProbeReason.OVERLOADED),
        (500, ProbeReason.HTTP_ERROR),
        (502, ProbeReason.HTTP_ERROR),
        (503, ProbeReason.OVERLOADED),
    ],
)
@pytest.mark.parametrize("era", [Era.AUTO, Era.MODERN, Era.LEGACY])
async def test_an_http_status_is_said_with_its_number(status: int, reason: ProbeReason, era: Era) -> None:
    """Whichever request it answers: most servers say so to the first, whatever it asks."""
    async with always(page(status)) as server:
        assert await looked(backend(server.url, protocol=era)) == Probe(reason, http=status)


async def test_a_list_that_exceeds_the_limits_is_said_to() -> None:
    """Its first page already is too long."""
    async with ModernBackend(*tools(*(f"tool-{number}" for number in range(100)))) as server:
        probe = await looked(backend(server.url, limits=Limits(bytes=1000)))
    assert probe == Probe(ProbeReason.LIST_TOO_LARGE)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1/mcp", ProbeReason.CONNECTION_FAILED),
        ("http://no-such-host.invalid/mcp", ProbeReason.NAME_NOT_RESOLVED),
    ],
)
async def test_where_nothing_listens_is_said(url: str, reason: ProbeReason) -> None:
    """No connection, or no such name."""
    assert await looked(backend(url)) == Probe(reason)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
@pytest.mark.parametrize(
    "pinned", [{}, {"protocol": Era.LEGACY}, {"protocol": Era.MODERN}, {"transport": Transport.SSE}]
)
async def test_nothing_is_sent_to_an_address_that_is_not_admitted(host: str, pinned: dict[str, object]) -> None:
    """Whether it is written in the URL or looked up: not even a connection comes about."""
    async with ModernBackend(*tools("one")) as server:
        url = server.url.replace("127.0.0.1", host)
        probe = await look(backend(url, **pinned), {}, Guard().admits, FAST)
        assert probe == Probe(ProbeReason.ADDRESS_NOT_PROBED)
        assert (server.connections, server.requests) == (0, [])
