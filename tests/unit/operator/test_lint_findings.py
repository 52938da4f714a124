"""What `switchyard lint` finds in manifests."""

from pathlib import Path
from random import Random
from textwrap import dedent

import pytest

from switchyard_operator.cli.lint.advice import Subject
from switchyard_operator.cli.lint.findings import Finding, findings
from switchyard_operator.compile.objects import Objects
from switchyard_operator.manifests.load import Manifests, load
from switchyard_operator.manifests.sources import Source
from unit.operator import declared


def written(kind: str, name: str, spec: str, namespace: str = "agents") -> str:
    """An object of five lines, its spec on the fifth."""
    version = "v1" if kind in {"Secret", "ConfigMap", "Namespace"} else "switchyard.dev/v1alpha1"
    return dedent(f"""\
        ---
        apiVersion: {version}
        kind: {kind}
        metadata: {{name: {name}, namespace: {namespace}}}
        {spec}
        """)


def gateway(*entries: str, spec: str = "", name: str = "main") -> str:
    return written("MCPGateway", name, f"spec: {{backends: [{', '.join(entries)}]{', ' if spec else ''}{spec}}}")


def backend(name: str, spec: str = "", namespace: str = "agents") -> str:
    url = "" if "url:" in spec else f'url: "https://{name}.example/mcp"{", " if spec else ""}'
    return written("MCPBackend", name, f"spec: {{{url}{spec}}}", namespace)


def alias(name: str, target: str, exposed: str, spec: str = "") -> str:
    more = f", {spec}" if spec else ""
    return written("MCPToolAlias", name, f"spec: {{backendRef: {{name: {target}}}, tool: t, alias: {exposed}{more}}}")


def lint(text: str) -> list[Finding]:
    return findings(load([Source("a.yaml", text.encode())]))


def in_short(text: str) -> list[str]:
    """Each finding as `severity line field reason`."""
    return [
        f"{each.severity.lower()} {each.place and each.place.line} {each.field} {each.reason}" for each in lint(text)
    ]


BEARER = "auth: {type: Bearer, secretKeyRef: {name: gh, key: token}}"
UNLABELLED = written("Secret", "other", "stringData: {token: x}")


