"""What holds in every test: nothing of ours blocks the event loop, and no task is left behind."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import settings

settings.register_profile("ordinary", deadline=None)  # how long an example takes is the machine's business
settings.load_profile("ordinary")
settings.register_profile("long", max_examples=10_000, deadline=None)  # pytest --hypothesis-profile=long


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where workers run tests side by side (pytest-xdist), let one have a whole file: what its tests share is made once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(autouse=True)
def _no_blocking_calls() -> Iterator[BlockBuster]:
    """A call that blocks while the loop runs fails the test that made it, if code of the sidecar made it."""
    with blockbuster_ctx("switchyard_sidecar") as blockbuster:
        yield blockbuster


@pytest_asyncio.fixture(autouse=True)
async def _no_leaked_tasks(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """A task that outlives its test was started by nobody who waits for it."""
    before = asyncio.all_tasks()
    yield
    left = {task for task in asyncio.all_tasks() - before if not task.done()} - {asyncio.current_task()}
    assert not left, f"{request.node.name} left tasks behind: {[task.get_name() for task in left]}"
