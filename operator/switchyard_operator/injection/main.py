"""``switchyard-webhook``: answer the API server about pods until told to stop.

Exit status: 0 after SIGTERM or Ctrl-C; 1 when it cannot go on and has to be started anew; 2 for arguments or a configuration
that cannot be used.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog
import uvloop
from pydantic import ValidationError

from switchyard_operator.api.explain import explain
from switchyard_operator.api.fields import dotted
from switchyard_operator.api.gateway_sidecar import Resources
from switchyard_operator.controller.access import NoAccess
from switchyard_operator.controller.arguments import address, duration
from switchyard_operator.controller.kube import KubeError
from switchyard_operator.injection.process import Options, serve
from switchyard_operator.workloads.settings import DEFAULT_RESOURCES, Installation
from switchyard_sidecar import __version__, logs

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")

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
        installation=Installation(
            image=arguments.sidecar_image,
            pull_policy=arguments.sidecar_pull_policy,
            pull_secrets=tuple(arguments.sidecar_pull_secret),
            resources=arguments.sidecar_resources,
            admin_host=_any_address(),
        ),
        drain_s=arguments.drain,
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_until_signalled(options))
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


def _any_address() -> str:
    """Every address of a pod, of the family that this cluster's pods have: as its first Service, so its pods."""
    return "[::]" if ":" in os.environ.get("KUBERNETES_SERVICE_HOST", "") else "0.0.0.0"  # noqa: S104


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
    add("--sidecar-image", required=True, metavar="IMAGE", help="where a gateway names none")
    add(
        "--sidecar-pull-policy",
        choices=_PULL_POLICIES,
        help="where a gateway names none; by the image's tag unless given",
    )
    add("--sidecar-pull-secret", action="append", default=[], metavar="NAME", help="added to pods; may be repeated")
    add(
        "--sidecar-resources",
        type=_resources,
        default=DEFAULT_RESOURCES.model_dump_json(exclude_none=True),
        metavar="JSON",
        help="requests and limits where a gateway names none",
    )
    add("--namespace", action="append", default=[], metavar="NAME", help="follow gateways there alone; may be repeated")
    add("--kubeconfig", type=Path, metavar="FILE", help="instead of KUBECONFIG, the pod's account or ~/.kube/config")
    add("--drain", type=duration, default=5.0, metavar="S", help="go on answering for so long when told to stop")
    add("--log-format", choices=("json", "console"), default="json", help="for machines or for people")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="from here on")
    add("--version", action="version", version=f"switchyard-webhook {__version__}")
    return parser


def _resources(text: str) -> Resources:
    try:
        return Resources.model_validate_json(text)
    except ValidationError as error:
        faults = [
            f"{dotted(each.field)}: {each.message}" if each.field else each.message
            for each in explain(Resources, error)
        ]
        raise argparse.ArgumentTypeError(f"{text!r}: {'; '.join(faults)}") from error


if __name__ == "__main__":
    sys.exit(main())
