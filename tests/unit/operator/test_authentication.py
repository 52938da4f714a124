"""Who is let in, and who sees what: from a gateway's spec to its sidecar's config."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile import CompiledGateway, Objects, compile_gateway
from switchyard_operator.compile.authentication import ServiceAccountIssuer, admits_nobody, knowing
from switchyard_operator.compile.directory import write
from switchyard_operator.compile.objects import ConfigMap
from switchyard_operator.compile.revocation import valid_tokens
from switchyard_sidecar.config import model as config
from switchyard_sidecar.config.apply import plan
from switchyard_sidecar.config.load import load
from unit.operator.declared import AGENTS, KEY, MAIN, backend, compiled, found, gateway, secret
from unit.operator.pem import CERTIFICATE

EC_KEY: dict[str, Any] = {
    "kty": "EC",
    "crv": "P-256",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
}
"""Of RFC 7517, appendix A.1."""
KEYS = json.dumps({"keys": [EC_KEY]})
ISSUER: dict[str, Any] = {
    "issuer": "https://login.example",
    "audiences": ["https://mcp.example"],
    "jwksURL": "https://login.example/keys",
}
CI: dict[str, Any] = {"name": "ci", "secretKeyRef": {"name": "ci", "key": "token"}, "claims": {"groups": ["ci"]}}
LABEL = {"switchyard.dev/credential": "true"}
CLUSTER = ServiceAccountIssuer("https://kubernetes.default.svc", KEYS)
NOBODY = config.Authentication()


def admission(result: CompiledGateway) -> config.Authentication:
    """The section, which must be there."""
    assert result.config.authentication is not None
    return result.config.authentication


def in_cluster(*objects: Any, issuer: ServiceAccountIssuer | None = CLUSTER) -> CompiledGateway:
    return compile_gateway(Objects.of(objects), MAIN, revision_key=KEY, cluster=True, service_accounts=issuer)


def test_every_field_of_auth_reaches_the_sidecar() -> None:
    """Files for what is secret or long, the rest as it is declared; a sidecar that does not know the section must refuse the config."""
    declared = ISSUER | {"caRef": {"name": "ca"}, "algorithms": ["ES256"], "leeway": "1s", "requiredScopes": ["a:b"]}
    inline = {"issuer": "urn:b", "audiences": ["b"], "jwks": KEYS}
    result = in_cluster(
        gateway(auth={"jwt": [declared, inline], "kubernetes": {"audiences": ["switchyard"]}, "tokens": [CI]}),
        secret("ci", labels=LABEL, token=b"s3cret"),
        ConfigMap(Key(AGENTS, "ca"), {"ca.crt": CERTIFICATE}),
    )
    files = {name: content for name, content in result.credentials.items() if name != "cred_key"}
    ca, token = (
        config.Credential(file=name, revision=hmac.new(KEY, content, hashlib.sha256).hexdigest())
        for content in (CERTIFICATE, b"s3cret")
        for name, held in files.items()
        if held == content
    )
    assert len(files) == 2
    assert admission(result) == config.Authentication(
        issuers=(
            config.Issuer(
                issuer="https://login.example",
                audiences=("https://mcp.example",),
                algorithms=("ES256",),
                jwks_url="https://login.example/keys",
                ca=ca,
                leeway_ms=1_000,
                required_scopes=("a:b",),
            ),
            config.Issuer(issuer="urn:b", audiences=("b",), jwks=KEYS),
            config.Issuer(
                issuer="https://kubernetes.default.svc",
                audiences=("switchyard",),
                algorithms=("RS256", "ES256", "ES384", "ES512"),
                jwks=KEYS,
            ),
        ),
        tokens=(config.StaticToken(name="ci", credential=token, claims={"groups": ["ci"]}),),
        authorization_servers=("https://login.example",),
    )
    assert result.config.requires == ("authentication",)
    assert found(result) == []


def test_the_sidecar_reads_what_is_written(tmp_path: Path) -> None:
    """Nothing is refused, unknown or on its way: also where nobody is let in."""
    jwt = {"jwt": [ISSUER | {"caRef": {"name": "ca"}}], "kubernetes": {"audiences": ["a"]}, "tokens": [CI]}
    rules = {"default": "Deny", "rules": [{"when": [{"claim": "groups"}], "tools": {}}]}
    objects = [secret("ci", labels=LABEL, token=b"s3cret"), ConfigMap(Key(AGENTS, "ca"), {"ca.crt": CERTIFICATE})]
    for given, names in ((objects, ["ci"]), ([], [])):
        result = in_cluster(gateway(auth=jwt, visibility=rules), *given)
        write(tmp_path, result.files())
        loaded = load(tmp_path)
        assert (loaded.config, loaded.warnings) == (result.config, ())
        applied = plan(None, loaded).authentication
        assert applied is not None
        assert ([each.config.name for each in applied.tokens], applied.waiting) == (names, ())


@pytest.mark.parametrize(
    ("keys", "algorithms"),
    [
        pytest.param([], ["ES256"], id="none"),
        pytest.param([EC_KEY], ["RS256", "EdDSA"], id="of another type"),
        pytest.param([EC_KEY], ["ES384"], id="of another curve"),
        pytest.param([EC_KEY | {"use": "enc"}], ["ES256"], id="for encryption"),
        pytest.param([EC_KEY | {"y": "AA"}], ["ES256"], id="no point of the curve"),
    ],
)
def test_a_key_set_without_a_usable_key_lets_nobody_in(keys: list[dict[str, Any]], algorithms: list[str]) -> None:
    """Its issuer is left out and reported, and takes nothing from the others."""
    given = {"issuer": "urn:b", "audiences": ["b"], "jwks": json.dumps({"keys": keys}), "algorithms": algorithms}
    result = compiled(gateway(auth={"jwt": [ISSUER, given]}))
    assert [each.issuer for each in admission(result).issuers] == ["https://login.example"]
    (report,) = result.reports
    assert str(report) == (
        f"MCPGateway agents/main: spec.auth.jwt[1].jwks: holds no public key for {', '.join(algorithms)} (an RSA key needs 2048 "
        "bits); nobody is let in by it [NoUsableKey]"
    )
    assert admits_nobody(admission(compiled(gateway(auth={"jwt": [given]}))))


def test_a_key_for_one_of_the_algorithms_is_enough() -> None:
    """As the sidecar has it: keys that are of no use are passed over (RFC 7517, section 5)."""
    given = {"issuer": "urn:b", "audiences": ["b"], "jwks": json.dumps({"keys": [{"kty": "RSA"}, EC_KEY]})}
    result = compiled(gateway(auth={"jwt": [given]}))
    assert ([each.issuer for each in admission(result).issuers], result.reports) == (["urn:b"], ())


def test_authorization_servers_may_be_said() -> None:
    """In place of the issuers."""
    result = compiled(gateway(auth={"jwt": [ISSUER], "authorizationServers": ["https://login.example/a"]}))
    assert admission(result).authorization_servers == ("https://login.example/a",)


def test_every_field_of_visibility_reaches_the_sidecar() -> None:
    """In the order of the rules, which counts; a sidecar that does not know the section must refuse the config."""
    rules = [
        {"when": [{"claim": "groups", "anyOf": ["sre"], "noneOf": ["guests"]}], "tools": {"include": ["github__*"]}},
        {"tools": {"exclude": ["*delete*"]}},
    ]
    result = compiled(gateway(auth={"jwt": [ISSUER]}, visibility={"default": "Allow", "rules": rules}))
    assert result.config.visibility == config.Visibility(
        default="Allow",
        rules=(
            config.VisibilityRule(
                when=(config.Condition(claim="groups", any_of=("sre",), none_of=("guests",)),),
                tools=config.ToolFilter(include=("github__*",)),
            ),
            config.VisibilityRule(tools=config.ToolFilter(exclude=("*delete*",))),
        ),
    )
    assert result.config.requires == ("authentication", "visibility")


def test_a_gateway_without_either_requires_nothing() -> None:
    """Sidecars of the release before serve it."""
    config_ = compiled(gateway("a"), backend("a")).config
    assert (config_.authentication, config_.visibility, config_.requires) == (None, None, ())


@pytest.mark.parametrize(
    ("auth", "objects", "reason", "field"),
    [
        pytest.param(
            {"tokens": [CI]}, [], "SecretNotFound", ("tokens", 0, "secretKeyRef"), id="a Secret that is not there"
        ),
        pytest.param(
            {"tokens": [CI]},
            [secret("ci", "tools", labels=LABEL, token=b"x")],
            "SecretNotFound",
            ("tokens", 0, "secretKeyRef"),
            id="a Secret of another namespace",
        ),
        pytest.param(
            {"tokens": [CI]},
            [secret("ci", token=b"x")],
            "SecretNotLabelled",
            ("tokens", 0, "secretKeyRef"),
            id="a Secret without the label",
        ),
        pytest.param(
            {"tokens": [CI]},
            [secret("ci", labels=LABEL, other=b"x")],
            "SecretKeyNotFound",
            ("tokens", 0, "secretKeyRef"),
            id="a Secret without the key",
        ),
        pytest.param(
            {"tokens": [CI]},
            [secret("ci", labels=LABEL, token=b"Bearer x")],
            "InvalidCredential",
            ("tokens", 0, "secretKeyRef"),
            id="no token",
        ),
        pytest.param(
            {"tokens": [CI]},
            [secret("ci", labels=LABEL, token=b"")],
            "InvalidCredential",
            ("tokens", 0, "secretKeyRef"),
            id="an empty token, which everyone has",
        ),
        pytest.param(
            {"jwt": [ISSUER | {"caRef": {"name": "ca"}}]},
            [],
            "ConfigMapNotFound",
            ("jwt", 0, "caRef"),
            id="an authority that is not there",
        ),
        pytest.param(
            {"jwt": [ISSUER | {"caRef": {"kind": "Secret", "name": "ca"}}]},
            [secret("ca", labels=LABEL, ca_crt=b"x")],
            "InvalidCertificate",
            ("jwt", 0, "caRef"),
            id="no authority",
        ),
        pytest.param({"kubernetes": {"audiences": ["a"]}}, [], "IssuerUnknown", ("kubernetes",), id="no issuer"),
    ],
)
def test_what_does_not_resolve_lets_nobody_in(
    auth: dict[str, Any], objects: list[Any], reason: str, field: tuple[str | int, ...]
) -> None:
    """The section stays, and what it cannot check it refuses; the backends are served, to nobody."""
    result = in_cluster(gateway("a", auth=auth), backend("a"), *objects, issuer=None)
    assert (admission(result), result.config.requires) == (
        NOBODY.model_copy(update={"authorization_servers": admission(result).authorization_servers}),
        ("authentication",),
    )
    assert result.credentials == {"cred_key": KEY}
    assert [(str(each.reason), each.field) for each in result.reports] == [(reason, ("spec", "auth", *field))]
    assert result.config.backends[0].url == "http://a.example/mcp"


def test_what_does_not_resolve_takes_nothing_from_the_others() -> None:
    """One revoked token shuts nobody else out."""
    other = {"name": "other", "secretKeyRef": {"name": "other", "key": "token"}}
    result = in_cluster(
        gateway(auth={"jwt": [ISSUER], "tokens": [CI, other]}), secret("other", labels=LABEL, token=b"x")
    )
    section = admission(result)
    assert ([each.issuer for each in section.issuers], [each.name for each in section.tokens]) == (
        ["https://login.example"],
        ["other"],
    )
    assert found(result) == [("MCPGateway agents/main", "SecretNotFound")]


def test_the_clusters_issuer_is_let_in_by_one_set_of_rules() -> None:
    """A sidecar would refuse a config that names an issuer twice, and go on with what it had: what is declared by name counts."""
    result = in_cluster(
        gateway(auth={"jwt": [ISSUER | {"issuer": CLUSTER.issuer}], "kubernetes": {"audiences": ["a"]}})
    )
    assert [(each.issuer, each.audiences) for each in admission(result).issuers] == [
        (CLUSTER.issuer, ("https://mcp.example",))
    ]
    assert found(result) == [("MCPGateway agents/main", "DuplicateIssuer")]


def test_on_a_laptop_the_remedy_for_service_accounts_is_said() -> None:
    """There is no API server to ask; the issuer can be named."""
    (report,) = compiled(gateway(auth={"kubernetes": {"audiences": ["a"]}})).reports
    assert "name the cluster's issuer under spec.auth.jwt" in report.message
    assert str(report.reason) == "IssuerUnknown"


def test_a_secret_that_is_hidden_is_told_from_one_that_may_come() -> None:
    """The operator may ask whether it exists; then its owner is told what to do."""
    declared = gateway(auth={"tokens": [CI]})
    reports = in_cluster(declared).reports
    assert knowing(reports, declared, Objects(), hidden=()) == reports
    (report,) = knowing(reports, declared, Objects(), hidden={Key(AGENTS, "ci")})
    assert str(report.reason) == "SecretNotLabelled"
    assert (
        report.message == 'Secret agents/ci lacks the label switchyard.dev/credential: "true"; nobody is let in by it'
    )


@pytest.mark.parametrize(
    ("auth", "audiences", "unresolved"),
    [
        (None, [], None),
        (None, ["b"], None),
        ({"jwt": [ISSUER]}, ["b"], None),
        ({"jwt": [ISSUER]}, [], "ForwardWithoutAudience"),
        ({"tokens": [CI]}, [], "ForwardWithoutAudience"),
    ],
)
def test_a_token_goes_on_only_to_whom_it_was_made_for(
    auth: dict[str, Any] | None, audiences: list[str], unresolved: str | None
) -> None:
    """A gateway that knows its callers must know for which audience a backend takes their tokens."""
    result = compiled(gateway("a", auth=auth), backend("a", auth={"type": "Forward", "audiences": audiences}))
    (section,) = result.config.backends
    assert section.unresolved == unresolved
    if unresolved is None:
        assert section.auth == config.Auth(type=config.AuthType.FORWARD, audiences=tuple(audiences))
    else:
        assert ("MCPGateway agents/main", unresolved) in found(result)
        assert (section.url, section.auth) == ("", config.Auth())


def test_only_what_its_owner_shows_stands_for_a_caller() -> None:
    """While a config stays that cannot be replaced: a Secret of this namespace, with the label, as it is now."""
    shown, hidden = secret("ci", labels=LABEL, token=b"s3cret"), secret("ci", token=b"s3cret")
    (token,) = admission(in_cluster(gateway(auth={"tokens": [CI]}), shown)).tokens
    assert token.credential in valid_tokens(AGENTS, Objects.of([shown]), KEY)
    for objects in ([hidden], [secret("ci", "tools", labels=LABEL, token=b"s3cret")], []):
        assert token.credential not in valid_tokens(AGENTS, Objects.of(objects), KEY)
