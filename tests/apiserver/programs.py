"""Programs that are started for a test run and outlive it in no case."""

import os
import signal
import subprocess
from pathlib import Path

TAIL_BYTES = 4096


class Program:
    """A program that can be started, killed, stopped, continued and started again, with all it says in one log.

    It is out of reach of the terminal's Ctrl-C, so that it ends after the tests and not among them; and a guardian ends it when
    this process is gone without having done so, whatever ended it.
    """

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._guardian: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; at once, whether or not it is ready."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        # The guardian reads from a pipe that only we hold; the read ends when we do.
        self._guardian = subprocess.Popen(
            ["sh", "-c", 'read -r _; kill -KILL "$0"', str(self._process.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def kill(self) -> None:
        """End it as a crash does. Nothing happens when it does not run."""
        if self._process is None or self._guardian is None:
            return
        self._guardian.kill()
        self._guardian.communicate()
        self._process.kill()
        self._process.wait()
        self._process = self._guardian = None

    def pause(self) -> None:
        """Let it hang. When this returns none of its threads runs any more."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def check(self) -> None:
        """Raise, with the end of the log, when it should run and does not."""
        if self._process is None or self._process.poll() is not None:
            raise ProgramEndedError(f"{self._command[0]} does not run. {self.tail()}")

    def tail(self, after: int = 0) -> str:
        """The end of the log, of what was written from byte ``after`` on."""
        with self.log.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(after, size - TAIL_BYTES))
            return f"{self.log}:\n{log.read().decode(errors='replace')}"


class ProgramEndedError(Exception):
    """A program that is needed has ended by itself."""
