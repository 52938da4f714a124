"""The format of ``gateway.json``: all that a sidecar is told, apart from secrets.

The operator (or ``switchyard run`` on a laptop) writes this file; the sidecar owns its format. Everything that depends on
the declared resources alone is already decided here: prefixes, order, which references did not resolve. A secret value
never stands in this file, only the name of the file beside it that holds it, and a revision.

Within one format number only optional keys are added. A sidecar ignores keys it does not know (and says so), unless the
file lists them in ``requires``.
"""

from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

Milliseconds = Annotated[int, Field(ge=1, le=24 * 3600 * 1000)]
"""A limit on waiting: at most a day."""
Age = Annotated[int, Field(ge=0, le=24 * 3600 * 1000)]
"""In milliseconds; at most a day."""
Count = Annotated[int, Field(ge=1, le=2**53 - 1)]
"""How many at most."""

FORMAT: Literal[1] = 1
"""The one format number this sidecar reads."""

CONFIG_FILE = "gateway.json"
CREDENTIAL_KEY_FILE = "cred_key"
"""The random key (raw bytes) under which revisions are computed; see :class:`Credential`."""


class Model(BaseModel):
    """Immutable, camelCase on disk. Unknown keys are collected by :mod:`switchyard_sidecar.config.load`, never fatal here."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")


class Credential(Model):
    """A secret in a file of its own beside ``gateway.json``."""

    file: Annotated[str, Field(pattern=r"^cred_[a-z0-9-]{1,200}$")]
    """The file's name: flat, and always beginning with ``cred_``."""
    revision: str
    """Hex HMAC-SHA256 of the file's bytes under ``cred_key``. While it differs, the backend keeps its former section."""


class Era(StrEnum):
    """How ``protocol`` of a backend is pinned."""

    AUTO = "Auto"
    MODERN = "Modern"
    LEGACY = "Legacy"


class Transport(StrEnum):
    """Which HTTP transport a backend speaks."""

    STREAMABLE_HTTP = "StreamableHTTP"
    SSE = "SSE"
    """HTTP+SSE of 2024-11-05."""


class AuthType(StrEnum):
    """How requests to a backend are authorised."""

    NONE = "None"
    BEARER = "Bearer"
    FORWARD = "Forward"
    """With the caller's own token, and only then; all that is learnt so is that caller's alone."""


class Header(Model):
    """A header sent on every request to one backend. Exactly one of ``value`` and ``credential`` is set."""

    name: str
    value: str | None = None
    credential: Credential | None = None


class Auth(Model):
    """Upstream authorisation. ``credential`` is set for ``Bearer`` only, and holds the bare token."""

    type: AuthType = AuthType.NONE
    credential: Credential | None = None
    audiences: tuple[str, ...] = ()
    """For ``Forward`` from a gateway that authenticates: a caller's token goes on only if it carries one of these."""


class Tls(Model):
    """TLS towards one backend. All files are PEM."""

    ca: Credential | None = None
    """Trust exactly these certificates instead of the system's."""
    client_certificate: Credential | None = None
    """Certificate chain and private key in one PEM file."""
    server_name: str | None = None
    insecure_skip_verify: bool = False


class Timeouts(Model):
    """Limits on waiting, in milliseconds."""

    connect_ms: Milliseconds = 2_000
    list_ms: Milliseconds = 5_000
    """The budget a client's ``tools/list`` spends on this backend before the last good answer is served."""
    call_ms: Milliseconds = 60_000
    """Idle time of a call, reset by every message that arrives for it."""
    call_max_ms: Milliseconds = 600_000
    """Absolute limit of a call."""


class ToolFilter(Model):
    """Globs (``fnmatch``, case-sensitive) on the backend's own tool names: included by any, excluded by none."""

    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()


class Cache(Model):
    """Bounds on how long a backend's list is believed, in milliseconds."""

    min_ttl_ms: Age = 0
    max_ttl_ms: Age = 600_000
    default_ttl_ms: Age = 30_000
    """For a legacy backend, which gives no ``ttlMs``."""


