"""What kopf sees of the cluster, handed to the controller's own event loop.

kopf holds the watches: it resumes at bookmarks, connects again, and begins anew with a list where history was lost (410 Gone).
It gets a thread and a loop for itself, since it cancels foreign tasks when it ends and takes over signal handlers when it
starts. Nothing of it is used but ``on.event``, which writes nothing to anybody's object.

Five things are seen to between kopf and the wire:

1. Its lists are asked for nothing: all it needs of one is the version at which the watch begins. What there is we list
   ourselves (:mod:`.listing`) right after, since what is gone shows in no event. Otherwise ten thousand objects would come
   twice when the operator starts, each with a task and a memory of its own.
2. That it has listed is handed on: it is time for our own list.
3. So is that a watch stands, and from which version.
4. A watch that is silent for long ends with an error of its connection. kopf has a setting for that, but its way is to
   cancel the task that watches: one that is just about to handle an event then ends for good, and nobody is told.
5. That it asks at all is handed on, and that it is refused: a watch that is alive asks anew every few minutes.

When any of its tasks has failed, kopf first ends the others in good order, and only then says so. Some of those never end
(they wait for credentials that it has just thrown away), so its tasks are looked at here, and the first that ends is the end.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from random import uniform
from typing import Any, Final, TypeAlias, cast

import aiohttp
import kopf
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

from switchyard_operator.api.resource import CREDENTIAL_LABEL
from switchyard_operator.controller.access import Access
from switchyard_operator.controller.resources import Resource, Stream, streams

SERVER_TIMEOUT_S: Final = 300
"""After this long the API server ends a watch, which then goes on where it was."""
CLIENT_TIMEOUT_S: Final = 330.0
CONNECT_S: Final = 10.0
REQUEST_S: Final = 60.0
"""The most that a page of a list may take."""
PAGE_OBJECTS: Final = 500
INACTIVITY_S: Final = 75.0
"""Silence after which a watch counts as dead. Bookmarks come each minute (kube-apiserver, ``cacher.go``)."""
BEAT_S: Final = 5.0
"""The distance of signs of life from kopf's thread."""
STOP_S: Final = 5.0
"""The most that is waited for kopf's end."""
_LONGEST_BACKOFF_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as it was at some moment."""

    stream: Stream
    type: str | None
    """``ADDED``, ``MODIFIED``, ``DELETED``. ``None`` would be from a list of kopf's, which bring nothing."""
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """kopf is about to ask for a list or a watch, be it for the tenth time in vain."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The API server has answered that we may not (403). kopf asks again, without end."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Listed:
    """kopf has listed, and is about to watch: of what happened before, no more events will come."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Connected:
    """The API server has begun to answer a watch."""

    stream: Stream
    resource_version: str
    """What it is to bring is newer than this."""


@dataclass(frozen=True, slots=True)
class Beat:
    """kopf's thread is alive."""


Sight: TypeAlias = Seen | Asked | Forbidden | Listed | Connected | Beat


class WatchEnded(Exception):  # noqa: N818 - the name says it
    """kopf has ended, which it does only when it cannot go on: the process has to start anew."""


_NOTHING: Final = f"{CREDENTIAL_LABEL},!{CREDENTIAL_LABEL}"
"""A label selector that no object satisfies."""
# kopf would make one of the user's name, and a container's user may have none. Nothing is done with it: there are no peers.
_IDENTITY: Final = cast("Any", "switchyard-operator")


