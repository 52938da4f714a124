"""What backends list now: each asked once, as a sidecar would ask it, all of them side by side."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter, ValidationError

from switchyard_operator.api.backend import Pinning
from switchyard_operator.api.names import BackendToolName
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.backends import Section
from switchyard_sidecar.catalog.definition import Rejection
from switchyard_sidecar.catalog.filters import passes
from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.advice import advice, status_of
from switchyard_sidecar.upstream.faults import Fault, reason_of
from switchyard_sidecar.upstream.glance import glance
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace

LOOK_S: Final = 60.0
"""The most that one backend may take."""
AT_ONCE: Final = 16
PACE: Final = Pace(probe_s=5.0)
MAX_PINS: Final = next(
    each.max_length for each in Pinning.model_fields["digests"].metadata if hasattr(each, "max_length")
)
_tool_name: Final = TypeAdapter(BackendToolName)


class NotPinnable(Exception):  # noqa: N818 - the name says it
    """There is no whole list to be pinned; the message says why."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One backend's tools that pass its own filter."""

    digests: Mapping[str, str]
    """By the backend's own names, in code point order: hexadecimal."""
    rejected: tuple[Rejection, ...]
    """What else its list has, which is never listed and so not pinned."""


async def listed(sections: Mapping[Key, Section]) -> dict[Key, Listed | NotPinnable]:
    """Ask all these backends."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def ask(section: Section) -> Listed | NotPinnable:
        async with turn:
            try:
                return await _listed(section)
            except NotPinnable as error:
                return error

    async with asyncio.TaskGroup() as tasks:
        asked = {key: tasks.create_task(ask(section), name=f"list {key}") for key, section in sections.items()}
    return {key: task.result() for key, task in asked.items()}


async def _listed(section: Section) -> Listed:
    answer: Snapshot | Fault | McpError
    try:
        async with asyncio.timeout(LOOK_S), HttpPool() as http, asyncio.TaskGroup() as tasks:
            try:
                _, answer = await glance(section.backend, section.files, http, tasks, PACE)
            except (Fault, McpError) as error:
                answer = error
    except TimeoutError:
        raise NotPinnable(f"has not listed its tools within {LOOK_S:.0f} s") from None
    if not isinstance(answer, Snapshot):
        hint = advice(status_of(answer))
        raise NotPinnable(f"cannot be listed: {reason_of(answer)}" + (f" ({hint})" if hint else ""))
    return _pinnable(section, answer)


def _pinnable(section: Section, snapshot: Snapshot) -> Listed:
    if not snapshot.complete:
        raise NotPinnable("was not listed to the end: see spec.limits")
    tools = sorted(
        (tool for tool in snapshot.tools if passes(section.backend.filters, tool.name)), key=lambda tool: tool.name
    )
    if len(tools) > MAX_PINS:
        raise NotPinnable(f"lists {len(tools)} tools, and at most {MAX_PINS} can be pinned: see spec.tools")
    if unfit := [tool.name for tool in tools if not _is_name(tool.name)]:
        raise NotPinnable(f"has tools that cannot be named in a manifest ({_shown(unfit)}): see spec.tools.exclude")
    return Listed({tool.name: tool.digest.hex() for tool in tools}, snapshot.rejected)


def _is_name(name: str) -> bool:
    try:
        _tool_name.validate_python(name)
    except ValidationError:
        return False
    return True


def _shown(names: Iterable[str]) -> str:
    return ", ".join(ascii(name) for name in list(names)[:5])
