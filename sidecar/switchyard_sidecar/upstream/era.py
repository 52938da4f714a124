"""Which era a backend speaks, decided from what its answer to ``server/discover`` looks like.

1. Modern is a result, or an "unsupported version" error, that names a modern version we speak; or one of the two other
   errors that only a modern server has.
2. A version that an error names is offered to it once. Refused again, the error is not to be believed.
3. What may come from anything in between (authentication, overload, a proxy without its server, no connection) decides
   nothing: neither era is assumed, the probe is repeated later.
4. All else is a reason to try ``initialize``, and no more than that: legacy is concluded when it succeeds.

Sources: 2026-07-28 ``basic/versioning`` and ``basic/transports/streamable-http``, "Backward Compatibility".
"""

from dataclasses import dataclass
from typing import Final

from switchyard_sidecar.protocol import errors, versions
from switchyard_sidecar.upstream import faults

DRAFT_UNSUPPORTED_VERSION: Final = -32004
"""The code of "unsupported version" in drafts of 2026-07-28; servers built on them are still about."""

_UNSUPPORTED: Final = frozenset({errors.UNSUPPORTED_VERSION, DRAFT_UNSUPPORTED_VERSION})


@dataclass(frozen=True, slots=True)
class Discovered:
    """A result. ``supported`` is its list of versions; empty when it has none."""

    supported: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """A JSON-RPC error. ``supported`` is from its ``data``; empty when there is none."""

    status: int
    code: int
    supported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherAnswer:
    """An HTTP answer that holds no JSON-RPC answer of ours: an empty body, a page of HTML, another status."""

    status: int


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Connected, and then nothing within the time given."""


@dataclass(frozen=True, slots=True)
class NoConnection:
    """Not connected, or the connection was lost. ``reason`` is one of :mod:`faults`."""

    reason: str


Outcome = Discovered | ErrorAnswer | OtherAnswer | NoAnswer | NoConnection


@dataclass(frozen=True, slots=True)
class Modern:
    """The backend is modern and speaks ``version``."""

    version: str


@dataclass(frozen=True, slots=True)
class Offer:
    """Probe again, with ``version``."""

    version: str


@dataclass(frozen=True, slots=True)
class TryLegacy:
    """Go on with ``initialize``."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nothing is known; ``reason`` says what stands in the way."""

    reason: str


Verdict = Modern | Offer | TryLegacy | Undecided


def decide(outcome: Outcome, *, asked: str, offered: frozenset[str] = frozenset()) -> Verdict:
    """Judge one probe that ``asked`` in this version; ``offered`` are the versions tried because an error named them."""
    match outcome:
        case Discovered(supported):
            version = common_version(supported)
            return TryLegacy() if version is None else Modern(version)
        case ErrorAnswer(code=code, supported=supported) if (
            code in _UNSUPPORTED and (version := common_version(supported)) is not None
        ):
            return TryLegacy() if version in offered else Offer(version)
        case ErrorAnswer(code=errors.HEADER_MISMATCH | errors.MISSING_CLIENT_CAPABILITY):
            return Modern(asked)
        case ErrorAnswer(status=status) | OtherAnswer(status) if faults.is_ambiguous(status):
            return Undecided(f"HTTP {status}")
        case ErrorAnswer() | OtherAnswer() | NoAnswer():
            return TryLegacy()
        case NoConnection(reason):
            return Undecided(reason)


def common_version(supported: tuple[str, ...]) -> str | None:
    """The newest modern version that we speak too."""
    return next((version for version in versions.MODERN_VERSIONS if version in supported), None)


def may_be_http_sse(status: int) -> bool:
    """Whether a refused ``initialize`` may mean HTTP+SSE of 2024-11-05 (2025-11-25 ``basic/transports``)."""
    return status in {400, 404, 405}
