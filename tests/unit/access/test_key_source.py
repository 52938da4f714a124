"""How keys are followed, on a clock of the test's own: no valid caller is lost, and no key outlives its withdrawal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from fakes.clock import Clock
from fakes.issuer import SigningKey, key_set
from fakes.waiting import PATIENCE_S
from switchyard_sidecar.access.key_source import FollowedKeys, GivenKeys
from switchyard_sidecar.access.pace import Pace
from switchyard_sidecar.access.refusals import KeySetError, KeysUnavailable

PACE = Pace(refresh_s=300, gap_s=10, retry_s=10, read_s=5, patience_s=20, waiting=3, outlive_s=3600)
ONE, TWO = SigningKey.make("one"), SigningKey.make("two")


@dataclass
class Publisher:
    """What the issuer publishes now; ``None``: it cannot be reached."""

    keys: list[SigningKey] | None = field(default_factory=lambda: [ONE])
    reads: int = 0
    gate: asyncio.Event | None = None
    """An answer is held back until this is set."""

    async def fetch(self) -> bytes:
        self.reads += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.keys is None:
            raise KeySetError("connection refused")
        return key_set(self.keys).encode()


@dataclass
class Stage:
    """A source on a clock that stands still, and what it has said of changes."""

    source: FollowedKeys
    publisher: Publisher
    clock: Clock
    changes: list[int]
    running: "asyncio.Task[None]"

    async def has(self, key: SigningKey) -> bool:
        """Whether a token that this key has signed would be verified by one."""
        return bool(await self.source.find(key.id, key.algorithm))

    async def pass_time(self, seconds: float, at_a_time: float = 5.0) -> None:
        """Let time pass in steps, and reads come to their end."""
        while seconds > 0:
            step = min(at_a_time, seconds)
            seconds -= step
            await self.clock.advance(step)
            await settled()

    async def read(self, times: int) -> None:
        """Wait until so many reads have ended since the beginning; the clock stands still."""
        while self.publisher.reads < times:
            await asyncio.sleep(0)
        await settled()


async def settled() -> None:
    """Let a read that has its answer come to its end, which takes a thread."""
    for _ in range(20):
        await asyncio.to_thread(int)
        await asyncio.sleep(0)


@asynccontextmanager
async def stage(monkeypatch: pytest.MonkeyPatch, publisher: Publisher, pace: Pace = PACE) -> AsyncIterator[Stage]:
    changes: list[int] = []
    clock = Clock(monkeypatch)
    source = FollowedKeys(
        "https://i.example", publisher.fetch, ["ES256"], pace, lambda: changes.append(len(source.marks))
    )
    running = asyncio.create_task(source.run())
    try:
        yield Stage(source, publisher, clock, changes, running)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest_asyncio.fixture
async def on(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    async with stage(monkeypatch, Publisher()) as made:
        await made.read(1)
        yield made


async def test_keys_are_read_at_once_and_again_after_a_while(on: Stage) -> None:
    """Who asks for a key that is known causes no read."""
    assert on.changes == [1]
    for _ in range(100):
        assert await on.has(ONE)
    await on.pass_time(299)
    assert on.publisher.reads == 1
    await on.pass_time(2)
    assert on.publisher.reads == 2
    assert on.changes == [1], "the same keys are no change"


async def test_withdrawn_key_opens_nothing_after_the_next_read(on: Stage) -> None:
    """A key that goes is a change, also where another stays."""
    on.publisher.keys = [TWO]
    assert await on.has(ONE), "nobody knows yet"
    await on.pass_time(301)
    assert on.changes == [1, 1]
    assert on.source.health.keys == 1
    asking = asyncio.create_task(on.has(ONE))
    await on.pass_time(15)
    assert not await asking


async def test_unknown_key_is_looked_for_at_once(on: Stage) -> None:
    """The first token of a new key finds it, once a read has begun after the token came."""
    await on.pass_time(60)
    on.publisher.keys = [ONE, TWO]
    asking = asyncio.create_task(on.has(TWO))
    await settled()
    assert asking.done()
    assert await asking
    assert on.publisher.reads == 2


async def test_all_who_ask_for_unknown_keys_share_reads_that_keep_a_distance(on: Stage) -> None:
    """However many ask, for whatever: one read in ten seconds. A valid one among them waits, and is not refused."""
    await on.pass_time(60)
    asked = [asyncio.create_task(on.source.find(f"no such key {number}", "ES256")) for number in range(3)]
    await settled()
    assert [await each for each in asked] == [(), (), ()]
    assert on.publisher.reads == 2
    on.publisher.keys = [TWO]
    asking = asyncio.create_task(on.has(TWO))
    await on.pass_time(9)
    assert not asking.done()
    assert on.publisher.reads == 2
    await on.pass_time(2)
    assert await asking
    assert on.publisher.reads == 3


async def test_read_that_was_under_way_does_not_count_against_a_new_key(on: Stage) -> None:
    """What it brings may be older than the token."""
    await on.pass_time(60)
    on.publisher.gate = asyncio.Event()
    early = asyncio.create_task(on.has(TWO))
    await settled()
    assert on.publisher.reads == 2
    await on.clock.advance(1)
    late = asyncio.create_task(on.has(TWO))
    await settled()
    on.publisher.gate.set()
    await settled()
    assert not await early
    assert not late.done()
    on.publisher.keys = [ONE, TWO]
    await on.pass_time(11)
    assert await late
    assert on.publisher.reads == 3


async def test_no_more_wait_than_may(on: Stage) -> None:
    """One more is told at once that nobody can tell."""
    await on.pass_time(60)
    on.publisher.gate = asyncio.Event()
    asked = [asyncio.create_task(on.source.find(str(number), "ES256")) for number in range(3)]
    await settled()
    with pytest.raises(KeysUnavailable):
        await on.has(TWO)
    assert await on.has(ONE)
    on.publisher.gate.set()
    await asyncio.gather(*asked)


async def test_nobody_waits_for_ever(on: Stage) -> None:
    """An issuer that accepts and says nothing is given up each time, and whoever waits is told so."""
    await on.pass_time(60)
    on.publisher.gate = asyncio.Event()
    asking = asyncio.create_task(on.has(TWO))
    await settled()
    await on.pass_time(6)
    with pytest.raises(KeysUnavailable):
        await asking
    assert on.source.health.last_error == "no answer in time"
    assert await on.has(ONE)


async def test_outage_loses_no_valid_caller(on: Stage) -> None:
    """The last good keys stay, for ten minutes and for an hour; an unknown key can be neither believed nor refused meanwhile."""
    on.publisher.keys = None
    await on.pass_time(600)
    assert on.source.health.last_error == "connection refused"
    assert await on.has(ONE)
    for _ in range(100):
        with pytest.raises(KeysUnavailable):
            await on.has(TWO)
    assert 600 / 15 / 2 < on.publisher.reads < 600 / 5, "it is tried again now and then, whoever asks"
    await on.pass_time(2900, at_a_time=20)
    assert await on.has(ONE)
    assert on.changes == [1]


async def test_new_keys_are_seen_soon_after_an_outage(on: Stage) -> None:
    """At the next attempt."""
    on.publisher.keys = None
    await on.pass_time(400)
    on.publisher.keys = [TWO]
    await on.pass_time(16)
    assert await on.has(TWO)
    assert on.source.health.last_error is None


async def test_old_keys_are_not_believed_for_ever(on: Stage) -> None:
    """When nobody has vouched for them for so long, nobody can tell any more; afterwards all is as before."""
    on.publisher.keys = None
    await on.pass_time(3600 + 20, at_a_time=15)
    with pytest.raises(KeysUnavailable):
        await on.has(ONE)
    assert on.changes == [1, 0]
    on.publisher.keys = [ONE]
    await on.pass_time(20)
    assert await on.has(ONE)
    assert on.changes == [1, 0, 1]


async def test_before_the_first_good_answer_nobody_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks during the first read waits for it; afterwards the answer comes at once, and asking causes no read."""
    publisher = Publisher(keys=None, gate=asyncio.Event())
    async with stage(monkeypatch, publisher) as on:
        asking = asyncio.create_task(on.has(ONE))
        await settled()
        assert not asking.done()
        assert publisher.gate is not None
        publisher.gate.set()
        with pytest.raises(KeysUnavailable):
            await asking
        for _ in range(100):
            with pytest.raises(KeysUnavailable):
                await on.has(ONE)
        assert publisher.reads == 1
        assert on.source.health.keys is None
        publisher.keys = [ONE]
        await on.pass_time(16)
        assert await on.has(ONE)


