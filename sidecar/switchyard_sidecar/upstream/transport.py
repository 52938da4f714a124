"""What a legacy session needs of its transport: Streamable HTTP, or the HTTP+SSE before it."""

from collections.abc import Awaitable, Callable
from typing import Protocol, Self

from switchyard_sidecar.protocol.jsonrpc import Message

Heard = Callable[[Message], Awaitable[None]]
"""Takes a message of the server's own: a notification, or a request."""


class Transport(Protocol):
    """Carries the messages of one session.

    Methods raise :class:`Fault`, or :class:`McpError` for an error that answers a request (one that comes with an
    unsuccessful HTTP status is in the :class:`Refused` that tells of the status).
    """

    version: str | None
    """The negotiated version; None before ``initialize`` was answered."""

    def another(self) -> Self:
        """A transport of the same kind, for a session of its own."""

    @property
    def lost(self) -> bool:
        """Whether the session is known to be over."""

    async def start(self, stray: Heard) -> None:
        """Make ready. ``stray`` takes what the server sends outside of any answer."""

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
        """Send a request; return its result and the bytes read for it. Messages before the answer go to ``heard``.

        ``repeatable``: it does no harm twice. ``opening``: it is ``initialize``, whose answer may assign a session id.
        Raises :class:`SessionLost` only where the backend has not acted on the request.
        """

    async def send(self, body: bytes) -> None:
        """Send a notification, or an answer to one of the server's requests."""

    async def listen(self, opened: Callable[[], None], heard: Heard) -> float:
        """Keep the stream of the server's own messages until it ends; return the seconds to wait before the next.

        ``opened`` is called once, when nothing sent from now on can be missed. Raises :class:`NoStream` where there is none.
        """

    async def end(self) -> None:
        """End the session at the backend."""
