"""One gateway: from everything declared to everything its sidecar is given.

Pure: equal objects and an equal key give equal bytes. What does not resolve is reported and costs itself alone; a gateway is
refused as a whole only when serving it would open what a field of a later release is meant to close.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.aliases import aliases
from switchyard_operator.compile.backends import BackendCompiler, credential_of
from switchyard_operator.compile.children import child_key
from switchyard_operator.compile.members import members
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.prefixes import prefixes, shared_names
from switchyard_operator.compile.rendering import render, sealed
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_operator.compile.session_keys import SESSION_KEY_PREFIX
from switchyard_sidecar.config import model as config

CLUSTER_DOMAIN: Final = "cluster.local"
"""Of nearly every cluster. Names with another one are added to ``listener.allowedHosts`` by whoever uses them."""


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
    objects: Objects,
    gateway: Key,
    *,
    revision_key: bytes | None,
    session_keys: tuple[bytes, ...] = (),
    cluster: bool = False,
) -> CompiledGateway:
    """Compile one of the gateways in ``objects``.

    ``revision_key`` is the random key of credential revisions; it becomes part of the credentials. ``None`` leaves it out and gives
    every credential the same revision, for output that is looked at and not served. ``session_keys`` are those of a gateway in mode
    ``Deployment``, at most two, the one that signs first. ``cluster`` says that Secrets must carry the label by which their
    owners let the operator see them, and that cluster addresses can be reached.

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
    composed = _config(declared, tuple(section.backend for section in sections), renamed, cluster=cluster)
    credentials: dict[str, bytes] = {}
    if revision_key is not None:
        signing = {credential_of(SESSION_KEY_PREFIX, key, revision_key): key for key in session_keys}
        composed = _signed(composed, tuple(signing))
        credentials = {config.CREDENTIAL_KEY_FILE: revision_key, **{each.file: key for each, key in signing.items()}}
    return CompiledGateway(
        config=sealed(composed),
        credentials=credentials | {file: content for section in sections for file, content in section.files.items()},
        reports=(
            *_without_effect(declared),
            *reports,
            *shared_names(declared, included, chosen),
            *(report for section in sections for report in section.reports),
            *alias_reports,
        ),
    )


def withdrawn(gateway: MCPGateway, *, revision_key: bytes) -> CompiledGateway:
    """What a refused gateway's sidecars are given: no backend, so that what they served before ends."""
    return CompiledGateway(sealed(_config(gateway, (), (), cluster=True)), {config.CREDENTIAL_KEY_FILE: revision_key})


def _config(
    gateway: MCPGateway, backends: tuple[config.Backend, ...], renamed: tuple[config.Alias, ...], *, cluster: bool
) -> config.GatewayConfig:
    spec = gateway.spec
    hosts = spec.listener.allowed_hosts
    if cluster and spec.mode == "Deployment":
        hosts = tuple(dict.fromkeys((*hosts, *_service_hosts(gateway.key))))
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
            allowed_hosts=hosts,
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


def _service_hosts(gateway: Key) -> tuple[str, ...]:
    """The names by which clients reach the replicas; others are not accepted (DNS rebinding)."""
    service = child_key(gateway)
    qualified = f"{service.name}.{service.namespace}"
    return (service.name, qualified, f"{qualified}.svc", f"{qualified}.svc.{CLUSTER_DOMAIN}")


def _signed(composed: config.GatewayConfig, keys: tuple[config.Credential, ...]) -> config.GatewayConfig:
    names = ("session_key", "previous_session_key")
    return composed.model_copy(update=dict(zip(names, keys, strict=False)))


def _without_effect(gateway: MCPGateway) -> Iterator[Report]:
    spec = gateway.spec
    for name, value in (("replicas", spec.replicas), ("service", spec.service)):
        if value is not None and spec.mode != "Deployment":
            message = f"{name} has no effect in mode {spec.mode}"
            yield _on(gateway, Severity.WARNING, name, Reason.WITHOUT_EFFECT, message)


def _on(gateway: MCPGateway, severity: Severity, name: str, reason: Reason, message: str) -> Report:
    return Report(severity, Ref("MCPGateway", *gateway.key), ("spec", name), reason, message)
