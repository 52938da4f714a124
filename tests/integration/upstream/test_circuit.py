"""Calls are held back from a backend that is down, and from no other."""

import asyncio
import resource
from pathlib import Path

import pytest

from fakes import hostile
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import OrdinaryBackend, said, tools
from integration.upstream.running import NEVER, Running, session
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.backoff import Backoff
from switchyard_sidecar.upstream.faults import BackendUnavailable

BOTH_ERAS = pytest.mark.parametrize("fake", [ModernBackend, LegacyBackend])
AT_REST = "failed several times in a row; not tried again yet"
SHORTLY = Backoff(base_s=0.2, cap_s=0.2)
"""With the jitter of these sessions, exactly 0.1 s."""
IDLE = {"callMs": 200}


async def failed(run: Running) -> BackendUnavailable:
    """Call in vain; give what the caller is told."""
    with pytest.raises(BackendUnavailable) as caught:
        await run.call("a")
    return caught.value


def circuit(run: Running) -> str:
    """What people are shown of it."""
    return run.session.status.circuit


async def found_out(run: Running) -> set[str]:
    """Call until the circuit opens; give what those callers are told.

    The first may not count: it leads to a look at the list, which must fail too.
    """
    reasons = {(await failed(run)).reason}
    await run.until(lambda session: session.status.last_error is not None)
    for _ in range(3):
        if circuit(run) == "closed":
            reasons.add((await failed(run)).reason)
    assert circuit(run) != "closed"
    return reasons


@BOTH_ERAS
async def test_backend_that_is_down_is_found_out_by_a_few_callers_and_not_by_each(fake: type[OrdinaryBackend]) -> None:
    """The others are refused at once, and told which backend it is and when to come again."""
    async with fake(*tools("a")) as backend, session(backend, pace={"backoff": NEVER}) as run:
        await run.ready()
        await backend.stop()
        assert await found_out(run) <= {"connection refused", "connection lost"}
        assert circuit(run) == "open"
        told = await failed(run)
        assert (told.code, told.status) == (-32603, None)
        assert told.message == f"Backend unavailable: {AT_REST}"
        assert told.data["backend"] == "tools/one"
        assert 1_790_000 < told.data["retryAfterMs"] <= 1_800_000
        assert run.session.status.counters.refused == 1


@BOTH_ERAS
async def test_list_that_can_be_read_again_closes_the_circuit(fake: type[OrdinaryBackend]) -> None:
    """The session looks by itself: no caller has to try first."""
    async with fake(*tools("a")) as backend, session(backend) as run:
        await run.ready()
        await backend.stop()
        await found_out(run)
        await backend.start()
        await run.until(lambda session: session.status.circuit == "closed")
        assert b"a" in (await run.call("a")).result


async def test_one_call_finds_out_for_all_whether_the_backend_is_back() -> None:
    """Where the list cannot be read, which says nothing of calls: one is sent, the others are refused until it is answered."""
    gate = asyncio.Event()
    async with ModernBackend(*tools("a")) as backend, session(backend, pace={"backoff": SHORTLY}) as run:
        await run.ready()
        for kind in ("tools/list", "server/discover", "tools/call"):
            backend.always(kind, hostile.body(b"", status=503))
        assert await found_out(run) == {"HTTP 503"}
        sent = len(backend.of("tools/call"))
        backend.always("tools/call", None)
        backend.call = lambda request: hostile.after(gate, hostile.result(said(request)))
        await run.until(lambda session: session.status.circuit == "half-open")
        probe = asyncio.create_task(run.call("a"))
        await backend.received("tools/call", sent + 1)
        assert (await failed(run)).reason == AT_REST
        assert circuit(run) == "half-open"
        gate.set()
        await probe
        assert circuit(run) == "closed"
        await run.call("a")


@BOTH_ERAS
async def test_tool_that_is_slow_is_no_outage(fake: type[OrdinaryBackend]) -> None:
    """However often its calls run out of time: as long as the list does not fail, the other tools go on being called."""
    async with fake(*tools("a", "b")) as backend, session(backend, timeouts=IDLE) as run:
        await run.ready()
        ordinary = backend.call
        backend.call = lambda request: hostile.hang() if request.params["name"] == "a" else ordinary(request)
        backend.always("tools/list", hostile.hang())  # so that no list which is read closes what was opened
        for _ in range(5):
            assert (await failed(run)).reason == "call timed out: no message for too long"
        assert circuit(run) == "closed"
        assert b"b" in (await run.call("b")).result


@BOTH_ERAS
async def test_backend_that_hangs_altogether_is_an_outage(fake: type[OrdinaryBackend]) -> None:
    """It takes connections and answers nothing: callers need not wait for their limit for ever."""
    hasty = {"backoff": NEVER, "answer_s": 0.1, "probe_s": 0.1, "probe_max_s": 0.1, "acknowledge_s": 0.1}
    async with fake(*tools("a")) as backend, session(backend, pace=hasty, timeouts=IDLE) as run:
        await run.call("a")
        backend.answer = lambda _: hostile.hang()
        assert await found_out(run) == {"call timed out: no message for too long"}
        assert (await failed(run)).reason == AT_REST


@BOTH_ERAS
async def test_errors_of_the_backend_are_answers(fake: type[OrdinaryBackend]) -> None:
    """Whatever its tools fail with, it is there; even while its list cannot be read."""
    async with fake(*tools("a")) as backend, session(backend, pace={"backoff": NEVER}) as run:
        await run.ready()
        backend.always("tools/list", hostile.body(b"", status=503))
        await run.read_again()
        await run.until(lambda session: session.status.last_error is not None)
        backend.call = lambda _: hostile.error(-32603, "boom")
        for _ in range(5):
            with pytest.raises(McpError, match="boom"):
                await run.call("a")
        backend.call = lambda _: hostile.result({"content": [], "isError": True})
        for _ in range(5):
            await run.call("a")
        assert circuit(run) == "closed"


async def test_lost_connections_are_no_outage_while_the_list_does_not_fail() -> None:
    """One tool may crash its worker each time."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        await run.ready()
        backend.call = lambda _: hostile.reset()
        backend.always("tools/list", hostile.hang())
        for _ in range(5):
            assert (await failed(run)).reason == "connection lost"
        assert circuit(run) == "closed"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files where Linux shows them")
async def test_running_out_of_files_is_our_own_fault() -> None:
    """It is said as what it is, with 503, and held against no backend."""
    async with ModernBackend(*tools("a")) as backend, session(backend) as run:
        await run.ready()
        backend.call = lambda _: hostile.hang()
        under_way = asyncio.create_task(run.call("a"))  # on the connection that would be used again
        await backend.received("tools/call")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            for _ in range(5):
                told = await failed(run)
                assert (told.reason, told.status) == ("the gateway has too many files and connections open", 503)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            under_way.cancel()
        assert circuit(run) == "closed"