class Limits(Model):
    """Bounds on what one backend's list may cost."""

    pages: Count = 1_000
    tools: Count = 20_000
    bytes: Count = 64 * 1024 * 1024
    """All pages of one walk together, as received."""
    tool_bytes: Count = 1024 * 1024


class Pin(Model):
    """The definition of a tool that was agreed to."""

    tool: str
    """The backend's own name."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of the canonical definition (:mod:`switchyard_sidecar.catalog.canonical`)."""


class Pinning(Model):
    """What is done about a tool whose definition is not the one that was agreed to, or that nobody has agreed to."""

    mode: Literal["None", "Warn", "Enforce"] = "None"
    """``Warn``: it is reported. ``Enforce``: it is reported, and neither listed nor called."""
    digests: tuple[Pin, ...] = ()


class Backend(Model):
    """One backend as this gateway uses it, in the gateway's order."""

    namespace: str
    name: str
    url: str = ""
    """Absolute http or https URL, used verbatim. Empty only when ``unresolved`` is set."""
    unresolved: str | None = None
    """Why this backend cannot be asked (a reference that does not resolve). It keeps its place and its name space."""
    prefix: str | None = None
    """What stands before the separator in its exposed names; ``""``: no prefix and no separator; ``None``: bare names of a
    gateway with one named backend, which are never cut, however long."""
    host_header: str | None = None
    protocol: Era = Era.AUTO
    transport: Transport = Transport.STREAMABLE_HTTP
    headers: tuple[Header, ...] = ()
    auth: Auth = Auth()
    tls: Tls = Tls()
    timeouts: Timeouts = Timeouts()
    filters: tuple[ToolFilter, ...] = ()
    """A tool is listed when every filter lets it pass (the backend's own, then the gateway's)."""
    cache: Cache = Cache()
    limits: Limits = Limits()
    pinning: Pinning = Pinning()

    @property
    def id(self) -> str:
        """``namespace/name``: what this backend is called everywhere in the sidecar."""
        return f"{self.namespace}/{self.name}"


class Alias(Model):
    """An exposed name chosen in YAML. Already in order of precedence: of two for one name, the first wins."""

    namespace: str
    name: str
    """The resource's name, for messages."""
    backend: str
    """``namespace/name`` of a backend in ``backends``."""
    tool: str
    """The backend's own tool name."""
    alias: str
    """The exposed name, exactly."""
    title: str | None = None
    description: str | None = None
    keep_original: bool = False


class Naming(Model):
    """How exposed names are composed. Which backends are prefixed is decided per backend (:attr:`Backend.prefix`)."""

    separator: str = "__"
    max_length: Annotated[int, Field(ge=24, le=2**53 - 1)] = 64
    """At least 24, so that a hash and something legible fit in."""
    charset: Literal["Keep", "Safe"] = "Keep"


class CallerLimits(Model):
    """What one caller may have at once who is known by a token. Others are nobody in particular, and have no limits of their own."""

    calls: Count = 500
    """Calls under way."""
    streams: Count = 2_000
    """Open change streams."""


class Listener(Model):
    """The downstream endpoint. The command line may override port and path; it wins."""

    port: Annotated[int, Field(ge=0, le=65_535)] = 8811
    path: Annotated[str, Field(pattern=r"^/")] = "/mcp"
    allowed_origins: tuple[str, ...] = ()
    """Origins (``https://app.example``; ``*`` for any) that a browser may come from. A request without Origin always may."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names accepted besides loopback names and the listening address; ``*`` for any."""
    public_url: str | None = None
    caller_limits: CallerLimits = CallerLimits()


class Egress(Model):
    """Where backends, and the key sets of issuers, may be."""

    allowed_addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    """Addresses that are connected to although they are link-local or a cloud's metadata service, which are refused otherwise."""


