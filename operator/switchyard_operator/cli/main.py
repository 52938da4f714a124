"""The ``switchyard`` command: arguments in, exit code out.

0: done. 2: the arguments or the files cannot be used, and standard error says what to correct, a line for each thing.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from switchyard_operator.cli import compile as compile_command
from switchyard_operator.cli.inputs import UnusableInput, add_arguments
from switchyard_sidecar import __version__

_HIGHEST_PORT: Final = 65535


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the entry point of the ``switchyard`` script."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.command(arguments)
        sys.stdout.flush()
    except UnusableInput as unusable:
        for line in unusable.lines:
            print(line, file=sys.stderr)  # noqa: T201
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchyard", description="Federate MCP servers: one list for all their tools."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="serve a gateway from manifests, without a cluster")
    add_arguments(run)
    run.add_argument("--host", default="127.0.0.1", help="the address to listen on (default %(default)s)")
    run.add_argument("--port", type=_port, help="the port, 0 for any free one (default: the gateway's)")
    run.add_argument("--path", type=_path, help="the path of the endpoint (default: the gateway's)")
    run.add_argument("--admin-port", type=_port, help="serve health, metrics and status on this port too")
    run.add_argument("--log-format", choices=("console", "json"), default="console")
    run.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    run.set_defaults(command=_run)

    compile_ = commands.add_parser("compile", help="print what the operator would write")
    add_arguments(compile_)
    compile_.add_argument("--show-secrets", action="store_true", help="print secret values instead of <redacted>")
    compile_.set_defaults(command=compile_command.run)

    version = commands.add_parser("version", help="print the version")
    version.set_defaults(command=_version)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    from switchyard_operator.cli.run import run  # noqa: PLC0415 - the server is loaded only where it serves

    return run(arguments)


def _version(_: argparse.Namespace) -> int:
    print(f"switchyard {__version__}")  # noqa: T201
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 0 to {_HIGHEST_PORT}")
    return int(text)


def _path(text: str) -> str:
    if not text.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r} does not begin with '/'")
    return text
