"""Resources that are valid and resources that are not, each with what is wrong: one table for the models and the API server.

What users of files are told and what a cluster says must not drift apart. So every rule has a row here, and every row is
given to both. Where they cannot agree the row says so.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from switchyard_operator.api.kinds import KINDS
from switchyard_operator.api.resource import API_VERSION, Resource

BACKEND, ALIAS, GATEWAY = "MCPBackend", "MCPToolAlias", "MCPGateway"
MODELS: Final[dict[str, type[Resource]]] = {kind.name: kind.resource for kind in KINDS}
PLURALS: Final[dict[str, str]] = {kind.name: kind.plural for kind in KINDS}

MINIMAL: Final[dict[str, dict[str, Any]]] = {
    BACKEND: {"url": "http://a.example/mcp"},
    ALIAS: {"backendRef": {"name": "github"}, "tool": "search", "alias": "find"},
    GATEWAY: {},
}
"""The least that each kind needs."""


@dataclass(frozen=True)
class Case:
    """One resource. ``spec`` stands on top of the kind's minimum."""

    kind: str
    spec: dict[str, Any] = field(default_factory=dict)
    name: str = "a"

    def tree(self) -> dict[str, Any]:
        """The object."""
        spec = MINIMAL[self.kind] | self.spec
        return {"apiVersion": API_VERSION, "kind": self.kind, "metadata": {"name": self.name}, "spec": spec}

    def __str__(self) -> str:
        shown = f"{self.kind} {self.name[:9]} {self.spec}"
        return shown if len(shown) <= 100 else f"{shown[:100]}..."


@dataclass(frozen=True)
class Refused(Case):
    """A resource with one thing wrong."""

    at: str = ""
    """The field that a user of files is pointed to."""
    says: str = ""
    """Part of what is said of it."""
    at_server: str | None = None
    """The field that the API server points to. Default: the same."""
    server_says: str | None = None
    """Part of what the API server says. Default: the same."""


def refused(
    kind: str, spec: dict[str, Any], at: str, says: str, server_says: str | None = None, at_server: str | None = None
) -> Refused:
    return Refused(
        kind, spec, at=f"spec.{at}" if at else "spec", says=says, at_server=at_server, server_says=server_says
    )


def _named(kind: str, name: str, says: str, server_says: str) -> Refused:
    return Refused(kind, name=name, at="metadata.name", says=says, server_says=server_says)


_SECRET = {"name": "gh", "key": "token"}
_KEYS = '{"keys": [{"kty": "EC", "crv": "P-256", "x": "x", "y": "y"}]}'
_ISSUER = {"issuer": "https://login.example", "audiences": ["a"], "jwksURL": "https://login.example/keys"}
_NO_WAY_IN: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"jwt": [], "tokens": []},
    {"authorizationServers": ["https://login.example"]},
)
_TOKEN = {"name": "ci", "secretKeyRef": {"name": "ci", "key": "token"}}


def jwt(**issuer: Any) -> dict[str, Any]:
    """``spec`` of a gateway that accepts one issuer; ``None`` takes a field away."""
    return {"auth": {"jwt": [{name: value for name, value in (_ISSUER | issuer).items() if value is not None}]}}


def static(**token: Any) -> dict[str, Any]:
    """``spec`` of a gateway that accepts one single token."""
    return {"auth": {"tokens": [_TOKEN | token]}}


_REQUIREMENTS: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("In", {}, "is required with operator"),
    ("NotIn", {"values": []}, "is required with operator"),
    ("Exists", {"values": ["a"]}, "is not allowed with operator"),
    ("DoesNotExist", {"values": ["a"]}, "is not allowed with operator"),
)
_TOO_LONG = "Too long"
_PATTERN = "should match"
_ENUM = "Unsupported value"
_TYPE = "must be of type"

