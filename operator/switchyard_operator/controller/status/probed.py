"""What the operator's own look at a backend brought, and when that is believed.

A probe sees a backend from where the operator is, which need not be what sidecars see. Its reasons are a fixed set: nothing
that a backend answers, but for its name and version and the number of an HTTP status, gets into a status. (Of tools, it may name those
that the resource names.)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal, Self

from switchyard_operator.controller.status.conditions import (
    NAMES_LOOK_ALIKE,
    PINNED,
    REACHABLE,
    Condition,
    Truth,
    bounded,
)
from switchyard_sidecar.upstream.advice import advice

FAILURES_BELIEVED: Final = 3
"""So many probes in a row must fail before a backend counts as unreachable."""
_NAME_BYTES: Final = 128


class ProbeReason(StrEnum):
    """How a probe ended."""

    # The backend answers
    ANSWERED = "Answered"

    # Nothing is known: not tried
    NOT_PROBED = "NotProbed"
    NOT_RESOLVED = "NotResolved"
    CALLER_NEEDED = "CallerNeeded"
    ADDRESS_NOT_PROBED = "AddressNotProbed"

    # The backend does not answer, or not as it must
    NAME_NOT_RESOLVED = "NameNotResolved"
    CONNECTION_FAILED = "ConnectionFailed"
    TLS_FAILED = "TLSFailed"
    TIMED_OUT = "TimedOut"
    UNAUTHORIZED = "Unauthorized"
    OVERLOADED = "Overloaded"
    HTTP_ERROR = "HTTPError"
    REDIRECTED = "Redirected"
    NOT_MCP = "NotMCP"
    NO_COMMON_VERSION = "NoCommonVersion"
    LIST_TOO_LARGE = "ListTooLarge"


_SENTENCES: Final[Mapping[ProbeReason, str]] = {
    ProbeReason.ANSWERED: "answers the operator",
    ProbeReason.NOT_PROBED: "has not been probed yet",
    ProbeReason.NOT_RESOLVED: "is not probed while it is not accepted, or a reference of it does not resolve",
    ProbeReason.CALLER_NEEDED: "is not probed: it needs the authorization of a caller",
    ProbeReason.ADDRESS_NOT_PROBED: "is not probed: the operator connects to no loopback, link-local or API server address",
    ProbeReason.NAME_NOT_RESOLVED: "its host name does not resolve where the operator runs",
    ProbeReason.CONNECTION_FAILED: "no connection from the operator comes about",
    ProbeReason.TLS_FAILED: "no TLS connection comes about: certificate, name or version do not fit",
    ProbeReason.TIMED_OUT: "does not answer the operator in time",
    ProbeReason.UNAUTHORIZED: "refuses the operator's request: see spec.auth and spec.headers",
    ProbeReason.OVERLOADED: "is overloaded",
    ProbeReason.HTTP_ERROR: "answers the operator with an HTTP error",
    ProbeReason.REDIRECTED: "redirects elsewhere, which is not followed: give the address it redirects to",
    ProbeReason.NOT_MCP: "answers, but not as an MCP server does: see the path of its address",
    ProbeReason.NO_COMMON_VERSION: "speaks no version of MCP that is spoken here",
    ProbeReason.LIST_TOO_LARGE: "has a tool list that exceeds spec.limits",
}
_HTTP: Final = re.compile(r"with HTTP (\d{3})\b")
UNTRIED: Final = frozenset(
    {
        ProbeReason.NOT_PROBED,
        ProbeReason.NOT_RESOLVED,
        ProbeReason.CALLER_NEEDED,
        ProbeReason.ADDRESS_NOT_PROBED,
    }
)
"""With these, whether the backend can be reached is not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a backend said of itself."""

    era: Literal["Modern", "Legacy"]
    version: str
    """The MCP version in use, a date."""
    list_changed: bool
    """Whether it says that it announces changes of its list."""
    server_name: str
    server_version: str
    tools: int
    """The tools in its list, filtered as the backend's resource says."""
    digest: str
    """Of the canonical definitions of these tools; hexadecimal."""
    names: tuple[str, ...] = field(default=(), repr=False)
    """The names of these tools; none when they are known from a status alone, which does not hold them."""
    withheld: frozenset[str] | None = field(default=frozenset(), repr=False)
    """Of these, tools that are listed to nobody, since the resource's pins say so; ``None``: not known, from a status alone."""
    complete: bool = True
    """Whether its list was read to the end."""
    pinned: Condition | None = None
    """What its list says of the pins; ``None``: it has none to be held against."""
    alike: Condition | None = None
    """What is to be said of names in its list that look alike; ``None``: nothing."""

    @property
    def is_named(self) -> bool:
        """Whether it is known which tools these are, and not only how many."""
        return len(self.names) == self.tools


