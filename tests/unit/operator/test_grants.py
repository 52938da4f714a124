"""Who may use a backend from another namespace, and what travels along."""

from typing import Any

import pytest

from switchyard_operator.compile.objects import Namespace
from unit.operator.declared import backend, compiled, found, gateway, secret

SHARED = {"name": "github", "namespace": "tools"}
TEAM_A = {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}
NOT_TEAM_B = {
    "from": "Selector",
    "selector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["b"]}]},
}
BY_NAME = {"from": "Selector", "selector": {"matchLabels": {"kubernetes.io/metadata.name": "agents"}}}


def agents(**labels: str) -> Namespace:
    return Namespace("agents", {"kubernetes.io/metadata.name": "agents", **labels})


@pytest.mark.parametrize(
    ("allowed", "namespaces", "admitted"),
    [
        ({}, [], False),
        ({"from": "Same"}, [agents()], False),
        ({"from": "All"}, [], True),
        (TEAM_A, [agents(team="a")], True),
        (TEAM_A, [agents(team="b")], False),
        (BY_NAME, [agents()], True),
        ({"from": "Selector", "selector": {}}, [agents()], True),
        (TEAM_A, [], False),
        (NOT_TEAM_B, [], False),
        (NOT_TEAM_B, [agents()], True),
    ],
)
def test_the_backends_owner_decides_who_may_use_it(
    allowed: dict[str, Any], namespaces: list[Namespace], admitted: bool
) -> None:
    """Labels that are not known admit nobody, not even under a condition that an absent label would satisfy."""
    result = compiled(gateway(SHARED), backend("github", "tools", allowedNamespaces=allowed), *namespaces)
    (section,) = result.config.backends
    assert section.unresolved == (None if admitted else "BackendNotFound")
    assert section.url == ("http://github.example/mcp" if admitted else "")


def test_absent_and_not_permitted_look_the_same() -> None:
    """Whoever names a backend must not learn from the answer whether it exists."""
    absent = compiled(gateway(SHARED))
    denied = compiled(gateway(SHARED), backend("github", "tools"))
    assert absent == denied
    assert [str(report) for report in absent.reports] == [
        (
            "MCPGateway agents/main: spec.backends[0]: there is no MCPBackend tools/github that admits namespace agents "
            "(spec.allowedNamespaces of the backend) [BackendNotFound]"
        )
    ]


def test_unknown_labels_are_said_to_the_backends_owner() -> None:
    """On the backend, not on the gateway."""
    result = compiled(gateway(SHARED), backend("github", "tools", allowedNamespaces=TEAM_A))
    assert found(result) == [
        ("MCPGateway agents/main", "BackendNotFound"),
        ("MCPBackend tools/github", "NamespaceUnknown"),
    ]


def test_the_own_namespace_is_always_admitted() -> None:
    """And its credentials are its own."""
    result = compiled(
        gateway("github"),
        backend("github", auth={"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}),
        secret("gh", token=b"s3cret"),
    )
    assert (result.config.backends[0].unresolved, found(result)) == (None, [])


REF = {"name": "gh", "key": "token"}


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({}, False),
        ({"headers": [{"name": "X-A", "value": "plain"}]}, False),
        ({"tls": {"caRef": {"kind": "Secret", "name": "gh", "key": "ca"}}}, False),
        ({"auth": {"type": "Bearer", "secretKeyRef": REF}}, True),
        ({"headers": [{"name": "X-A", "valueFrom": {"secretKeyRef": REF}}]}, True),
        ({"tls": {"clientCertificateRef": {"name": "gh"}}}, True),
    ],
)
def test_credentials_travel_only_where_their_owner_shares_them(spec: dict[str, Any], counts: bool) -> None:
    """Whoever may create pods in that namespace could read them. A CA bundle is no credential."""
    allowed = {"from": "All"}
    result = compiled(gateway(SHARED), backend("github", "tools", allowedNamespaces=allowed, **spec))
    assert (("MCPGateway agents/main", "CredentialsWithheld") in found(result)) is counts
    shared = {**allowed, "credentials": "Share"}
    result = compiled(gateway(SHARED), backend("github", "tools", allowedNamespaces=shared, **spec))
    assert ("MCPGateway agents/main", "CredentialsWithheld") not in found(result)


def test_withheld_credentials_are_not_in_the_result() -> None:
    """Neither their bytes nor the name of their file nor the backend's address."""
    result = compiled(
        gateway(SHARED),
        backend("github", "tools", allowedNamespaces={"from": "All"}, auth={"type": "Bearer", "secretKeyRef": REF}),
        secret("gh", "tools", token=b"s3cret"),
    )
    assert list(result.credentials) == ["cred_key"]
    assert b"cred_" not in result.files()["gateway.json"]
    assert b"github.example" not in result.files()["gateway.json"]
