"""What remains of a config that cannot be replaced, when some of its backends may not be used any more."""

from collections.abc import Callable

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.backends import findings, left_out
from switchyard_operator.compile.grants import admits, withholds_credentials
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.rendering import sealed
from switchyard_operator.compile.reports import Reason, Severity
from switchyard_sidecar.config.model import Backend, GatewayConfig


def revocation(backend: Key, namespace: str, objects: Objects) -> str | None:
    """Why gateways of ``namespace`` may not use that backend now; ``None`` when they may. In a cluster."""
    declared = objects.backends.get(backend)
    if declared is None or not admits(declared, namespace, objects):
        return Reason.BACKEND_NOT_FOUND
    if withholds_credentials(declared, namespace):
        return Reason.CREDENTIALS_WITHHELD
    errors = (each for each in findings(declared, objects, cluster=True) if each.severity is Severity.ERROR)
    return next((each.reason for each in errors), None)


def without_revoked(config: GatewayConfig, why: Callable[[Key], str | None]) -> GatewayConfig:
    """The config with the sections of some backends emptied; they keep their places, so that no other's names change.

    ``why`` says of a backend for what reason it is left out, if it is. Where there is none to leave out, this is ``config``.
    """

    def remaining(section: Backend) -> Backend:
        key = Key(section.namespace, section.name)
        reason = None if section.unresolved is not None else why(key)
        return section if reason is None else left_out(key, section.prefix, reason)

    sections = tuple(map(remaining, config.backends))
    return config if sections == config.backends else sealed(config.model_copy(update={"backends": sections}))
