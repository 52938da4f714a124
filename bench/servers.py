"""What is measured: the sidecar, and nginx with the same bytes; each a process of its own on the server core."""

import contextlib
import http.client
import json
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench.backend import Spec
from bench.machine import LOAD_CORE, ROOT, SERVER_CORE, BenchError, Process, started
from bench.messages import ask, request
from bench.program import Program, running

START_S: Final = 60.0


@dataclass(frozen=True)
class Lab:
    """How this run measures."""

    python: str
    """Runs the sidecar."""
    source: Path
    """The ``sidecar`` folder that is measured."""
    rounds: int
    seconds: int
    quick: bool
    """Only see that everything runs and answers right."""


@dataclass(frozen=True)
class Pause:
    """How long an event loop stood still at worst."""

    pause_ms: float
    """By the clock."""
    cpu_ms: float
    """The most CPU that the loop's thread took in between: what of a pause is its own."""


@dataclass(frozen=True)
class Sidecar:
    """A running sidecar."""

    process: Process
    url: str
    admin: str
    """``HOST:PORT`` of the admin port."""

    def names(self) -> list[str]:
        """The tools it lists."""
        return [tool["name"] for tool in ask(self.url, request("modern", "tools/list")).result["tools"]]

    def wait_for(self, count: int) -> None:
        """Wait until it lists exactly this many tools.

        Raises:
            BenchError: it does not within :data:`START_S`.
        """
        eventually(lambda: len(self.names()) == count, f"the sidecar does not list {count} tools")

    def longest_pause(self) -> Pause:
        """The longest pause of its event loop since the last call. Only for one that was started ``ticking``."""
        self.process.popen.send_signal(signal.SIGUSR1)
        stdout = self.process.popen.stdout
        if stdout is None:
            raise BenchError("the sidecar was not started ticking")
        return Pause(**json.loads(stdout.readline()))


def eventually(holds: Callable[[], bool], otherwise: str) -> None:
    """Wait until something holds.

    Raises:
        BenchError: it does not within :data:`START_S`.
    """
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException, BenchError):
            if holds():
                return
        time.sleep(0.01)
    raise BenchError(f"{otherwise} within {START_S:g} s")


def responds(address: str, path: str) -> bool:
    """Whether a GET is answered with 200."""
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    finally:
        connection.close()


@contextlib.contextmanager
def backends(specs: Sequence[Spec], *, core: str = LOAD_CORE) -> Iterator[Program]:
    """Backends, all in one process; their URLs are in its ``hello``."""
    with running("bench.backend", json.dumps([asdict(spec) for spec in specs]), core=core) as program:
        yield program


def configure(folder: Path, urls: Sequence[str], **keys: Any) -> None:
    """Write a config directory for these backends, each with a prefix of its own; ``keys`` go beside them."""
    config = {
        "namespace": "bench",
        "name": "bench",
        "backends": [
            {"namespace": "bench", "name": f"b{number}", "url": url, "prefix": f"b{number}"}
            for number, url in enumerate(urls)
        ],
        **keys,
    }
    folder.mkdir(exist_ok=True)
    (folder / "gateway.json").write_text(json.dumps(config))


@contextlib.contextmanager
def sidecar(lab: Lab, urls: Sequence[str], *, ticking: bool = False, **keys: Any) -> Iterator[Sidecar]:
    """The sidecar in front of these backends; it listens, but may not have read their lists yet. ``keys``: more of its config."""
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as name:
        configure(Path(name), urls, **keys)
        port, admin = free_port(), f"127.0.0.1:{free_port()}"
        module = "bench.ticker" if ticking else "switchyard_sidecar.main"
        command = [lab.python, "-m", module, "--config", name, "--listen", f"127.0.0.1:{port}", "--admin", admin]
        env = {"PYTHONPATH": f"{lab.source}:{ROOT}"}
        with started([*command, "--log-level", "error"], SERVER_CORE, env=env, pipes=ticking) as process:
            eventually(lambda: responds(admin, "/readyz"), "the sidecar is not ready")
            yield Sidecar(process, f"http://127.0.0.1:{port}/mcp", admin)


_NGINX: Final = """
worker_processes 1; daemon off; master_process off; error_log stderr emerg; pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; default_type application/json; client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  open_file_cache max=10; sendfile on; tcp_nopush on;
  server {{ listen 127.0.0.1:{port}; root {folder}; error_page 405 =200 $uri; }}
}}
"""


@contextlib.contextmanager
def nginx(body: bytes) -> Iterator[tuple[Process, str]]:
    """An nginx that answers every POST with these bytes, from its cache of open files."""
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as name:
        folder, port = Path(name), free_port()
        (folder / "mcp").write_bytes(body)
        (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port))
        url = f"http://127.0.0.1:{port}/mcp"
        with started(["nginx", "-c", str(folder / "nginx.conf")], SERVER_CORE) as process:
            what = request("modern", "tools/list")
            eventually(lambda: ask(url, what).body == body, "nginx does not serve the same bytes")
            yield process, url


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