def test_a_finding_says_where_what_and_why() -> None:
    """File, line and column; object and field; what was probably meant; a word for programs."""
    (found,) = lint(gateway("{name: githb}") + backend("github"))
    assert found.said == (
        "MCPGateway agents/main: spec.backends[0]: there is no MCPBackend agents/githb; did you mean github? "
        "[BackendNotFound]"
    )
    assert found.place is not None
    assert (str(found.place), found.severity) == ("a.yaml:5:19", "Error")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(gateway("{name: a}", "{name: b}") + backend("a") + backend("b"), [], id="nothing to say"),
        pytest.param("", [], id="an empty file"),
        pytest.param(backend("a"), [], id="a backend that no gateway here uses"),
        pytest.param("kind: [", ["error 1  Invalid"], id="no YAML"),
        pytest.param(
            gateway("{nme: a}", spec="pageSize: -1"),
            [
                "error 5 spec.backends[0].nme Invalid",
                "error 5 spec.pageSize Invalid",
            ],
            id="mistakes of form",
        ),
        pytest.param(backend("a") + backend("a"), ["error 7  Invalid"], id="declared twice"),
        pytest.param(
            backend("a", BEARER) + written("Secret", "gh", "stringData: {token: x}"),
            ["error 5 spec.auth.secretKeyRef SecretNotLabelled"],
            id="a Secret without the label, of a backend that no gateway here uses",
        ),
        pytest.param(
            gateway("{name: a}", "{name: b, prefix: ''}") + backend("a") + backend("b"),
            ["warning 5 spec.backends[1] SharedNames"],
            id="shared names",
        ),
        pytest.param(
            gateway("{name: a}") + backend("a") + alias("one", "a", "x") + alias("two", "a", "x"),
            ["error 20 spec.alias AliasConflict"],
            id="two aliases for one name",
        ),
        pytest.param(
            gateway("{name: a}")
            + gateway("{name: a}", name="other")
            + backend("a", BEARER)
            + written("Secret", "gh", "stringData: {token: x}"),
            ["error 15 spec.auth.secretKeyRef SecretNotLabelled"],
            id="a fault of a backend that two gateways use",
        ),
    ],
)
def test_what_the_operator_finds_is_found(text: str, found: list[str]) -> None:
    """Each once, in the order of lines."""
    assert in_short(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            gateway("{name: a}", "{name: gone}") + backend("a"),
            ["error 5 spec.backends[1] BackendNotFound"],
            id="a backend among others",
        ),
        pytest.param(
            gateway("{name: gone}") + backend("gone", namespace="tools"),
            ["warning 5 spec.backends[0] BackendNotFound"],
            id="a backend, where the files hold none of the namespace",
        ),
        pytest.param(
            gateway("{name: a, namespace: tools}") + backend("a"),
            ["warning 5 spec.backends[0] BackendNotFound"],
            id="a backend of a namespace that is kept elsewhere",
        ),
        pytest.param(
            gateway("{name: a, namespace: tools}") + backend("a", namespace="tools"),
            ["error 5 spec.backends[0] BackendNotFound"],
            id="a backend that does not admit the namespace",
        ),
        pytest.param(
            gateway("{name: a, namespace: tools}")
            + backend("a", "allowedNamespaces: {from: Selector, selector: {}}", "tools"),
            [
                "warning 5 spec.backends[0] BackendNotFound",
                "warning 10 spec.allowedNamespaces.selector NamespaceUnknown",
            ],
            id="a backend that admits namespaces by labels that are not known here",
        ),
        pytest.param(
            gateway("{name: a}") + backend("a") + alias("one", "a", "x", "gatewayRefs: [{name: gone}]"),
            ["error 15 spec.gatewayRefs[0].name GatewayNotFound"],
            id="a gateway among others",
        ),
        pytest.param(
            alias("one", "a", "x", "gatewayRefs: [{name: gone}]") + alias("two", "a", "y"),
            ["warning 5 spec.gatewayRefs[0].name GatewayNotFound", "warning 10 spec.backendRef NoGateway"],
            id="a gateway, where the files hold none",
        ),
        pytest.param(
            gateway("{name: a}") + backend("a") + alias("one", "gone", "x"),
            ["error 15 spec.backendRef NoGateway"],
            id="an alias for what no gateway includes",
        ),
        pytest.param(
            backend("a", BEARER), ["note 5 spec.auth.secretKeyRef SecretNotFound"], id="a Secret, where there is none"
        ),
        pytest.param(
            backend("a", BEARER) + UNLABELLED,
            ["error 5 spec.auth.secretKeyRef SecretNotFound"],
            id="a Secret among others",
        ),
        pytest.param(
            backend("a", "tls: {caRef: {name: ca}}"),
            ["note 5 spec.tls.caRef ConfigMapNotFound"],
            id="a ConfigMap, where there is none",
        ),
    ],
)
def test_what_is_missing_is_an_error_only_where_it_would_be_seen(text: str, found: list[str]) -> None:
    """Files are a part of a cluster: Secrets are seldom among them, and other teams' backends lie in other repositories."""
    assert in_short(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            gateway("{name: a}") + backend("a", "tmeouts: {}"),
            ["error 10 spec.tmeouts Invalid"],
            id="a backend with a mistake",
        ),
        pytest.param(
            gateway("{name: a}", "{name: b}") + backend("b") + "---\n{",
            ["error 12  Invalid"],
            id="a document that cannot be read",
        ),
        pytest.param(
            backend("a") + alias("one", "a", "x") + gateway("{name: a}", spec="modus: x") + gateway(name="other"),
            ["error 15 spec.modus Invalid"],
            id="a gateway with a mistake",
        ),
    ],
)
def test_what_may_be_in_an_unreadable_place_is_not_called_missing(text: str, found: list[str]) -> None:
    """One mistake is one finding."""
    assert in_short(text) == found


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (gateway("{name: githb}") + backend("github"), "github"),
        (gateway("{name: wiki}") + backend("github") + backend("wiki", namespace="tools"), "tools/wiki"),
        (gateway("{name: zzz}") + backend("github"), None),
        (gateway("{name: wiki, namespace: tools}") + backend("wiki", namespace="tools"), None),
        (gateway("{name: github}") + backend("github") + alias("a", "gitub", "x"), "github"),
        (gateway("{name: a}") + backend("a") + alias("x", "a", "x", "gatewayRefs: [{name: mian}]"), "main"),
        (backend("a", BEARER) + written("Secret", "ghp", "stringData: {token: x}"), "ghp"),
        (backend("a", "tls: {caRef: {name: ca}}") + written("ConfigMap", "cas", "data: {}"), "cas"),
    ],
)
def test_what_was_probably_meant_is_said(text: str, meant: str | None) -> None:
    """A name of the same namespace that is near, or the same name in another one."""
    (found,) = lint(text)
    _, _, said = found.message.partition("; did you mean ")
    assert (said.removesuffix("?") or None) == meant


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            gateway("{selector: {matchLabels: {team: a}}}") + backend("a"),
            ["warning 5 spec.backends[0].selector SelectsNothing"],
            id="a selector that selects nothing",
        ),
        pytest.param(gateway("{selector: {matchLabels: {team: a}}}"), [], id="a selector of what is kept elsewhere"),
        pytest.param(
            backend("a", "headers: [{name: X-Api-Key, value: abc}, {name: X-Team, value: abc}]"),
            ["warning 5 spec.headers[0].value SecretInManifest"],
            id="a credential in plain text",
        ),
        pytest.param(
            backend("a", f'url: "http://a.example/mcp", {BEARER}'),
            ["warning 5 spec.url CredentialInClear", "note 5 spec.auth.secretKeyRef SecretNotFound"],
            id="a token over plain HTTP",
        ),
        pytest.param(
            backend("a", f"{BEARER}, allowedNamespaces: {{from: All, credentials: Share}}"),
            [
                "note 5 spec.auth.secretKeyRef SecretNotFound",
                "warning 5 spec.allowedNamespaces.credentials SharedWithAll",
            ],
            id="credentials for everyone",
        ),
        pytest.param(
            backend("a", "allowedNamespaces: {from: All, credentials: Share}"), [], id="no credentials for everyone"
        ),
        pytest.param(
            backend("a", "tls: {insecureSkipVerify: true}"),
            ["warning 5 spec.tls.insecureSkipVerify UnverifiedServer"],
            id="a server that is not verified",
        ),
        pytest.param(
            backend("a", "transport: SSE"), ["note 5 spec.transport DeprecatedTransport"], id="the transport of 2024"
        ),
        pytest.param(
            gateway(spec="listener: {allowedOrigins: ['*'], allowedHosts: ['*']}"),
            ["warning 5 spec.listener.allowedOrigins AnyWebsite", "warning 5 spec.listener.allowedHosts AnyWebsite"],
            id="any website",
        ),
    ],
)
def test_advice(text: str, found: list[str]) -> None:
    """What is valid and served, and most often a slip or a risk that was not seen."""
    assert in_short(text) == found


