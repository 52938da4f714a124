"""How many files, and so connections, this process may have open."""

import resource
from contextlib import suppress
from typing import Final

ENOUGH: Final = 65_536
"""More than all limits on streams, calls and sessions together need; a limit of "no limit" is refused by some systems."""


_OTHERS: Final = 64
"""At least so many are for backends, the config and the admin port; of a high limit a quarter."""


def take_all_there_are() -> None:
    """Raise the soft limit to the hard one.

    The soft one is 1,024 or 256 where nobody has thought about it (it is that low for programs that use ``select``), which
    is less than some hundred clients with a session at each of a few legacy backends need.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # then it is as many as it was
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def for_clients() -> int:
    """How many connections clients may have by the present limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = ENOUGH if soft == resource.RLIM_INFINITY else soft
    return max(1, limit - max(_OTHERS, limit // 4))
