"""Whether the API server has the definitions of our kinds that this release was made with.

Charts install CRDs once and often never again. With older ones the API server drops the fields that it does not know, without a
word, and holds nobody to rules that came later. We go on and enforce every rule ourselves, but what was dropped we cannot see:
so it is said (``CRDOutdated``) in the log, in a metric, and in an event of the definition.

A definition may know more than we do: within a version only optional fields are added.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

import structlog

from switchyard_operator.api.crd import schema
from switchyard_operator.api.kinds import KINDS, Kind
from switchyard_operator.api.resource import API_VERSION, GROUP, Key
from switchyard_operator.api.rules import RULES_KEY
from switchyard_operator.controller.election import NotLeading
from switchyard_operator.controller.kube import ApiError, Kube, KubeError
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.resources import EVENTS, Resource
from switchyard_operator.controller.shelf import Item
from switchyard_operator.controller.status.conditions import joined
from switchyard_operator.controller.status.events import Notice, event

CRDS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
REASON: Final = "CRDOutdated"
_LIMITS: Final = (
    "enum",
    "maximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minimum",
    "minItems",
    "pattern",
    "required",
)
_BELOW: Final = {"items": "[]", "additionalProperties": "{}"}

_log = structlog.get_logger()


def lacking(expected: Mapping[str, Any], installed: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What an installed schema does not know of what is expected: ``spec.pinning``, ``spec.url: maxLength``."""
    for limit in _LIMITS:
        if limit in expected and limit not in installed:
            yield f"{path}: {limit}"
    # By number: a release may word a rule otherwise.
    if len(installed.get(RULES_KEY) or ()) < len(expected.get(RULES_KEY) or ()):
        yield f"{path}: {RULES_KEY}"
    known = installed.get("properties") or {}
    for name, below in (expected.get("properties") or {}).items():
        step = f"{path}.{name}" if path else name
        if name in known:
            yield from lacking(below, known[name], step)
        else:
            yield step
    for member, mark in _BELOW.items():
        if member in expected:
            yield from lacking(expected[member], installed.get(member) or {}, path + mark)


class Definitions:
    """Looks at the definitions when the operator starts, when it begins to lead, and now and then.

    Every replica logs what it finds; the one that leads makes an event of it, in which ``instance`` names it. ``may_write`` raises
    :class:`NotLeading` where we may not.
    """

    def __init__(
        self,
        kube: Kube,
        instance: str,
        leading: asyncio.Event,
        may_write: Callable[[], None],
        metrics: Metrics,
        *,
        period_s: float,
    ) -> None:
        self._kube = kube
        self._instance = instance
        self._leading = leading
        self._may_write = may_write
        self._metrics = metrics
        self._period_s = period_s
        self._known: dict[str, tuple[str, ...]] = {}
        """What each definition lacked when it was last seen."""
        self._unseen: set[str] = set()
        """Those that could not be read last, which may be a permission that nobody means to give."""

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            for kind in KINDS:
                await self._look(kind)
            untold = any(self._known.values()) and not self._leading.is_set()
            news = self._leading if untold else asyncio.Event()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._period_s):
                    await news.wait()

    async def _look(self, kind: Kind) -> None:
        name = f"{kind.plural}.{GROUP}"
        try:
            raw = await self._kube.get(CRDS, None, name)
        except KubeError as error:
            if name not in self._unseen:
                _log.warning("definition_not_seen", name=name, error=str(error))
            self._unseen.add(name)
            return
        self._unseen.discard(name)
        missing = tuple(lacking(schema(kind), _installed(raw or {})))
        self._metrics.crd_outdated.labels(name).set(bool(missing))
        if missing != self._known.get(name, ()):
            (_log.warning if missing else _log.info)(
                "crd_outdated" if missing else "crd_current", name=name, lacks=missing
            )
        self._known[name] = missing
        if raw is not None and missing:
            await self._tell(raw, missing)

    async def _tell(self, raw: Mapping[str, Any], missing: tuple[str, ...]) -> None:
        metadata = raw["metadata"]
        key = Key("", metadata["name"])
        item: Item[None] = Item(key, metadata["uid"], metadata["resourceVersion"], metadata["generation"], False, None)
        note = f"older than the operator: apply the CRDs of its release. Until then it lacks {joined(missing, 512)}"
        body = event(CRDS, item, Notice("Warning", REASON, "CompareSchema", note), self._instance, datetime.now(UTC))
        try:
            self._may_write()
            await self._kube.create(EVENTS, body)
        except NotLeading:
            return
        except KubeError as error:
            if (
                not isinstance(error, ApiError) or error.status != HTTPStatus.CONFLICT
            ):  # which says that it has been said
                _log.warning("event_refused", object=str(key), reason=REASON, error=str(error))


def _installed(crd: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of our version in a definition."""
    version = API_VERSION.partition("/")[2]
    for each in (crd.get("spec") or {}).get("versions") or ():
        if each["name"] == version:
            found: Mapping[str, Any] = (each.get("schema") or {}).get("openAPIV3Schema") or {}
            return found
    return {}
