"""``switchyard-webhook``: answer the API server about pods until told to stop.

Exit status: 0 after SIGTERM or Ctrl-C; 1 when it cannot go on and has to be started anew; 2 for arguments or a configuration
that cannot be used.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from switchyard_operator.controller.access import NoAccess
from switchyard_operator.controller.arguments import address, duration
from switchyard_operator.controller.kube import KubeError
from switchyard_operator.injection.process import Options, serve
from switchyard_operator.workloads.arguments import add_arguments, installation
from switchyard_sidecar import __version__, logs

_log = structlog.get_logger()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the webhook; give the exit status."""
    arguments = _parser().parse_args(argv)
    logs.configure(arguments.log_format, arguments.log_level)
    options = Options(
        kubeconfig=arguments.kubeconfig,
        namespaces=tuple(dict.fromkeys(arguments.namespace)),
        listen=arguments.listen,
        certificates=arguments.certificates,
        health=arguments.health,
        installation=installation(arguments),
        drain_s=arguments.drain,
    )
    try:
        return asyncio.run(_until_signalled(options))
    except (NoAccess, OSError) as error:
        print(f"switchyard-webhook: {error}", file=sys.stderr)  # noqa: T201 - a command speaks to its user
        return 2


async def _until_signalled(options: Options) -> int:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        await serve(options, stopped)
    except KubeError as error:
        _log.error("ended", error=str(error))
        return 1
    except ExceptionGroup as ended:
        _log.exception("ended", error=str(ended.exceptions[0]))
        return 1
    _log.info("stopped")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchyard-webhook",
        description="Add the sidecar to pods that ask for an MCPGateway.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--listen", type=address, default="0.0.0.0:9443", metavar="HOST:PORT", help="TLS endpoint for the API server")
    add("--certificates", type=Path, required=True, metavar="DIR", help="folder with tls.crt and tls.key")
    add("--health", type=address, metavar="HOST:PORT", help="health and metrics")
    add_arguments(parser, image_required=True)
    add("--namespace", action="append", default=[], metavar="NAME", help="follow gateways there alone; may be repeated")
    add("--kubeconfig", type=Path, metavar="FILE", help="instead of KUBECONFIG, the pod's account or ~/.kube/config")
    add("--drain", type=duration, default=5.0, metavar="S", help="go on answering for so long when told to stop")
    add("--log-format", choices=("json", "console"), default="json", help="for machines or for people")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="from here on")
    add("--version", action="version", version=f"switchyard-webhook {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