class Watching:
    """kopf in its thread. ``selectors`` says what to watch of which resource; ``namespaces`` empty: in all of them."""

    def __init__(
        self,
        access: Access,
        selectors: Mapping[Resource, str],
        namespaces: Collection[str],
        hand: Callable[[Sight], None],
        *,
        inactivity_s: float = INACTIVITY_S,
    ) -> None:
        self._access = access
        self._selectors = selectors
        self._namespaces = tuple(namespaces)
        self._hand = hand
        self._inactivity_s = inactivity_s
        self._streams = {stream.resource.path(stream.namespace): stream for stream in streams(selectors, namespaces)}

    async def run(self) -> None:
        """Watch until cancelled; ``hand`` is called in the loop that this runs in.

        Raises:
            WatchEnded: kopf could not go on.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[BaseException | None] = loop.create_future()
        thread = _Thread(self, loop, ended)
        thread.start()
        try:
            error = await asyncio.shield(ended)
        except asyncio.CancelledError:
            thread.stop()
            await asyncio.wait([ended], timeout=STOP_S)
            raise
        cause = "" if error is None or error.__cause__ is None else f": {error.__cause__}"  # the URL, for one
        raise WatchEnded(f"a watch cannot go on: {error!r}{cause}") from error

    async def operate(self, hand: Callable[[Sight], None], stopped: asyncio.Event) -> None:
        """Run kopf in the present loop until ``stopped``, handing over in that loop.

        Raises:
            WatchEnded: a task of kopf's has ended without an error, which none should.
            Exception: that of the first task that has failed. The others go on.
        """
        beating = asyncio.create_task(_beat(hand), name="beat")
        try:
            tasks = await kopf.spawn_tasks(
                registry=self._registry(hand),
                settings=self._settings(),
                standalone=True,
                identity=_IDENTITY,
                clusterwide=not self._namespaces,
                namespaces=self._namespaces,
                stop_flag=stopped,
            )
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not stopped.is_set():
                for task in ended:
                    task.result()
                raise WatchEnded(f"ended by itself: {', '.join(sorted(task.get_name() for task in ended))}")
            await kopf.run_tasks(tasks, ignored={beating})
        finally:
            beating.cancel()

    def _registry(self, hand: Callable[[Sight], None]) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()

        async def observe(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
            stream, watch = self._streams.get(request.url.path), "watch" in request.url.query
            if stream is not None and not watch:
                request.url = request.url.update_query(labelSelector=_NOTHING)
            if stream is not None:
                hand(Asked(stream))
            response = await send(request)
            if stream is not None and response.status == HTTPStatus.FORBIDDEN:
                hand(Forbidden(stream))
            if stream is not None and response.ok:
                hand(Connected(stream, request.url.query.get("resourceVersion", "")) if watch else Listed(stream))
            if watch and response.connection is not None and response.connection.protocol is not None:
                response.connection.protocol.read_timeout = self._inactivity_s
                response.connection.protocol.start_timeout()
            return response

        @kopf.on.login(registry=registry)
        async def login(**_: Any) -> kopf.AiohttpSession:
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._access.tls()),
                middlewares=(observe, self._access.authorize),
                proxy=self._access.proxy,
            )
            return kopf.AiohttpSession(aiohttp_session=session, server=self._access.server)

        async def seen(*, event: kopf.RawEvent, param: Any = None, **_: Any) -> None:
            raw: dict[str, Any] = dict(event["object"])
            namespace = raw["metadata"]["namespace"] if self._namespaces and param.namespaced else None
            hand(Seen(Stream(param, namespace), event["type"], raw))

        for resource in self._selectors:
            kopf.on.event(
                group=resource.group,
                version=resource.version,
                plural=resource.plural,
                id=str(resource),
                param=resource,
                registry=registry,
            )(seen)
        return registry

    def _settings(self) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        settings.scanning.disabled = True
        settings.watching.server_timeout = SERVER_TIMEOUT_S
        settings.watching.client_timeout = CLIENT_TIMEOUT_S
        settings.watching.inactivity_timeout = 2 * CLIENT_TIMEOUT_S  # never: see above
        settings.watching.connect_timeout = CONNECT_S
        settings.watching.reconnect_backoff = 1.0
        settings.watching.chunk_size = PAGE_OBJECTS
        settings.networking.request_timeout = REQUEST_S
        settings.networking.connect_timeout = CONNECT_S
        settings.networking.error_backoffs = _Backoffs()
        settings.queueing.idle_timeout = 1.0  # a task for each object that was seen lately
        for resource, selector in self._selectors.items():
            if selector:
                settings.watching.label_selectors[resource.group, resource.version, resource.plural] = selector
        return settings


class _Thread(threading.Thread):
    """kopf's thread. It is not waited for when the process ends: everything it does is reading."""

    def __init__(
        self, watching: Watching, home: asyncio.AbstractEventLoop, ended: asyncio.Future[BaseException | None]
    ) -> None:
        super().__init__(name="kopf", daemon=True)
        self._watching = watching
        self._home = home
        self._ended = ended
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    def run(self) -> None:
        # Of kopf's messages about itself one is a warning: that signals are not its business in a thread.
        logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._watching.operate(self._hand, self._stopped))
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the end
                self._call_home(self._finish, error)  # not once the tasks that are left have ended: some never do
        self._call_home(self._finish, None)

    def stop(self) -> None:
        """Ask kopf to end; from the home loop."""
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._stopped.set)

    def _finish(self, error: BaseException | None) -> None:
        if not self._ended.done():
            self._ended.set_result(error)

    def _hand(self, sight: Sight) -> None:
        self._call_home(self._watching._hand, sight)  # noqa: SLF001 - one thing in two loops

    def _call_home(self, call: Callable[..., None], *arguments: Any) -> None:
        if not self._home.is_closed():
            self._home.call_soon_threadsafe(call, *arguments)


class _Backoffs:
    """Delays between attempts, without end: an API server that is away, or refuses for now, is waited for.

    kopf goes through them anew for each request.
    """

    def __iter__(self) -> Iterator[float]:
        delay_s = 0.5
        while True:
            yield delay_s * uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
            delay_s = min(2 * delay_s, _LONGEST_BACKOFF_S)


async def _beat(hand: Callable[[Sight], None]) -> None:
    while True:
        hand(Beat())
        await asyncio.sleep(BEAT_S)
