"""One backend as one gateway uses it: a section of the sidecar's config, or the reason why there is none.

A reference that does not resolve costs its backend alone. The backend then keeps its place and its prefix, so that nobody
else's names change, and its section holds neither address nor credentials.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from switchyard_operator.api.backend import MCPBackend, Pinning, ServiceRef
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import BackendEntry
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.api.tool_filter import ToolFilter
from switchyard_operator.compile.credentials import Credentials, Material, Unresolved
from switchyard_operator.compile.grants import admits, labels_unknown, not_found, withholds_credentials
from switchyard_operator.compile.members import Member
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Reason, Report, Severity
from switchyard_sidecar.config import model as config
from switchyard_sidecar.config.load import revision

UNKNOWN_REVISION: Final = "made-by-the-operator"
"""Stands for revisions where no key is at hand."""
_DIGITS_IN_NAMES: Final = 12
_EVERY_TOOL: Final = ToolFilter()


def findings(
    backend: MCPBackend, objects: Objects, *, cluster: bool, hidden: Collection[Key] = ()
) -> tuple[Report, ...]:
    """What is to be said of a backend whoever uses it: references that lead nowhere.

    ``hidden`` are Secrets that are known to exist without the label by which they are seen.
    """
    return tuple(_findings(backend, dict(Credentials(objects, backend.key.namespace, cluster, hidden).of(backend))))


def credential_of(prefix: str, content: bytes, revision_key: bytes) -> config.Credential:
    """The credential with this content, in a file whose name begins with ``prefix``.

    A part of the revision goes into the name, so that a rotated secret's old and new content can lie side by side until the
    config, which is another object, has changed.
    """
    said = revision(revision_key, content)
    return config.Credential(file=f"{prefix}{said[:_DIGITS_IN_NAMES]}", revision=said)


def credential_for(material: Material, revision_key: bytes | None) -> config.Credential:
    """The credential with this material. Without a key of revisions, all have the same."""
    if revision_key is None:
        return config.Credential(file=material.file, revision=UNKNOWN_REVISION)
    return credential_of(f"{material.file}-", material.content, revision_key)


def left_out(key: Key, prefix: str | None, reason: str) -> config.Backend:
    """The section of a backend that is not served: it holds its place, and no address."""
    return config.Backend(namespace=key.namespace, name=key.name, prefix=prefix, unresolved=str(reason))


@dataclass(frozen=True, slots=True)
class Section:
    """A backend's section, the credential files it needs, and what is to be said."""

    backend: config.Backend
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    reports: tuple[Report, ...] = ()


def own_section(key: Key, objects: Objects) -> Section:
    """A backend as a gateway of its own namespace, in a cluster, would use it under its bare names."""
    compiler = BackendCompiler(objects, Key(key.namespace, ""), cluster=True, revision_key=None)
    return compiler.section(Member(key, BackendEntry(name=key.name), ()), "")