RULES: Final[tuple[Refused, ...]] = (
    # Exactly one of two
    refused(BACKEND, {"url": None}, "", "must have exactly one of url and service"),
    refused(
        BACKEND,
        {"service": {"name": "a", "port": 80}},
        "",
        "must have exactly one of url and service",
    ),
    refused(BACKEND, {"headers": [{"name": "X-A"}]}, "headers[0]", "must have exactly one of value and valueFrom"),
    refused(
        BACKEND,
        {"headers": [{"name": "X-A", "value": "", "valueFrom": {"secretKeyRef": _SECRET}}]},
        "headers[0]",
        "must have exactly one of value and valueFrom",
    ),
    refused(GATEWAY, {"backends": [{}]}, "backends[0]", "must have exactly one of name and selector"),
    refused(
        GATEWAY,
        {"backends": [{"name": "a", "selector": {}}]},
        "backends[0]",
        "must have exactly one of name and selector",
    ),
    # What a pattern cannot say
    *(
        refused(
            GATEWAY,
            {"egress": {"allowedAddresses": [network]}},
            "egress.allowedAddresses[0]",
            "must be a network in CIDR notation, without bits behind its prefix, such as 169.254.10.0/24",
        )
        for network in ("169.254.10.1/24", "169.254.10.0/33", "fe80::1/64", "::ffff:169.254.0.0/112", "1/8")
    ),
    # What goes only with something else
    refused(
        BACKEND,
        {"transport": "SSE", "protocol": "Modern"},
        "protocol",
        "cannot be Modern with transport SSE, which is legacy; use Auto or Legacy",
    ),
    refused(BACKEND, {"auth": {"type": "Bearer"}}, "auth.secretKeyRef", "is required with type Bearer"),
    refused(BACKEND, {"auth": {"secretKeyRef": _SECRET}}, "auth.secretKeyRef", "; did you mean type: Bearer?"),
    refused(
        BACKEND,
        {"auth": {"type": "Forward", "secretKeyRef": _SECRET}},
        "auth.secretKeyRef",
        "; did you mean type: Bearer?",
    ),
    refused(BACKEND, {"auth": {"audiences": ["a"]}}, "auth.audiences", "; did you mean type: Forward?"),
    refused(
        BACKEND,
        {"auth": {"type": "Bearer", "secretKeyRef": _SECRET, "audiences": ["a"]}},
        "auth.audiences",
        "; did you mean type: Forward?",
    ),
    refused(GATEWAY, jwt(jwksURL=None), "auth.jwt[0]", "must have exactly one of jwksURL and jwks"),
    refused(GATEWAY, jwt(jwks=_KEYS), "auth.jwt[0]", "must have exactly one of jwksURL and jwks"),
    refused(
        GATEWAY,
        jwt(jwksURL=None, jwks=_KEYS, caRef={"name": "ca"}),
        "auth.jwt[0].caRef",
        "has no effect without jwksURL",
    ),
    *(
        refused(GATEWAY, {"auth": auth}, "auth", "must have at least one of jwt, kubernetes and tokens")
        for auth in _NO_WAY_IN
    ),
    refused(
        GATEWAY,
        {"visibility": {"default": "Allow", "rules": [{"tools": {}}, {"when": [{"claim": "a"}], "tools": {}}]}},
        "visibility",
        "looks at claims, which no caller has without auth",
    ),
    refused(
        BACKEND,
        {"tls": {"insecureSkipVerify": True, "caRef": {"name": "a"}}},
        "tls.insecureSkipVerify",
        "makes caRef pointless; remove one of them",
    ),
    refused(
        BACKEND,
        {"allowedNamespaces": {"from": "Selector"}},
        "allowedNamespaces.selector",
        "is required with from: Selector; {} selects every namespace",
    ),
    refused(
        BACKEND,
        {"allowedNamespaces": {"selector": {}}},
        "allowedNamespaces.selector",
        "has no effect with",
        "has no effect without from: Selector",
    ),
    *(
        refused(
            BACKEND,
            {
                "allowedNamespaces": {
                    "from": "Selector",
                    "selector": {"matchExpressions": [{"key": "team", "operator": operator, **values}]},
                }
            },
            "allowedNamespaces.selector.matchExpressions[0].values",
            says,
        )
        for operator, values, says in _REQUIREMENTS
    ),
    *(
        refused(
            GATEWAY,
            {"backends": [{"selector": {"matchExpressions": [{"key": "team", "operator": operator, **values}]}}]},
            "backends[0].selector.matchExpressions[0].values",
            says,
        )
        for operator, values, says in _REQUIREMENTS
    ),
    refused(
        GATEWAY,
        {"backends": [{"selector": {}, "namespace": "x"}]},
        "backends[0].namespace",
        "is not allowed with selector, which looks in the gateway's own namespace",
    ),
    refused(
        GATEWAY,
        {"backends": [{"selector": {}, "prefix": ""}]},
        "backends[0].prefix",
        "is not allowed with selector; list the backend by name to give it a prefix",
    ),
    # One bound against another
    refused(
        BACKEND,
        {"timeouts": {"call": "20m"}},
        "timeouts.callMax",
        "(10m) is less than call (20m); raise callMax or lower call",
        "is less than call; raise callMax or lower call",
    ),
    refused(
        BACKEND,
        {"cache": {"minTTL": "601s"}},
        "cache.maxTTL",
        "(10m) is less than minTTL (601s)",
        "is less than minTTL",
    ),
    refused(
        BACKEND,
        {"limits": {"bytes": "1Ki"}},
        "limits.toolBytes",
        "(1Mi) is more than bytes (1Ki)",
        "is more than bytes",
    ),
    refused(
        BACKEND,
        {"limits": {"bytes": 2048, "toolBytes": 2049}},
        "limits.toolBytes",
        "(2049) is more than bytes (2048)",
        "is more than bytes",
    ),
    refused(
        BACKEND,
        {"limits": {"bytes": "1.9999Ki", "toolBytes": 2048}},
        "limits.toolBytes",
        "(2048) is more than bytes (1.9999Ki)",
        "is more than bytes",
    ),
    # Bounds of durations and quantities
    *(
        refused(BACKEND, {section: {name: value}}, f"{section}.{name}", says)
        for section, name, value, says in (
            ("timeouts", "connect", "0s", "must be from 1ms to 1m"),
            ("timeouts", "connect", "60001ms", "must be from 1ms to 1m"),
            ("timeouts", "list", "0h0m0s0ms", "must be from 1ms to 5m"),
            ("timeouts", "list", "5m1ms", "must be from 1ms to 5m"),
            ("timeouts", "call", "0s", "must be from 1ms to 24h"),
            ("timeouts", "callMax", "24h1ms", "must be from 1ms to 24h"),
            ("timeouts", "callMax", "99999h99999h99999h99999h", "must be from 1ms to 24h"),
            ("cache", "minTTL", "24h1s", "must be from 0s to 24h"),
            ("cache", "maxTTL", "1441m", "must be from 0s to 24h"),
            ("cache", "defaultTTL", "99999h", "must be from 0s to 24h"),
            ("limits", "bytes", 1023, "must be from 1Ki to 1Gi"),
            ("limits", "bytes", "1023.5", "must be from 1Ki to 1Gi"),
            ("limits", "bytes", "1.1Gi", "must be from 1Ki to 1Gi"),
            ("limits", "bytes", "9999999999999999999.999999999Ti", "must be from 1Ki to 1Gi"),
            ("limits", "toolBytes", 0, "must be from 1Ki to 64Mi"),
            ("limits", "toolBytes", "0.9k", "must be from 1Ki to 64Mi"),
            ("limits", "toolBytes", 67108865, "must be from 1Ki to 64Mi"),
        )
    ),
    refused(GATEWAY, jwt(leeway="5m1ms"), "auth.jwt[0].leeway", "must be from 0s to 5m"),
    *(
        refused(
            GATEWAY,
            {"sidecar": {"resources": {kind: {name: value}}}},
            f"sidecar.resources.{kind}.{name}",
            says,
            server_says,
        )
        for kind, name, value, says, server_says in (
            ("requests", "cpu", 0, "must be from 1m to 64", None),
            ("limits", "cpu", "64.001", "must be from 1m to 64", None),
            ("limits", "cpu", "0.5m", "must be a number of cores", _PATTERN),
            ("requests", "cpu", "1e3", "must be a number of cores", _PATTERN),
            ("requests", "memory", "31Mi", "must be from 32Mi to 64Gi", None),
            ("limits", "memory", "65Gi", "must be from 32Mi to 64Gi", None),
        )
    ),
    *(
        refused(
            GATEWAY,
            {"sidecar": {"resources": {"requests": {name: more}, "limits": {name: less}}}},
            f"sidecar.resources.limits.{name}",
            "is less than what is requested",
        )
        for name, more, less in (
            ("cpu", "1001m", 1),
            ("cpu", "0.5", "499m"),
            ("memory", "64Mi", "67108863"),
        )
    ),
    # Two ports are two
    refused(GATEWAY, {"listener": {"port": 8812}}, "sidecar.adminPort", "must be another port than listener.port"),
    refused(GATEWAY, {"sidecar": {"adminPort": 8811}}, "sidecar.adminPort", "must be another port than listener.port"),
    # Each once
    refused(
        BACKEND,
        {"headers": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}]},
        "headers[1].name",
        "x-a is given more than once",
        "the same name is given more than once (case does not count)",
        "spec.headers",
    ),
    refused(
        BACKEND,
        {"headers": [{"name": "X-A", "value": "1"}, {"name": "X-A", "value": "2"}]},
        "headers[1].name",
        "X-A is given more than once",
        "Duplicate value",
        "spec.headers[1]",
    ),
    refused(
        BACKEND,
        {"pinning": {"digests": [{"tool": "a", "sha256": "0" * 64}, {"tool": "a", "sha256": "1" * 64}]}},
        "pinning.digests[1].tool",
        "a is given more than once",
        "Duplicate value",
        "spec.pinning.digests[1]",
    ),
    refused(
        ALIAS,
        {"gatewayRefs": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
        "gatewayRefs[2].name",
        "a is given more than once",
        "Duplicate value",
        "spec.gatewayRefs[2]",
    ),
    refused(
        GATEWAY,
        {"auth": {"jwt": [_ISSUER, _ISSUER | {"audiences": ["b"]}]}},
        "auth.jwt[1].issuer",
        "https://login.example is given more than once",
        "Duplicate value",
        "spec.auth.jwt[1]",
    ),
    refused(
        GATEWAY,
        {"auth": {"tokens": [_TOKEN, _TOKEN | {"claims": {"a": 1}}]}},
        "auth.tokens[1].name",
        "ci is given more than once",
        "Duplicate value",
        "spec.auth.tokens[1]",
    ),
    refused(GATEWAY, {"protocols": ["Modern", "Modern"]}, "protocols", "names an era twice"),
    # Prefixes fit the naming; the API server cannot say which of them does not
    *(
        refused(
            GATEWAY,
            {"backends": [{"name": "fits", "prefix": ""}, {"name": "a", "prefix": prefix}], "naming": naming},
            "backends[1].prefix",
            says,
            server_says,
            "spec.backends",
        )
        for prefix, naming, says, server_says in (
            (
                "jr__x",
                {},
                'must not contain the separator "__"',
                "a prefix must not contain the separator: composed names could then coincide",
            ),
            (
                "my-jr",
                {"separator": "-"},
                'must not contain the separator "-"',
                "a prefix must not contain the separator",
            ),
            ("jr_", {}, 'must not end in "_"', "a prefix must not end in the separator's first character"),
            (
                "jr-",
                {"separator": "--"},
                'must not end in "-"',
                "a prefix must not end in the separator's first character",
            ),
            ("p" * 53, {}, "has 53 characters; at most 52 fit", "a prefix is too long for naming.maxLength"),
            (
                "p" * 13,
                {"maxLength": 24},
                "has 13 characters; at most 12 fit",
                "a prefix is too long for naming.maxLength",
            ),
            (
                "a.b",
                {"charset": "Safe"},
                "must not contain '.' with naming.charset Safe",
                "a prefix must not contain '.' with naming.charset Safe",
            ),
        )
    ),
    # Headers that are the sidecar's own
    *(
        refused(BACKEND, {"headers": [{"name": name, "value": "1"}]}, "headers[0].name", f"cannot be set here: {why}")
        for name, why in (
            ("Authorization", "use spec.auth"),
            ("AUTHORIZATION", "use spec.auth"),
            ("Host", "use spec.hostHeader"),
            ("Cookie", "cookies belong to a session"),
            ("Set-Cookie", "it is a header of responses"),
            ("Connection", "it belongs to one connection"),
            ("TE", "it belongs to one connection"),
            ("Proxy-Authorization", "it belongs to one connection"),
            ("Accept", "it describes the message"),
            ("Content-Length", "it describes the message"),
            ("Mcp-Session-Id", "Mcp-* headers are made from each message"),
            ("mcp-param-x", "Mcp-* headers are made from each message"),
        )
    ),
    # Ports that no URL has
    refused(
        GATEWAY,
        {"listener": {"publicURL": "http://host:70000/"}},
        "listener.publicURL",
        "is not a well-formed URL: check host and port",
    ),
    refused(
        GATEWAY,
        jwt(jwksURL="https://login.example:0/keys"),
        "auth.jwt[0].jwksURL",
        "must be an absolute http or https URL",
        "is not a well-formed URL: check host and port",
    ),
    refused(
        GATEWAY,
        {"auth": {"jwt": [_ISSUER], "authorizationServers": ["https://login.example:65536"]}},
        "auth.authorizationServers[0]",
        "is not a well-formed URL: check host and port",
    ),
    *(
        refused(BACKEND, {"url": url}, "url", says, "is not a well-formed URL: check host and port")
        for url, says in (
            ("http://host:0/mcp", "must be an absolute http or https URL"),
            ("http://host:00000", "must be an absolute http or https URL"),
            ("http://host:65536/mcp", "is not a well-formed URL: check host and port"),
            ("http://[::1]:99999/mcp", "is not a well-formed URL: check host and port"),
        )
    ),
)
"""What the models check across fields or by computing, and the API server by CEL or by the keys of lists."""

