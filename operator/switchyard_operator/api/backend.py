"""MCPBackend: one MCP server, how to reach it, and who may use it."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from switchyard_operator.api.backend_limits import Cache, Limits, Timeouts
from switchyard_operator.api.http import HeaderName, HeaderValue, HostHeader, HostName, HttpUrl, UrlPath
from switchyard_operator.api.merging import KeyedBy
from switchyard_operator.api.model import ApiModel, Breach
from switchyard_operator.api.names import BackendName, BackendToolName, DnsLabel, Identifier
from switchyard_operator.api.references import CaRef, ClientCertificateRef, SecretKeyRef
from switchyard_operator.api.resource import Metadata, Resource
from switchyard_operator.api.rules import Rule
from switchyard_operator.api.scalars import Text
from switchyard_operator.api.selectors import LabelSelector
from switchyard_operator.api.tool_filter import ToolFilter


class ServiceRef(ApiModel):
    """A Service in the backend's own namespace, reached as `scheme://name.namespace.svc:port/path`."""

    name: DnsLabel
    """The Service's name: letters, digits and `-`, at most 63 characters. Whether it exists is not looked at: without it the
    backend is unreachable, and the rest is served."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)]
    """The Service's port, as a number from 1 to 65535."""
    path: UrlPath = "/mcp"
    """The path of the MCP endpoint. Default `/mcp`. At most 512 characters."""
    scheme: Literal["http", "https"] = "http"
    """`http` or `https`. Default `http`."""


class ValueFrom(ApiModel):
    """Where a header's value is kept."""

    secret_key_ref: SecretKeyRef
    """The Secret key that holds the value: printable ASCII on one line (else `InvalidCredential`)."""


class Header(ApiModel):
    """A header sent on every request to this backend."""

    name: HeaderName
    """The header's name. Refused: `Authorization` (use `auth`), `Host` (use `hostHeader`), `Cookie`, `Accept`, `Mcp-*`,
    `Content-*`, `Proxy-*` and whatever belongs to a connection. At most 128 characters."""
    value: HeaderValue | None = None
    """The value, when it is no secret: printable ASCII on one line, at most 8192 characters. Exactly one of `value` and
    `valueFrom`."""
    value_from: ValueFrom | None = None
    """Where the value is kept, when it is a secret. Exactly one of `value` and `valueFrom`."""

    rules = (Rule("has(self.value) != has(self.valueFrom)", "must have exactly one of value and valueFrom"),)

    def breaches(self) -> Iterator[Breach]:
        """One source of the value."""
        if (self.value is None) == (self.value_from is None):
            yield Breach((), "must have exactly one of value and valueFrom")


