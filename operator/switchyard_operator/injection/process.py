"""One replica of the webhook: what it needs to know, where it listens, and how it leaves without a pod going by."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Gauge

from switchyard_operator.controller.access import Access
from switchyard_operator.controller.health import Health
from switchyard_operator.controller.kube import Kube
from switchyard_operator.injection.certificate import Certificate
from switchyard_operator.injection.gateways import Gateways
from switchyard_operator.injection.server import Admission
from switchyard_operator.workloads.settings import Installation

LISTED_S: Final = 10.0
"""How long it waits at the start to have seen all gateways. Afterwards it answers by what it knows: better defaults than no sidecar."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    kubeconfig: Path | None
    namespaces: tuple[str, ...]
    """Whose gateways are followed; empty: all."""
    listen: tuple[str, int]
    certificates: Path
    """The folder with ``tls.crt`` and ``tls.key``."""
    health: tuple[str, int] | None
    """Where health and metrics are told; ``None``: nowhere."""
    installation: Installation
    drain_s: float
    """How long it goes on answering when it was told to stop."""


async def serve(options: Options, stopped: asyncio.Event) -> None:
    """Run one replica until ``stopped``.

    Raises:
        NoAccess: there is no way to an API server.
        OSError: an address cannot be listened on.
        ExceptionGroup: it cannot go on, and has to be started anew.
    """
    registry = CollectorRegistry()
    access = await Access.load(options.kubeconfig)
    async with Kube(access) as kube, AsyncExitStack() as stack:
        gateways = Gateways(access, kube, options.namespaces, registry)
        certificate = Certificate(options.certificates)
        admission = Admission(options.installation, gateways.get, registry)
        Gauge(
            "switchyard_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate in use ends; 0: there is none yet.",
            registry=registry,
        ).set_function(lambda: certificate.expires_s)
        if options.health is not None:
            health = Health(registry)
            health.watch(gateways.faults, lambda: _waiting(admission, stopped))
            stack.push_async_callback(health.close)
            _log.info("listening", url=await health.listen(*options.health))
        async with asyncio.TaskGroup() as tasks:
            parts = [
                tasks.create_task(gateways.run(), name="gateways"),
                tasks.create_task(certificate.follow(), name="certificate"),
                tasks.create_task(_listen(options, gateways, certificate, admission), name="listen"),
            ]
            await stopped.wait()
            if admission.listening:
                _log.info("leaving", seconds=options.drain_s)
                admission.leave()
                await asyncio.sleep(options.drain_s)
            for part in parts:
                part.cancel()
        await admission.close()


async def _listen(options: Options, gateways: Gateways, certificate: Certificate, admission: Admission) -> None:
    await certificate.usable.wait()
    try:
        async with asyncio.timeout(LISTED_S):
            await gateways.listed.wait()
    except TimeoutError:
        _log.warning("gateways_not_listed", effect="sidecars are as the installation says until they are")
    _log.info("answering", url=await admission.listen(*options.listen, certificate.tls))


def _waiting(admission: Admission, stopped: asyncio.Event) -> Iterator[str]:
    """What it is not ready for."""
    if stopped.is_set():
        yield "it has been told to stop"
    elif not admission.listening:
        yield "it has no certificate yet, or has not seen the gateways"
