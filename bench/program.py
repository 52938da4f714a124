"""Programs of the bench's own, in processes of their own: started, told what to do and answering in lines of JSON."""

import asyncio
import contextlib
import json
import select
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from bench.machine import LOAD_CORE, BenchError, Process, started

PATIENCE_S: Final = 120.0


class Program:
    """One that runs. Its first line says what it is to be known by."""

    def __init__(self, name: str, process: Process) -> None:
        self.process = process
        self._name = name
        self.hello = self.heard()

    def ask(self, **command: Any) -> dict[str, Any]:
        """Tell it something; give its answer."""
        stdin = self.process.popen.stdin
        if stdin is None:
            raise BenchError(f"{self._name} was started without pipes")
        stdin.write(json.dumps(command).encode() + b"\n")
        stdin.flush()
        return self.heard()

    def heard(self) -> dict[str, Any]:
        """The next line it says.

        Raises:
            BenchError: it says nothing, or has ended.
        """
        stdout = self.process.popen.stdout
        if stdout is None or not select.select([stdout], [], [], PATIENCE_S)[0]:
            raise BenchError(f"{self._name} says nothing for {PATIENCE_S:g} s")
        line = stdout.readline()
        if not line:
            raise BenchError(f"{self._name} has ended, status {self.process.popen.wait()}")
        said: dict[str, Any] = json.loads(line)
        return said


@contextlib.contextmanager
def running(module: str, *arguments: str, core: str = LOAD_CORE) -> Iterator[Program]:
    """A module of the bench as a program, while the block runs."""
    with started([sys.executable, "-m", module, *arguments], core, pipes=True) as process:
        yield Program(module, process)


def say(**what: Any) -> None:
    """Say one line, from inside a program."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def obey(command: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]) -> None:
    """Do what is told on stdin, one line at a time, until it ends; from inside a program."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        say(**await command(json.loads(line)))
