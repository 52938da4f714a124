"""Who meets whom: the servers and clients of the matrix, and what is true of each."""

from dataclasses import dataclass
from typing import Final, Literal

from integration.matrix.programs import Program

Era = Literal["Modern", "Legacy"]


@dataclass(frozen=True)
class Server:
    """A server, as the gateway has to find it."""

    name: str
    program: Program
    era: Era
    """The era that a client of both eras speaks with it."""
    sessions: bool = False
    """Whether it keeps a session for each legacy client, and offers ``counter``."""
    announces: bool = True
    """Whether it tells its subscribers of a changed list. Where it does not, the gateway sees it when it looks again."""
    logs_aside: bool = False
    """Whether a call's log lines come on the session's own stream. The last then may come after the result: too late."""
    transport: Literal["StreamableHTTP", "SSE"] = "StreamableHTTP"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Client:
    """A client, as the gateway has to serve it."""

    name: str
    program: Program
    version: str
    """The protocol version that it must end up with."""

    def __str__(self) -> str:
        return self.name


MODERN: Final = "2026-07-28"

SERVERS: Final = (
    Server("python-2", Program("python/mcp2", ("python/server_v2.py",)), "Modern"),
    Server("fastmcp", Program("python/fastmcp", ("python/fastmcp_server.py",)), "Modern", announces=False),
    Server("node-2", Program("node", ("node/server.mjs",)), "Modern"),
    Server("go", Program("go", ("server",)), "Modern"),
    Server("rust", Program("rust", ("bin/server",)), "Modern"),
    Server("java", Program("java", ("server.Main",)), "Modern"),
    Server("python-1", Program("python/mcp1", ("python/server_v1.py",)), "Legacy", sessions=True),
    Server("node-1", Program("node", ("node/server_legacy.mjs",)), "Legacy", sessions=True),
    Server("go-sessions", Program("go", ("server", "-sessions")), "Legacy", sessions=True),
    Server("rust-sessions", Program("rust", ("bin/server", "--sessions")), "Legacy", sessions=True, logs_aside=True),
    Server("java-sessions", Program("java", ("server.Main", "--sessions")), "Legacy", sessions=True),
)

EVERYTHING: Final = Server("everything", Program("node", ("node/everything.mjs",)), "Legacy")
EVERYTHING_SSE: Final = Server(
    "everything-sse", Program("node", ("node/everything.mjs", "--transport", "sse")), "Legacy", transport="SSE"
)

CLIENTS: Final = (
    Client("python-2", Program("python/mcp2", ("python/client_v2.py",)), MODERN),
    Client("node-2", Program("node", ("node/client.mjs",)), MODERN),
    Client("go", Program("go", ("client",)), MODERN),
    Client("rust", Program("rust", ("bin/client",)), MODERN),
    Client("java", Program("java", ("client.Main",)), MODERN),
    Client("python-2-legacy", Program("python/mcp2", ("python/client_v2.py", "--mode", "legacy")), "2025-11-25"),
    Client("python-1", Program("python/mcp1", ("python/client_v1.py",)), "2025-11-25"),
    Client("node-1", Program("node", ("node/client_legacy.mjs",)), "2025-11-25"),
    Client("go-legacy", Program("go", ("client", "-version", "2025-06-18")), "2025-06-18"),
    Client("rust-legacy", Program("rust", ("bin/client", "--legacy")), "2025-11-25"),
    Client("java-legacy", Program("java", ("client.Main", "--legacy")), "2025-11-25"),
)
