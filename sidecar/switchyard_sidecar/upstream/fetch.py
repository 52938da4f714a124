"""Reading a backend's list: all pages, each tool checked, one snapshot.

A list of many megabytes is worked on in slices and large definitions aside, so that the loop is not held up; a definition
that came before, byte for byte, is not read again.
"""

import asyncio
import time
from collections.abc import Sequence
from functools import partial

import structlog

from switchyard_sidecar.catalog import freshness, listing, snapshot
from switchyard_sidecar.catalog.definition import Rejection, ToolDefinition, parse_tool
from switchyard_sidecar.catalog.listing import ListPage, MalformedListError
from switchyard_sidecar.catalog.snapshot import Snapshot
from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era
from switchyard_sidecar.upstream import aside, faults
from switchyard_sidecar.upstream.deadline import within
from switchyard_sidecar.upstream.faults import Malformed, Refused, TooLarge
from switchyard_sidecar.upstream.pace import Pace
from switchyard_sidecar.upstream.peer import Peer
from switchyard_sidecar.upstream.walk import Ask, Step, Walk, Walked
from switchyard_sidecar.upstream.wire import About

log = structlog.get_logger(__name__)


async def read_list(
    peer: Peer, config: Backend, pace: Pace, turns: asyncio.Lock, previous: Snapshot | None, began: float, about: About
) -> Snapshot:
    """Walk all pages and make a snapshot of them.

    ``began``: now, in monotonic seconds; ``turns``: shared by all backends; ``about``: for log lines.

    Raises:
        McpError: the backend answered with an error.
        Fault: it did not answer, or with something that is no list.
    """
    async with within(pace.walk_s):
        walked, pages = await _walk(peer, config, pace)
        if walked.cut is not None:
            log.warning("list_incomplete", **about, reason=walked.cut.value, tools=len(walked.entries))
        tools, rejected = await _checked(walked.entries, config.limits.tool_bytes, pace.slice_s, turns, previous)
    ttls = [freshness.effective_ttl_ms(page.ttl_ms, peer.era, config.cache) for page in pages]
    without_pages = freshness.effective_ttl_ms(config.cache.default_ttl_ms, peer.era, config.cache)
    return snapshot.make(
        backend=config.id,
        tools=tools,
        rejected=rejected,
        ttl_ms=min(ttls, default=without_pages),
        # As with ttlMs: what a legacy revision does not know, a legacy answer does not mean.
        scope=freshness.scope_of(page.cache_scope for page in pages if peer.era is Era.MODERN),
        era=peer.era,
        version=peer.version,
        fetched_at=began,
        complete=walked.cut is None,
        max_tools=config.limits.tools,
        previous=previous,
    )


async def _walk(peer: Peer, config: Backend, pace: Pace) -> tuple[Walked, list[ListPage]]:
    walk = Walk(config.limits)
    step: Step = walk.first
    pages: list[ListPage] = []
    while isinstance(step, Ask):
        if step is walk.first:
            pages = []
        next_step: Step | None
        try:
            async with within(pace.answer_s):
                raw = await peer.list_page(step.cursor, step.max_bytes)
            page = await aside.read(partial(listing.split_tools_result, max_tools=config.limits.tools), raw.result)
        except MalformedListError:
            raise Malformed(faults.NOT_A_LIST) from None
        except TooLarge:
            if (next_step := walk.too_large()) is None:
                raise
        except (McpError, Refused) as refusal:
            code = _code(refusal)
            if code is None or (next_step := walk.refused(code)) is None:
                raise
        else:
            pages.append(page)
            next_step = walk.page(page.tools, page.next_cursor, raw.size_bytes)
        step = next_step
    return step, pages


def _code(refusal: McpError | Refused) -> int | None:
    """The JSON-RPC code of a refusal; None where others than the backend may have spoken."""
    if isinstance(refusal, McpError):
        return refusal.code
    if refusal.error is None or faults.is_ambiguous(refusal.status):
        return None
    return refusal.error.code


async def _checked(
    entries: Sequence[bytes], max_bytes: int, slice_s: float, turns: asyncio.Lock, previous: Snapshot | None
) -> tuple[list[ToolDefinition], list[Rejection]]:
    """Check every entry, in slices. ``turns`` makes the slices of all backends take turns of the loop, one in each."""
    known = {tool.raw: tool for tool in previous.tools} if previous is not None else {}
    parse = partial(parse_tool, max_bytes=max_bytes)
    found: list[ToolDefinition | Rejection] = []

    def is_next_long() -> bool:
        return entries[len(found)] not in known and aside.is_long(entries[len(found)])

    while len(found) < len(entries):
        async with turns:
            until = time.monotonic() + slice_s
            while len(found) < len(entries) and not is_next_long() and time.monotonic() < until:
                entry = entries[len(found)]
                found.append(known.get(entry) or parse(entry))
            await asyncio.sleep(0)  # holding the turn: whoever is ready in this turn of the loop waits for the next
        if len(found) < len(entries) and is_next_long():
            found.append(await aside.read(parse, entries[len(found)]))
    tools = [tool for tool in found if isinstance(tool, ToolDefinition)]
    rejected = [
        Rejection(tool.tool or f"#{place}", tool.reason)
        for place, tool in enumerate(found)
        if isinstance(tool, Rejection)
    ]
    return tools, rejected
