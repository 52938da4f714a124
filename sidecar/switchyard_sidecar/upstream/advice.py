"""What an HTTP status that a backend answers with most often means to whoever runs it, and where to look. Pure.

A status says who answered as little as it says why: the server, or whatever stands before it. What is said here is a first guess, in our
own words. (What follows from a status for the protocol is in :mod:`.faults` and :mod:`.era`.)
"""

import re
from collections.abc import Mapping
from typing import Final

from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.faults import Fault, Refused

_REASON: Final = re.compile(r"HTTP (\d{3})")
_REDIRECTS: Final = range(300, 400)
_ELSEWHERE: Final = "see the path of its address"
_UNREACHED: Final = "what stands before it gets no answer from it"
_ADVICE: Final[Mapping[int, str]] = {
    401: "see spec.auth and spec.headers",
    403: "see spec.auth and spec.headers, and spec.hostHeader where the server allows certain hosts only",
    404: _ELSEWHERE,
    405: f"{_ELSEWHERE}, and spec.transport",
    406: f"it has no answer in JSON or as an event stream; {_ELSEWHERE}",
    410: _ELSEWHERE,
    421: "it serves other hosts; name one of them in spec.hostHeader, or have the server allow the one of its address",
    429: "it asks for fewer requests",
    502: _UNREACHED,
    503: "it is overloaded, or not there behind what answers for it",
    504: _UNREACHED,
}


def status_of(error: Fault | McpError) -> int | None:
    """The HTTP status that a failure consists of; ``None``: it is about something else."""
    if isinstance(error, Refused):
        return error.status
    found = _REASON.fullmatch(error.reason) if isinstance(error, Fault) else None
    return None if found is None else int(found[1])


def advice(status: int | None) -> str:
    """Where to look, as the end of a sentence; empty where the status itself says as much, or there is none."""
    if status is None:
        return ""
    if status in _REDIRECTS:
        return "redirects are followed within its origin, and as 307 or 308 alone: give the address that it leads to"
    return _ADVICE.get(status, "")
