"""Start the counterparts, and talk to their clients.

Everything here is synchronous: the programs are processes of their own, each with a thread that reads what it says.
"""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from required import IN_CI, missing

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "counterparts"
PATIENCE_S = 20.0
"""How long a program may take for any one answer; starting an interpreter on a loaded machine takes the most."""


@cache
def installed() -> Mapping[str, str | None]:
    """Which parts ``scripts/counterparts.py`` has installed, and where."""
    listed = subprocess.run(
        [sys.executable, ROOT / "scripts" / "counterparts.py", "list"], stdout=subprocess.PIPE, check=True
    )
    parts: dict[str, str | None] = json.loads(listed.stdout)
    return parts


@dataclass(frozen=True)
class Program:
    """A counterpart: what it needs, and how it is started."""

    part: str
    """The part of ``scripts/counterparts.py`` that it runs on."""
    arguments: tuple[str, ...]
    """The program and its arguments: a file below ``tests/counterparts``, for Java a class, for Go and Rust a binary."""

    def available(self) -> bool:
        """Whether it can be started here. CI has to have them all: there, starting it says what is missing."""
        return installed()[self.part] is not None or IN_CI

    def command(self) -> list[str]:
        """What to execute. Skips the test when the part is not installed; fails it where CI requires it."""
        folder = installed()[self.part]
        if folder is None:
            missing(f"{self.part} is not installed: run scripts/counterparts.py install")
        program, *rest = self.arguments
        match self.part.partition("/")[0]:
            case "python":
                return [f"{folder}/bin/python", str(SOURCES / program), *rest]
            case "node":
                return [*node(Path(folder)), str(SOURCES / program), *rest]
            case "java":
                # The quick compiler alone: the programs are short-lived, and starting them is what takes time.
                return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/lib/*:{folder}/classes", program, *rest]
            case _:
                return [f"{folder}/{program}", *rest]


def node(folder: Path) -> list[str]:
    """The Node that came with the packages, or the machine's own where there is none for this platform."""
    own = sorted(folder.glob("node_modules/node-*/bin/node"))
    return [str(own[0]) if own else "node"]


class Process:
    """A running program that says JSON, one object a line, and ends when its standard input does."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdin is not None
        self._stdin = self._process.stdin

    def write(self, message: Any) -> None:
        """Send one line."""
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    def lines(self) -> Iterator[Any]:
        """What it says, until it ends."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield json.loads(line)

    def close(self) -> None:
        """End it, gently if it can be."""
        self._stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()


@dataclass(frozen=True)
class Event:
    """Something that a client told about on its own."""

    name: str
    params: Any


class CallFailedError(Exception):
    """A request ended with an error; ``error`` is what the client said about it."""

    def __init__(self, error: Any) -> None:
        self.error = error
        super().__init__(json.dumps(error))


class Pending:
    """A request that was made; its answer and its events come in as they happen."""

    def __init__(self, id: int) -> None:  # noqa: A002
        self.id = id
        self._answers: queue.Queue[Any] = queue.Queue()
        self._events: queue.Queue[Event] = queue.Queue()

    def receive(self, line: Any) -> None:
        """Take in one line that belongs to this request."""
        if "event" in line:
            self._events.put(Event(line["event"], line["params"]))
        else:
            self._answers.put(line)

    def result(self, within_s: float = PATIENCE_S) -> Any:
        """Wait for the result. Raises :class:`CallFailedError`, and :class:`TimeoutError` when nothing comes."""
        try:
            line = self._answers.get(timeout=within_s)
        except queue.Empty:
            raise TimeoutError(f"no answer within {within_s} s") from None
        if "error" in line:
            raise CallFailedError(line["error"])
        return line["result"]

    def event(self, within_s: float = PATIENCE_S) -> Event:
        """Wait for the next event."""
        try:
            return self._events.get(timeout=within_s)
        except queue.Empty:
            raise TimeoutError(f"no event within {within_s} s") from None

    def events(self) -> list[Event]:
        """Those that have come and were not looked at yet."""
        seen = []
        while not self._events.empty():
            seen.append(self._events.get())
        return seen


class Client:
    """A counterpart client. It speaks to one server at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._requests: dict[int, Pending] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.lines():
            self._requests[line["id"]].receive(line)

    def start(self, op: str, **members: Any) -> Pending:
        """Make a request, and do not wait."""
        pending = Pending(len(self._requests) + 1)
        self._requests[pending.id] = pending
        self._process.write({"id": pending.id, "op": op, **members})
        return pending

    def ask(self, op: str, **members: Any) -> Any:
        """Make a request and wait for its result."""
        return self.start(op, **members).result()

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool and wait for the result."""
        return self.ask("call", name=name, arguments=arguments)

    @contextmanager
    def connected(self, url: str, token: str | None = None) -> Iterator["Connection"]:
        """Connect to a server for the duration of the block, and present a bearer token if there is one."""
        pending = self.start("connect", url=url, token=token)
        connection = Connection(self, pending, pending.result())
        try:
            yield connection
        finally:
            self.ask("close")

    def close(self) -> None:
        """End the program."""
        self._process.close()
        self._reader.join(timeout=5)


@dataclass(frozen=True)
class Connection:
    """A client that is connected."""

    client: Client
    pending: Pending
    info: Any
    """``version``, ``serverInfo`` and ``capabilities``, as the SDK learned them."""

    def logs(self) -> list[Any]:
        """Log messages that have come so far and were not looked at yet."""
        return [event.params for event in self.pending.events() if event.name == "log"]


class Counterparts:
    """Programs by name, each started when it is first asked for, and once."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running = ExitStack()
        self._servers: dict[Program, str] = {}
        self._clients: dict[Program, Client] = {}

    def server(self, program: Program) -> str:
        """The URL of a running server."""
        if program not in self._servers:
            process = Process(program.command(), self._log(program))
            self._running.callback(process.close)
            self._servers[program] = next(process.lines())["url"]
        return self._servers[program]

    def client(self, program: Program) -> Client:
        """A running client, connected to nothing."""
        if program not in self._clients:
            client = Client(Process(program.command(), self._log(program)))
            self._running.callback(client.close)
            self._clients[program] = client
        return self._clients[program]

    @contextmanager
    def another_client(self, program: Program) -> Iterator[Client]:
        """One more of the same, for the duration of the block."""
        client = Client(Process(program.command(), self._log(program).with_suffix(".another.log")))
        try:
            yield client
        finally:
            client.close()

    def _log(self, program: Program) -> Path:
        return self._logs / f"{'-'.join(program.arguments).replace('/', '-')}.log"

    def close(self) -> None:
        """End everything."""
        self._running.close()
