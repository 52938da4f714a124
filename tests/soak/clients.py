"""The clients of a soak: they list, call and listen for as long as it lasts, and show the judge everything they are told."""

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from fakes.clients import Answer, LegacyClient, ModernClient, OpenStream
from soak.config import ALIASES
from soak.facts import Listing
from soak.judge import Judge, Subscriber
from soak.real import entries_of

BACKENDS: Final = "dev.switchyard/backends"
CHANGED: Final = "notifications/tools/list_changed"
ANSWER_S: Final = 20.0
"""Everything is answered within this."""
SESSION_REQUESTS: Final = 40
"""A legacy client ends its session and begins another after this many requests."""
AGAIN_S: Final = 0.2
"""A client that was cut off tries again after this."""

FOR_EVER_S: Final = 1e6

_CUT: Final = (aiohttp.ClientError, OSError, TimeoutError, ValueError)


class CutOffError(Exception):
    """A request brought no answer that means anything. The judge knows."""


@dataclass
class Load:
    """What all clients share."""

    url: str
    http: aiohttp.ClientSession
    judge: Judge
    asking: asyncio.Event
    """Set while clients may ask; in a lull they only listen."""
    real: Mapping[str, str]
    """The one tool of each real server that is called, by the server's name."""
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def token(self, backend: str, tool: str) -> str:
        """A text that tells a call from all others, and what it means."""
        return f"{backend}/{tool}/{next(self._numbers)}"


