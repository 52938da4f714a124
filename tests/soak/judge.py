"""Holds what clients see against the model, and writes down every violation with all that is needed to understand it."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from soak.facts import SLACK_S, TOLD_S, Definition, Illness, Listing
from soak.model import Model
from soak.plan import Kind

MOST: Final = 50
"""Violations written down; the rest is counted."""
SUFFICIENT_S: Final = 1.0
"""What a p99 may be at most: an invariant about isolation, not a benchmark."""
KEYS: Final = 2
"""Keys of session ids that are accepted at a time."""
STARVED_S: Final = 1.0
"""From this lag on, waits of the sidecar itself may run out."""
STARVATION: Final = "starved"
STARVED_RECOVERY_S: Final = 10.0
"""A backend that could not be asked meanwhile is asked again within this."""
LAG_KEPT: Final = 0.97
"""What is left of a lag at the next look."""
RECENT: Final = 6
"""Events that are shown with a violation."""


@dataclass(frozen=True)
class Violation:
    """An invariant that did not hold."""

    at: float
    invariant: str
    detail: str
    """What was expected, and what was seen."""
    events: tuple[str, ...]
    """The last events before it."""


@dataclass
class Subscriber:
    """A client that listens."""

    name: str
    era: str
    opened_at: float
    listing: Listing | None = None
    """What it listed when it was last told."""
    told: list[float] = field(default_factory=list)
    """When it was told that the list has changed."""


@dataclass
class Judge:
    """Knows the facts and judges by them. ``now`` gives monotonic seconds."""

    now: Callable[[], float]
    model: Model = field(default_factory=Model)
    violations: list[Violation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    subscribers: list[Subscriber] = field(default_factory=list)
    latencies: dict[str, list[float]] = field(default_factory=dict)
    """Seconds, by what was asked; of calls, those to well backends alone."""
    recent: list[str] = field(default_factory=list)
    on_violation: Callable[[Violation], None] = lambda _: None
    """Called with each as it is found."""
    calling: int = 0
    """Calls whose callers wait for them."""
    rekeyed: list[float] = field(default_factory=list)
    """When session ids got another key."""
    quiet: bool = False
    """Whether it is over: what is cut off now is cut off by us."""
    _starvation: Illness | None = None
    _executed: set[str] = field(default_factory=set)
    _callers: dict[tuple[str, str], str] = field(default_factory=dict)

    def violated(self, invariant: str, detail: str) -> None:
        """Write a violation down."""
        self.counts["violations"] += 1
        if len(self.violations) < MOST:
            self.violations.append(Violation(self.now(), invariant, detail, tuple(self.recent[-RECENT:])))
            self.on_violation(self.violations[-1])

    def happened(self, event: str) -> None:
        """Something was done to the system."""
        self.recent.append(event)

    # Facts about backends.

    def version(self, backend: str, tools: Mapping[str, Definition]) -> int:
        """A backend's list is another one from now on; give its number."""
        return self.model.version(backend, self.now(), tools).number

    def announced(self, backend: str, number: int) -> None:
        """A backend has said so, on a stream that was open."""
        self.model.backends[backend].announced[number] = self.now()

    def read(self, backend: str, number: int) -> None:
        """A backend has sent a version to its end."""
        self.model.read(backend, self.now(), number)
        self.counts["reads"] += 1

    def falls_ill(self, backend: str, kind: Kind, *, recovery_s: float) -> Illness:
        """A backend is unwell from now on."""
        illness = Illness(self.now(), kind, recovery_s=recovery_s)
        self.model.backends[backend].illnesses.append(illness)
        return illness

    def is_well(self, illness: Illness) -> None:
        """It is well again."""
        illness.ended_at = self.now()

    def lags(self, late_s: float) -> None:
        """One of the processes had to wait for a CPU for so long since it was last looked at: the machine is to blame."""
        model = self.model
        model.lag_s = model.lag_s * LAG_KEPT + late_s
        if model.lag_s > STARVED_S and self._starvation is None:
            self._starvation = Illness(self.now(), STARVATION, recovery_s=STARVED_RECOVERY_S)
            for history in model.backends.values():
                history.illnesses.append(self._starvation)
        elif model.lag_s < STARVED_S / 2 and self._starvation is not None:
            self._starvation.ended_at = self.now()
            self.counts["seconds starved"] += round(self.now() - self._starvation.begun_at)
            self._starvation = None

    def executed(self, backend: str, tool: str, token: str, session: str | None, caller: str) -> None:
        """A backend was called."""
        meant = f"{backend}/{tool}"
        if not token.startswith(meant + "/"):
            self.violated("no call to the wrong backend", f"{token} came to {meant}")
        if token in self._executed:
            self.violated("no call is made twice", f"{token} came again")
        self._executed.add(token)
        if session is not None and self._callers.setdefault((backend, session), caller) != caller:
            others = self._callers[backend, session]
            self.violated("no caller meets another's state", f"{session} of {backend} served {others} and {caller}")

    def wrong_token(self, backend: str) -> None:
        """A backend was shown a credential that it does not take."""
        if not self.model.backends[backend].ill(self.now(), self.now()):
            self.violated("a backend is shown its own, present credential", f"{backend} was shown another")

    # What clients see.

    def listed(self, listing: Listing) -> None:
        """A client has been given a list."""
        self.counts[f"lists {listing.era}"] += 1
        self.timed("list", listing.answered_at - listing.sent_at)
        for fault in self.model.faults(listing):
            self.violated(f"a {listing.era} list is what it can be", fault)

    def called(self, exposed: str, token: str, sent_at: float, answer: object) -> None:
        """A call has brought a result; ``answer`` is what the backend says it was called with."""
        backend, tool, _ = token.split("/")
        now = self.now()
        self.counts["calls"] += 1
        if answer != {"backend": backend, "tool": tool, "token": token}:
            self.violated("a call brings its own answer", f"{exposed} with {token} brought {answer}")
        if all(each.what == STARVATION for each in self.model.backends[backend].illnesses):
            self.timed("call of a well backend", now - sent_at)

    def refused(self, exposed: str, token: str, sent_at: float, why: str) -> None:
        """A call has brought an error."""
        backend, tool, _ = token.split("/")
        self.counts["calls refused"] += 1
        if not self._excuses(exposed, backend, tool, sent_at):
            self.violated("a call of a well backend succeeds", f"{exposed} with {token} brought {why}")

    def forgot(self, since: float) -> None:
        """The sidecar does not know a session that it gave at a time."""
        if sum(at + SLACK_S >= since for at in self.rekeyed) < KEYS:  # a new key is written first, and used then
            self.violated("sessions outlive the process", "a session was unknown, whose key was still accepted")

    def failed(self, what: str, sent_at: float, why: str) -> None:
        """A request that no backend has a part in has failed."""
        self.counts["requests cut off"] += 1
        if not self.quiet and not self.model.down(sent_at - SLACK_S, self.now()):
            self.violated("every request is answered", f"{what} brought {why}")

    def _excuses(self, exposed: str, backend: str, tool: str, sent_at: float) -> bool:
        model, now = self.model, self.now()
        history = model.backends[backend]
        if self.quiet or model.down(sent_at - SLACK_S, now):
            return True
        configs = model.possible(sent_at, now)
        if any(backend not in each.backends or exposed not in each.exposed(backend, tool) for each in configs):
            return True
        if any(
            each.begun_at <= now and each.ended_at + each.call_recovery_s + model.lag_s >= sent_at
            for each in history.illnesses
        ):
            return True
        if sent_at < model.known_since(backend, now) + SLACK_S:
            return True
        # The tool may have gone, or not been read yet.
        first = max(history.current(sent_at - history.bound_s - TOLD_S), 0)
        return any(tool not in version.tools for version in history.versions[first:])

    def opened(self, subscriber: Subscriber) -> None:
        """A stream is open."""
        self.subscribers.append(subscriber)
        self.counts[f"streams {subscriber.era}"] += 1

    def closed(self, subscriber: Subscriber) -> None:
        """A stream was left, or has ended."""
        self.subscribers.remove(subscriber)

    def told(self, subscriber: Subscriber) -> None:
        """A stream has said that the list has changed."""
        now = self.now()
        subscriber.told.append(now)
        self.counts[f"told {subscriber.era}"] += 1
        late = SLACK_S + self.model.lag_s
        if not self.model.causes(now - late, now):
            self.violated("nobody is told when nothing changed", f"{subscriber.name} was told, and nothing had changed")
        causes = self.model.causes(subscriber.opened_at - late, now)
        if len(subscriber.told) > causes:
            self.violated(
                "each change is told once",
                f"{subscriber.name} was told {len(subscriber.told)} times of {causes} changes",
            )

    def look(self) -> None:
        """Judge what all who listen know now."""
        now = self.now()
        since = now - TOLD_S - self.model.lag_s
        if self.model.down(since - TOLD_S, now):
            return
        for subscriber in self.subscribers:
            held = subscriber.listing
            if held is None or subscriber.opened_at > since:
                continue
            known = Listing(subscriber.era, since, now, held.entries, pages=held.pages)
            for fault in self.model.faults(known, held=True):
                self.violated("who listens learns the last state", f"{subscriber.name}: {fault}")
                subscriber.listing = None  # said once is enough

    def timed(self, what: str, seconds: float) -> None:
        """Something took so long; it counts unless the machine is to blame."""
        if self.model.lag_s < STARVED_S / 2:
            self.latencies.setdefault(what, []).append(seconds)

    def p99s(self) -> dict[str, float]:
        """The 99th percentile of what was timed."""
        return {
            what: sorted(times)[min(len(times) - 1, len(times) * 99 // 100)] for what, times in self.latencies.items()
        }
