"""HTTP towards backends: the one place that opens connections. Everything else sees :class:`Reply` and :class:`Fault`.

What is not left to the library's defaults, and why:

- No limit on connections in total or per host: a few hundred listening backends would use it up. What bounds them is that each
  backend has one change stream, one read of its list, ``Pace.calls`` calls and as many streams as ``Pace.sessions``. When
  files run out all the same, that is said as what it is, and held against no backend.
- No total timeout (it would end streams): whoever sends a request sets its limit. Connecting has the backend's own.
- Idle connections are kept 4 s, less than common servers keep theirs (uvicorn: 5 s), so that a POST is seldom written into a
  connection that is just being closed. A request that may be repeated is, once.
- No cookies here: a legacy session keeps its own jar, and nothing else has any.
- ``Accept-Encoding: identity``: any answer may turn out to be a stream, and a compressed stream is a delayed one.
- Redirects are followed by our own rule: 307 and 308, same origin, a few. Method, body and headers stay.
- Names are looked up by our own resolver, where one that hangs holds up no other.
- Each address is judged when it is connected to (:mod:`switchyard_sidecar.upstream.addresses`), however it was come by: written
  in the URL, looked up, or looked up again.
- Dead peers of silent streams are found by TCP keep-alive.
- Bytes are counted as they are read. No proxy and no ``.netrc`` from the environment.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp.abc import AbstractCookieJar
from aiohttp.http_exceptions import ContentEncodingError
from multidict import CIMultiDict
from yarl import URL

from switchyard_sidecar import __version__
from switchyard_sidecar.config.model import Backend
from switchyard_sidecar.protocol.names import EVENT_STREAM, JSON
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.addresses import STRICT
from switchyard_sidecar.upstream.endpoint import Endpoint, address, fixed_headers
from switchyard_sidecar.upstream.faults import Disconnected, Fault, Malformed, Silent, TooLarge, Unreachable
from switchyard_sidecar.upstream.forwarded import ForwardedToken
from switchyard_sidecar.upstream.resolver import Lookup, Resolver
from switchyard_sidecar.upstream.tls import Contexts, settings

ACCEPT: Final = f"{JSON}, {EVENT_STREAM}"

BEGINNINGS: Final = 10
"""Backends that are begun with at once ..."""
BEGINNING_S: Final = 0.01
"""... and how long after these the next ones: less time than it takes to get them all going, but not all in one go."""
KEEP_ALIVE_S: Final = 4.0
MAX_REDIRECTS: Final = 3
MAX_HEADER_BYTES: Final = 32 * 1024
"""The status line, and each header line of an answer."""
READ_BUFFER_BYTES: Final = 64 * 1024
_REDIRECTS: Final = frozenset({307, 308})
_TCP_KEEPALIVE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A peer that is gone without a word is noticed after a minute."""


@dataclass(frozen=True, slots=True)
class _Request:
    """One request, wherever redirects take it."""

    endpoint: Endpoint
    method: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None
    limits: aiohttp.ClientTimeout


