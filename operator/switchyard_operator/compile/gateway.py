"""One gateway: from everything declared to everything its sidecar is given.

Pure: equal objects and an equal key give equal bytes. What does not resolve is reported and costs itself alone; a gateway is
refused as a whole only when serving it would open what a field of a later release is meant to close.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.aliases import aliases
from switchyard_operator.compile.backends import BackendCompiler
from switchyard_operator.compile.members import members
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.prefixes import prefixes, shared_names
from switchyard_operator.compile.rendering import render, sealed
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_sidecar.config import model as config


@dataclass(frozen=True, slots=True)
class CompiledGateway:
    """What one gateway's sidecars are given."""

    config: config.GatewayConfig
    credentials: Mapping[str, bytes] = field(repr=False)
    """Content by file name: ``cred_*``, with the key of revisions among them."""
    reports: tuple[Report, ...] = ()
    """What was found on the way, in the order of fields."""

    def files(self) -> dict[str, bytes]:
        """The flat config directory."""
        return {config.CONFIG_FILE: render(self.config), **self.credentials}


class GatewayRefused(Exception):  # noqa: N818 - the name says it
    """The gateway asks for protection that is not available yet, so that it must not be served at all."""

    def __init__(self, reports: tuple[Report, ...]) -> None:
        super().__init__("\n".join(map(str, reports)))
        self.reports = reports


def compile_gateway(
    objects: Objects, gateway: Key, *, revision_key: bytes | None, cluster: bool = False
) -> CompiledGateway:
    """Compile one of the gateways in ``objects``.

    ``revision_key`` is the random key of credential revisions; it becomes part of the credentials. ``None`` leaves it out and gives
    every credential the same revision, for output that is looked at and not served. ``cluster`` says that Secrets must carry
    the label by which their owners let the operator see them, and that cluster addresses can be reached.

    Raises :class:`GatewayRefused`, and ``KeyError`` when there is no such gateway.
    """
    declared = objects.gateways[gateway]
    refusals = tuple(_refusals(declared))
    if refusals:
        raise GatewayRefused(refusals)
    included, reports = members(declared, objects)
    chosen = prefixes(declared, included)
    compiler = BackendCompiler(objects, gateway, cluster, revision_key)
    sections = [compiler.section(member, prefix) for member, prefix in zip(included, chosen, strict=True)]
    renamed, alias_reports = aliases(declared, {member.key for member in included}, objects)
    credentials = {} if revision_key is None else {config.CREDENTIAL_KEY_FILE: revision_key}
    return CompiledGateway(
        config=sealed(_config(declared, tuple(section.backend for section in sections), renamed)),
        credentials=credentials | {file: content for section in sections for file, content in section.files.items()},
        reports=(
            *_not_effective(declared),
            *reports,
            *shared_names(declared, included, chosen),
            *(report for section in sections for report in section.reports),
            *alias_reports,
        ),
    )


def withdrawn(gateway: MCPGateway, *, revision_key: bytes) -> CompiledGateway:
    """What a refused gateway's sidecars are given: no backend, so that what they served before ends."""
    return CompiledGateway(sealed(_config(gateway, (), ())), {config.CREDENTIAL_KEY_FILE: revision_key})


def _config(
    gateway: MCPGateway, backends: tuple[config.Backend, ...], renamed: tuple[config.Alias, ...]
) -> config.GatewayConfig:
    spec = gateway.spec
    return config.GatewayConfig(
        namespace=gateway.key.namespace,
        name=gateway.key.name,
        instructions=spec.instructions,
        naming=config.Naming(
            separator=spec.naming.separator,
            max_length=spec.naming.max_length,
            charset=spec.naming.charset,
        ),
        order=spec.order,
        page_size=spec.page_size,
        failure_policy=spec.failure_policy,
        protocols=spec.protocols,
        listener=config.Listener(
            port=spec.listener.port,
            path=spec.listener.path,
            allowed_origins=spec.listener.allowed_origins,
            allowed_hosts=spec.listener.allowed_hosts,
            public_url=spec.listener.public_url,
        ),
        backends=backends,
        aliases=renamed,
    )


def _refusals(gateway: MCPGateway) -> Iterator[Report]:
    if gateway.spec.auth is not None:
        message = "auth is not available yet; the gateway is refused rather than served to everyone: remove spec.auth"
        yield _on(gateway, Severity.ERROR, "auth", Reason.AUTH_NOT_SUPPORTED, message)
    if gateway.spec.visibility is not None:
        message = (
            "visibility is not available yet; the gateway is refused rather than shown to all: remove spec.visibility"
        )
        yield _on(gateway, Severity.ERROR, "visibility", Reason.VISIBILITY_NOT_SUPPORTED, message)


def _not_effective(gateway: MCPGateway) -> Iterator[Report]:
    spec = gateway.spec
    if spec.mode == "Deployment":
        message = "Deployment has no effect yet: the gateway is served as a sidecar or by `switchyard run`"
        yield _on(gateway, Severity.WARNING, "mode", Reason.NOT_YET_EFFECTIVE, message)
    for name, value in (("replicas", spec.replicas), ("service", spec.service)):
        if value is not None:
            message = f"{name} has no effect yet"
            yield _on(gateway, Severity.WARNING, name, Reason.NOT_YET_EFFECTIVE, message)


def _on(gateway: MCPGateway, severity: Severity, name: str, reason: Reason, message: str) -> Report:
    return Report(severity, Ref("MCPGateway", *gateway.key), ("spec", name), reason, message)
