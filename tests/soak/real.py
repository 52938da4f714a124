"""Servers on official SDKs in a soak: processes that are killed, stopped and started again; their lists stay as they are."""

import asyncio
import json
import signal
from pathlib import Path

import aiohttp

from fakes.clients import Answer, LegacyClient, ModernClient
from integration.matrix.programs import Process, Program
from soak.facts import RECOVERY_S, Definition
from soak.judge import Judge
from soak.plan import Kind, Player
from soak.ports import free_port


class Real:
    """A server on an official SDK, in a process of its own. Its list stays as it is."""

    def __init__(self, player: Player, program: Program, judge: Judge, log: Path) -> None:
        self.player = player
        self._program = program
        self._judge = judge
        self._log = log
        self._port = free_port()
        self._process: Process | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}/mcp"

    async def start(self) -> None:
        """Start it, always on the same port."""
        program = Program(self._program.part, (*self._program.arguments, "--port", str(self._port)))
        self._process = process = await asyncio.to_thread(Process, program.command(), self._log)
        if await asyncio.to_thread(lambda: next(process.lines(), None)) is None:
            raise RuntimeError(f"{self.player.name} did not start: see {self._log}")

    async def stop(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process._process.kill()
            await asyncio.to_thread(self._process.close)
            self._process = None

    async def learn(self, http: aiohttp.ClientSession) -> None:
        """Ask it, without anything in between, what it lists."""
        client: ModernClient | LegacyClient
        if self.player.era == "modern":
            client = ModernClient(self.url, http)
        else:
            client = LegacyClient(self.url, http)
            await client.initialize()
        tools: dict[str, Definition] = {}
        cursor: str | None = None
        while True:
            answer = await client.list(cursor)
            for entry in entries_of(answer):
                name = str(json.loads(entry)["name"])
                head, found, tail = entry.partition(b'"name":' + json.dumps(name).encode())
                assert found, entry
                tools[name] = Definition(head + b'"name":', tail, exact_for_legacy=False)
            cursor = answer.result.get("nextCursor")
            if cursor is None:
                break
        if isinstance(client, LegacyClient):
            await client.delete()
        self._judge.version(self.player.name, tools)

    async def suffer(self, kind: Kind, for_s: float) -> None:
        """Die, and be started again; or be stopped, and go on."""
        illness = self._judge.falls_ill(self.player.name, kind, recovery_s=RECOVERY_S)
        try:
            if kind is Kind.DIE:
                await self.stop()
                await asyncio.sleep(for_s)
                await self.start()
            elif self._process is not None:
                self._process._process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(for_s)
                self._process._process.send_signal(signal.SIGCONT)
        finally:
            self._judge.is_well(illness)


def entries_of(answer: Answer) -> list[bytes]:
    """The definitions of a list answer, byte for byte, by an own and simple reading: whole values, one after the other."""
    text = answer.body.decode()
    if answer.headers.get("Content-Type", "").startswith("text/event-stream"):
        text = text[text.index("data: ") + 6 :]
    at = text.index('"tools":[') + len('"tools":[')
    decoder = json.JSONDecoder()
    entries: list[bytes] = []
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        entries.append(text[at:end].encode())
        at = end + 1 if text[end] == "," else end
    return entries
