"""``switchyard-operator``: keep the gateways of a cluster configured until told to stop.

Exit status: 0 after SIGTERM or Ctrl-C; 1 when it cannot go on and has to be started anew; 2 for arguments or a configuration
that cannot be used.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from switchyard_operator.api.resource import DEFAULT_NAMESPACE, Key
from switchyard_operator.controller.access import NoAccess
from switchyard_operator.controller.arguments import address, count, rate, seconds
from switchyard_operator.controller.certificates.holdings import AUTHORITY_DAYS, CERTIFICATE_DAYS, Lifetimes
from switchyard_operator.controller.certificates.keeper import Webhook
from switchyard_operator.controller.kube import KubeError
from switchyard_operator.controller.process import Options, operate
from switchyard_operator.workloads.arguments import add_arguments, installation
from switchyard_sidecar import __version__, logs

_POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

_DAY_S: Final = 24 * 60 * 60

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
        installation=installation(arguments),
        webhook=_webhook(arguments),
    )
    try:
        return asyncio.run(_until_signalled(options))
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


def _webhook(arguments: argparse.Namespace) -> Webhook | None:
    if arguments.webhook_configuration is None:
        return None
    home = arguments.lease_namespace or _home(arguments.namespace)
    authority, certificate = arguments.webhook_ca_lifetime, arguments.webhook_certificate_lifetime
    lifetimes = Lifetimes(timedelta(seconds=authority), timedelta(seconds=certificate))
    return Webhook(arguments.webhook_configuration, Key(home, arguments.webhook_secret), lifetimes)


def _home(namespaces: Sequence[str]) -> str:
    """Where the Lease lies unless told otherwise, and the webhook's certificates: in the pod's own namespace, or the first of those that are served."""
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
    add("--health", type=address, metavar="HOST:PORT", help="health and metrics")
    add("--lease-namespace", metavar="NAME", help="where the Lease lies; the pod's own unless given")
    add("--lease-name", default="switchyard-operator", metavar="NAME", help="one active replica a Lease")
    add("--lease-duration", type=seconds, default=15.0, metavar="S", help="the longest that nobody leads after a crash")
    add("--workers", type=count, default=4, metavar="N", help="gateways that are written at a time")
    add("--list-period", type=seconds, default=600.0, metavar="S", help="distance of lists beside the watches")
    add("--watch-inactivity", type=seconds, default=75.0, metavar="S", help="silence after which a watch is begun anew")
    add(
        "--probes", choices=("Local", "Disabled"), default="Local", help="whether this process looks at backends itself"
    )
    add(
        "--nudges",
        type=rate,
        default=50.0,
        metavar="N",
        help="pods that are annotated a second, so that kubelets hurry; 0: none",
    )
    add_arguments(parser, image_required=False)
    add("--webhook-configuration", metavar="NAME", help="keep the certificates of this MutatingWebhookConfiguration")
    add(
        "--webhook-secret",
        default="switchyard-webhook-certificates",
        metavar="NAME",
        help="where they lie, beside the Lease",
    )
    add(
        "--webhook-ca-lifetime",
        type=seconds,
        default=AUTHORITY_DAYS * _DAY_S,
        metavar="S",
        help="of their authority; a new one signs after two thirds of it",
    )
    add(
        "--webhook-certificate-lifetime",
        type=seconds,
        default=CERTIFICATE_DAYS * _DAY_S,
        metavar="S",
        help="there is a new one after two thirds of it",
    )
    add("--log-format", choices=("json", "console"), default="json", help="for machines or for people")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="from here on")
    add("--version", action="version", version=f"switchyard-operator {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
