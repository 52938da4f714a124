"""MCPGateway: one MCP endpoint that lists and calls the tools of its backends."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from switchyard_operator.api.gateway_auth import GatewayAuth
from switchyard_operator.api.gateway_egress import Egress
from switchyard_operator.api.gateway_naming import SHORTENED_TOOL_LENGTH, Naming, Prefix
from switchyard_operator.api.gateway_service import GatewayService
from switchyard_operator.api.gateway_sidecar import Sidecar
from switchyard_operator.api.gateway_visibility import Visibility
from switchyard_operator.api.http import HostPattern, HttpUrl, OriginPattern, UrlPath
from switchyard_operator.api.model import ApiModel, Breach
from switchyard_operator.api.names import BackendName, DnsLabel, GatewayName
from switchyard_operator.api.resource import Metadata, Resource
from switchyard_operator.api.rules import Rule
from switchyard_operator.api.scalars import Text
from switchyard_operator.api.selectors import LabelSelector
from switchyard_operator.api.tool_filter import ToolFilter

Instructions = Annotated[str, Text(r"(.|[\r\n])+", 16384, "text, not empty")]


class BackendEntry(ApiModel):
    """One backend by name, or several of this namespace by label. A backend counts once, where it is first listed."""

    name: BackendName | None = None
    """The MCPBackend's name, at most 63 characters. Exactly one of `name` and `selector`. One that does not exist, or does not admit
    this namespace, keeps its place and is reported (`BackendNotFound`); the rest is served."""
    namespace: DnsLabel | None = None
    """The backend's namespace, which must admit this one (`allowedNamespaces` of the backend). At most 63 characters. Default: the
    gateway's own. Not with `selector`."""
    prefix: Prefix | None = None
    """What stands before the separator in the names of its tools, always, whatever `naming.strategy` says. At most 63
    letters, digits, `_`, `-` and `.`; it may not contain the separator nor end in the separator's first character, and must leave room for names
    within `naming.maxLength`. `""`: neither prefix nor separator. Default: made from the backend's name where the strategy
    wants one. Not with `selector`."""
    tools: ToolFilter | None = None
    """Which of its tools are listed on this gateway, of those the backend's own filter keeps. Default: all."""
    selector: LabelSelector | None = None
    """All backends of the gateway's namespace with these labels, in order of name, at most 100 (more are left out and reported
    as `SelectorTooBroad`). Their tools are prefixed under strategy `Auto`, however many they are."""

    rules = (
        Rule("has(self.name) != has(self.selector)", "must have exactly one of name and selector"),
        Rule(
            "!has(self.selector) || !has(self.__namespace__)",
            "is not allowed with selector, which looks in the gateway's own namespace",
            "namespace",
        ),
        Rule(
            "!has(self.selector) || !has(self.prefix)",
            "is not allowed with selector; list the backend by name to give it a prefix",
            "prefix",
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """A name or a selector, and what belongs to a name stays with it."""
        if (self.name is None) == (self.selector is None):
            yield Breach((), "must have exactly one of name and selector")
        elif self.selector is not None:
            if self.namespace is not None:
                yield Breach(("namespace",), "is not allowed with selector, which looks in the gateway's own namespace")
            if self.prefix is not None:
                yield Breach(("prefix",), "is not allowed with selector; list the backend by name to give it a prefix")


class CallerLimits(ApiModel):
    """What one caller may have at once, who is known by a token; one more is answered 429.

    Callers without `auth` are nobody in particular: for all of them together the sidecar's own limits hold, 2000 calls and 20000 change
    streams.
    """

    calls: Annotated[int, Field(strict=True, ge=1, le=2_000)] = 500
    """Calls under way. Default 500, from 1 to 2000."""
    streams: Annotated[int, Field(strict=True, ge=1, le=20_000)] = 2_000
    """Open change streams. Default 2000, from 1 to 20000."""


class Listener(ApiModel):
    """The endpoint that clients use. A change of port or path reaches running pods when they are created anew."""

    port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 8811
    """The port. Default 8811, from 1 to 65535."""
    path: UrlPath = "/mcp"
    """The path; it works with and without a slash at its end. Default `/mcp`. At most 512 characters."""
    allowed_origins: Annotated[tuple[OriginPattern, ...], Field(max_length=64)] = ()
    """Origins that browsers may come from, such as `https://app.example`; `*` for any. Default: none; clients that send no
    Origin are always served. At most 64, of at most 300 characters."""
    allowed_hosts: Annotated[tuple[HostPattern, ...], Field(max_length=64)] = ()
    """Host names accepted besides loopback names and the listening address, against DNS rebinding; `*` for any. In mode
    `Deployment` the Service's names are accepted too, with cluster domain `cluster.local` at most. Default: none. At most 64, of at
    most 261 characters."""
    public_url: Annotated[HttpUrl | None, Field(alias="publicURL")] = None
    """The URL that clients outside use, when it differs. Absolute, http or https, at most 2048 characters. Default: none."""
    caller_limits: CallerLimits = CallerLimits()
    """What one caller may have at once on each replica, where `auth` tells callers apart; one more is answered 429."""


_SAME_PORT: Final = "must be another port than listener.port"
_NO_CLAIMS: Final = "looks at claims, which no caller has without auth"


class MCPGatewaySpec(ApiModel):
    """What one endpoint serves, and how."""

    backends: Annotated[tuple[BackendEntry, ...], Field(max_length=512)] = ()
    """The backends, in order: order decides ties. At most 512 entries. None at all is valid and serves an empty list."""
    naming: Naming = Naming()
    """How the names of tools are composed."""
    order: Literal["Name", "Backend"] = "Name"
    """`Name`: tools are listed by their exposed names. `Backend`: by the order of `backends`, then by name. Default `Name`."""
    page_size: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 0
    """Tools a page of the list. 0: everything in one page, which suits most clients. Default 0, at most 10000."""
    failure_policy: Literal["Partial", "Strict"] = "Partial"
    """`Partial`: while a backend has never answered, the rest is listed, and the answer says what is missing. `Strict`: the list
    is an error until every backend has answered once. Default `Partial`."""
    protocols: Annotated[tuple[Literal["Modern", "Legacy"], ...], Field(min_length=1, max_length=2)] = (
        "Modern",
        "Legacy",
    )
    """Which eras of MCP clients may speak: `Modern`, `Legacy` or both; 1 to 2 entries, each once. Default: both."""
    instructions: Instructions | None = None
    """Text for clients about how to use these tools. Default: none. At most 16384 characters."""
    listener: Listener = Listener()
    """The endpoint that clients use."""
    egress: Egress = Egress()
    """Where backends, and the key sets of `auth`, may be. Default: anywhere but at link-local addresses and metadata services of clouds."""
    auth: GatewayAuth | None = None
    """Who may use this gateway. Default: everyone who reaches it. Where nothing of it resolves nobody is let in
    (`NobodyAdmitted`)."""
    visibility: Visibility | None = None
    """Which tools are shown to whom. Default: all of them, to everyone. Without `auth` no caller has claims, so that no rule may look at
    some."""
    mode: Literal["Sidecar", "Deployment"] = "Sidecar"
    """`Sidecar`: beside each agent, in pods labelled `switchyard.dev/gateway` with this gateway's name. `Deployment`: by itself, as a
    Deployment with a Service, both called `switchyard-` and the gateway's name. Default `Sidecar`. A change removes what is no longer
    wanted: clients of a Service lose it, and pods with a sidecar keep it until they are made anew."""
    replicas: Annotated[int, Field(strict=True, ge=0, le=1000)] | None = None
    """Replicas in mode `Deployment`, from 0 to 1000. Default: not set, which begins with 2 and leaves the number to whoever scales the
    Deployment, such as a HorizontalPodAutoscaler. Without effect in mode `Sidecar`, and reported."""
    service: GatewayService | None = None
    """The Service in mode `Deployment`. Default: one of type `ClusterIP`. Without effect in mode `Sidecar`, and reported."""
    sidecar: Sidecar = Sidecar()
    """The container that serves the gateway: in pods labelled `switchyard.dev/gateway` with its name, or in its Deployment."""

    rules = (
        Rule("size(self.protocols) < 2 || self.protocols[0] != self.protocols[1]", "names an era twice", "protocols"),
        Rule("self.sidecar.adminPort != self.listener.port", _SAME_PORT, "sidecar.adminPort"),
        Rule(
            "has(self.auth) || !has(self.visibility) || !has(self.visibility.rules) || "
            "self.visibility.rules.all(r, !has(r.when) || size(r.when) == 0)",
            _NO_CLAIMS,
            "visibility",
        ),
        *(
            Rule(
                f"!has(self.backends) || self.backends.all(b, !has(b.prefix) || {holds})",
                f"a prefix {message}",
                "backends",
            )
            for holds, message in (
                (
                    "!b.prefix.contains(self.naming.separator)",
                    "must not contain the separator: composed names could then coincide",
                ),
                (
                    "!b.prefix.endsWith(self.naming.separator.substring(0, 1))",
                    "must not end in the separator's first character",
                ),
                (
                    f"size(b.prefix) + size(self.naming.separator) + {SHORTENED_TOOL_LENGTH} <= self.naming.maxLength",
                    "is too long for naming.maxLength",
                ),
                (
                    "self.naming.charset != 'Safe' || !b.prefix.contains('.')",
                    "must not contain '.' with naming.charset Safe",
                ),
            )
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """Prefixes fit the naming; each protocol once; two ports are two; claims come with auth."""
        if len(set(self.protocols)) < len(self.protocols):
            yield Breach(("protocols",), "names an era twice")
        if self.sidecar.admin_port == self.listener.port:
            yield Breach(("sidecar", "adminPort"), _SAME_PORT)
        if self.auth is None and self.visibility is not None and any(each.when for each in self.visibility.rules_):
            yield Breach(("visibility",), _NO_CLAIMS)
        for index, entry in enumerate(self.backends):
            fault = entry.prefix and self.naming.prefix_fault(entry.prefix)
            if fault:
                yield Breach(("backends", index, "prefix"), fault)


class GatewayMetadata(Metadata):
    """Metadata of an MCPGateway."""

    name: GatewayName
    """The gateway's name: lower-case letters, digits and `-`, at most 40 characters."""


class MCPGateway(Resource):
    """One MCP endpoint for agents of this namespace: the tools of all its backends in one list, for clients of both eras."""

    kind: Literal["MCPGateway"]
    """`MCPGateway`."""
    metadata: GatewayMetadata
    """Standard object metadata."""
    spec: MCPGatewaySpec
    """What the endpoint serves, and how."""
