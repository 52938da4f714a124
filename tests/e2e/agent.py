"""An agent's pod: a real sidecar container beside an app container in which SDK clients run."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from e2e.images import COUNTERPARTS
from e2e.kind import Cluster
from integration.matrix.programs import CallFailedError, Client, Connection, Process

URL: Final = "http://127.0.0.1:8811/mcp"
"""Where the sidecar serves the other containers of its pod."""
CLIENTS: Final = {"modern": ("/mcp2/bin/python", "client_v2.py"), "legacy": ("/mcp1/bin/python", "client_v1.py")}
"""Programs of the counterparts' image by the era they speak here."""
RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What Pod Security asks of a container."""


def labelled(name: str = "agent", **spec: Any) -> dict[str, Any]:
    """A pod of a user who knows of the label, and of Pod Security."""
    container = {"name": "app", "image": COUNTERPARTS, "command": ["sleep", "infinity"], "securityContext": RESTRICTED}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"switchyard.dev/gateway": "main", "app": "agent"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container], **spec},
    }


@contextmanager
def client(
    cluster: Cluster,
    namespace: str,
    era: str,
    log: Path,
    *,
    pod: str = "agent",
    url: str = URL,
    token: str | None = None,
) -> Iterator[Connection]:
    """An SDK client in the pod's app container, connected to the sidecar beside it, or to another URL.

    ``token``: the bearer token that it presents.
    """
    command = cluster.command("exec", "-i", pod, "-n", namespace, "-c", "app", "--", *CLIENTS[era])
    process = Process(command, log)
    program = Client(process)
    try:
        with program.connected(url, token) as connection:
            yield connection
    finally:
        program.close()


def names(connection: Connection) -> list[str]:
    """What the list holds now."""
    return [tool["name"] for tool in connection.client.ask("list")["tools"]]


def eventually(look: Callable[[], Any], wanted: Callable[[Any], bool], *, within_s: float) -> float:
    """Look again and again until it is as wanted; returns the seconds it took. A refusal, as before the first list, is not."""
    began = time.monotonic()
    while True:
        seen: Any
        try:
            seen, fits = (found := look()), wanted(found)
        except CallFailedError as refusal:
            seen, fits = refusal, False
        if fits:
            return time.monotonic() - began
        assert time.monotonic() - began < within_s, f"after {within_s} s it is still {seen}"
