"""What speaking to one backend takes, whichever era and transport it turns out to have."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from switchyard_sidecar.upstream.endpoint import Endpoint
from switchyard_sidecar.upstream.errands import Errands
from switchyard_sidecar.upstream.http import HttpPool
from switchyard_sidecar.upstream.pace import Pace


@dataclass(frozen=True, slots=True)
class Wire:
    """Shared by all that is said to one backend."""

    backend: str
    """``namespace/name``, for logs."""
    http: HttpPool
    endpoint: Endpoint
    pace: Pace
    errands: Errands
    changed: Callable[[], None]
    """To be called when the backend says, wherever it says it, that its tools have changed."""
    ids: "itertools.count[int]"
    """Request ids, which are progress tokens too: unique among all that is in flight at the backend."""