@dataclass(frozen=True, slots=True)
class BackendCompiler:
    """Compiles the members of one gateway."""

    objects: Objects
    gateway: Key
    cluster: bool
    revision_key: bytes | None
    """The key of revisions. ``None``: none is at hand, and every credential has the same revision."""
    authenticates: bool = False
    """Whether the gateway knows its callers."""

    def section(self, member: Member, prefix: str | None) -> Section:
        """The member's section."""
        backend = self.objects.backends.get(member.key)
        if backend is None or not admits(backend, self.gateway.namespace, self.objects):
            return self._not_found(member, prefix, backend)
        if withholds_credentials(backend, self.gateway.namespace):
            message = (
                f"{member.key} does not share its credentials with namespace {self.gateway.namespace}; "
                "its owner can say so with spec.allowedNamespaces.credentials: Share"
            )
            report = self._on_gateway(member, Reason.CREDENTIALS_WITHHELD, message)
            return Section(left_out(member.key, prefix, Reason.CREDENTIALS_WITHHELD), reports=(report,))
        if backend.spec.auth.type == "Forward" and self.authenticates and not backend.spec.auth.audiences:
            message = (
                f"{member.key} wants callers' tokens, which are made for this gateway: it must say for which audience it takes them "
                "(spec.auth.audiences of the backend)"
            )
            report = self._on_gateway(member, Reason.FORWARD_WITHOUT_AUDIENCE, message)
            return Section(left_out(member.key, prefix, Reason.FORWARD_WITHOUT_AUDIENCE), reports=(report,))
        return self._permitted(member, prefix, backend)

    def _not_found(self, member: Member, prefix: str | None, backend: MCPBackend | None) -> Section:
        message = not_found(member.key, self.gateway.namespace)
        reports = [self._on_gateway(member, Reason.BACKEND_NOT_FOUND, message)]
        if backend is not None and labels_unknown(backend, self.gateway.namespace, self.objects):
            message = (
                f"selects namespaces by their labels, and those of {self.gateway.namespace} are not known "
                "(no Namespace object), so that it is not admitted"
            )
            path = ("spec", "allowedNamespaces", "selector")
            reports.append(_on(backend, Severity.WARNING, path, Reason.NAMESPACE_UNKNOWN, message))
        return Section(left_out(member.key, prefix, Reason.BACKEND_NOT_FOUND), reports=tuple(reports))

    def _permitted(self, member: Member, prefix: str | None, backend: MCPBackend) -> Section:
        followed = dict(Credentials(self.objects, member.key.namespace, self.cluster).of(backend))
        material = {
            path: (credential_for(each, self.revision_key), each)
            for path, each in followed.items()
            if isinstance(each, Material)
        }
        reports = _findings(backend, followed)
        errors = [report for report in reports if report.severity is Severity.ERROR]
        if errors:
            return Section(left_out(member.key, prefix, errors[0].reason), reports=tuple(reports))
        if backend.spec.service is not None and not self.cluster:
            message = f"{_url_of_service(backend.spec.service, member.key)} is an address inside a cluster"
            path = ("spec", "service")
            reports.append(_on(backend, Severity.NOTE, path, Reason.SERVICE_IN_CLUSTER_ONLY, message))
        return Section(
            self._complete(member, prefix, backend, {path: credential for path, (credential, _) in material.items()}),
            {credential.file: each.content for credential, each in material.values()},
            tuple(reports),
        )

    def _complete(
        self,
        member: Member,
        prefix: str | None,
        backend: MCPBackend,
        credentials: Mapping[FieldPath, config.Credential],
    ) -> config.Backend:
        spec = backend.spec

        def credential(*path: str | int) -> config.Credential | None:
            return credentials.get(("spec", *path))

        return config.Backend(
            namespace=member.key.namespace,
            name=member.key.name,
            url=spec.url or (_url_of_service(spec.service, member.key) if spec.service else ""),
            prefix=prefix,
            host_header=spec.host_header,
            protocol=config.Era(spec.protocol),
            transport=config.Transport(spec.transport),
            headers=tuple(
                config.Header(
                    name=header.name,
                    value=header.value,
                    credential=credential("headers", index, "valueFrom", "secretKeyRef"),
                )
                for index, header in enumerate(spec.headers)
            ),
            auth=config.Auth(
                type=config.AuthType(spec.auth.type),
                credential=credential("auth", "secretKeyRef"),
                audiences=spec.auth.audiences,
            ),
            tls=config.Tls(
                ca=credential("tls", "caRef"),
                client_certificate=credential("tls", "clientCertificateRef"),
                server_name=spec.tls.server_name,
                insecure_skip_verify=spec.tls.insecure_skip_verify,
            ),
            timeouts=config.Timeouts(
                connect_ms=spec.timeouts.connect.ms,
                list_ms=spec.timeouts.listing.ms,
                call_ms=spec.timeouts.call.ms,
                call_max_ms=spec.timeouts.call_max.ms,
            ),
            filters=tuple(
                config.ToolFilter(include=each.include, exclude=each.exclude)
                for each in (spec.tools, member.entry.tools)
                if each is not None and each != _EVERY_TOOL
            ),
            cache=config.Cache(
                min_ttl_ms=spec.cache.min_ttl.ms,
                max_ttl_ms=spec.cache.max_ttl.ms,
                default_ttl_ms=spec.cache.default_ttl.ms,
            ),
            limits=config.Limits(
                pages=spec.limits.pages,
                tools=spec.limits.tools,
                bytes=spec.limits.total_bytes.bytes,
                tool_bytes=spec.limits.tool_bytes.bytes,
            ),
            pinning=_pinning(spec.pinning),
        )

    def _on_gateway(self, member: Member, reason: Reason, message: str) -> Report:
        return Report(Severity.ERROR, Ref("MCPGateway", *self.gateway), member.field, reason, message)


def _url_of_service(service: ServiceRef, key: Key) -> str:
    return f"{service.scheme}://{service.name}.{key.namespace}.svc:{service.port}{service.path}"


def _pinning(declared: Pinning) -> config.Pinning:
    if declared.mode == "None":
        return config.Pinning()
    digests = tuple(config.Pin(tool=each.tool, sha256=each.sha256) for each in declared.digests)
    return config.Pinning(mode=declared.mode, digests=digests)


def _findings(backend: MCPBackend, followed: Mapping[FieldPath, Material | Unresolved]) -> list[Report]:
    unresolved = (each for each in followed.values() if isinstance(each, Unresolved))
    return [
        _on(backend, Severity.ERROR, each.field, each.reason, f"{each.message}; the backend is left out")
        for each in unresolved
    ]


def _on(backend: MCPBackend, severity: Severity, path: FieldPath, reason: Reason, message: str) -> Report:
    return Report(severity, Ref("MCPBackend", *backend.key), path, reason, message)