class Auth(ApiModel):
    """How requests to this backend are authorised."""

    type: Literal["None", "Bearer", "Forward"] = "None"
    """`None`: not at all. `Bearer`: with the token in `secretKeyRef`. `Forward`: with the bearer token of whoever asks, and only then:
    each caller has a list of its own, and the operator does not look at the backend. Default `None`."""
    secret_key_ref: SecretKeyRef | None = None
    """The Secret key that holds the token alone, without `Bearer`. Required with `Bearer`, not allowed otherwise."""
    audiences: Annotated[tuple[Identifier, ...], Field(max_length=16)] = ()
    """With `Forward`: a caller's token goes on only if its claim `aud` names one of these, that is, if it was made for this server too. A
    gateway with `auth` leaves out a backend that lists none (`ForwardWithoutAudience`). Not allowed otherwise. Default: none. At most
    16, of at most 512 characters."""

    rules = (
        Rule("self.type != 'Bearer' || has(self.secretKeyRef)", "is required with type Bearer", "secretKeyRef"),
        Rule(
            "self.type == 'Bearer' || !has(self.secretKeyRef)",
            "is not allowed with this type; did you mean type: Bearer?",
            "secretKeyRef",
        ),
        Rule(
            "self.type == 'Forward' || !has(self.audiences) || size(self.audiences) == 0",
            "is not allowed with this type; did you mean type: Forward?",
            "audiences",
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """A token goes with Bearer, audiences with Forward."""
        if self.type == "Bearer" and self.secret_key_ref is None:
            yield Breach(("secretKeyRef",), "is required with type Bearer")
        if self.type != "Bearer" and self.secret_key_ref is not None:
            yield Breach(("secretKeyRef",), f"is not allowed with type {self.type}; did you mean type: Bearer?")
        if self.type != "Forward" and self.audiences:
            yield Breach(("audiences",), f"is not allowed with type {self.type}; did you mean type: Forward?")


class Tls(ApiModel):
    """TLS towards this backend. Without it the system's certificate authorities decide."""

    ca_ref: CaRef | None = None
    """Trust exactly these certificate authorities. Default: the system's."""
    client_certificate_ref: ClientCertificateRef | None = None
    """Present this certificate. Default: none. Counts as a credential for `allowedNamespaces.credentials`."""
    server_name: HostName | None = None
    """The name to ask for (SNI) and to find in the server's certificate. Default: the host of the URL. At most 253 characters."""
    insecure_skip_verify: bool = Field(default=False, strict=True)
    """`true`: do not verify the server's certificate, so that anyone on the way can read and answer. Default `false`. For tests."""

    rules = (
        Rule(
            "!self.insecureSkipVerify || !has(self.caRef)",
            "makes caRef pointless; remove one of them",
            "insecureSkipVerify",
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """A CA that is not looked at is a mistake."""
        if self.insecure_skip_verify and self.ca_ref is not None:
            yield Breach(("insecureSkipVerify",), "makes caRef pointless; remove one of them")


class PinnedDigest(ApiModel):
    """The definition of one tool that was agreed to."""

    tool: BackendToolName
    """The tool's own name at the backend. 1 to 512 characters."""
    sha256: Annotated[str, Text(r"[0-9a-f]{64}", 64, "64 hexadecimal digits in lower case")]
    """SHA-256 of its canonical definition, as `switchyard pin` writes it: 64 hexadecimal digits in lower case."""


class Pinning(ApiModel):
    """What is done about tools whose definition is not the one that was agreed to, or that nobody has agreed to."""

    mode: Literal["None", "Warn", "Enforce"] = "None"
    """`None`: definitions are not compared, and `digests` have no effect. `Warn`: tools that differ from their digest, that have none,
    or that are gone are reported (condition `Pinned`, `/status`, metrics). `Enforce`: tools that differ or have no digest are
    neither listed nor called on any gateway, too. Default `None`."""
    digests: Annotated[tuple[PinnedDigest, ...], Field(max_length=1024), KeyedBy("tool")] = ()
    """The digests that were agreed to, each tool once; under `Enforce` a tool without one is withheld. `switchyard pin --write` writes them.
    Default: none. At most 1024."""


class AllowedNamespaces(ApiModel):
    """Which namespaces' gateways may use this backend. A gateway that may not is told the same as when it did not exist."""

    from_: Annotated[Literal["Same", "All", "Selector"], Field(alias="from")] = "Same"
    """`Same`: the backend's own namespace. `All`: every namespace. `Selector`: namespaces with the labels in `selector`; where a
    namespace's labels are not known, the answer is no. Default `Same`."""
    selector: LabelSelector | None = None
    """Labels of namespaces. Required with `Selector`, not allowed otherwise."""
    credentials: Literal["Withhold", "Share"] = "Withhold"
    """Whether the credentials of this backend (`auth`, headers from Secrets, the client certificate) go along to other
    namespaces, where whoever may create pods can then read them. With `Withhold`, a backend that has any is left out there
    (`CredentialsWithheld`). `Share`: they go along. Default `Withhold`."""

    rules = (
        Rule(
            "self.from != 'Selector' || has(self.selector)",
            "is required with from: Selector; {} selects every namespace",
            "selector",
        ),
        Rule(
            "self.from == 'Selector' || !has(self.selector)",
            "has no effect without from: Selector; did you mean that?",
            "selector",
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """A selector goes with Selector."""
        if self.from_ == "Selector" and self.selector is None:
            yield Breach(("selector",), "is required with from: Selector; {} selects every namespace")
        if self.from_ != "Selector" and self.selector is not None:
            yield Breach(("selector",), f"has no effect with from: {self.from_}; did you mean from: Selector?")


class MCPBackendSpec(ApiModel):
    """Where the server is and how it is spoken to."""

    url: HttpUrl | None = None
    """The endpoint: an absolute http or https URL, used verbatim. Without user name, password or fragment. At most 2048
    characters. Exactly one of `url` and `service`."""
    service: ServiceRef | None = None
    """The Service in front of the server, in this namespace. Exactly one of `url` and `service`."""
    host_header: HostHeader | None = None
    """Sent as `Host` when the server insists on another name than its URL's; a host name, optionally with a port. Default: host and
    port of the URL. At most 261 characters."""
    protocol: Literal["Auto", "Modern", "Legacy"] = "Auto"
    """`Modern`: MCP 2026-07-28. `Legacy`: 2025-11-25 and earlier. `Auto`: ask the server. Default `Auto`."""
    transport: Literal["StreamableHTTP", "SSE"] = "StreamableHTTP"
    """`SSE` is the HTTP+SSE transport of 2024-11-05, which is legacy. Default `StreamableHTTP`."""
    headers: Annotated[tuple[Header, ...], Field(max_length=32), KeyedBy("name", case_counts=False)] = ()
    """Headers sent on every request, each name once (case does not count). Default: none. At most 32."""
    auth: Auth = Auth()
    """How requests are authorised. Default: not at all."""
    tls: Tls = Tls()
    """TLS towards the server. Default: the system's certificate authorities."""
    timeouts: Timeouts = Timeouts()
    """How long to wait."""
    tools: ToolFilter = ToolFilter()
    """Which of its tools are listed, on every gateway. Default: all."""
    cache: Cache = Cache()
    """How long its list is believed."""
    limits: Limits = Limits()
    """What its list may cost."""
    pinning: Pinning = Pinning()
    """What is done about tools that are not what was agreed to. Default: nothing."""
    allowed_namespaces: AllowedNamespaces = AllowedNamespaces()
    """Who may use it from other namespaces. Default: nobody."""

    rules = (
        Rule("has(self.url) != has(self.service)", "must have exactly one of url and service"),
        Rule(
            "self.transport != 'SSE' || self.protocol != 'Modern'",
            "cannot be Modern with transport SSE, which is legacy; use Auto or Legacy",
            "protocol",
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """One address; transport and protocol of one era."""
        if (self.url is None) == (self.service is None):
            yield Breach((), "must have exactly one of url and service")
        if self.transport == "SSE" and self.protocol == "Modern":
            yield Breach(("protocol",), "cannot be Modern with transport SSE, which is legacy; use Auto or Legacy")


class BackendMetadata(Metadata):
    """Metadata of an MCPBackend."""

    name: BackendName
    """The backend's name, at most 63 characters. It is the default prefix of its tools, with `-` for `.`."""


class MCPBackend(Resource):
    """One MCP server whose tools gateways can list and call."""

    kind: Literal["MCPBackend"]
    """`MCPBackend`."""
    metadata: BackendMetadata
    """Standard object metadata."""
    spec: MCPBackendSpec
    """Where the server is and how it is spoken to."""
