"""``switchyard-operator``: keep the gateways of a cluster configured until told to stop.

Exit status: 0 after SIGTERM or Ctrl-C; 1 when it cannot go on and has to be started anew; 2 for arguments or a configuration
that cannot be used.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog
import uvloop

from switchyard_operator.api.resource import DEFAULT_NAMESPACE, Key
from switchyard_operator.controller.access import NoAccess
from switchyard_operator.controller.kube import KubeError
from switchyard_operator.controller.process import Options, operate
from switchyard_sidecar import __version__, logs

_POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

_log = structlog.get_logger()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the operator; give the exit status."""
    arguments = _parser().parse_args(argv)
    logs.configure(arguments.log_format, arguments.log_level)
    options = Options(
        kubeconfig=arguments.kubeconfig,
        namespaces=tuple(dict.fromkeys(arguments.namespace)),
        health=arguments.health,
        lease=Key(arguments.lease_namespace or _home(arguments.namespace), arguments.lease_name),
        lease_duration_s=arguments.lease_duration,
        workers=arguments.workers,
        list_period_s=arguments.list_period,
        watch_inactivity_s=arguments.watch_inactivity,
        probes=arguments.probes == "Local",
        nudges_per_second=arguments.nudges,
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_until_signalled(options))
    except (NoAccess, OSError) as error:
        print(f"switchyard-operator: {error}", file=sys.stderr)  # noqa: T201 - a command speaks to its user
        return 2


async def _until_signalled(options: Options) -> int:
    task = asyncio.create_task(operate(options), name="operate")
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        _log.info("stopped")
        return 0
    except KubeError as error:
        _log.error("ended", error=str(error))
    except ExceptionGroup as ended:
        _log.exception("ended", error=str(ended.exceptions[0]))
    return 1


def _home(namespaces: Sequence[str]) -> str:
    """Where the Lease lies unless told otherwise: in the pod's own namespace, or the first of those that are served."""
    try:
        return _POD_NAMESPACE.read_text().strip()
    except OSError:
        return namespaces[0] if namespaces else DEFAULT_NAMESPACE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchyard-operator",
        description="Keep the MCPGateways of a cluster configured.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--kubeconfig", type=Path, metavar="FILE", help="instead of KUBECONFIG, the pod's account or ~/.kube/config")
    add("--namespace", action="append", default=[], metavar="NAME", help="serve this one alone; may be repeated")
    add("--health", type=_address, metavar="HOST:PORT", help="health and metrics")
    add("--lease-namespace", metavar="NAME", help="where the Lease lies; the pod's own unless given")
    add("--lease-name", default="switchyard-operator", metavar="NAME", help="one active replica a Lease")
    add(
        "--lease-duration", type=_seconds, default=15.0, metavar="S", help="the longest that nobody leads after a crash"
    )
    add("--workers", type=_count, default=4, metavar="N", help="gateways that are written at a time")
    add("--list-period", type=_seconds, default=600.0, metavar="S", help="distance of lists beside the watches")
    add(
        "--watch-inactivity", type=_seconds, default=75.0, metavar="S", help="silence after which a watch is begun anew"
    )
    add(
        "--probes", choices=("Local", "Disabled"), default="Local", help="whether this process looks at backends itself"
    )
    add(
        "--nudges",
        type=_rate,
        default=50.0,
        metavar="N",
        help="pods that are annotated a second, so that kubelets hurry; 0: none",
    )
    add("--log-format", choices=("json", "console"), default="json", help="for machines or for people")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="from here on")
    add("--version", action="version", version=f"switchyard-operator {__version__}")
    return parser


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT, such as 0.0.0.0:8080 or [::]:8080")
    return host, int(port)


def _count(text: str) -> int:
    value = int(text)  # argparse turns the ValueError into words
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is less than 1")
    return value


def _seconds(text: str) -> float:
    value = float(text)  # argparse turns the ValueError into words
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def _rate(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of pods per second")
    return value


if __name__ == "__main__":
    sys.exit(main())
