"""What happens in a soak, and when: a list of events that a seed decides, made before anything runs.

The plan is data. Two runs with one seed and length have the same plan; what differs is only how the machine's clock and
the network fall in between. What always holds of a plan:

1. Events are in order of time. Faults of one backend do not overlap, and leave it time to be well in between.
2. The sidecar is killed and ended in the first third alone, so that one process lives long enough to show a leak.
3. Lulls (in which clients keep their streams and ask nothing, and no backend changes) are free of other events, but for
   storms: what is told then is told for no reason.
4. The last :data:`CALM_S` seconds are free of events: what has not settled by then does not settle.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CALM_S: Final = 8.0
"""Nothing happens at the end of a plan."""
LULL_S: Final = 6.0
"""How long clients ask nothing."""


class Role(StrEnum):
    """What may happen to a backend."""

    WELL = "well"
    """It changes and never fails: what is asked of it must not suffer from the others."""
    SICK = "sick"
    """Everything."""
    LATE = "late"
    """It is put into the config and taken out of it."""
    SECRET = "secret"
    """It wants a token, which is rotated. It changes aloud alone, and its list may be believed for long."""
    REAL = "real"
    """A server on an official SDK: it dies and hangs."""


@dataclass(frozen=True)
class Player:
    """One backend of a soak."""

    name: str
    role: Role
    era: str
    """``modern`` or ``legacy``; a sick one may come back as the other."""
    ttl_ms: int = 2_000
    """How long its list may be believed (legacy ones do not say so: the config does)."""
    page_size: int = 0
    announces: bool = True
    """Whether it has change streams."""


CAST: Final = (
    Player("alder", Role.WELL, "modern"),
    Player("birch", Role.WELL, "legacy"),
    Player("cedar", Role.SICK, "modern", ttl_ms=0),
    Player("elm", Role.SICK, "legacy"),
    Player("fir", Role.SICK, "modern", ttl_ms=1_000, page_size=3, announces=False),
    Player("gum", Role.SICK, "legacy", page_size=4, announces=False),
    Player("hazel", Role.LATE, "modern"),
    Player("ivy", Role.LATE, "legacy", page_size=5),
    Player("rowan", Role.SECRET, "modern", ttl_ms=20_000),
)
"""The fakes. Real servers join as they are installed."""


class Kind(StrEnum):
    """What happens."""

    GROW = "grow"
    SHRINK = "shrink"
    EDIT = "edit"
    STORM = "storm"
    """It says many times that its list has changed, and it has not."""
    EXPIRE = "expire"
    """It forgets its sessions."""
    DIE = "die"
    """Connections are refused and cut, for a while; then it is back, with no memory of sessions."""
    REBORN = "reborn"
    """It dies for a moment and comes back as one of the other era."""
    HANG = "hang"
    GARBAGE = "garbage"
    DRIP = "drip"
    TERMINATE = "terminate"
    """SIGTERM to the sidecar, and a new one."""
    KILL = "kill"
    """SIGKILL to the sidecar, and a new one."""
    JOIN = "join"
    LEAVE = "leave"
    ALIAS = "alias"
    """The other set of aliases."""
    PAGES = "pages"
    """Another page size."""
    ROTATE = "rotate"
    """A new token for a backend; its file comes some time after the config that names it."""
    REKEY = "rekey"
    """A new key for session ids; the former one stays accepted."""
    SPOIL = "spoil"
    """The config cannot be read for a while: what runs must run on."""
    LULL = "lull"


@dataclass(frozen=True, order=True)
class Event:
    """One thing that happens."""

    at_s: float
    """Seconds since the start."""
    kind: Kind
    target: str = ""
    """The backend, where it is about one."""
    for_s: float = 0.0
    """How long it lasts, where it does."""
    announced: bool = False
    """Whether the backend says so, where it can."""

    def __str__(self) -> str:
        lasting = f" for {self.for_s:.1f} s" if self.for_s else ""
        return f"{self.at_s:7.2f} {self.kind}{' ' + self.target if self.target else ''}{lasting}" + (
            " (announced)" if self.announced else ""
        )


_CHANGES: Final = (Kind.GROW, Kind.SHRINK, Kind.EDIT, Kind.EDIT)
_FAULTS: Final = (Kind.DIE, Kind.REBORN, Kind.HANG, Kind.GARBAGE, Kind.DRIP)
_CONFIGS: Final = (Kind.ALIAS, Kind.PAGES, Kind.ROTATE, Kind.REKEY, Kind.SPOIL)


def make(seed: int, length_s: float, cast: Sequence[Player] = CAST) -> tuple[Event, ...]:
    """The plan of a soak of ``length_s`` seconds. Backends of the real role are killed and stopped only."""
    chance = random.Random(seed)
    end_s = length_s - CALM_S
    lulls = tuple(_times(chance, 20.0, end_s - LULL_S, lambda: chance.uniform(35.0, 50.0)))
    events = [Event(at, Kind.LULL, for_s=LULL_S) for at in lulls]
    events += [Event(at + 2.0, Kind.STORM, "cedar") for at in lulls]
    for player in cast:
        events += _of_backend(chance, player, end_s)
    for number, at in enumerate(_times(chance, 5.0, end_s / 3, lambda: chance.uniform(6.0, 24.0))):
        events.append(Event(at, Kind.TERMINATE if number % 2 else Kind.KILL))
    for number, at in enumerate(_times(chance, 4.0, end_s, lambda: chance.uniform(4.0, 9.0))):
        kind = _CONFIGS[number % len(_CONFIGS)]
        events.append(Event(at, kind, "rowan" if kind is Kind.ROTATE else "", for_s=1.5 if kind is Kind.SPOIL else 0.0))
    return tuple(sorted(event for event in events if not _disturbs(event, lulls)))


def _of_backend(chance: random.Random, player: Player, end_s: float) -> Iterator[Event]:
    if player.role is not Role.REAL:
        for at in _times(chance, 2.0, end_s, lambda: chance.expovariate(1 / 4.0) + 0.2):
            announced = player.announces and (player.role is Role.SECRET or chance.random() < 0.5)
            yield Event(at, chance.choice(_CHANGES), player.name, announced=announced)
    if player.role is Role.SICK:
        for at in _times(chance, 10.0, end_s, lambda: chance.uniform(12.0, 25.0)):
            yield Event(at, chance.choice((Kind.STORM, Kind.EXPIRE)), player.name)
    if player.role in {Role.SICK, Role.REAL}:
        kinds = _FAULTS if player.role is Role.SICK else (Kind.DIE, Kind.HANG)
        at = chance.uniform(3.0, 30.0)
        while at < end_s:
            lasts = chance.uniform(1.0, 8.0)
            kind = chance.choice(kinds)
            yield Event(at, kind, player.name, for_s=min(lasts, end_s - at))
            at += lasts + chance.uniform(10.0, 80.0)
    if player.role is Role.LATE:
        for number, at in enumerate(_times(chance, 5.0, end_s, lambda: chance.uniform(10.0, 30.0))):
            yield Event(at, Kind.LEAVE if number % 2 else Kind.JOIN, player.name)


def _times(chance: random.Random, first_s: float, end_s: float, gap: Callable[[], float]) -> Iterator[float]:
    at = first_s + chance.uniform(0.0, 3.0)
    while at < end_s:
        yield at
        at += gap()


def _disturbs(event: Event, lulls: Sequence[float]) -> bool:
    """Whether an event has no place in a lull. A fault that lasts into one may: a backend that is away changes nothing."""
    allowed = event.kind in {Kind.LULL, Kind.STORM}
    return not allowed and any(at - 1.0 <= event.at_s <= at + LULL_S for at in lulls)
