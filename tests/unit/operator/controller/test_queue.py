"""What waits, what is due, and what comes back. Time is a clock that jumps to the next thing that happens."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from switchyard_operator.controller.queue import WorkQueue


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop in which waiting takes no time."""

    def __init__(self) -> None:
        super().__init__(_Impatient(self))
        self.now = 1000.0

    def time(self) -> float:
        return self.now


class _Impatient(selectors.SelectSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout:
            self._loop.now += timeout
        return super().select(0 if timeout is not None else None)


def in_no_time(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a test in a loop whose time jumps."""

    def run() -> None:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            runner.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def now() -> float:
    return asyncio.get_running_loop().time() - 1000.0


async def taken(queue: WorkQueue[str]) -> tuple[str, float]:
    """The next work and the second in which it comes."""
    return await queue.take(), round(now(), 3)


@in_no_time
async def test_work_that_waits_is_not_added_twice() -> None:
    """However often it is asked for."""
    queue = WorkQueue[str]()
    for _ in range(3):
        queue.add("a")
    queue.add("b")
    assert [await queue.take() for _ in range(2)] == ["a", "b"]
    assert len(queue) == 0


@in_no_time
async def test_of_two_times_the_earlier_stands() -> None:
    """Later ones do not put it off."""
    queue = WorkQueue[str]()
    queue.add("a", 5)
    queue.add("a", 2)
    queue.add("a", 9)
    assert await taken(queue) == ("a", 2.0)
    queue.done("a")
    assert len(queue) == 0


@in_no_time
async def test_work_that_is_added_while_it_is_done_is_done_once_more() -> None:
    """Once, and never by two workers at a time."""
    queue = WorkQueue[str]()
    queue.add("a")
    assert await queue.take() == "a"
    queue.add("a")
    queue.add("a")
    assert (len(queue), queue.running) == (0, 1)
    queue.done("a")
    assert (len(queue), queue.running) == (1, 0)
    assert await queue.take() == "a"
    queue.done("a")
    assert (len(queue), queue.running) == (0, 0)


@in_no_time
async def test_work_put_off_while_it_is_done_keeps_its_time() -> None:
    """Seconds count from when it was added."""
    queue = WorkQueue[str]()
    queue.add("a")
    await queue.take()
    queue.add("a", 5)
    await asyncio.sleep(2)
    queue.done("a")
    assert await taken(queue) == ("a", 5.0)


@in_no_time
async def test_failures_double_the_wait_up_to_a_minute() -> None:
    """0.2 s at first. What succeeds is forgiven."""
    queue = WorkQueue[str](jitter=lambda: 1.0)
    queue.add("a")
    waits = []
    for _ in range(12):
        work = await queue.take()
        waits.append(queue.failed(work))
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0, 60.0]
    assert queue.failing == 1
    assert await queue.take() == "a"
    queue.done("a")
    assert (queue.failing, len(queue)) == (0, 0)
    queue.add("a")
    await queue.take()
    assert queue.failed("a") == 0.2


@pytest.mark.parametrize(("jitter", "waits"), [(0.0, 0.1), (0.5, 0.15), (1.0, 0.2)])
def test_waits_are_spread(jitter: float, waits: float) -> None:
    """From half of the wait to all of it, so that not all come back at once."""

    @in_no_time
    async def test() -> None:
        queue = WorkQueue[str](jitter=lambda: jitter)
        queue.add("a")
        await queue.take()
        assert queue.failed("a") == pytest.approx(waits)
        assert await taken(queue) == ("a", waits)

    test()


@in_no_time
async def test_news_bring_failed_work_back_early() -> None:
    """The wait is for what cannot be known otherwise; the count of failures stays."""
    queue = WorkQueue[str](jitter=lambda: 1.0)
    queue.add("a")
    for _ in range(8):
        await queue.take()
        queue.failed("a")
    before = now()
    queue.add("a")
    await queue.take()
    assert now() == before
    assert queue.failed("a") == 51.2


@in_no_time
async def test_work_that_never_succeeds_does_not_overflow() -> None:
    """A thousand failures wait a minute each."""
    queue = WorkQueue[str](jitter=lambda: 1.0)
    queue.add("a")
    for _ in range(1100):
        await queue.take()
        assert queue.failed("a") <= 60.0


@in_no_time
async def test_what_is_due_comes_by_rank_and_then_by_time() -> None:
    """Configs before statuses, and among equals the one that has waited for longest."""
    queue = WorkQueue[str](rank=lambda work: 0 if work.startswith("config") else 1)
    for work, after_s in (("status 1", 0), ("config 2", 3), ("config 1", 2), ("status 2", 1), ("config late", 60)):
        queue.add(work, after_s)
    await asyncio.sleep(4)
    assert [await queue.take() for _ in range(4)] == ["config 1", "config 2", "status 1", "status 2"]
    assert await taken(queue) == ("config late", 60.0)


@in_no_time
async def test_a_worker_that_waits_hears_of_new_work() -> None:
    """Also of work that is due before what it waits for."""
    queue = WorkQueue[str]()
    queue.add("late", 50)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(taken(queue)) for _ in range(2)]
        await asyncio.sleep(1)
        queue.add("soon", 2)
    assert sorted(each.result() for each in waiting) == [("late", 50.0), ("soon", 3.0)]


@in_no_time
async def test_a_worker_that_is_cancelled_takes_nothing_along() -> None:
    """What it would have got, another gets."""
    queue = WorkQueue[str]()
    waiting = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    queue.add("a")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await queue.take() == "a"


@in_no_time
async def test_it_says_how_much_waits_and_how_long() -> None:
    """Of what is due; what is put off does not count as waiting for a worker."""
    queue = WorkQueue[str]()
    assert (queue.depth, queue.age_s) == (0, 0.0)
    queue.add("a")
    queue.add("b", 2)
    queue.add("c", 60)
    await asyncio.sleep(3)
    assert (len(queue), queue.depth, queue.age_s) == (3, 2, 3.0)
    await queue.take()
    assert (len(queue), queue.depth, queue.age_s, queue.running) == (2, 1, 1.0, 1)
