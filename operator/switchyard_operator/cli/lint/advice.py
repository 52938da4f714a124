"""What is valid and served, and still worth a second look before it is merged. Pure.

The operator has nothing to say about it: each of these may be meant. In files it is most often a slip, or a risk that was not seen.
"""

import ipaddress
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Ref, Resource
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Severity


class Subject(StrEnum):
    """Why, in one word that programs can rely on; beside :class:`switchyard_operator.compile.Reason`."""

    INVALID = "Invalid"
    """The file or the object cannot be read, or breaks a rule of its kind."""
    TOO_LARGE = "TooLarge"
    """The gateway's config does not fit into its ConfigMap, or its credentials into their Secret."""
    RENAMED_TOOLS = "RenamedTools"
    """Clients see tools under other names than before."""
    SELECTS_NOTHING = "SelectsNothing"
    SECRET_IN_MANIFEST = "SecretInManifest"  # noqa: S105 - a word, not a secret
    CREDENTIAL_IN_CLEAR = "CredentialInClear"
    SHARED_WITH_ALL = "SharedWithAll"
    UNVERIFIED_SERVER = "UnverifiedServer"
    ANY_WEBSITE = "AnyWebsite"
    DEPRECATED_TRANSPORT = "DeprecatedTransport"
    LOOK_ALIKE = "LookAlike"
    """Of names, a person would take one for another."""
    UNSEEN_PINS = "UnseenPins"
    """No status says whether what is listed is as pinned."""

    # Who is let in, and who sees what
    KEYS_IN_CLEAR = "KeysInClear"
    OTHER_AUDIENCE = "OtherAudience"
    NO_PUBLIC_URL = "NoPublicURL"
    EVERY_SERVICE_ACCOUNT = "EveryServiceAccount"
    STATIC_TOKENS = "StaticTokens"
    ANONYMOUS_CALLERS = "AnonymousCallers"
    ALLOWED_BY_DEFAULT = "AllowedByDefault"
    UNREACHABLE_RULE = "UnreachableRule"
    TOKEN_PASSTHROUGH = "TokenPassthrough"  # noqa: S105
    NEVER_FORWARDED = "NeverForwarded"


class Advice(NamedTuple):
    """One piece of advice about one field of one object; as :class:`switchyard_operator.compile.Report`."""

    severity: Severity
    object: Ref
    field: FieldPath
    reason: Subject
    message: str


_SECRET_NAMES: Final = re.compile(r"token|secret|password|passwd|api-?key|auth|credential", re.IGNORECASE)
_IN_CLUSTER: Final = (".svc", ".cluster.local", ".localhost", ".local", ".internal")


def advice(objects: Objects) -> Iterator[Advice]:
    """All advice about these objects."""
    for backend in objects.backends.values():
        yield from _credentials(backend)
        yield from _connection(backend)
        yield from _pinning(backend)
    for gateway in objects.gateways.values():
        yield from _selectors(gateway, objects)
        yield from _listener(gateway)


def _credentials(backend: MCPBackend) -> Iterator[Advice]:
    spec = backend.spec
    for index, header in enumerate(spec.headers):
        if header.value is not None and _SECRET_NAMES.search(header.name):
            message = "looks like a credential that all who read the manifest can read: keep it in a Secret (valueFrom)"
            path = ("spec", "headers", index, "value")
            yield warning(backend, path, Subject.SECRET_IN_MANIFEST, message)
    holds = spec.auth.type == "Bearer" or any(header.value_from for header in spec.headers)
    if (holds or spec.auth.type == "Forward") and spec.url is not None and is_public_http(spec.url):
        message = "sends a credential without encryption: use https"
        yield warning(backend, ("spec", "url"), Subject.CREDENTIAL_IN_CLEAR, message)
    allowed = spec.allowed_namespaces
    if holds and allowed.from_ == "All" and allowed.credentials == "Share":
        message = (
            "lets whoever may create pods in any namespace read the credentials: choose namespaces with from: Selector"
        )
        yield warning(backend, ("spec", "allowedNamespaces", "credentials"), Subject.SHARED_WITH_ALL, message)


def _connection(backend: MCPBackend) -> Iterator[Advice]:
    if backend.spec.tls.insecure_skip_verify:
        message = "lets anyone on the way read and answer: trust the server's authority with caRef instead"
        yield warning(backend, ("spec", "tls", "insecureSkipVerify"), Subject.UNVERIFIED_SERVER, message)
    if backend.spec.transport == "SSE":
        message = "HTTP+SSE is deprecated in MCP since 2025-03-26; move the server to Streamable HTTP when it can"
        yield note(backend, ("spec", "transport"), Subject.DEPRECATED_TRANSPORT, message)


def _pinning(backend: MCPBackend) -> Iterator[Advice]:
    if backend.spec.auth.type == "Forward" and backend.spec.pinning.mode != "None":
        message = (
            "each caller's own list is held against these digests by the sidecar, and none by the operator or `switchyard pin`: the "
            "condition Pinned stays Unknown; see the sidecar's metric switchyard_backend_callers_as_pinned, and pins_differ in its log"
        )
        yield note(backend, ("spec", "pinning"), Subject.UNSEEN_PINS, message)


def _selectors(gateway: MCPGateway, objects: Objects) -> Iterator[Advice]:
    candidates = objects.backends.within(gateway.key.namespace).values()
    for index, entry in enumerate(gateway.spec.backends):
        selector = entry.selector
        if candidates and selector and not any(selector.matches(each.metadata.labels) for each in candidates):
            message = (
                f"selects no backend, of {len(candidates)} that these files hold of namespace {gateway.key.namespace}"
            )
            path = ("spec", "backends", index, "selector")
            yield warning(gateway, path, Subject.SELECTS_NOTHING, message)


def _listener(gateway: MCPGateway) -> Iterator[Advice]:
    if "*" in gateway.spec.listener.allowed_origins:
        message = "lets every website that a user of this gateway's machine visits call its tools: name the origins"
        yield warning(gateway, ("spec", "listener", "allowedOrigins"), Subject.ANY_WEBSITE, message)
    if "*" in gateway.spec.listener.allowed_hosts:
        message = "leaves no guard against websites that point a name of theirs here (DNS rebinding): name the hosts"
        yield warning(gateway, ("spec", "listener", "allowedHosts"), Subject.ANY_WEBSITE, message)


def is_public_http(url: str) -> bool:
    """Whether the URL is plain HTTP to a host that lies neither in the cluster nor on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "http" or "." not in host or host.endswith(_IN_CLUSTER):
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return True


def warning(about: Resource, path: FieldPath, reason: Subject, message: str) -> Advice:
    """Advice that is worth stopping for."""
    return Advice(Severity.WARNING, _ref(about), path, reason, message)


def note(about: Resource, path: FieldPath, reason: Subject, message: str) -> Advice:
    """Advice that is worth knowing."""
    return Advice(Severity.NOTE, _ref(about), path, reason, message)


def _ref(about: Resource) -> Ref:
    return Ref(type(about).__name__, *about.key)
