"""One gateway: from everything declared to everything its sidecar is given.

Pure: equal objects and an equal key give equal bytes. What does not resolve is reported and costs itself alone. What says who is let in
and who sees what is never left out: a part of it that does not resolve lets nobody in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Final

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.compile.aliases import aliases
from switchyard_operator.compile.authentication import ServiceAccountIssuer, authentication
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


def compile_gateway(
    objects: Objects,
    gateway: Key,
    *,
    revision_key: bytes | None,
    session_keys: tuple[bytes, ...] = (),
    cluster: bool = False,
    service_accounts: ServiceAccountIssuer | None = None,
) -> CompiledGateway:
    """Compile one of the gateways in ``objects``.

    ``revision_key`` is the random key of credential revisions; it becomes part of the credentials. ``None`` leaves it out and gives
    every credential the same revision, for output that is looked at and not served. ``session_keys`` are those of a gateway in mode
    ``Deployment``, at most two, the one that signs first. ``cluster`` says that Secrets must carry the label by which their
    owners let the operator see them, and that cluster addresses can be reached. ``service_accounts`` is the issuer of the cluster's service
    accounts, if it is known.

    Raises ``KeyError`` when there is no such gateway.
    """
    declared = objects.gateways[gateway]
    included, reports = members(declared, objects)
    chosen = prefixes(declared, included)
    admission = authentication(
        declared, objects, cluster=cluster, revision_key=revision_key, service_accounts=service_accounts
    )
    compiler = BackendCompiler(objects, gateway, cluster, revision_key, authenticates=admission.section is not None)
    sections = [compiler.section(member, prefix) for member, prefix in zip(included, chosen, strict=True)]
    renamed, alias_reports = aliases(declared, {member.key for member in included}, objects)
    composed = _config(declared, tuple(section.backend for section in sections), renamed, cluster=cluster)
    composed = _guarded(composed, admission.section, _visibility(declared))
    credentials = {**admission.files}
    for section in sections:
        credentials |= section.files
    if revision_key is not None:
        signing = {credential_of(SESSION_KEY_PREFIX, key, revision_key): key for key in session_keys}
        composed = _signed(composed, tuple(signing))
        credentials |= {config.CREDENTIAL_KEY_FILE: revision_key, **{each.file: key for each, key in signing.items()}}
    return CompiledGateway(
        config=sealed(composed),
        credentials=credentials,
        reports=(
            *_without_effect(declared),
            *_open_to_everyone(declared),
            *admission.reports,
            *reports,
            *shared_names(declared, included, chosen),
            *(report for section in sections for report in section.reports),
            *alias_reports,
        ),
    )


def withdrawn(gateway: MCPGateway, *, revision_key: bytes) -> CompiledGateway:
    """What the sidecars of a gateway that ends are given: no backend, so that what they served before ends; and for nobody, if it was for some."""
    composed = _config(gateway, (), (), cluster=True)
    if gateway.spec.auth is not None:
        # Not required: where there is nothing to call, a sidecar that does not know the section must end all the same.
        composed = composed.model_copy(update={"authentication": config.Authentication()})
    return CompiledGateway(sealed(composed), {config.CREDENTIAL_KEY_FILE: revision_key})


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
            caller_limits=config.CallerLimits(
                calls=spec.listener.caller_limits.calls, streams=spec.listener.caller_limits.streams
            ),
        ),
        egress=config.Egress(allowed_addresses=tuple(map(ip_network, spec.egress.allowed_addresses))),
        backends=backends,
        aliases=renamed,
    )


def _guarded(
    composed: config.GatewayConfig, section: config.Authentication | None, visibility: config.Visibility | None
) -> config.GatewayConfig:
    """The config with what limits who is let in and who sees what. A sidecar that does not know it must not serve without."""
    guards = {"authentication": section, "visibility": visibility}
    requires = [name for name, guard in guards.items() if guard is not None]
    if any(backend.pinning.mode != "None" for backend in composed.backends):
        requires.append("backends.pinning")
    return composed.model_copy(update=guards | {"requires": (*composed.requires, *requires)})


def _visibility(gateway: MCPGateway) -> config.Visibility | None:
    declared = gateway.spec.visibility
    if declared is None:
        return None
    return config.Visibility(
        default=declared.default,
        rules=tuple(
            config.VisibilityRule(
                when=tuple(
                    config.Condition(claim=each.claim, any_of=each.any_of, none_of=each.none_of) for each in rule.when
                ),
                tools=config.ToolFilter(include=rule.tools.include, exclude=rule.tools.exclude),
            )
            for rule in declared.rules_
        ),
    )


def _service_hosts(gateway: Key) -> tuple[str, ...]:
    """The names by which clients reach the replicas; others are not accepted (DNS rebinding)."""
    service = child_key(gateway)
    qualified = f"{service.name}.{service.namespace}"
    return (service.name, qualified, f"{qualified}.svc", f"{qualified}.svc.{CLUSTER_DOMAIN}")


def _signed(composed: config.GatewayConfig, keys: tuple[config.Credential, ...]) -> config.GatewayConfig:
    names = ("session_key", "previous_session_key")
    return composed.model_copy(update=dict(zip(names, keys, strict=False)))


def _open_to_everyone(gateway: MCPGateway) -> Iterator[Report]:
    spec = gateway.spec
    if spec.mode == "Deployment" and spec.service is not None and spec.service.type == "LoadBalancer" and not spec.auth:
        message = "is reached from outside the cluster, and everyone who reaches it may call all tools: see spec.auth"
        yield _on(gateway, Severity.WARNING, "service", Reason.OPEN_TO_EVERYONE, message)


def _without_effect(gateway: MCPGateway) -> Iterator[Report]:
    spec = gateway.spec
    for name, value in (("replicas", spec.replicas), ("service", spec.service)):
        if value is not None and spec.mode != "Deployment":
            message = f"{name} has no effect in mode {spec.mode}"
            yield _on(gateway, Severity.WARNING, name, Reason.WITHOUT_EFFECT, message)


def _on(gateway: MCPGateway, severity: Severity, name: str, reason: Reason, message: str) -> Report:
    return Report(severity, Ref("MCPGateway", *gateway.key), ("spec", name), reason, message)