FORMS: Final[tuple[Refused, ...]] = (
    _named(BACKEND, "a" * 64, "has 64 characters; at most 63 are allowed", _TOO_LONG),
    _named(BACKEND, "A", "must be lower-case letters", "RFC 1123"),
    _named(GATEWAY, "a" * 41, "has 41 characters; at most 40 are allowed", _TOO_LONG),
    _named(GATEWAY, "a.b", "must be lower-case letters", _PATTERN),
    _named(ALIAS, "a" * 254, "has 254 characters; at most 253 are allowed", "must be no more than 253"),
    refused(BACKEND, {"colour": "red"}, "colour", "there is no such field", 'unknown field "spec.colour"'),
    refused(
        GATEWAY,
        {"naming": {"seperator": "-"}},
        "naming.seperator",
        "did you mean separator?",
        'unknown field "spec.naming.seperator"',
    ),
    refused(BACKEND, {"service": {"port": 80}, "url": None}, "service.name", "is required", "Required value"),
    refused(BACKEND, {"service": {"name": "a"}, "url": None}, "service.port", "is required", "Required value"),
    refused(BACKEND, {"service": {"name": "a", "port": "http"}, "url": None}, "service.port", "whole number", _TYPE),
    refused(
        BACKEND, {"service": {"name": "a", "port": 65536}, "url": None}, "service.port", "at most 65535", "less than"
    ),
    refused(BACKEND, {"protocol": "Stone"}, "protocol", "must be one of Auto, Modern or Legacy", _ENUM),
    refused(BACKEND, {"protocol": False}, "protocol", "YAML 1.1 reads", _TYPE),
    refused(BACKEND, {"transport": "sse"}, "transport", "did you mean SSE?", _ENUM),
    refused(BACKEND, {"auth": "None"}, "auth", "must be a mapping of fields", _TYPE),
    refused(BACKEND, {"tls": {"insecureSkipVerify": "true"}}, "tls.insecureSkipVerify", "without quotes", _TYPE),
    refused(BACKEND, {"tools": {"include": []}}, "tools.include", "must have at least 1 entry", "at least 1 items"),
    refused(BACKEND, {"tools": {"include": "*"}}, "tools.include", "must be a list", _TYPE),
    refused(BACKEND, {"tools": {"include": ["*"] * 257}}, "tools.include", "at most 256 are allowed", "Too many"),
    refused(BACKEND, {"tools": {"exclude": [""]}}, "tools.exclude[0]", "must be a pattern such as", _PATTERN),
    refused(BACKEND, {"tools": {"exclude": ["x" * 257]}}, "tools.exclude[0]", "at most 256 are allowed", _TOO_LONG),
    refused(
        BACKEND,
        {"headers": [{"name": f"X-{n}", "value": ""} for n in range(33)]},
        "headers",
        "has 33 entries; at most 32 are allowed",
        "Too many",
    ),
    *(
        refused(
            BACKEND, {"headers": [{"name": "X-A", "value": value}]}, "headers[0].value", "must be printable", _PATTERN
        )
        for value in ("a\r\nX-Evil: 1", "a\n", "a\x00b", "a\x7f", " a", "a ", "\ta", "é")
    ),
    refused(
        BACKEND,
        {"headers": [{"name": "X-A", "value": "x" * 8193}]},
        "headers[0].value",
        "at most 8192 are allowed",
        _TOO_LONG,
    ),
    *(
        refused(
            BACKEND, {"headers": [{"name": name, "value": "1"}]}, "headers[0].name", "must be a header name", _PATTERN
        )
        for name in ("X Team", "X-Team:", "", "X-Téam")
    ),
    refused(BACKEND, {"limits": {"pages": 0}}, "limits.pages", "must be at least 1", "greater than or equal to 1"),
    refused(BACKEND, {"limits": {"tools": 100_001}}, "limits.tools", "must be at most 100000", "less than or equal to"),
    refused(BACKEND, {"limits": {"pages": True}}, "limits.pages", "must be a whole number", _TYPE),
    refused(
        BACKEND,
        {"pinning": {"digests": [{"tool": "a", "sha256": "AB"}]}},
        "pinning.digests[0].sha256",
        "64 hexadecimal digits",
        _PATTERN,
    ),
    *(
        refused(BACKEND, {"timeouts": {"call": value}}, "timeouts.call", "must be a duration such as", says)
        for value, says in (
            (5, _TYPE),
            ("", _PATTERN),
            ("5", _PATTERN),
            ("1.5s", _PATTERN),
            ("-1s", _PATTERN),
            ("1d", _PATTERN),
            ("1s 2s", _PATTERN),
            ("100000s", _PATTERN),
            ("1h1m1s1ms1h", _PATTERN),
            ("5S", _PATTERN),
            ("5s\n", _PATTERN),
        )
    ),
    *(
        refused(BACKEND, {"limits": {"bytes": value}}, "limits.bytes", "must be a number of bytes such as", says)
        for value, says in (
            (1.5, _TYPE),
            (True, _TYPE),
            ("", _PATTERN),
            ("64m", _PATTERN),
            ("64MB", _PATTERN),
            ("1e3", _PATTERN),
            ("Mi", _PATTERN),
            ("1.Mi", _PATTERN),
            (".5Mi", _PATTERN),
            ("+1Mi", _PATTERN),
            ("1P", _PATTERN),
            ("１Mi", _PATTERN),
        )
    ),
    refused(BACKEND, {"limits": {"bytes": -1}}, "limits.bytes", "must be a number of bytes", "must be from 1Ki to 1Gi"),
    *(
        refused(BACKEND, {"url": url}, "url", says, _PATTERN)
        for url, says in (
            ("github-mcp.example/mcp", "must be an absolute http or https URL"),
            ("/mcp", "must be an absolute http or https URL"),
            ("ftp://host/mcp", "must be an absolute http or https URL"),
            ("http:///mcp", "must be an absolute http or https URL"),
            ("http://-host/mcp", "must be an absolute http or https URL"),
            ("http://host-/mcp", "must be an absolute http or https URL"),
            ("http://ho%73t/mcp", "must be an absolute http or https URL"),
            ("http://host:/mcp", "must be an absolute http or https URL"),
            ("http://host:8o/mcp", "is not a well-formed URL"),
            ("http://[::1/mcp", "is not a well-formed URL"),
            ("http://user:pw@host/mcp", "must not contain a user name or password"),
            ("http://token@host/mcp", "must not contain a user name or password"),
            ("http://host/mcp#part", "must not have a fragment"),
            ("http://host/mcp#", "must not have a fragment"),
            ("http://host/a b", "must be a URL without blanks"),
            ("http://host/mcp\n", "must be a URL without blanks"),
            ("http://münchen.example/mcp", "must be a URL in ASCII"),
            ("http://host\\@evil/mcp", "must be a URL in ASCII"),
            ("http://host/100%", "must be a URL in ASCII"),
        )
    ),
    refused(BACKEND, {"url": "http://host/" + "a" * 2048}, "url", "at most 2048 are allowed", _TOO_LONG),
    *(
        refused(BACKEND, {"hostHeader": host}, "hostHeader", "must be a host name", _PATTERN)
        for host in ("a b", "a/b", "", "a:", "[::1", "-a")
    ),
    refused(BACKEND, {"tls": {"serverName": "a:1"}}, "tls.serverName", "must be a host name", _PATTERN),
    refused(
        BACKEND,
        {"service": {"name": "a", "port": 1, "path": "mcp"}, "url": None},
        "service.path",
        "a path that begins with '/'",
        _PATTERN,
    ),
    refused(
        BACKEND,
        {"auth": {"type": "Bearer", "secretKeyRef": {"name": "gh"}}},
        "auth.secretKeyRef.key",
        "is required",
        "Required",
    ),
    refused(
        BACKEND,
        {"allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "-"}}}},
        "allowedNamespaces.selector.matchLabels.team",
        "beginning and ending with a letter or digit",
        _PATTERN,
    ),
    refused(
        BACKEND,
        {"allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {f"k{n}": "" for n in range(65)}}}},
        "allowedNamespaces.selector.matchLabels",
        "at most 64 are allowed",
        "Too many",
    ),
    *(
        refused(ALIAS, {"alias": exposed}, "alias", "must be letters, digits, '_', '-' and '.'", _PATTERN)
        for exposed in ("", "find repo", "a/b", "ä", "find\n")
    ),
    refused(ALIAS, {"alias": "x" * 129}, "alias", "at most 128 are allowed", _TOO_LONG),
    refused(ALIAS, {"tool": "a\tb"}, "tool", "without control characters", _PATTERN),
    refused(ALIAS, {"tool": "ü" * 513}, "tool", "at most 512 are allowed", _TOO_LONG),
    refused(ALIAS, {"title": "two\nlines"}, "title", "must be one line of text", _PATTERN),
    refused(ALIAS, {"description": ""}, "description", "must be text, not empty", _PATTERN),
    refused(ALIAS, {"backendRef": None}, "backendRef", "is required", "Required value"),
    refused(ALIAS, {"backendRef": {"name": "a", "namespace": "a.b"}}, "backendRef.namespace", "lower-case", _PATTERN),
    refused(ALIAS, {"gatewayRefs": []}, "gatewayRefs", "must have at least 1 entry", "at least 1 items"),
    refused(ALIAS, {"gatewayRefs": [{"name": "a" * 41}]}, "gatewayRefs[0].name", "at most 40 are allowed", _TOO_LONG),
    refused(ALIAS, {"keepOriginal": "yes"}, "keepOriginal", "must be true or false", _TYPE),
    refused(
        GATEWAY, {"naming": {"maxLength": 23}}, "naming.maxLength", "must be at least 24", "greater than or equal to"
    ),
    refused(GATEWAY, {"naming": {"separator": "::"}}, "naming.separator", "one to four '_'", _PATTERN),
    refused(GATEWAY, {"naming": {"separator": "_-"}}, "naming.separator", "one to four '_'", _PATTERN),
    refused(GATEWAY, {"naming": {"separator": "_____"}}, "naming.separator", "at most 4 are allowed", _TOO_LONG),
    refused(GATEWAY, {"backends": [{"name": "a", "prefix": "a b"}]}, "backends[0].prefix", "letters, digits", _PATTERN),
    refused(GATEWAY, {"protocols": []}, "protocols", "must have at least 1 entry", "at least 1 items"),
    refused(GATEWAY, {"protocols": ["Auto"]}, "protocols[0]", "must be one of Modern or Legacy", _ENUM),
    refused(GATEWAY, {"pageSize": "10"}, "pageSize", "must be a whole number", _TYPE),
    refused(GATEWAY, {"listener": {"port": 0}}, "listener.port", "must be at least 1", "greater than or equal to"),
    *(
        refused(GATEWAY, {"listener": {"allowedHosts": [host]}}, "listener.allowedHosts[0]", "must be '*' or", _PATTERN)
        for host in ("*.example", "a.example/", "", "**", "https://a.example")
    ),
    *(
        refused(
            GATEWAY, {"listener": {"allowedOrigins": [each]}}, "listener.allowedOrigins[0]", "or an origin", _PATTERN
        )
        for each in ("https://app.example/", "app.example", "null", "*x", "x*")
    ),
    refused(GATEWAY, {"listener": {"publicURL": "mcp"}}, "listener.publicURL", "must be an absolute", _PATTERN),
    *(
        refused(GATEWAY, {"egress": {"allowedAddresses": [network]}}, "egress.allowedAddresses[0]", *says)
        for network, says in (
            ("169.254.10.1", ("must be a network such as", _PATTERN)),
            ("link-local", ("must be a network such as", _PATTERN)),
        )
    ),
    refused(
        GATEWAY,
        {"egress": {"allowedAddresses": ["10.0.0.0/8"] * 33}},
        "egress.allowedAddresses",
        "at most 32",
        "at most 32",
    ),
    *(
        refused(GATEWAY, {"listener": {"callerLimits": limits}}, f"listener.callerLimits.{next(iter(limits))}", *says)
        for limits, says in (
            ({"calls": 0}, ("must be at least 1", "greater than or equal to")),
            ({"calls": 2001}, ("must be at most 2000", "less than or equal to")),
            ({"calls": "500"}, ("must be a whole number", _TYPE)),
            ({"streams": 0}, ("must be at least 1", "greater than or equal to")),
            ({"streams": 20001}, ("must be at most 20000", "less than or equal to")),
        )
    ),
    refused(GATEWAY, {"instructions": ""}, "instructions", "must be text, not empty", _PATTERN),
    refused(GATEWAY, {"auth": []}, "auth", "must be a mapping", _TYPE),
    refused(GATEWAY, {"replicas": -1}, "replicas", "must be at least 0", "greater than or equal to"),
    refused(GATEWAY, {"replicas": 1001}, "replicas", "must be at most 1000", "less than or equal to"),
    refused(GATEWAY, {"replicas": "2"}, "replicas", "must be a whole number", _TYPE),
    refused(GATEWAY, {"mode": "deployment"}, "mode", "did you mean Deployment", _ENUM),
    refused(GATEWAY, {"service": {"type": "NodePort"}}, "service.type", "must be one of ClusterIP or", _ENUM),
    refused(GATEWAY, {"service": {"port": 0}}, "service.port", "must be at least 1", "greater than or equal to"),
    refused(GATEWAY, {"service": {"port": 65536}}, "service.port", "at most 65535", "less than or equal to"),
    refused(
        GATEWAY,
        {"service": {"annotations": {"a": "x" * 4097}}},
        "service.annotations.a",
        "at most 4096 are allowed",
        _TOO_LONG,
    ),
    refused(GATEWAY, {"service": {"annotations": {"a": 1}}}, "service.annotations.a", "must be a string", _TYPE),
    refused(GATEWAY, {"sidecar": {"image": ""}}, "sidecar.image", "must be an image such as", _PATTERN),
    refused(GATEWAY, {"sidecar": {"image": "a b"}}, "sidecar.image", "must be an image such as", _PATTERN),
    refused(
        GATEWAY, {"sidecar": {"imagePullPolicy": "always"}}, "sidecar.imagePullPolicy", "did you mean Always", _ENUM
    ),
    refused(
        GATEWAY,
        {"sidecar": {"adminPort": 65536}},
        "sidecar.adminPort",
        "must be at most 65535",
        "less than or equal to",
    ),
    refused(
        GATEWAY,
        {"sidecar": {"imagePullSecrets": [{"name": "A"}]}},
        "sidecar.imagePullSecrets[0].name",
        "must be lower-case letters",
        _PATTERN,
    ),
    refused(
        GATEWAY,
        {"sidecar": {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]}},
        "sidecar.imagePullSecrets[1].name",
        "a is given more than once",
        "Duplicate value",
        "spec.sidecar.imagePullSecrets[1]",
    ),
    refused(
        GATEWAY,
        {"sidecar": {"imagePullSecrets": [{"name": f"s{number}"} for number in range(9)]}},
        "sidecar.imagePullSecrets",
        "at most 8 are allowed",
        "at most 8 items",
    ),
    *(
        refused(GATEWAY, spec, f"auth.{at}", says, server_says)
        for spec, at, says, server_says in (
            (jwt(issuer=None), "jwt[0].issuer", "is required", "Required value"),
            (jwt(issuer=""), "jwt[0].issuer", "must be visible ASCII", _PATTERN),
            (jwt(issuer="a b"), "jwt[0].issuer", "must be visible ASCII", _PATTERN),
            (jwt(issuer="x" * 513), "jwt[0].issuer", "at most 512 are allowed", _TOO_LONG),
            (jwt(audiences=None), "jwt[0].audiences", "is required", "Required value"),
            (jwt(audiences=[]), "jwt[0].audiences", "must have at least 1 entry", "at least 1 items"),
            (jwt(audiences=["a"] * 17), "jwt[0].audiences", "at most 16 are allowed", "Too many"),
            (jwt(audiences="a"), "jwt[0].audiences", "must be a list", _TYPE),
            (jwt(jwksURL="keys"), "jwt[0].jwksURL", "must be an absolute http or https URL", _PATTERN),
            (jwt(jwksURL=None, jwks=""), "jwt[0].jwks", "must be text, not empty", _PATTERN),
            (jwt(jwksURL=None, jwks="x" * 65537), "jwt[0].jwks", "at most 65536 are allowed", _TOO_LONG),
            (jwt(algorithms=[]), "jwt[0].algorithms", "must have at least 1 entry", "at least 1 items"),
            (jwt(algorithms=["HS256"]), "jwt[0].algorithms[0]", "must be one of RS256", _ENUM),
            (jwt(algorithms=["none"]), "jwt[0].algorithms[0]", "must be one of RS256", _ENUM),
            (jwt(leeway=30), "jwt[0].leeway", "must be a duration such as", _TYPE),
            (jwt(requiredScopes=["a b"]), "jwt[0].requiredScopes[0]", "must be a scope such as", _PATTERN),
            (jwt(requiredScopes=['"']), "jwt[0].requiredScopes[0]", "must be a scope such as", _PATTERN),
            (
                {"auth": {"jwt": [_ISSUER | {"issuer": f"https://{n}"} for n in range(9)]}},
                "jwt",
                "at most 8 are allowed",
                "at most 8 items",
            ),
            ({"auth": {"kubernetes": {}}}, "kubernetes.audiences", "is required", "Required value"),
            (
                {"auth": {"kubernetes": {"audiences": []}}},
                "kubernetes.audiences",
                "must have at least 1 entry",
                "at least 1 items",
            ),
            (static(name="a b"), "tokens[0].name", "must be a name such as ci", _PATTERN),
            (static(name=""), "tokens[0].name", "must be a name such as ci", _PATTERN),
            (static(secretKeyRef={"name": "ci"}), "tokens[0].secretKeyRef.key", "is required", "Required value"),
            (static(claims=[]), "tokens[0].claims", "must be a mapping", _TYPE),
            (
                static(claims={f"c{n}": n for n in range(65)}),
                "tokens[0].claims",
                "at most 64 are allowed",
                "Too many",
            ),
            (
                {"auth": {"tokens": [_TOKEN | {"name": f"t{n}"} for n in range(65)]}},
                "tokens",
                "at most 64 are allowed",
                "at most 64 items",
            ),
            (
                {"auth": {"jwt": [_ISSUER], "authorizationServers": ["login.example"]}},
                "authorizationServers[0]",
                "must be an absolute http or https URL",
                _PATTERN,
            ),
        )
    ),
    *(
        refused(BACKEND, {"auth": {"type": "Forward", "audiences": audiences}}, f"auth.audiences{at}", says, server)
        for audiences, at, says, server in (
            ([""], "[0]", "must be visible ASCII", _PATTERN),
            (["a"] * 17, "", "at most 16 are allowed", "Too many"),
        )
    ),
    refused(GATEWAY, {"visibility": []}, "visibility", "must be a mapping", _TYPE),
    *(
        refused(GATEWAY, {"auth": {"jwt": [_ISSUER]}, "visibility": visibility}, f"visibility.{at}", says, server_says)
        for visibility, at, says, server_says in (
            ({}, "default", "is required", "Required value"),
            ({"default": "deny"}, "default", "did you mean Deny", _ENUM),
            ({"default": "Deny", "rules": [{}]}, "rules[0].tools", "is required", "Required value"),
            (
                {"default": "Deny", "rules": [{"tools": {}}] * 129},
                "rules",
                "at most 128 are allowed",
                "Too many",
            ),
            (
                {"default": "Deny", "rules": [{"tools": {"include": []}}]},
                "rules[0].tools.include",
                "must have at least 1 entry",
                "at least 1 items",
            ),
            (
                {"default": "Deny", "rules": [{"when": [{"claim": "a"}] * 17, "tools": {}}]},
                "rules[0].when",
                "at most 16 are allowed",
                "Too many",
            ),
            *(
                (
                    {"default": "Deny", "rules": [{"when": [{"claim": claim}], "tools": {}}]},
                    "rules[0].when[0].claim",
                    "must be a claim's name such as groups",
                    _PATTERN,
                )
                for claim in ("", "/a~2", "/a~", "a\nb")
            ),
            (
                {"default": "Deny", "rules": [{"when": [{"claim": "a", "anyOf": [1]}], "tools": {}}]},
                "rules[0].when[0].anyOf[0]",
                "must be a string",
                _TYPE,
            ),
            (
                {"default": "Deny", "rules": [{"when": [{"claim": "a", "noneOf": ["x"] * 65}], "tools": {}}]},
                "rules[0].when[0].noneOf",
                "at most 64 are allowed",
                "Too many",
            ),
        )
    ),
)
"""What a single value must look like."""

MODELS_ALONE: Final[tuple[Refused, ...]] = (
    # A structural schema has no word for keys, and CEL would have to reckon with keys of any length.
    refused(
        BACKEND,
        {"allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"a b": ""}}}},
        'allowedNamespaces.selector.matchLabels["a b"]',
        "must be a label key such as team",
    ),
    refused(
        GATEWAY,
        {"backends": [{"selector": {"matchLabels": {"": ""}}}]},
        'backends[0].selector.matchLabels[""]',
        "must be a label key such as team",
    ),
    # CEL reads no JSON out of text, and knows nothing of what stands in an object without a schema.
    *(
        refused(GATEWAY, jwt(jwksURL=None, jwks=keys), "auth.jwt[0].jwks", says)
        for keys, says in (
            ("{", "is not JSON"),
            ("[]", "is no key set"),
            ('{"keys": ["a"]}', "is no key set"),
            ('{"keys": [{"kty": "x"}]}', "holds no public key"),
            ('{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', "holds a symmetric or private key"),
            ('{"keys": [{"kty": "EC", "d": "c2VjcmV0"}]}', "holds a symmetric or private key"),
        )
    ),
    refused(GATEWAY, static(claims={"sub": "x"}), "auth.tokens[0].claims.sub", "is the token's name"),
    refused(GATEWAY, static(claims={"a": "x" * 8185}), "auth.tokens[0].claims", "has 8194 bytes as JSON; at most 8192"),
    # CEL reckons with any length of what it takes out of a URL, so that a host cannot be looked at further.
    refused(BACKEND, {"url": "http://[::ffff:127.0.0.1]/"}, "url", "must not write an IPv4 address as IPv6"),
)
"""What the API server cannot check, and why. Such an object is stored, and the operator says ``Accepted=False``."""

ACCEPTED: Final[tuple[Case, ...]] = (
    *(Case(kind) for kind in MODELS),
    Case(BACKEND, name="a" * 63),
    Case(BACKEND, name="a.b"),
    Case(GATEWAY, name="a" * 40),
    Case(ALIAS, name=".".join(["a" * 63] * 3 + ["a" * 61])),
    *(
        Case(BACKEND, {"url": url})
        for url in (
            "https://github-mcp.example/mcp",
            "http://127.0.0.1:9000/mcp",
            "http://[::1]:9000/mcp",
            "http://[2001:db8::1]",
            "http://mcp.tools.svc",
            "HTTP://host/",
            "https://host.example./mcp?tenant=a%20b&x=1",
            "https://host?tenant=a",
            "http://under_score:80/x",
            "http://host:65535/a/../b//c;d=[e]",
            "http://host/@me/x:y",
        )
    ),
    Case(BACKEND, {"service": {"name": "a", "port": 1}, "url": None}),
    Case(BACKEND, {"service": {"name": "a", "port": 65535, "path": "/", "scheme": "https"}, "url": None}),
    *(Case(BACKEND, {"hostHeader": host}) for host in ("a.example", "a.example:80", "[::1]:80")),
    Case(BACKEND, {"transport": "SSE", "protocol": "Legacy"}),
    Case(BACKEND, {"transport": "SSE"}),
    Case(
        BACKEND,
        {
            "headers": [
                {"name": "X-Team", "value": "a b\tc; d=1"},
                {"name": "X_Y", "value": ""},
                {"name": "Origin", "valueFrom": {"secretKeyRef": _SECRET}},
                {"name": "X-Mcp-Y", "value": "x" * 8192},
                {"name": "!#$%&'*+.^_`|~0", "value": "1"},
            ]
        },
    ),
    Case(BACKEND, {"auth": {"type": "Bearer", "secretKeyRef": _SECRET}}),
    Case(BACKEND, {"auth": {"type": "Forward"}}),
    Case(
        BACKEND,
        {
            "tls": {
                "caRef": {"name": "ca"},
                "clientCertificateRef": {"name": "cert"},
                "serverName": "mcp.example",
            }
        },
    ),
    Case(BACKEND, {"tls": {"insecureSkipVerify": True}}),
    Case(BACKEND, {"timeouts": {"connect": "1ms", "list": "5m", "call": "10m", "callMax": "600s"}}),
    Case(BACKEND, {"timeouts": {"call": "23h59m59s1000ms", "callMax": "24h"}}),
    Case(BACKEND, {"timeouts": {"call": "1s1s1s1s"}}),
    Case(BACKEND, {"cache": {"minTTL": "24h", "maxTTL": "1440m", "defaultTTL": "0h"}}),
    Case(BACKEND, {"limits": {"pages": 1, "tools": 100_000, "bytes": "1Gi", "toolBytes": "64Mi"}}),
    Case(BACKEND, {"limits": {"bytes": 1024, "toolBytes": "1Ki"}}),
    Case(BACKEND, {"limits": {"bytes": "1.024k", "toolBytes": 1024}}),
    Case(BACKEND, {"limits": {"bytes": "1073741824.000000000"}}),
    Case(BACKEND, {"limits": {"bytes": "1048576", "toolBytes": "1Mi"}}),
    Case(BACKEND, {"tools": {"include": ["read_*", "get?", "[abc]", "ü"], "exclude": ["*" * 256]}}),
    Case(BACKEND, {"pinning": {"mode": "Warn", "digests": [{"tool": "a b", "sha256": "0" * 64}]}}),
    Case(BACKEND, {"allowedNamespaces": {"from": "All", "credentials": "Share"}}),
    Case(
        BACKEND,
        {
            "allowedNamespaces": {
                "from": "Selector",
                "selector": {
                    "matchLabels": {"team": "a", "example.com/tier": ""},
                    "matchExpressions": [
                        {"key": "team", "operator": "In", "values": ["a", ""]},
                        {"key": "example.com/x", "operator": "Exists"},
                        {"key": "y", "operator": "DoesNotExist", "values": []},
                    ],
                },
            }
        },
    ),
    Case(BACKEND, {"allowedNamespaces": {"from": "Selector", "selector": {}}}),
    Case(BACKEND, {"headers": None, "auth": None, "hostHeader": None, "timeouts": {"call": None}}),
    Case(
        ALIAS,
        {
            "backendRef": {"name": "github.com", "namespace": "tools"},
            "tool": "Zeig, was es gibt! ✓",
            "alias": "A-b_c.9",
            "title": "Ünïcode",
            "description": "two\nlines\r\n",
            "keepOriginal": True,
            "gatewayRefs": [{"name": "a"}, {"name": "b"}],
        },
    ),
    Case(ALIAS, {"tool": "ü" * 512, "description": "✓" * 16384}),
    Case(
        GATEWAY,
        {
            "backends": [
                {"name": "github"},
                {"name": "github", "prefix": ""},
                {"name": "jira", "namespace": "tools", "prefix": "jr", "tools": {"exclude": ["delete_*"]}},
                {"selector": {"matchLabels": {"team": "a"}}, "tools": {}},
            ],
            "naming": {"strategy": "Always", "separator": "----", "maxLength": 128, "charset": "Safe"},
            "order": "Backend",
            "pageSize": 10_000,
            "failurePolicy": "Strict",
            "protocols": ["Legacy"],
            "instructions": "a\nb",
            "listener": {
                "port": 65535,
                "path": "/a/b",
                "allowedOrigins": ["*", "https://app.example", "http://localhost:3000"],
                "allowedHosts": ["*", "a.example", "[::1]:80"],
                "publicURL": "https://mcp.example/mcp",
            },
        },
    ),
    Case(GATEWAY, {"backends": [{"name": "a", "prefix": "p" * 52}, {"name": "b", "prefix": "a.b-c_d"}]}),
    Case(GATEWAY, {"protocols": ["Legacy", "Modern"], "naming": {"separator": "_", "maxLength": 24}}),
    Case(GATEWAY, jwt()),
    Case(GATEWAY, jwt(jwksURL=None, jwks=_KEYS, leeway="0s", algorithms=["EdDSA", "ES512"])),
    Case(GATEWAY, jwt(caRef={"kind": "Secret", "name": "ca", "key": "x.pem"}, requiredScopes=["mcp:tools", "a/b#!"])),
    Case(GATEWAY, {"auth": {"kubernetes": {"audiences": ["switchyard"] * 16}}}),
    Case(GATEWAY, static(name="team-a/ci@x", claims={"a": [1, {"b": None}], "c": 1.5, "d": {"e": {"f": True}}})),
    Case(GATEWAY, static(claims={"a": "x" * 8183})),
    Case(
        GATEWAY,
        {
            "auth": {
                "jwt": [_ISSUER, _ISSUER | {"issuer": "urn:other"}],
                "kubernetes": {"audiences": ["a"]},
                "tokens": [_TOKEN],
                "authorizationServers": ["https://login.example/tenant"],
            },
            "visibility": {
                "default": "Allow",
                "rules": [
                    {"when": [{"claim": "groups", "anyOf": ["sre"], "noneOf": ["guests"]}], "tools": {}},
                    {
                        "when": [{"claim": "/kubernetes.io/namespace", "anyOf": ["a"]}, {"claim": "/a~1b~0c/"}],
                        "tools": {"include": ["github__*"], "exclude": ["*delete*"]},
                    },
                    {"tools": {"exclude": ["*"]}},
                ],
            },
        },
    ),
    Case(GATEWAY, {"visibility": {"default": "Deny"}}),
    Case(GATEWAY, {"visibility": {"default": "Allow", "rules": [{"when": [], "tools": {"exclude": ["*delete*"]}}]}}),
    Case(BACKEND, {"auth": {"type": "Forward", "audiences": ["https://mcp.example", "b"]}}),
    Case(GATEWAY, {"egress": {"allowedAddresses": ["169.254.10.0/24", "fe80::/64", "fd00:ec2::23/128"]}}),
    Case(GATEWAY, {"listener": {"callerLimits": {"calls": 2000, "streams": 20000}}, "egress": {}}),
    Case(GATEWAY, {"replicas": 0, "service": {}, "sidecar": {}}),
    Case(
        GATEWAY,
        {
            "mode": "Deployment",
            "replicas": 1000,
            "service": {
                "type": "LoadBalancer",
                "port": 80,
                "annotations": {"a.example/b": "", "c": "several\nlines of text"},
            },
        },
    ),
    Case(GATEWAY, {"sidecar": {"resources": {"requests": {"cpu": 1}, "limits": {"memory": "32Mi"}}}}),
    Case(GATEWAY, {"sidecar": {"resources": {"requests": {"cpu": "1000m"}, "limits": {"cpu": 1}}}}),
    Case(
        GATEWAY,
        {
            "listener": {"port": 8812},
            "sidecar": {
                "image": "registry.example:5000/a/switchyard-sidecar:0.1.0@sha256:" + "0" * 64,
                "imagePullPolicy": "IfNotPresent",
                "imagePullSecrets": [{"name": "a"}, {"name": "b.c"}],
                "resources": {
                    "requests": {"cpu": "50m", "memory": "64Mi"},
                    "limits": {"cpu": "0.5", "memory": 134217728},
                },
                "adminPort": 8813,
            },
        },
    ),
)
"""Valid, each of them."""