PLAIN, CYRILLIC = f"{{tool: paypal, sha256: '{'0' * 64}'}}", f"{{tool: \"p\\u0430ypal\", sha256: '{'0' * 64}'}}"


def pinned(*digests: str, more: str = "") -> str:
    return f"pinning: {{mode: Warn, digests: [{', '.join(digests)}]}}{more}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            backend("a", pinned(PLAIN, CYRILLIC)),
            ["note 5 spec.pinning.digests[1].tool LookAlike"] * 2,
            id="a pinned tool with a Cyrillic letter: what it looks like, and that it mixes scripts",
        ),
        pytest.param(
            backend("a", pinned(PLAIN, CYRILLIC, more=', tools: {exclude: ["p\\u0430*"]}')),
            [],
            id="one that is left out",
        ),
        pytest.param(
            gateway("{name: a}")
            + backend("a", pinned(PLAIN))
            + alias("x", "a", "find").replace("tool: t", r'tool: "p\u0430ypal"'),
            ["note 15 spec.tool LookAlike"] * 2,
            id="a tool that an alias names",
        ),
        pytest.param(
            gateway("{name: a}")
            + backend("a")
            + alias("x", "a", "listItems")
            + alias("y", "a", "listitems").replace("t,", "u,"),
            ["warning 20 spec.alias LookAlike"],
            id="two aliases",
        ),
        pytest.param(
            gateway("{name: a}", "{name: b}")
            + backend("a", pinned(PLAIN))
            + backend("b")
            + alias("x", "b", "a__paypaI"),
            ["warning 20 spec.alias LookAlike"],
            id="an alias that passes for another backend's tool",
        ),
        pytest.param(
            gateway("{name: a, prefix: jira}", "{name: b, prefix: Jira}") + backend("a") + backend("b"),
            ["warning 5 spec.backends[0] LookAlike"],
            id="two prefixes",
        ),
        pytest.param(
            gateway("{name: svc1}", "{name: svcl}") + backend("svc1") + backend("svcl"),
            ["warning 5 spec.backends[1] LookAlike"],
            id="two backends' names, which become prefixes",
        ),
        pytest.param(
            gateway("{name: a}")
            + gateway("{name: a}", name="other")
            + backend("a")
            + alias("x", "a", "GET")
            + alias("y", "a", "get").replace("t,", "u,"),
            ["warning 25 spec.alias LookAlike"],
            id="two aliases, once however many gateways have them",
        ),
        pytest.param(
            gateway("{name: a}", "{name: b}") + backend("a", pinned(PLAIN)) + backend("b", pinned(PLAIN)),
            [],
            id="prefixes apart",
        ),
        pytest.param(
            backend("a", pinned(PLAIN, more=f", {BEARER}")),
            ["note 5 spec.auth.secretKeyRef SecretNotFound"],
            id="a token",
        ),
        pytest.param(
            backend("a", pinned(PLAIN, more=", auth: {type: Forward}")),
            ["note 5 spec.pinning UnseenPins"],
            id="no token",
        ),
        pytest.param(backend("a", "auth: {type: Forward}"), [], id="no token, and no pins"),
    ],
)
def test_names_that_look_alike_and_pins_that_nobody_sees(text: str, found: list[str]) -> None:
    """What files call tools is compared as the sidecar compares what it lists."""
    assert in_short(text) == found


