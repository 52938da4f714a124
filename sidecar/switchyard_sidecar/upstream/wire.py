"""What speaking to one backend takes, whichever era and transport it turns out to have."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from switchyard_sidecar.upstream.endpoint import Endpoint
from switchyard_sidecar.upstream.errands import Errands
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace

About: TypeAlias = Mapping[str, str | int]
"""What log lines say they are about: the ``backend`` (``namespace/name``) and, where a session is one caller's alone, its ``lane``."""


def about(backend: str, lane: int | None = None) -> About:
    """``lane``: the number of the only caller's lane, which tells of no token and of nothing in it."""
    return {"backend": backend} if lane is None else {"backend": backend, "lane": lane}


@dataclass(frozen=True, slots=True)
class Wire:
    """Shared by all that is said to one backend."""

    about: About
    http: HttpPool
    endpoint: Endpoint
    pace: Pace
    errands: Errands
    changed: Callable[[], None]
    """To be called when the backend says, wherever it says it, that its tools have changed."""
    ids: "itertools.count[int]"
    """Request ids, which are progress tokens too: unique among all that is in flight at the backend."""