SIGNATURE_ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""What tokens may be signed with: asymmetric algorithms alone, so that whoever can check a signature cannot make one."""


class Issuer(Model):
    """Whose JSON Web Tokens are believed (RFC 7519, RFC 9068). Exactly one of ``jwks`` and ``jwks_url`` is set."""

    issuer: str
    """What ``iss`` must be, to the letter."""
    audiences: Annotated[tuple[str, ...], Field(min_length=1)]
    """``aud`` must name one of these."""
    algorithms: Annotated[tuple[str, ...], Field(min_length=1)] = ("RS256", "ES256", "PS256", "EdDSA")
    """Asymmetric signature algorithms (RFC 7518); no other is accepted, whatever a token or a key says."""
    jwks: str | None = None
    """The key set itself (RFC 7517), as JSON text."""
    jwks_url: str | None = None
    """Where the key set is read, and read again."""
    ca: Credential | None = None
    """Trust exactly these certificates for ``jwks_url``."""
    leeway_ms: Annotated[int, Field(ge=0, le=300_000)] = 30_000
    """How much the issuer's clock may differ from ours."""
    required_scopes: tuple[str, ...] = ()
    """``scope`` (or ``scp``) must have all of these; otherwise the caller is told which one is missing."""

    @property
    def terms(self) -> str:
        """All that decides whether a token is taken, as JSON, wherever the keys come from."""
        return self.model_dump_json(exclude={"jwks", "jwks_url", "ca"})


class StaticToken(Model):
    """A bearer token that stands for a caller by itself."""

    name: str
    """Who presents it."""
    credential: Credential
    """Holds the bare token."""
    claims: dict[str, JsonValue] = Field(default_factory=dict)
    """What visibility rules see of this caller, beside ``sub``, which is the name."""


class Authentication(Model):
    """Who may use this gateway: whoever presents a token that any of these accepts."""

    issuers: tuple[Issuer, ...] = ()
    tokens: tuple[StaticToken, ...] = ()
    authorization_servers: tuple[str, ...] = ()
    """Where clients get tokens: issuer identifiers for the protected resource metadata (RFC 9728)."""


class Condition(Model):
    """What a caller's claims must be. With neither list, the claim must be there.

    A claim has the values of its list, ``scope`` those between its blanks, any other one value; numbers and booleans are
    compared as they are written in JSON.
    """

    claim: str
    """A claim by its name; where it begins with ``/``, a JSON pointer into the claims (RFC 6901)."""
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()


class VisibilityRule(Model):
    """Callers for whom all conditions hold see the tools whose exposed names pass."""

    when: tuple[Condition, ...] = ()
    tools: ToolFilter = ToolFilter()


class Visibility(Model):
    """Which tools are shown to whom. The first rule that holds for a caller decides, and no other."""

    default: Literal["Allow", "Deny"] = "Deny"
    """What callers see for whom no rule holds: all tools, or none."""
    rules: tuple[VisibilityRule, ...] = ()


class GatewayConfig(Model):
    """Everything one sidecar serves."""

    format: Literal[1] = FORMAT
    requires: tuple[str, ...] = ()
    """Keys (dotted paths, such as ``backends.pinning``) that a sidecar must know or refuse the whole file."""
    namespace: str
    name: str
    config_hash: str = ""
    """Hex SHA-256 over the rest of the file; what ``/loaded`` and ``/status`` report."""
    instructions: str | None = None
    naming: Naming = Naming()
    order: Literal["Name", "Backend"] = "Name"
    page_size: Annotated[int, Field(ge=0, le=2**53 - 1)] = 0
    """Tools a page; 0: everything in one page."""
    failure_policy: Literal["Partial", "Strict"] = "Partial"
    protocols: tuple[Literal["Modern", "Legacy"], ...] = ("Modern", "Legacy")
    listener: Listener = Listener()
    egress: Egress = Egress()
    backends: tuple[Backend, ...] = ()
    aliases: tuple[Alias, ...] = ()
    session_key: Credential | None = None
    """Signs legacy session ids, so that every replica knows them. Without one each process has a key of its own."""
    previous_session_key: Credential | None = None
    authentication: Authentication | None = None
    """``None``: anyone who reaches the endpoint is served."""
    visibility: Visibility | None = None
    """``None``: every caller sees every tool."""