def test_names_that_look_alike_are_told_apart_in_what_is_said_of_them() -> None:
    """Object, field and remedy, in ASCII."""
    alike, mixed = lint(backend("a", pinned(PLAIN, CYRILLIC)))
    remedy = "see whether it is meant, or leave it out with spec.tools of agents/a [LookAlike]"
    where = "MCPBackend agents/a: spec.pinning.digests[1].tool"
    assert alike.said == f"{where}: 'p\\u0430ypal' looks like 'paypal': {remedy}"
    assert mixed.said == f"{where}: 'p\\u0430ypal' mixes scripts within a word: {remedy}"


def jwt(keys: str = "https://login.example/keys", audience: str = "https://mcp.example") -> str:
    return f"jwt: [{{issuer: 'https://login.example', audiences: ['{audience}'], jwksURL: '{keys}'}}]"


def rules(*written: str, default: str = "Deny") -> str:
    return f"visibility: {{default: {default}, rules: [{', '.join(written)}]}}"


def when(*conditions: str) -> str:
    return f"{{when: [{', '.join(conditions)}], tools: {{}}}}"


AUTH = f"auth: {{{jwt()}}}"
SRE, PAID = "{claim: groups, anyOf: [sre]}", "{claim: plan, noneOf: [free]}"
TOKENS = "tokens: [{name: ci, secretKeyRef: {name: ci, key: token}}]"
FORWARD = "auth: {type: Forward, audiences: [b]}"
NO_SECRET = "note 5 spec.auth.tokens[0].secretKeyRef SecretNotFound"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(gateway(spec=f"{AUTH}, {rules(when(SRE))}"), [], id="nothing to say"),
        pytest.param(
            gateway(spec=f"auth: {{{jwt('http://login.example/keys')}}}"),
            ["warning 5 spec.auth.jwt[0].jwksURL KeysInClear"],
            id="keys over plain HTTP",
        ),
        pytest.param(gateway(spec=f"auth: {{{jwt('http://login.tools.svc/keys')}}}"), [], id="keys in the cluster"),
        pytest.param(
            gateway(spec=f"{AUTH}, mode: Deployment"),
            ["warning 5 spec.auth.jwt NoPublicURL"],
            id="no URL that tokens are for",
        ),
        pytest.param(
            gateway(spec=f"{AUTH}, mode: Deployment, listener: {{publicURL: 'https://mcp.example/'}}"),
            [],
            id="a URL that tokens are for",
        ),
        pytest.param(
            gateway(spec=f"{AUTH}, listener: {{publicURL: 'https://other.example/mcp'}}"),
            ["note 5 spec.auth.jwt[0].audiences OtherAudience"],
            id="a URL that tokens are not for",
        ),
        pytest.param(
            gateway(spec="auth: {kubernetes: {audiences: [a]}}"),
            ["note 5 spec.auth.kubernetes EveryServiceAccount"],
            id="every service account",
        ),
        pytest.param(
            gateway(
                spec=f"auth: {{kubernetes: {{audiences: [a]}}}}, {rules(when('{claim: /kubernetes.io/namespace}'))}"
            ),
            [],
            id="some service accounts",
        ),
        pytest.param(
            gateway(spec=f"auth: {{{TOKENS}}}"),
            [NO_SECRET, "note 5 spec.auth.tokens StaticTokens"],
            id="single tokens, whose Secret is kept elsewhere",
        ),
        pytest.param(
            gateway(spec=f"auth: {{{TOKENS}}}") + written("Secret", "ic", "stringData: {token: x}"),
            ["error 5 spec.auth.tokens[0].secretKeyRef SecretNotFound", "note 5 spec.auth.tokens StaticTokens"],
            id="a misspelt Secret",
        ),
        pytest.param(
            gateway(spec=rules("{tools: {exclude: [x]}}")),
            ["warning 5 spec.visibility AnonymousCallers"],
            id="anonymous",
        ),
        pytest.param(
            gateway(spec=f"{AUTH}, {rules(default='Allow')}"),
            ["warning 5 spec.visibility.default AllowedByDefault"],
            id="whoever meets no rule sees all",
        ),
        pytest.param(
            gateway(spec=f"{AUTH}, {rules('{tools: {}}', when(SRE), when(PAID))}"),
            [
                "warning 5 spec.visibility.rules[1] UnreachableRule",
                "warning 5 spec.visibility.rules[2] UnreachableRule",
            ],
            id="a rule for everyone comes first",
        ),
        pytest.param(
            gateway(spec=f"{AUTH}, {rules(when(SRE), when(PAID, SRE), when(PAID))}"),
            ["warning 5 spec.visibility.rules[1] UnreachableRule"],
            id="a rule for some of those of an earlier one",
        ),
        pytest.param(
            gateway(spec=f"{AUTH}, {rules(when(PAID, SRE), when(SRE), '{tools: {exclude: [x]}}')}"),
            [],
            id="rules from narrow to wide",
        ),
        pytest.param(
            gateway("{name: a}") + backend("a", FORWARD),
            ["warning 5 spec.backends[0] TokenPassthrough"],
            id="tokens that nobody has read",
        ),
        pytest.param(gateway("{name: a}", spec=AUTH) + backend("a", FORWARD), [], id="tokens that were made for it"),
        pytest.param(
            gateway("{name: a}", spec=AUTH) + backend("a", "auth: {type: Forward}"),
            ["error 5 spec.backends[0] ForwardWithoutAudience"],
            id="tokens for whom, is not said",
        ),
        pytest.param(
            gateway("{name: a}", spec=f"auth: {{{TOKENS}}}") + backend("a", FORWARD),
            [NO_SECRET, "note 5 spec.auth.tokens StaticTokens", "warning 5 spec.backends[0] NeverForwarded"],
            id="no token goes on",
        ),
        pytest.param(
            gateway() + backend("a", f'url: "http://a.example/mcp", {FORWARD}'),
            ["warning 10 spec.url CredentialInClear"],
            id="callers' tokens over plain HTTP",
        ),
        pytest.param(
            backend("a", f"{FORWARD}, allowedNamespaces: {{from: All, credentials: Share}}"),
            [],
            id="callers' tokens are none to share",
        ),
        pytest.param(
            gateway(spec="mode: Deployment, service: {type: LoadBalancer}"),
            ["warning 5 spec.service OpenToEveryone"],
            id="open to everyone",
        ),
    ],
)
def test_advice_on_who_is_let_in_and_who_sees_what(text: str, found: list[str]) -> None:
    """The same: most often a slip, or a risk that was not seen."""
    assert sorted(in_short(text)) == sorted(found)


