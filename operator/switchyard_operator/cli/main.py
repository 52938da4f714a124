"""The ``switchyard`` command: arguments in, exit code out.

0: done; what runs until it is told to stop ends so by Ctrl-C and SIGTERM. 1: done, and something is left out (``compile``), wrong
(``lint``) or not as pinned (``pin --check``). 2: the arguments or the files cannot be used, and standard error says what to correct, a line for each thing. Each command is imported when it is called: the server only
where it serves, and YAML only where there are manifests.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from switchyard_operator.api.resource import DEFAULT_NAMESPACE, Key
from switchyard_operator.cli.unusable import UnusableInput
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
    except ModuleNotFoundError as missing:
        if missing.name != "yaml":
            raise
        print(f"error: manifests need PyYAML: {_remedy()}", file=sys.stderr)  # noqa: T201
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _remedy() -> str:
    """Where PyYAML comes from. The images have no pip; the operator's has PyYAML."""
    install = "pip install 'mcp-switchyard[cli]'"
    if find_spec("pip") is not None:
        return install
    pod = "kubectl exec -i -n switchyard-system deploy/switchyard-operator -- switchyard"
    return f"there is no pip here, so use the operator's pod (`{pod} COMMAND -f - < FILE`), or elsewhere {install}"


def _run(arguments: argparse.Namespace) -> int:
    from switchyard_operator.cli.run import run  # noqa: PLC0415 - see above

    return run(arguments)


def _compile(arguments: argparse.Namespace) -> int:
    from switchyard_operator.cli.compile import run  # noqa: PLC0415 - see above

    return run(arguments)


def _lint(arguments: argparse.Namespace) -> int:
    from switchyard_operator.cli.lint.command import run  # noqa: PLC0415 - see above

    return run(arguments)


def _pin(arguments: argparse.Namespace) -> int:
    from switchyard_operator.cli.pin.command import run  # noqa: PLC0415 - see above

    return run(arguments)


def _version(_: argparse.Namespace) -> int:
    print(f"switchyard {__version__}")  # noqa: T201
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchyard", description="Federate MCP servers: one list for all their tools."
    )
    parser.add_argument("--version", action="version", version=f"switchyard {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="serve a gateway from manifests, without a cluster")
    _add_manifests(run)
    _add_gateway(run)
    run.add_argument("--host", default="127.0.0.1", help="the address to listen on (default %(default)s)")
    run.add_argument("--port", type=_port, help="the port, 0 for any free one (default: the gateway's)")
    run.add_argument("--path", type=_path, help="the path of the endpoint (default: the gateway's)")
    run.add_argument("--admin-port", type=_port, help="serve health, metrics and status on this port too")
    run.add_argument("--log-format", choices=("console", "json"), default="console")
    run.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    run.set_defaults(command=_run)

    compile_ = commands.add_parser("compile", help="print what the operator would write")
    _add_manifests(compile_)
    _add_gateway(compile_)
    compile_.add_argument("--show-secrets", action="store_true", help="print secret values instead of <redacted>")
    compile_.set_defaults(command=_compile)

    lint = commands.add_parser("lint", help="say what is wrong with manifests, or may be, for pull requests")
    _add_manifests(lint)
    lint.add_argument("--strict", action="store_true", help="let warnings fail, too")
    lint.add_argument(
        "--against",
        metavar="PATH|COMMIT",
        help="the old version, as a path or else as a git commit: warn of tools that are renamed since",
    )
    lint.add_argument(
        "--format",
        choices=("text", "json", "github"),
        default="text",
        help="lines for people, a JSON array, or annotations for GitHub Actions (default %(default)s)",
    )
    lint.set_defaults(command=_lint)

    pin = commands.add_parser("pin", help="ask backends for their tools, and pin the definitions that they list now")
    _add_manifests(pin)
    pin.add_argument(
        "--backend",
        action="append",
        type=_key,
        metavar="NS/NAME",
        dest="backends",
        help="the backend; repeatable (default: all in the files)",
    )
    pin.add_argument("--write", action="store_true", help="change the files, and not only print the diff")
    pin.add_argument("--check", action="store_true", help="exit with 1 where there is a diff")
    pin.set_defaults(command=_pin)

    version = commands.add_parser("version", help="print the version")
    version.set_defaults(command=_version)
    return parser


def _add_manifests(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        required=True,
        metavar="PATH",
        dest="files",
        help="a file with manifests, a folder (*.yaml, *.yml, *.json, also below), or - for standard input; repeatable",
    )


def _add_gateway(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gateway", type=_key, metavar="NS/NAME", help="the gateway, when the files declare several")


def _key(text: str) -> Key:
    namespace, _, name = text.rpartition("/")
    if not name or "/" in namespace:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAMESPACE/NAME")
    return Key(namespace or DEFAULT_NAMESPACE, name)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 0 to {_HIGHEST_PORT}")
    return int(text)


def _path(text: str) -> str:
    if not text.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r} does not begin with '/'")
    return text
