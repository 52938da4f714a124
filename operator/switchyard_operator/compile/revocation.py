"""What remains of a config that cannot be replaced, when some of its backends or tokens may not be used any more."""

from collections.abc import Callable, Collection

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.backends import credential_for, findings, left_out
from switchyard_operator.compile.credentials import Credentials
from switchyard_operator.compile.grants import admits, withholds_credentials
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.rendering import sealed
from switchyard_operator.compile.reports import Reason, Severity
from switchyard_sidecar.config.model import Authentication, Backend, Credential, GatewayConfig


def revocation(backend: Key, namespace: str, objects: Objects) -> str | None:
    """Why gateways of ``namespace`` may not use that backend now; ``None`` when they may. In a cluster."""
    declared = objects.backends.get(backend)
    if declared is None or not admits(declared, namespace, objects):
        return Reason.BACKEND_NOT_FOUND
    if withholds_credentials(declared, namespace):
        return Reason.CREDENTIALS_WITHHELD
    errors = (each for each in findings(declared, objects, cluster=True) if each.severity is Severity.ERROR)
    return next((each.reason for each in errors), None)


def valid_tokens(namespace: str, objects: Objects, revision_key: bytes) -> Collection[Credential]:
    """What may still stand for a caller of a gateway of ``namespace``: what its Secrets hold now, as configs name it. In a cluster."""
    held = Credentials(objects, namespace, require_label=True).held()
    return [credential_for(each, revision_key) for each in held]


def without_revoked(
    config: GatewayConfig, why: Callable[[Key], str | None], tokens: Collection[Credential]
) -> GatewayConfig:
    """The config with the sections of some backends emptied, and without tokens other than ``tokens``.

    Backends keep their places, so that no other's names change; ``why`` says for what reason one is left out, if it is. Where there is
    nothing to leave out, this is ``config``.
    """

    def remaining(section: Backend) -> Backend:
        key = Key(section.namespace, section.name)
        reason = None if section.unresolved is not None else why(key)
        return section if reason is None else left_out(key, section.prefix, reason)

    sections, admission = tuple(map(remaining, config.backends)), config.authentication
    if admission is not None:
        valid = tuple(each for each in admission.tokens if each.credential in tokens)
        admission = admission.model_copy(update={"tokens": valid})
    if (sections, admission) == (config.backends, config.authentication):
        return config
    return sealed(config.model_copy(update={"backends": sections, "authentication": admission}))


def guards_as_well(config: GatewayConfig, other: GatewayConfig) -> bool:
    """Whether ``config`` lets in nobody whom the other does not, and limits what is seen as the other does, if that does."""
    theirs = other.authentication
    if theirs is not None:
        ours = config.authentication
        if ours is None or not all(each in theirs.issuers for each in ours.issuers):
            return False
        if not all(each in theirs.tokens for each in ours.tokens):
            return False
    return other.visibility is None or other.visibility == config.visibility


def emptied(config: GatewayConfig) -> GatewayConfig:
    """The config with nothing to list or call, and for nobody."""
    # No sidecar may refuse it, as it would what it is required to know.
    nothing = {"backends": (), "aliases": (), "requires": (), "authentication": Authentication()}
    return sealed(config.model_copy(update=nothing))
