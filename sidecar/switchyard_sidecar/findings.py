"""What a new catalog shows that a person should look at, said once in the log: pins that do not agree, names that look alike."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from switchyard_sidecar.catalog.catalog import Catalog

log = structlog.get_logger(__name__)

MAX_NAMED: Final = 20
"""Names in one line, and look-alikes that one catalog logs; the status has them all."""


def say(before: Catalog, after: Catalog) -> None:
    """Log what is new since the catalog before."""
    for backend, found in after.pins.items():
        if found == before.pins.get(backend):
            continue
        differing = {"drifted": found.drifted, "unpinned": found.unpinned, "missing": found.missing}
        if any(differing.values()):
            log.warning("pins_differ", backend=backend, enforced=found.enforced, **_counted(differing))
        elif backend in before.pins:
            log.info("pins_agree", backend=backend, tools=found.agreed)
    known = frozenset(before.lookalikes)
    new = [each for each in after.lookalikes if each not in known]
    for each in new[:MAX_NAMED]:
        log.warning("names_look_alike", kind=each.kind, names=each.names[:MAX_NAMED])


def _counted(names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What there is of these, by name and, where there are more than are named, by number."""
    named: dict[str, Any] = {key: list(each[:MAX_NAMED]) for key, each in names.items() if each}
    return named | {f"{key}_total": len(each) for key, each in names.items() if len(each) > MAX_NAMED}
