"""``switchyard-sidecar``: serve one config directory until told to stop."""

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Final

import uvloop

from switchyard_sidecar import __version__, logs
from switchyard_sidecar.downstream import pace as downstream_pace
from switchyard_sidecar.serving import PACE, ListenError, Pace, serve

FULL_AFTER: Final = 50
"""Collections of the middle generation before a full one: some 350,000 objects more than there were. The start of 500 backends
makes 100,000 that stay. What waits so long to be collected is little: a connection that lived long leaves some twenty."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the sidecar; give the exit status: 0 after SIGTERM or Ctrl-C, 2 for unusable arguments or a taken port."""
    options = _parser().parse_args(argv)
    logs.configure(options.log_format, options.log_level)
    host, port = options.listen
    pace = Pace(clients=downstream_pace.Pace(drain_s=options.drain), linger_s=options.linger)
    run = serve(options.config, host=host, port=port, path=options.path, admin=options.admin, pace=pace)
    _spare_collections()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(until_signalled(run))
    except ListenError as error:
        print(f"switchyard-sidecar: {error}", file=sys.stderr)  # noqa: T201 - a command speaks to its user
        return 2
    return 0


async def until_signalled(run: Coroutine[Any, Any, None]) -> None:
    """Await ``run``; SIGTERM and SIGINT end it the graceful way, by cancelling it."""
    task = asyncio.ensure_future(run)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if not task.cancelled():
            raise


def _spare_collections() -> None:
    """Have fewer full collections of garbage, and smaller ones: nothing else runs meanwhile, for 0.4 us an object.

    What imports made, which is most of it where backends are few, stays as long as the process and is not looked at again.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL_AFTER)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchyard-sidecar", description="Serve the MCP gateway that a config directory describes."
    )
    parser.add_argument(
        "--config", required=True, type=Path, metavar="DIR", help="directory with gateway.json and cred_* files"
    )
    parser.add_argument(
        "--listen",
        default="127.0.0.1:8811",
        type=_address,
        metavar="HOST:PORT",
        help="MCP endpoint (default %(default)s)",
    )
    parser.add_argument("--path", metavar="PATH", help="path of the MCP endpoint (default: the config's, /mcp)")
    parser.add_argument(
        "--admin", type=_address, metavar="HOST:PORT", help="health, metrics and status (default: none)"
    )
    parser.add_argument(
        "--linger",
        default=PACE.linger_s,
        type=_seconds,
        metavar="S",
        help="told to stop, go on answering for so long where clients are still sent here (default %(default)s)",
    )
    parser.add_argument(
        "--drain",
        default=PACE.clients.drain_s,
        type=_seconds,
        metavar="S",
        help="then wait for calls under way for so long (default %(default)s)",
    )
    parser.add_argument("--log-format", choices=("json", "console"), default="json")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    parser.add_argument("--version", action="version", version=f"switchyard-sidecar {__version__}")
    return parser


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT, such as 127.0.0.1:8811 or [::1]:8811")
    return host, int(port)


def _seconds(text: str) -> float:
    value = float(text)  # argparse turns the ValueError into words
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


if __name__ == "__main__":
    sys.exit(main())
