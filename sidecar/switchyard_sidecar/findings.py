"""What a new catalog shows that a person should look at, said once in the log: pins that do not agree, names that look alike.

Callers whose own tokens go to backends have catalogs of their own, each with the number of its lane. What was said of one of them is
not said again of the next.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from switchyard_sidecar.catalog.catalog import Catalog
from switchyard_sidecar.catalog.lookalikes import LEGIBLE, Lookalike
from switchyard_sidecar.catalog.pins import Comparison
from switchyard_sidecar.config.model import AuthType

log = structlog.get_logger(__name__)

MAX_NAMED: Final = 20
"""Names in one line, and look-alikes that one catalog logs; the status has them all."""
MAX_KEPT: Final = 1_000
"""Look-alikes that are not said again; beyond these, the ones said first may be."""


class Findings:
    """Remembers what was said of one gateway's catalogs."""

    def __init__(self) -> None:
        self._compared: dict[str, Comparison] = {}
        self._alike: dict[Lookalike, None] = {}

    def say(self, before: Catalog, after: Catalog, lane: int | None = None) -> None:
        """Log what is new since the catalog before. ``lane``: the number of the only caller's lane, if it is of one."""
        own = {each.id for each in after.config.backends if each.auth.type is AuthType.FORWARD}
        for backend, found in after.pins.items():
            if found not in (before.pins.get(backend), self._compared.get(backend)):
                _say_compared(backend, found, lane if backend in own else None)
            self._compared[backend] = found
        for gone in frozenset(before.lookalikes).difference(after.lookalikes):
            self._alike.pop(gone, None)
        new = [each for each in after.lookalikes if each not in self._alike]
        for each in new[:MAX_NAMED]:
            is_own = any(name in after.routes and after.routes[name].backend in own for name in each.names)
            log.warning("names_look_alike", kind=each.kind, names=_named(each.names), **_of(lane if is_own else None))
        self._alike |= dict.fromkeys(new)
        for oldest in list(self._alike)[: max(0, len(self._alike) - MAX_KEPT)]:
            del self._alike[oldest]


def _say_compared(backend: str, found: Comparison, lane: int | None) -> None:
    differing = {"drifted": found.drifted, "unpinned": found.unpinned, "missing": found.missing}
    if found.differs:
        log.warning("pins_differ", backend=backend, **_of(lane), enforced=found.enforced, **_counted(differing))
    else:
        log.info("pins_agree", backend=backend, **_of(lane), tools=found.agreed)


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """Some of these, each as far as a person reads it: they are backends' words, and may be of any length."""
    return tuple(each[:LEGIBLE] for each in names[:MAX_NAMED])


def _of(lane: int | None) -> dict[str, int]:
    """Which lane something was found in, where it is of what that lane's caller alone is shown."""
    return {} if lane is None else {"lane": lane}


def _counted(names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What there is of these, by name and, where there are more than are named, by number."""
    named: dict[str, Any] = {key: list(_named(each)) for key, each in names.items() if each}
    return named | {f"{key}_total": len(each) for key, each in names.items() if len(each) > MAX_NAMED}