@pytest.mark.parametrize(
    "host", ["jira", "jira.tools.svc", "jira.tools.svc.cluster.local", "localhost", "127.0.0.1", "10.1.2.3", "[::1]"]
)
def test_a_token_may_go_over_plain_http_within_cluster_and_machine(host: str) -> None:
    """Where it is usual."""
    assert in_short(backend("a", f'url: "http://{host}:80/mcp", {BEARER}')) == [
        "note 5 spec.auth.secretKeyRef SecretNotFound"
    ]


def test_a_gateway_that_does_not_fit_is_found() -> None:
    """Before the operator finds it."""
    characters = [chr(0x4E00 + index) for index in range(20_000)]
    texts = ["".join(Random(seed).choices(characters, k=16_384)) for seed in range(40)]
    aliases = [
        declared.alias(f"a{index}", "a", f"t{index}", f"x{index}", description=text) for index, text in enumerate(texts)
    ]
    objects = Objects.of([declared.gateway("a"), declared.backend("a"), *aliases])
    (found,) = findings(Manifests(objects, faults=(), unused={}, origins={}))
    assert (found.object, found.severity, found.reason) == ("MCPGateway agents/main", "Error", "TooLarge")


def test_every_subject_is_explained() -> None:
    """Users search for the word they were shown."""
    page = (Path(__file__).parents[3] / "docs" / "lint.md").read_text()
    rows = [line.split("`")[1] for line in page.split("## Reasons\n")[1].splitlines() if line.startswith("| `")]
    assert rows == list(Subject)
