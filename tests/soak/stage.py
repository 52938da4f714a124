"""Runs a plan: the real sidecar, backends on one side of it, clients on the other, and a judge who sees it all."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import aiohttp

from fakes.waiting import eventually
from integration.matrix.table import SERVERS
from soak import plan
from soak.backends import Fake
from soak.clients import Load, caller, listener, lister
from soak.config import Declared
from soak.facts import SLACK_S, Config, History, Illness
from soak.judge import SUFFICIENT_S, Judge, Violation
from soak.plan import CAST, Event, Kind, Player, Role
from soak.real import Real
from soak.sidecar import Sample, SidecarProcess

REAL: Final = {"python-2": "modern", "python-1": "legacy", "node-2": "modern"}
"""Real servers that take part if they are installed, and the era the sidecar speaks with them."""
LOADED_S: Final = 10.0
"""A config is served within this after it was written."""
POLL_BOUND_S: Final = 5.0 * 1.1
"""What is not announced is looked for this often while anyone listens."""
LOOK_S: Final = 0.25
"""How often those who listen are looked at."""
WATCHED_S: Final = 5.0
"""A list that may not be believed at all is, for so long, while its backend would tell of a change."""
STORM_GAP_S: Final = 15.0
"""Reads of a backend that announces changes and has none are kept this far apart."""
_SECRET_AFTER_S: Final = 1.0
"""How long after the config its new secret comes."""
WARM_S: Final = 45.0
"""From this age on a process does not grow any more."""
FEW: Final = 2
"""Fewer rests than this say nothing."""
GROWTH: Final = {"descriptors": 25, "tasks": 25}
"""By how much what a process holds at rest may grow from its first to its last: a backend that has joined makes some
difference, as each session of a client with it holds a connection."""


WARM_AFTER_S: Final = 15.0
"""From this age on the memory of a process is flat."""
GROWTH_BYTES: Final = 6 * 1024 * 1024
"""By how much it may differ between the halves of what is left of its life."""


@dataclass
class Report:
    """How a soak went."""

    seed: int
    plan: tuple[Event, ...]
    violations: list[Violation]
    counts: Counter[str]
    p99s: dict[str, float]
    samples: list[Sample]
    started_at: float
    unix_offset: float
    """Added to monotonic seconds, it gives Unix seconds."""
    sidecar: SidecarProcess


@dataclass
class Stage:
    """Everything that takes part."""

    judge: Judge
    sidecar: SidecarProcess
    declared: Declared
    fakes: dict[str, Fake]
    real: dict[str, Real]
    asking: asyncio.Event
    tasks: asyncio.TaskGroup
    samples: list[Sample] = field(default_factory=list)
    born_at: float = 0.0
    """When the process that runs now was started."""
    _rests: list[Sample] = field(default_factory=list)
    """What the process that runs now held at rest."""
    _config: asyncio.Lock = field(default_factory=asyncio.Lock)
    _alive: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def play(self, event: Event) -> None:
        """Make one event happen; whatever lasts goes on by itself."""
        self.judge.happened(str(event))
        match event.kind:
            case Kind.GROW | Kind.SHRINK | Kind.EDIT:
                await self.fakes[event.target].change(event.kind, announced=event.announced)
            case Kind.STORM:
                self._goes_on(event, self.fakes[event.target].storm())
            case Kind.EXPIRE:
                self.fakes[event.target].expire()
            case Kind.DIE | Kind.REBORN | Kind.HANG | Kind.GARBAGE | Kind.DRIP:
                backend = self.fakes.get(event.target) or self.real[event.target]
                self._goes_on(event, backend.suffer(event.kind, event.for_s))
            case Kind.TERMINATE | Kind.KILL:
                self._goes_on(event, self._restart(gracefully=event.kind is Kind.TERMINATE))
            case Kind.LULL:
                self._goes_on(event, self._lull(event.for_s))
            case _:
                self._goes_on(event, self._reconfigure(event))

    def _goes_on(self, event: Event, happening: Coroutine[Any, Any, None]) -> None:
        self.tasks.create_task(happening, name=str(event))

    async def write(self, *, restarted: str | None = None) -> None:
        """Write the config and wait until it is served. ``restarted``: a backend that is asked as another one from now on."""
        model, declared = self.judge.model, self.declared
        config = Config(self.judge.now(), tuple(declared.backends), declared.named, declared.page_size)
        if restarted is not None:
            model.backends[restarted].introductions.append(config.written_at)
        model.configured(config)
        self.sidecar.write(declared.config(), declared.credentials())
        if model.down(config.written_at, config.written_at):
            return  # it reads it when it starts
        try:
            await eventually(self.sidecar.has_loaded, LOADED_S)
        except TimeoutError:
            if not model.down(config.written_at, self.judge.now()):
                self.judge.violated("a config is served within seconds", f"not within {LOADED_S} s")
            return
        model.loaded(self.judge.now())

    async def _reconfigure(self, event: Event) -> None:
        async with self._config:
            declared = self.declared
            match event.kind:
                case Kind.JOIN:
                    fake = self.fakes[event.target]
                    declared.backends[event.target] = (fake.player, fake.url)
                    # Its place among the others decides nothing: names are prefixed and sorted.
                case Kind.LEAVE:
                    declared.backends.pop(event.target, None)
                case Kind.ALIAS:
                    declared.aliases += 1
                case Kind.PAGES:
                    declared.pages += 1
                case Kind.REKEY:
                    self.judge.rekeyed.append(self.judge.now())
                    declared.session_keys = (f"session key {event.at_s}".encode(), *declared.session_keys)
                case Kind.SPOIL:
                    async with self._alive:  # one that starts now has nothing to run on with
                        self.sidecar.spoil(declared.credentials())
                        await asyncio.sleep(event.for_s)
                        await self.write()
                    return
                case Kind.ROTATE:
                    token = f"token-{event.at_s}".encode()
                    fake = self.fakes[event.target]
                    fake.tokens = {declared.tokens[event.target].decode(), token.decode()}
                    declared.tokens[event.target] = token
                    await self.write()
                    await asyncio.sleep(_SECRET_AFTER_S)
                    declared.arrived[event.target] = token
                    await self.write(restarted=event.target)
                    return
                case _:
                    raise AssertionError(event)
            await self.write()

    async def _restart(self, *, gracefully: bool) -> None:
        async with self._alive:
            outage = Illness(self.judge.now(), "restart")
            self.judge.model.outages.append(outage)
            if gracefully:
                status = await self.sidecar.terminate()
                if status != 0:
                    self.judge.violated("SIGTERM ends the sidecar in order", f"exit status {status}")
            else:
                await self.sidecar.kill()
            await self._begin()
            outage.ended_at = self.judge.now()

    async def _begin(self) -> None:
        self._rests.clear()
        self.born_at = self.judge.now()
        await self.sidecar.start()
        self.judge.model.loaded(self.judge.now())

    async def _lull(self, for_s: float) -> None:
        self.asking.clear()
        await asyncio.sleep(for_s - 1.0)
        try:
            await self._rest()
        finally:
            self.asking.set()

    async def _rest(self) -> None:
        """Measure what the process holds while nobody asks anything, and compare."""
        rest = await self._sample()
        if rest is None:
            return
        self.judge.counts["rests"] += 1
        if rest.calls > self.judge.calling:
            self.judge.violated(
                "nothing is left of calls", f"{rest.calls} run, and {self.judge.calling} are waited for"
            )
        if rest.at - self.born_at < WARM_S:
            return
        self._rests.append(rest)
        third = len(self._rests) // 3
        if third < FEW:
            return
        for what, most in GROWTH.items():
            first, last = (
                median(getattr(each, what) for each in part) for part in (self._rests[:third], self._rests[-third:])
            )
            if (grown := last - first) > most:
                self.judge.violated("nothing leaks", f"{what} grew by {grown:.0f} at rest: {self._rests}")

    # What goes on all the time.

    async def watch(self) -> None:
        """Look at the sidecar from outside: its admin port, its memory, and whether it is there."""
        while True:
            await asyncio.sleep(1.0)
            if (sample := await self._sample()) is not None:
                self.samples.append(sample)

    async def _sample(self) -> Sample | None:
        """What the process holds now; None: it does not say, which may be right."""
        asked_at = self.judge.now()
        try:
            for path in ("/healthz", "/readyz", "/status"):
                await self.sidecar.ask(path)
            return await self.sidecar.sample(asked_at)
        except (aiohttp.ClientError, TimeoutError, OSError, KeyError) as error:
            if not self.judge.model.down(asked_at - SLACK_S, self.judge.now()):
                self.judge.violated("the admin port always answers", repr(error))
                if self.sidecar.exited is not None:
                    raise  # nothing that follows would tell more
        return None

    async def look(self) -> None:
        """Have the judge look at those who listen, and note how late this process itself is."""
        waited_s = 0.0
        while True:
            due = self.judge.now() + LOOK_S
            await asyncio.sleep(LOOK_S)
            before_s, waited_s = waited_s, self.sidecar.waited_s()
            self.judge.lags(self.judge.now() - due + max(0.0, waited_s - before_s))
            self.judge.look()
            for fake in self.fakes.values():
                fake.server.requests.clear()


async def soak(
    seed: int,
    length_s: float,
    folder: Path,
    *,
    load: float = 1.0,
    on_violation: Callable[[Violation], None] = lambda _: None,
) -> Report:
    """Run the plan of this seed and length. ``load``: how much the clients ask for; 1 is some fifty requests a second."""
    judge = Judge(time.monotonic, on_violation=on_violation)
    async with _clients() as http, _backends(judge, seed, folder, http) as (fakes, real):
        players = (*CAST, *(each.player for each in real.values()))
        events = plan.make(seed, length_s, players)
        sidecar = SidecarProcess(folder, http)
        present: dict[str, Fake | Real] = {**fakes, **real}
        declared = Declared(
            {name: (each.player, each.url) for name, each in present.items() if each.player.role is not Role.LATE}
        )
        declared.tokens = {"rowan": b"token-0"}
        declared.arrived = dict(declared.tokens)
        fakes["rowan"].tokens = {"token-0"}
        asking = asyncio.Event()
        asking.set()
        shared = Load(sidecar.url, http, judge, asking, {name: f"{name}__echo" for name in real})
        try:
            async with asyncio.TaskGroup() as tasks:
                stage = Stage(judge, sidecar, declared, fakes, real, asking, tasks)
                started_at = await _open(stage)
                background = [
                    tasks.create_task(each) for each in (stage.watch(), stage.look(), *_load(shared, seed, load))
                ]
                for event in events:
                    await asyncio.sleep(max(0.0, started_at + event.at_s - judge.now()))
                    await stage.play(event)
                await asyncio.sleep(max(0.0, started_at + length_s - judge.now()))
                judge.quiet = True
                for task in background:
                    task.cancel()
            await _close(stage)
        finally:
            await sidecar.kill()
    _judge_in_the_end(judge, fakes, sidecar)
    offset = time.time() - time.monotonic()
    return Report(
        seed, events, judge.violations, judge.counts, judge.p99s(), stage.samples, started_at, offset, sidecar
    )


async def _open(stage: Stage) -> float:
    outage = Illness(stage.judge.now(), "start")
    stage.judge.model.outages.append(outage)
    await stage.write()
    await stage._begin()
    outage.ended_at = stage.judge.now()
    return outage.ended_at


async def _close(stage: Stage) -> None:
    """When all clients have left, nothing of them is left; then SIGTERM ends the sidecar in order."""
    judge = stage.judge

    async def deserted() -> bool:
        sample = await stage.sidecar.sample(judge.now())
        return not sample.subscribers and not sample.calls

    try:
        await eventually(deserted, 5.0)
    except TimeoutError:
        judge.violated("nothing is left of clients that have gone", f"{await stage.sidecar.sample(judge.now())}")
    warm = [sample.rss_bytes for sample in stage.samples if sample.at > stage.born_at + WARM_AFTER_S]
    if len(warm) > 1:
        grown = median(warm[len(warm) // 2 :]) - median(warm[: len(warm) // 2])
        if grown > GROWTH_BYTES:
            judge.violated("nothing leaks", f"resident memory grew by {grown / 2**20:.1f} MiB")
    status = await stage.sidecar.terminate()
    if status != 0:
        judge.violated("SIGTERM ends the sidecar in order", f"exit status {status}")


def _judge_in_the_end(judge: Judge, fakes: dict[str, Fake], sidecar: SidecarProcess) -> None:
    for what, p99 in judge.p99s().items():
        if p99 > SUFFICIENT_S + (1.0 if what == "list" else 0.0):
            judge.violated("well backends do not suffer from sick ones", f"p99 of a {what} is {p99:.2f} s")
    for fake in fakes.values():
        if fake.player.role is Role.WELL and fake.server.complaints:
            judge.violated("backends are spoken to as their specification says", str(fake.server.complaints[:5]))
    for line in sidecar.own_faults()[:5]:
        judge.violated("the sidecar finds no fault in itself", line)


@asynccontextmanager
async def _clients() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        skip_auto_headers=("Accept", "Content-Type", "User-Agent"),
        timeout=aiohttp.ClientTimeout(total=None),  # streams last as long as they last
    ) as http:
        yield http


@asynccontextmanager
async def _backends(
    judge: Judge, seed: int, folder: Path, http: aiohttp.ClientSession
) -> AsyncIterator[tuple[dict[str, Fake], dict[str, Real]]]:
    fakes: dict[str, Fake] = {}
    real: dict[str, Real] = {}
    try:
        for player in CAST:
            judge.model.backends[player.name] = _history(player)
            fakes[player.name] = Fake(player, judge, seed)
            await fakes[player.name].start()
        for server in SERVERS:
            if server.name in REAL and server.program.available():
                player = Player(server.name, Role.REAL, REAL[server.name], ttl_ms=0)
                judge.model.backends[player.name] = _history(player)
                real[player.name] = Real(player, server.program, judge, folder / f"{player.name}.log")
                await real[player.name].start()
                await real[player.name].learn(http)
        yield fakes, real
    finally:
        everybody: list[Fake | Real] = [*fakes.values(), *real.values()]
        for backend in everybody:
            await backend.stop()


def _history(player: Player) -> History:
    storms = player.role is Role.SICK
    ttl_s = player.ttl_ms / 1000
    bound_s = max(ttl_s * 1.1, POLL_BOUND_S) + SLACK_S + (STORM_GAP_S if storms else 0.0)
    asked_s = (ttl_s or WATCHED_S) + SLACK_S
    return History(player.name, bound_s, asked_s, prompt_s=None if storms else SLACK_S)


def _load(shared: Load, seed: int, load: float) -> Sequence[Coroutine[Any, Any, None]]:
    def chance(name: str) -> random.Random:
        return random.Random(f"{seed} {name}")

    return [
        *(
            lister(shared, era, chance(f"lister {era} {n}"), 0.25 / load)
            for era in ("modern", "legacy")
            for n in range(3)
        ),
        *(
            caller(shared, era, chance(f"caller {era} {n}"), 0.1 / load)
            for era in ("modern", "legacy")
            for n in range(3)
        ),
        *(
            listener(shared, era, chance(f"listener {era} {n}"), f"{era} listener {n}", None)
            for era in ("modern", "legacy")
            for n in range(4)
        ),
        *(
            listener(shared, era, chance(f"visitor {era} {n}"), f"{era} visitor {n}", 3.0)
            for era in ("modern", "legacy")
            for n in range(2)
        ),
    ]
