"""Does what the queue holds, while this replica leads and everything is known; a piece that fails costs itself alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

import structlog

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.configure import Restless
from switchyard_operator.controller.election import NotLeading
from switchyard_operator.controller.kube import KubeError
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.queue import WorkQueue
from switchyard_operator.controller.reconcile import Outdated
from switchyard_operator.controller.service_accounts import NotReadYet
from switchyard_operator.controller.work import Task, Work

PAUSE_S: Final = 0.5
"""How long work rests that must not be done at this moment."""

_log = structlog.get_logger()


class Workers:
    """``conditions`` are all waited for before each piece; ``may_write`` raises :class:`NotLeading` where we may not."""

    def __init__(
        self,
        queue: WorkQueue[Work],
        doing: Mapping[Task, Callable[[Key], Awaitable[None]]],
        conditions: Iterable[asyncio.Event],
        may_write: Callable[[], None],
        metrics: Metrics,
    ) -> None:
        self._queue = queue
        self._doing = doing
        self._conditions = tuple(conditions)
        self._may_write = may_write
        self._metrics = metrics

    async def work(self) -> None:
        """Be one worker, until cancelled."""
        while True:
            for condition in self._conditions:
                await condition.wait()
            work = await self._queue.take()
            with self._metrics.work_seconds.labels(work.task.name).time():
                result = await self._do(work)
            self._metrics.work.labels(work.task.name, result).inc()

    async def _do(self, work: Work) -> str:
        """Do the work, and tell the queue; a word on how it ended."""
        try:
            self._may_write()
            await self._doing[work.task](work.key)
        except (NotLeading, NotReadYet):
            self._queue.add(work, PAUSE_S)
            self._queue.done(work)
            return "postponed"
        except Outdated:
            self._queue.failed(work)
            return "outdated"
        except Exception as error:  # noqa: BLE001 - one object costs itself, never its neighbours
            after_s = self._queue.failed(work)
            expected = isinstance(error, KubeError | Restless)
            _log.error(
                "work_failed", work=str(work), error=str(error), again_s=round(after_s, 1), exc_info=not expected
            )
            return "failed"
        self._queue.done(work)
        return "done"