@dataclass
class Speaker:
    """A client of one era, which begins a session where that needs one."""

    load: Load
    era: str
    client: ModernClient | LegacyClient = field(init=False)
    _requests: int = 0
    _began_at: float = 0.0

    def __post_init__(self) -> None:
        make = ModernClient if self.era == "modern" else LegacyClient
        self.client = make(self.load.url, self.load.http)

    @property
    def caller(self) -> str:
        """Whom a backend may take this client for."""
        session = self.client.session if isinstance(self.client, LegacyClient) else None
        return session or "anonymous"

    async def asked(self, what: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Ask, and give the answer if it is one that an MCP server may give.

        Raises:
            CutOffError: it is none.
        """
        sent_at = self.load.judge.now()
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await ask()
                if answer.body:
                    _ = answer.messages
        except _CUT as error:
            self.load.judge.failed(what, sent_at, repr(error))
            await asyncio.sleep(AGAIN_S)
            raise CutOffError from None
        if answer.status == 404:
            self.forgotten()
            raise CutOffError
        return answer

    def forgotten(self) -> None:
        """The sidecar does not know the session; another one has to be begun."""
        self.load.judge.forgot(self._began_at)
        if isinstance(self.client, LegacyClient):
            self.client.session = None

    async def ready(self) -> None:
        """Begin a session, or another one, where the era has them."""
        client = self.client
        if not isinstance(client, LegacyClient):
            return
        self._requests += 1
        if client.session is None or self._requests % SESSION_REQUESTS == 0:
            if client.session is not None:
                await self.asked("DELETE", client.delete)
            self._began_at = self.load.judge.now()
            await self.asked("initialize", client.initialize)

    async def list(self) -> Listing:
        """Read all pages of the list, and show it to the judge.

        Raises:
            CutOffError: it could not be read.
        """
        judge = self.load.judge
        for _ in range(3):  # a cursor may go out of date with the config
            sent_at = judge.now()
            pages: list[Answer] = []
            cursor: str | None = None
            while True:
                asked_for = cursor
                answer = await self.asked("tools/list", lambda: self.client.list(asked_for))  # noqa: B023 - awaited here
                if answer.status != 200 or "result" not in answer.message:
                    break
                pages.append(answer)
                cursor = answer.result.get("nextCursor")
                if cursor is None:
                    listing = listing_of(self.era, sent_at, judge.now(), pages)
                    judge.listed(listing)
                    return listing
            if cursor is None or answer.message.get("error", {}).get("code") != -32602:
                break
        self._wrong("tools/list", sent_at, answer)
        raise CutOffError

    def _wrong(self, what: str, sent_at: float, answer: Answer) -> None:
        judge = self.load.judge
        judge.failed(what, sent_at, f"{answer.status} {answer.body[:500]!r}")

    async def call(self, exposed: str, *, ms: int = 0, steps: int = 0) -> None:
        """Call a tool that takes so long and reports so many steps, and show the judge what comes of it."""
        judge = self.load.judge
        backend, tool = meant(exposed)
        real = backend in self.load.real
        token = self.load.token(backend, tool)
        fit = {"text": token} if real else {"token": token, "caller": self.caller, "ms": ms, "steps": steps}
        sent_at = judge.now()
        judge.calling += 1
        try:
            answer = await self.asked("tools/call", lambda: self._called(exposed, fit, token if steps else None))
        finally:
            judge.calling -= 1
        if not answer.body or "content" not in answer.message.get("result", {}):
            judge.refused(exposed, token, sent_at, f"{answer.status} {answer.body[:300]!r}")
            return
        text = answer.result["content"][0]["text"]
        said = {"backend": backend, "tool": tool, "token": text} if real else json.loads(text)
        judge.called(exposed, token, sent_at + ms / 1000, said)
        heard = [message["params"] for message in answer.messages[:-1]]
        expected = [] if real else [{"progressToken": token, "progress": step} for step in range(steps)]
        if heard != expected:
            judge.violated("a caller hears the progress of its own call", f"{token}: {heard}")

    def _called(self, exposed: str, arguments: Mapping[str, Any], progress: str | None) -> Awaitable[Answer]:
        meta = {} if progress is None else {"progressToken": progress}
        if isinstance(self.client, ModernClient):
            return self.client.call(exposed, arguments, meta=meta)
        return self.client.request("tools/call", {"name": exposed, "arguments": arguments, "_meta": meta})


def meant(exposed: str) -> tuple[str, str]:
    """Backend and tool behind an exposed name. An alias means the same whenever it is there."""
    alias = next((alias for aliases in ALIASES for alias in aliases if alias.name == exposed), None)
    if alias is not None:
        return alias.backend, alias.tool
    backend, _, tool = exposed.partition("__")
    return backend, tool


def listing_of(era: str, sent_at: float, answered_at: float, pages: list[Answer]) -> Listing:
    """What some answers say together."""
    entries = [entry for page in pages for entry in entries_of(page)]
    unavailable = [
        each["backend"].removeprefix("tools/")
        for page in pages
        for each in page.result.get("_meta", {}).get(BACKENDS, {}).get("unavailable", [])
    ]
    named = tuple((str(json.loads(entry)["name"]), entry) for entry in entries)
    return Listing(era, sent_at, answered_at, named, frozenset(unavailable), len(pages))


async def lister(load: Load, era: str, chance: random.Random, every_s: float) -> None:
    """List, again and again."""
    speaker = Speaker(load, era)
    while True:
        await load.asking.wait()
        try:
            await speaker.ready()
            await speaker.list()
        except CutOffError:
            continue
        await asyncio.sleep(chance.uniform(0.5, 1.5) * every_s)


async def caller(load: Load, era: str, chance: random.Random, every_s: float) -> None:
    """List, then call what is listed; sometimes what is not, and sometimes without waiting for the answer."""
    speaker = Speaker(load, era)
    while True:
        await load.asking.wait()
        try:
            await speaker.ready()
            listing = await speaker.list()
            await asyncio.sleep(every_s)
            names = [name for name in listing.by_name if load.real.get(name.partition("__")[0], name) == name]
            for exposed in chance.sample(names, min(8, len(names))):
                await load.asking.wait()
                await _call(speaker, exposed, chance)
                await asyncio.sleep(chance.uniform(0.5, 1.5) * every_s)
        except CutOffError:
            continue


async def _call(speaker: Speaker, exposed: str, chance: random.Random) -> None:
    way = chance.random()
    if way < 0.05:
        sent_at = speaker.load.judge.now()
        answer = await speaker.asked("tools/call", lambda: speaker.client.call("alder__absent"))
        if answer.message.get("error", {}).get("code") != -32602:
            speaker.load.judge.failed("a call of an unknown tool", sent_at, repr(answer.body))
    elif way < 0.12 and speaker.era == "modern":
        try:
            async with asyncio.timeout(0.05):
                await speaker.call(exposed, ms=1_500)
        except TimeoutError:
            speaker.load.judge.counts["calls left"] += 1
    elif way < 0.3:
        await speaker.call(exposed, steps=3, ms=20)
    else:
        await speaker.call(exposed, ms=chance.choice((0, 0, 0, 5, 50, 300)))


async def listener(load: Load, era: str, chance: random.Random, name: str, stays_s: float | None) -> None:
    """Listen, and list whenever told that the list has changed. ``stays_s``: leave about so often, and come again."""
    speaker = Speaker(load, era)
    while True:
        opened_at = load.judge.now()
        stay_s = None if stays_s is None else chance.uniform(0.2, 2.0) * stays_s
        try:
            await speaker.ready()
            async with asyncio.timeout(stay_s):
                await _listen(load, speaker, name)
        except TimeoutError:
            continue
        except CutOffError:
            continue
        except _CUT as error:
            load.judge.failed("a stream", opened_at, repr(error))
        else:
            load.judge.failed("a stream", load.judge.now(), "its end")
        await asyncio.sleep(AGAIN_S)


async def _listen(load: Load, speaker: Speaker, name: str) -> None:
    judge = load.judge
    async with _stream(speaker) as stream:
        if stream.status == 404:
            speaker.forgotten()
            raise CutOffError
        if stream.status != 200:
            raise ValueError(stream.status)
        subscriber = Subscriber(name, speaker.era, judge.now())
        judge.opened(subscriber)
        try:
            subscriber.listing = await speaker.list()
            seen = 0
            while True:
                if not (news := await _news(stream, seen)):
                    return
                for _ in range(news):
                    judge.told(subscriber)
                seen += news
                subscriber.listing = await speaker.list()
        finally:
            judge.closed(subscriber)


async def _news(stream: OpenStream, seen: int) -> int:
    """Wait until the stream has said something beyond what was seen; how often. 0: it has ended."""
    await stream._pulse.until(lambda: sum(map(_is_change, stream.messages)) > seen or stream.ended, FOR_EVER_S)
    return sum(map(_is_change, stream.messages)) - seen


@asynccontextmanager
async def _stream(speaker: Speaker) -> AsyncIterator[OpenStream]:
    """A change stream, which opens in time and then lasts."""
    async with asyncio.timeout(ANSWER_S) as limit, speaker.client.listen() as stream:
        limit.reschedule(None)
        yield stream


def _is_change(message: Any) -> bool:
    return isinstance(message, dict) and message.get("method") == CHANGED
