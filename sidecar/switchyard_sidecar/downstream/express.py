"""The express way: what was asked and answered before is answered again without a second look.

An agent asks for its list in the very same words again and again. What the words are worth was found out the first time;
to read HTTP, ``_meta`` and mirrored headers once more would cost twice what the answer costs. What always holds:

1. **The ordinary way alone decides.** It marks a reply (:data:`Again`) whose content depends on nothing but the config, the
   catalog, the local address of the connection, and the request's head (with its token), method and ``params``. Nothing else
   comes here.
2. **The same is the same bytes.** A request is recognised when it came whole and in one piece, at a place in the stream
   where a request begins, and local address, head, length of the body and ``params`` are those of one that was answered.
   What may differ is the id, which is carried as it is written, and how the members around it are set. The body is read by
   the reader of the ordinary way. One byte more, less or other is another request, and goes the ordinary way.
3. **Whoever writes the list the ordinary way writes it here**, anew each time, and only while that takes no waiting.
4. **A change of config or of issuers' keys forgets everything**, also what is being found out while it happens: see ``edition``.
5. **No verdict outlives what it rests on.** One on a request with a token ends when the token does (:attr:`Verdict.until`), by the
   clock by which the ordinary way judges tokens; keys that come or go are a change as in 4.
6. **Memory is bounded** by the number of requests remembered and the size of each. The one that was not asked for
   the longest goes first: who sends other words each time pushes out others like itself, and nobody who asks steadily.

Which connections may take this way, and when, is up to the connection (:mod:`switchyard_sidecar.downstream.http`).
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from switchyard_sidecar.protocol import jsonrpc
from switchyard_sidecar.protocol.errors import McpError

REQUEST_BYTES: Final = 4096
"""A larger request is not remembered. With ``Pace.remembered`` of them, that is all the memory this takes."""
ANSWER_BYTES: Final = 60 * 1024
"""A larger answer might have to wait for its client, which is a task's business. With its head, an answer of this size
still fits what a transport takes (64 KiB) before it asks to pause."""
METHOD: Final = "tools/list"
"""The only method that is worth it."""

_WRITTEN: Final = b'"tools/list"'
"""As every client writes it. What is no list is thus passed over before it is read."""

Again = Callable[[bytes, int], tuple[bytes, ...] | None]
"""Writes an answer anew and counts it: with this id, in at most so many bytes. ``None``: not without waiting, or larger."""


class Asked(NamedTuple):
    """A list request, taken apart."""

    words: tuple[bytes, int, bytes]
    """Its head, the length of its body, and its ``params``: what an answer depends on."""
    id: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a request: response headers, and the way to write the body."""

    fields: tuple[tuple[str, str], ...]
    again: Again
    until: float = math.inf
    """Unix seconds from which on it holds no more."""


class Written(NamedTuple):
    """An answer: response headers and body."""

    fields: tuple[tuple[str, str], ...]
    body: tuple[bytes, ...]


class Express:
    """The requests that are remembered, at most ``most``."""

    __slots__ = ("_known", "_most", "answered", "edition")

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[tuple[object, tuple[bytes, int, bytes]], Verdict] = OrderedDict()
        self.edition = 0
        """Counts how often everything was forgotten. A request that came under another edition is not remembered: part
        of what was found out about it may be of the config before."""
        self.answered = 0
        """Requests answered here since the start."""

    def forget(self) -> None:
        """Begin anew, because what is right may have changed."""
        self._known.clear()
        self.edition += 1

    def learn(self, edition: int, address: object, request: bytes, verdict: Verdict) -> None:
        """Remember what came of a whole request, unless it must not be.

        ``edition``: the one it came under. ``address``: local address of its connection.
        """
        if edition != self.edition or (asked := read(request)) is None:
            return
        self._known[address, asked.words] = verdict
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def answer(self, address: object, asked: Asked, now: float) -> Written | None:
        """Answer a request that came whole on a connection to this local address; ``None``: the ordinary way must.

        ``now``: Unix seconds.
        """
        key = (address, asked.words)
        if (verdict := self._known.get(key)) is None:
            return None
        if now >= verdict.until:
            del self._known[key]
            return None
        self._known.move_to_end(key)
        if (body := verdict.again(asked.id, ANSWER_BYTES)) is None:
            return None
        self.answered += 1
        return Written(verdict.fields, body)


def read(request: bytes) -> Asked | None:
    """Take an HTTP request apart that may be a list request; ``None``: it is none, or none to be remembered.

    That it is one request from its first byte to its last must be known already, or be found out by its words.
    """
    if len(request) > REQUEST_BYTES or _WRITTEN not in request:
        return None
    head, _, body = request.partition(b"\r\n\r\n")
    try:
        message = jsonrpc.decode(body)
    except McpError:
        return None
    if message.method != METHOD or message.id is None or message.params is None:
        return None
    return Asked((head, len(body), message.params), message.id)
