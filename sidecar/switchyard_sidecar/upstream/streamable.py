"""Streamable HTTP of the legacy era: a session id, answers as JSON or as streams that can be taken up again, a GET stream.

Sources: 2025-11-25, 2025-06-18 and 2025-03-26 ``basic/transports``.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Self

import aiohttp

from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.protocol.names import EVENT_STREAM, JSON, SESSION_HEADER, VERSION_HEADER
from switchyard_sidecar.upstream import faults, http, inbox
from switchyard_sidecar.upstream.faults import Disconnected, Malformed, NoStream, Refused, SessionLost
from switchyard_sidecar.upstream.http import Reply
from switchyard_sidecar.upstream.inbox import Inbox
from switchyard_sidecar.upstream.transport import Heard
from switchyard_sidecar.upstream.wire import Wire

MAX_SESSION_ID_CHARS: Final = 4096
FIRST_VERSION_WITH_HEADER: Final = "2025-06-18"
RESUME_S: Final = 1.0
"""Wait before a broken answer is taken up again, where the server does not say."""
RESUME_MIN_S: Final = 0.1
"""The shortest wait, whatever a server asks for: one that breaks off again and again would be asked in a loop."""
RESUME_MAX_S: Final = 30.0
"""The longest wait that a server may ask for."""


class StreamableHttp:
    """The transport of one session. It keeps the session's cookies, which balance its requests onto one replica."""

    def __init__(self, wire: Wire) -> None:
        self.version: str | None = None
        self._wire = wire
        self._session_id: str | None = None
        self._cookies = aiohttp.CookieJar(unsafe=True)  # unsafe: also for backends named by address
        self._elsewhere: dict[bytes, asyncio.Future[Message]] = {}
        """Requests under way by id, and what comes of their answers on the session's own stream."""

    def another(self) -> Self:
        """A transport of the same kind, for a session of its own."""
        return type(self)(self._wire)

    @property
    def lost(self) -> bool:
        """Never known before the backend says so."""
        return False

    async def start(self, stray: Heard) -> None:
        """Nothing to make ready: whatever comes, comes in answers or on the stream that is asked for."""

    async def request(
        self,
        request_id: int,
        body: bytes,
        heard: Heard,
        *,
        max_bytes: int,
        repeatable: bool = False,
        opening: bool = False,
    ) -> tuple[bytes, int]:
        """See :meth:`Transport.request`. An answer that breaks off is taken up again where its events had ids."""
        wanted = b"%d" % request_id
        elsewhere = self._elsewhere[wanted] = asyncio.get_running_loop().create_future()
        try:
            async with self._post(body, repeatable=repeatable) as reply:
                await self._check(reply)
                if opening:
                    self._session_id = _session_id(reply)
                messages = Inbox(reply, max_bytes)
                try:
                    return await inbox.answer(messages, request_id, heard), messages.bytes_read
                except Disconnected:
                    if messages.last_event_id is None:
                        raise
            return await self._resumed(messages, request_id, heard, max_bytes, elsewhere)
        finally:
            del self._elsewhere[wanted]

    async def _resumed(
        self, messages: Inbox, request_id: int, heard: Heard, max_bytes: int, elsewhere: asyncio.Future[Message]
    ) -> tuple[bytes, int]:
        """Wait for the rest of a broken answer. The caller's limits on waiting bound this.

        It is asked for where it broke off. Some servers write it into the session's own stream if that is open.
        """
        asked_for = asyncio.ensure_future(self._taken_up(messages, request_id, heard, max_bytes))
        try:
            await asyncio.wait((asked_for, elsewhere), return_when=asyncio.FIRST_COMPLETED)
            if elsewhere.done():
                return inbox.result_of(elsewhere.result()), messages.bytes_read
            return asked_for.result()
        finally:
            asked_for.cancel()
            await asyncio.gather(asked_for, return_exceptions=True)

    async def _taken_up(self, messages: Inbox, request_id: int, heard: Heard, max_bytes: int) -> tuple[bytes, int]:
        """Ask for the rest of a broken answer until it comes."""
        place = messages.last_event_id or ""
        size = messages.bytes_read
        while True:
            await asyncio.sleep(max(_wait_s(messages, RESUME_S), RESUME_MIN_S))
            async with self._get({"Last-Event-ID": place}) as reply:
                await self._check(reply)
                messages = Inbox(reply, max_bytes)
                try:
                    return await inbox.answer(messages, request_id, heard), size + messages.bytes_read
                except Disconnected:
                    place = messages.last_event_id or place
                    size += messages.bytes_read

    async def send(self, body: bytes) -> None:
        """Send a message that needs no answer."""
        async with self._post(body) as reply:
            await self._check(reply)

    async def listen(self, opened: Callable[[], None], heard: Heard) -> float:
        """Keep the GET stream. A server that answers 405, or any other refusal of its own, has none."""
        async with self._get({}) as reply:
            if reply.status == 404 and self._session_id is not None:
                raise SessionLost
            if reply.status == 409 or faults.is_ambiguous(reply.status):
                raise Refused(reply.status)  # 409: in the server's eyes the stream before this one is still there
            if not reply.ok or reply.media_type != EVENT_STREAM:
                raise NoStream
            opened()
            messages = Inbox(reply, self._wire.pace.stream_event_bytes)
            try:
                async for message in messages.messages():
                    if message.method is not None:
                        await heard(message)
                    elif (answer := self._elsewhere.get(message.id or b"")) is not None and not answer.done():
                        answer.set_result(message)
            except Disconnected:
                pass  # as good an end as any: the list is read again either way
            return _wait_s(messages, 0.0)

    async def end(self) -> None:
        """DELETE, if there is a session. A server may answer 405: it ends sessions by itself."""
        if self._session_id is not None:
            async with self._wire.http.send(
                self._wire.endpoint, "DELETE", self._headers(), cookies=self._cookies, repeatable=True
            ):
                pass

    def _headers(self) -> dict[str, str]:
        headers = {}
        if self._session_id is not None:
            headers[SESSION_HEADER] = self._session_id
        if self.version is not None and self.version >= FIRST_VERSION_WITH_HEADER:
            headers[VERSION_HEADER] = self.version
        return headers

    def _post(self, body: bytes, *, repeatable: bool = False) -> AbstractAsyncContextManager[Reply]:
        headers = {"Content-Type": JSON, "Accept": http.ACCEPT, **self._headers()}
        return self._wire.http.send(
            self._wire.endpoint, "POST", headers, body, cookies=self._cookies, repeatable=repeatable
        )

    def _get(self, headers: dict[str, str]) -> AbstractAsyncContextManager[Reply]:
        headers = {"Accept": EVENT_STREAM, **headers, **self._headers()}
        return self._wire.http.send(self._wire.endpoint, "GET", headers, cookies=self._cookies, repeatable=True)

    async def _check(self, reply: Reply) -> None:
        """Raise what an unsuccessful reply means.

        A session that is gone is 404 (2025-11-25), and 400 with some words about a session at servers in the field.
        """
        if reply.ok:
            return
        fault, body = await inbox.refusal(reply)
        is_ours = fault.error is not None and fault.error.code == errors.METHOD_NOT_FOUND
        is_gone = reply.status == 404 or (reply.status == 400 and b"session" in body.lower())
        if self._session_id is not None and is_gone and not is_ours:
            raise SessionLost
        raise fault


def _session_id(reply: Reply) -> str | None:
    """The session id that the answer to ``initialize`` assigns. An empty header assigns none."""
    value = reply.header(SESSION_HEADER)
    if not value:
        return None
    if len(value) > MAX_SESSION_ID_CHARS or not all("!" <= character <= "~" for character in value):
        raise Malformed(faults.BAD_SESSION_ID)
    return value


def _wait_s(messages: Inbox, default_s: float) -> float:
    asked_ms = messages.retry_ms
    return default_s if asked_ms is None else min(asked_ms / 1000, RESUME_MAX_S)
