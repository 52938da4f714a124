"""Ports to come back on: what dies in a soak must find its own port free when it returns."""

import random
import socket
from typing import Final

_BELOW_EPHEMERAL: Final = range(20_000, 32_000)
"""Linux takes none of these for outgoing connections, of which somebody's would otherwise sit on a port that is left."""


def free_port() -> int:
    """A port that nobody listens on now, and nobody is given by chance later."""
    while True:
        port = random.choice(_BELOW_EPHEMERAL)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
