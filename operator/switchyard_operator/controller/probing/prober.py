"""All backends, looked at in turn: every minute while they answer, soon after a failure or a change, a few at a time."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeAlias

import structlog

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.backends import Section
from switchyard_operator.controller.queue import WorkQueue
from switchyard_operator.controller.status.probed import Probe, ProbeReason, Reach
from switchyard_sidecar.config.model import AuthType, Backend

PERIOD_S: Final = 60.0
"""Between two looks at a backend that answers."""
FAILURE_PAUSES_S: Final = (2.0, 4.0, 10.0, 30.0)
"""After the first, second ... failure in a row; then :data:`PERIOD_S`. The third failure, which is believed, comes 6 s after the first."""
JITTER: Final = 0.2
"""Times are longer or shorter by up to this part, so that looks do not come together."""
AT_ONCE: Final = 16

Look: TypeAlias = Callable[[Backend, Mapping[str, bytes]], Coroutine[Any, Any, Probe]]

log = structlog.get_logger(__name__)


class Prober:
    """Probes for the replica that leads.

    ``section`` gives a backend's uid and what a gateway of its own namespace would be told of it, or ``None`` when there is no such
    backend; ``recalled`` what an earlier process believed of it; ``found`` is told of a backend of which more, or else, is known.
    """

    def __init__(
        self,
        look: Look,
        section: Callable[[Key], tuple[str, Section] | None],
        recalled: Callable[[Key], Reach],
        found: Callable[[Key], None],
        leading: asyncio.Event,
    ) -> None:
        self._look = look
        self._section = section
        self._recalled = recalled
        self._found = found
        self._leading = leading
        self._queue = WorkQueue[Key]()
        self._seen: dict[Key, tuple[str, Backend]] = {}
        """What was looked at last, by its uid."""
        self.reaches: Final[dict[str, Reach]] = {}
        """What is believed, by the backends' uids."""

    def changed(self, key: Key) -> None:
        """Look now: the backend is new or gone, another than it was, or what it refers to is."""
        self._queue.add(key)

    async def run(self) -> None:
        """Look until cancelled, while this replica leads."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(AT_ONCE):
                tasks.create_task(self._work(), name=f"prober {number}")

    async def _work(self) -> None:
        while True:
            await self._leading.wait()
            key = await self._queue.take()
            try:
                again_s = await self._probe(key)
            except Exception:
                log.exception("probe_failed", backend=str(key))
                self._queue.failed(key)
                continue
            self._queue.done(key)
            if again_s is not None:
                self._queue.add(key, again_s * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 - no secret

    async def _probe(self, key: Key) -> float | None:
        """Look at one backend; the seconds to its next turn, ``None``: it has none until it changes."""
        known = self._section(key)
        if known is None:
            if (former := self._seen.pop(key, None)) is not None:
                self.reaches.pop(former[0], None)
            return None
        uid, section = known
        believed = self._believed(key, uid, section.backend)
        if section.backend.unresolved is not None:
            self._note(key, uid, believed.after(Probe(ProbeReason.NOT_RESOLVED)))
            return None
        if section.backend.auth.type is AuthType.FORWARD:
            self._note(key, uid, believed.after(Probe(ProbeReason.CALLER_NEEDED)))
            return None
        probe = await self._look(section.backend, section.files)
        reach = believed.after(probe)
        self._note(key, uid, reach)
        pauses = FAILURE_PAUSES_S[reach.failures - 1 : reach.failures] if reach.failures else ()
        return pauses[0] if pauses else PERIOD_S

    def _believed(self, key: Key, uid: str, backend: Backend) -> Reach:
        """What was believed so far; of a backend that has become another, nothing."""
        seen, self._seen[key] = self._seen.get(key), (uid, backend)
        if seen is None:
            return self._recalled(key)
        if seen[0] != uid:
            self.reaches.pop(seen[0], None)
        return self.reaches.get(uid, Reach()) if seen == (uid, backend) else Reach()

    def _note(self, key: Key, uid: str, reach: Reach) -> None:
        if self.reaches.get(uid) != reach:
            self.reaches[uid] = reach
            self._found(key)