async def test_given_keys_are_there_when_they_are_asked_for() -> None:
    """They are read off the loop; who comes before waits."""
    source = GivenKeys("i", key_set([ONE]), ["ES256"], lambda: None)
    asking = asyncio.create_task(source.find("one", "ES256"))
    await source.run()
    async with asyncio.timeout(PATIENCE_S):
        assert len(await asking) == 1
    assert await source.find("two", "ES256") == ()
    assert source.health.keys == 1


async def test_given_keys_of_no_use_let_nobody_tell() -> None:
    """It is said why, and not that tokens are bad."""
    source = GivenKeys("i", '{"keys":[{"kty":"RSA"}]}', ["RS256"], lambda: None)
    await source.run()
    with pytest.raises(KeysUnavailable):
        await source.find("one", "RS256")
    assert source.health.last_error == "no usable key in the key set"


async def test_given_keys_that_are_given_up_keep_nobody_waiting() -> None:
    """Another config took their place while they were being read."""
    source = GivenKeys("i", key_set([ONE]), ["ES256"], lambda: None)
    running = asyncio.create_task(source.run())
    asking = asyncio.create_task(source.find("one", "ES256"))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(KeysUnavailable):
        async with asyncio.timeout(PATIENCE_S):
            await asking


async def test_followed_keys_that_are_given_up_keep_nobody_waiting(on: Stage) -> None:
    """The same where a read is under way."""
    on.publisher.gate = asyncio.Event()
    asking = asyncio.create_task(on.has(TWO))
    await settled()
    assert not asking.done()
    on.running.cancel()
    await settled()
    assert asking.done()
    with pytest.raises(KeysUnavailable):
        await asking