class Reply:
    """An answer whose headers have come and whose body has not been read."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status: Final = response.status
        self.media_type: Final = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        """Without parameters, in lower case; empty when there is none."""

    @property
    def ok(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """A header's value; of several the first."""
        return self._response.headers.get(name)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives.

        Raises:
            Fault: the connection was lost.
        """
        with _translated():
            async for chunk in self._response.content.iter_any():
                yield chunk

    async def body(self, max_bytes: int) -> bytes:
        """The whole body.

        Raises:
            Fault: it is longer than ``max_bytes``, or the connection was lost.
        """
        parts: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > max_bytes:
                raise TooLarge
            parts.append(chunk)
        return b"".join(parts)


class HttpPool:
    """What all backends share: connections, TLS contexts, turns of work. Made, used and closed in one event loop."""

    def __init__(self, admits: Callable[[str], bool] = STRICT.admits, lookup: Lookup = socket.getaddrinfo) -> None:
        self.admits = admits
        """Whether a numeric address may be connected to. It is asked of the very address of each connection."""
        self.turns = asyncio.Lock()
        """Held for each slice of work on a large list: slices of many backends must not add up in one turn of the loop."""
        self._beginnings = asyncio.Semaphore(BEGINNINGS)
        self._contexts = Contexts()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=KEEP_ALIVE_S, socket_factory=self._socket, resolver=Resolver(lookup)
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": f"switchyard/{__version__}", "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=READ_BUFFER_BYTES,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )

    async def turn_to_begin(self) -> None:
        """Wait for one's turn to connect to a backend: hundreds that begin, and answer, at once would stop the loop."""
        await self._beginnings.acquire()
        asyncio.get_running_loop().call_later(BEGINNING_S, self._beginnings.release)

    async def endpoint(
        self, config: Backend, credentials: Mapping[str, bytes], token: ForwardedToken | None = None
    ) -> Endpoint:
        """What is needed to talk to a backend. ``token``: its caller's own, for one that is to get that.

        Raises:
            Fault: its URL, a header or a certificate is unusable.
        """
        url = address(config)
        headers = fixed_headers(config, credentials)
        tls = await self._contexts.get(settings(config.tls, credentials)) if url.scheme == "https" else True
        return Endpoint(url, headers, tls, config.tls.server_name, config.timeouts.connect_ms / 1000, token)

    def send(
        self,
        endpoint: Endpoint,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: URL | None = None,
        cookies: AbstractCookieJar | None = None,
        repeatable: bool = False,
        silence_s: float | None = None,
        redirects: int = MAX_REDIRECTS,
    ) -> AbstractAsyncContextManager[Reply]:
        """Send one request; the reply is open inside the context, and its connection is given up with it if unread.

        ``url`` overrides the endpoint's. A ``repeatable`` request is sent once more when the connection is lost before any
        answer, as happens when the server closes an idle one. ``silence_s``: raise :class:`Silent` when, once connected,
        nothing is received for so long. ``redirects``: how many are followed. Entering raises :class:`Fault`.
        """
        limits = aiohttp.ClientTimeout(total=None, connect=endpoint.connect_s, sock_read=silence_s)
        all_headers = CIMultiDict(endpoint.headers)
        all_headers.update(headers)  # whatever the case of a configured one
        if endpoint.token is not None:
            all_headers["Authorization"] = endpoint.token.header
        request = _Request(endpoint, method, all_headers, body, limits)
        return self._send(request, url or endpoint.url, cookies, repeatable, redirects)

    @asynccontextmanager
    async def _send(
        self, request: _Request, url: URL, cookies: AbstractCookieJar | None, repeatable: bool, redirects: int
    ) -> AsyncIterator[Reply]:
        for _ in range(redirects + 1):
            cookie = "" if cookies is None else _cookie(cookies, url)
            try:
                response = await self._open(request, url, cookie)
            except Disconnected:
                if not repeatable:
                    raise
                repeatable = False
                response = await self._open(request, url, cookie)
            try:
                if cookies is not None and response.cookies:
                    cookies.update_cookies(response.cookies, url)
                if response.status not in _REDIRECTS:
                    yield Reply(response)
                    return
                url = _redirected(url, response.headers.get("Location", ""))
            finally:
                response.close()  # a no-op when the body was read: the connection is back in the pool by then
        raise Malformed(faults.REDIRECTED)

    async def _open(self, request: _Request, url: URL, cookie: str) -> aiohttp.ClientResponse:
        with _translated():
            return await self._session.request(
                request.method,
                url,
                headers=request.headers if not cookie else {**request.headers, "Cookie": cookie},
                data=request.body,
                allow_redirects=False,
                ssl=request.endpoint.tls,
                server_hostname=request.endpoint.server_name,
                timeout=request.limits,
            )

    def _socket(self, info: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
        family, kind, protocol, _, where = info
        if not self.admits(str(where[0])):
            raise _NotAdmitted(errno.EACCES, "not an address to connect to")
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _TCP_KEEPALIVE.items():
            with suppress(AttributeError, OSError):  # not every system has each of them
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return made

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


def _redirected(url: URL, location: str) -> URL:
    try:
        target = url.join(URL(location, encoded=True))
        same = bool(location) and target.origin() == url.origin()
    except ValueError:
        same = False
    if not same:
        raise Malformed(faults.REDIRECTED)
    return target


def _cookie(cookies: AbstractCookieJar, url: URL) -> str:
    return "; ".join(f"{name}={morsel.coded_value}" for name, morsel in cookies.filter_cookies(url).items())


class _NotAdmitted(OSError):  # noqa: N818 - it says what the address is
    """Nothing was connected to: the address is not one for us."""


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the library's exceptions into faults; most particular first, since they inherit from each other."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError:
        raise Unreachable(faults.CONNECTION_TIMED_OUT) from None
    except aiohttp.SocketTimeoutError:
        raise Silent(faults.NO_ANSWER_IN_TIME) from None
    except aiohttp.ClientConnectorDNSError:
        raise Unreachable(faults.NAME_NOT_RESOLVED) from None
    except aiohttp.ClientConnectorCertificateError:
        raise Unreachable(faults.CERTIFICATE_NOT_TRUSTED) from None
    except (aiohttp.ClientSSLError, ssl.SSLError):
        raise Unreachable(faults.TLS_FAILED) from None
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, _NotAdmitted):
            raise Unreachable(faults.ADDRESS_NOT_ADMITTED) from None
        if error.os_error.errno in {errno.EMFILE, errno.ENFILE}:
            raise Fault(faults.NO_FILES) from None  # which says nothing of the backend
        is_refusal = isinstance(error.os_error, ConnectionRefusedError)
        raise Unreachable(faults.CONNECTION_REFUSED if is_refusal else faults.NO_CONNECTION) from None
    except aiohttp.ClientResponseError:
        raise Malformed(faults.NOT_HTTP) from None
    except aiohttp.ClientPayloadError as error:
        if isinstance(error.__cause__, ContentEncodingError):
            raise Malformed(faults.NOT_HTTP) from None
        raise Disconnected(faults.CONNECTION_LOST) from None
    except (aiohttp.ClientConnectionError, OSError):
        raise Disconnected(faults.CONNECTION_LOST) from None
    except (aiohttp.ClientError, ValueError):
        raise Fault(faults.BAD_URL) from None
    except RuntimeError as error:
        # The loop takes the new connection's descriptor for that of one that has ended (MagicStack/uvloop issue 653).
        if "is used by transport" not in str(error):
            raise
        raise Unreachable(faults.NO_CONNECTION) from None