@dataclass(frozen=True, slots=True)
class Probe:
    """One look at a backend. ``answer`` goes with :attr:`ProbeReason.ANSWERED` alone."""

    reason: ProbeReason
    answer: Answer | None = None
    http: int | None = None
    """The HTTP status that was all of the answer, if one was."""

    @property
    def truth(self) -> Truth:
        """Whether the backend could be reached."""
        if self.reason in UNTRIED:
            return Truth.UNKNOWN
        return Truth.TRUE if self.reason is ProbeReason.ANSWERED else Truth.FALSE


@dataclass(frozen=True, slots=True)
class Reach:
    """What is believed of a backend after all probes so far."""

    reason: ProbeReason = ProbeReason.NOT_PROBED
    answer: Answer | None = None
    """The last answer, kept while the backend does not answer: it says what sidecars go on serving."""
    failures: int = 0
    """Probes that failed since the last that did not."""
    http: int | None = None
    """The HTTP status that the reason is about, if it is about one."""

    def after(self, probe: Probe) -> Self:
        """What is believed after one more probe. A failure is not believed until it is the third in a row."""
        if probe.truth is not Truth.FALSE:
            return replace(self, reason=probe.reason, answer=probe.answer, failures=0, http=None)
        failures = self.failures + 1
        believed = failures >= FAILURES_BELIEVED or self.condition.status is Truth.FALSE
        if not believed:
            return replace(self, failures=failures)
        return replace(self, reason=probe.reason, failures=failures, http=probe.http)

    @property
    def condition(self) -> Condition:
        """``Reachable``, as seen from the operator."""
        return Condition(REACHABLE, Probe(self.reason).truth, self.reason.value, self._sentence)

    @property
    def _sentence(self) -> str:
        if self.http is None:
            return _SENTENCES[self.reason]
        hint = advice(self.http)
        return f"answers the operator with HTTP {self.http}" + (f": {hint}" if hint else "")

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of a backend's status that come from its answer."""
        if self.answer is None:
            return {}
        return {
            "protocol": {
                "era": self.answer.era,
                "version": bounded(self.answer.version, _NAME_BYTES),
                "listChanged": self.answer.list_changed,
            },
            "serverInfo": {
                "name": bounded(self.answer.server_name, _NAME_BYTES),
                "version": bounded(self.answer.server_version, _NAME_BYTES),
            },
            "tools": {"count": self.answer.tools, "digest": self.answer.digest},
        }

    @classmethod
    def recalled(cls, status: Mapping[str, Any]) -> Self:
        """What an earlier process believed, as far as the status that it left says so."""
        told = [each for each in status.get("conditions") or () if each.get("type") == REACHABLE]
        try:
            reason, answer = ProbeReason(told[0].get("reason", "")), _answer(status)
        except (LookupError, ValueError):
            return cls()
        # What did not resolve then may resolve by now.
        if reason is ProbeReason.NOT_RESOLVED:
            return cls()
        http = _HTTP.search(told[0].get("message", ""))
        return cls(reason, answer, http=int(http[1]) if http else None)


def _answer(status: Mapping[str, Any]) -> Answer | None:
    if "protocol" not in status:
        return None
    protocol, server, tools = status["protocol"], status["serverInfo"], status["tools"]
    pinned = _recalled(status, PINNED)
    return Answer(
        era=protocol["era"],
        version=protocol["version"],
        list_changed=protocol["listChanged"],
        server_name=server["name"],
        server_version=server["version"],
        tools=tools["count"],
        digest=tools["digest"],
        withheld=None if pinned is not None and pinned.status is Truth.FALSE else frozenset(),
        pinned=pinned,
        alike=_recalled(status, NAMES_LOOK_ALIKE),
    )


def _recalled(status: Mapping[str, Any], kind: str) -> Condition | None:
    """A condition that was found out by looking; one that says that nobody could look is none."""
    for each in status["conditions"]:
        if each["type"] == kind and each["status"] != Truth.UNKNOWN:
            return Condition(kind, Truth(each["status"]), each["reason"], each["message"])
    return None
