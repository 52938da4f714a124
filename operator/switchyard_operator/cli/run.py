"""``switchyard run``: serve a gateway from manifests, and follow them as they change. No cluster.

The manifests are compiled into a private directory, as the operator would into a volume, and the sidecar runs on it in this
process. What is invalid never replaces what runs.
"""

import argparse
import asyncio
import signal
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

import uvloop

from switchyard_operator.api.resource import Key
from switchyard_operator.cli.following import changes
from switchyard_operator.cli.publishing import Publisher
from switchyard_operator.cli.unusable import UnusableInput
from switchyard_operator.cli.voice import Voice
from switchyard_operator.manifests.sources import Fingerprint, Sources
from switchyard_sidecar import logs
from switchyard_sidecar.main import until_signalled
from switchyard_sidecar.serving import Bound, ListenError, serve


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM. Raises :class:`UnusableInput` when there is nothing to serve or nowhere to."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)  # until the loop listens for them: the directory below must not stay behind
    logs.configure(arguments.log_format, arguments.log_level)
    sources = Sources.of(arguments.files)
    with tempfile.TemporaryDirectory(prefix="switchyard-") as temporary:
        seen = sources.fingerprint()
        publisher = Publisher(
            sources,
            arguments.gateway,
            Path(temporary, "config"),
            Voice(arguments.log_format),
            uses_port=arguments.port is None,
        )
        gateway = publisher.publish()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(until_signalled(_serve(arguments, gateway, publisher, seen)))
    return 0


def _end(_: int, __: FrameType | None) -> NoReturn:
    raise SystemExit(0)


async def _serve(arguments: argparse.Namespace, gateway: Key, publisher: Publisher, seen: Fingerprint) -> None:
    def announce(bound: Bound) -> None:
        admin = f", admin {bound.admin}" if bound.admin else ""
        print(f"{gateway} is served at {bound.url}{admin}", flush=True)  # noqa: T201

    refused: list[Exception] = []
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_follow(publisher, seen), name="follow manifests")
            await serve(
                publisher.directory,
                host=arguments.host,
                port=arguments.port,
                path=arguments.path,
                admin=None if arguments.admin_port is None else (arguments.host, arguments.admin_port),
                ready=announce,
            )
    except* ListenError as group:
        refused.extend(group.exceptions)
    if refused:
        raise UnusableInput(f"error: {error}" for error in refused)


async def _follow(publisher: Publisher, seen: Fingerprint) -> None:
    async for _ in changes(publisher.sources, seen):
        await asyncio.to_thread(publisher.publish_if_usable)
