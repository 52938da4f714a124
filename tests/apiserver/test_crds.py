"""The CRDs on a real API server: what it refuses, stores, fills in, merges and shows."""

from pathlib import Path
from typing import Any

import pytest

from apiserver.client import ALIASES, BACKENDS, CRDS, GATEWAYS, Client, Object, RefusedError, Resource
from fakes.waiting import eventually
from switchyard_operator.api.kinds import KINDS, Kind
from switchyard_operator.api.resource import API_VERSION
from switchyard_operator.api.status import MCPBackendStatus
from unit.operator.verdicts import ACCEPTED, ALIAS, BACKEND, FORMS, GATEWAY, MODELS, MODELS_ALONE, RULES, Case, Refused

RESOURCES: dict[str, Resource] = {BACKEND: BACKENDS, ALIAS: ALIASES, GATEWAY: GATEWAYS}
FILES = Path(__file__).parents[2] / "crds"
DRY = {"dryRun": "All"}


def tree(kind: str, name: str, **spec: Any) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("case", [*RULES, *FORMS], ids=str)
async def test_what_is_wrong_is_refused_as_by_the_models(client: Client, case: Refused) -> None:
    """At the same field and, where the rule is ours, in the same words."""
    with pytest.raises(RefusedError) as refusal:
        await client.create(RESOURCES[case.kind], "default", case.tree(), **DRY)
    says = case.says if case.server_says is None else case.server_says
    if says.startswith("unknown field"):
        assert says in str(refusal.value)
        return
    at = case.at if case.at_server is None else case.at_server
    assert [message for field, message in refusal.value.causes if field == at and says in message], refusal.value


@pytest.mark.parametrize("case", MODELS_ALONE, ids=str)
async def test_what_the_api_server_cannot_check_is_stored(client: Client, case: Refused) -> None:
    """The operator has to expect it. When this fails the API server has learned, and the row can move."""
    await client.create(RESOURCES[case.kind], "default", case.tree(), **DRY)


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
async def test_what_is_stored_means_what_was_written(client: Client, namespace: str, case: Case) -> None:
    """The models read the same from it, and would fill in the same defaults; only what is absent in both stays absent."""
    stored = await client.create(RESOURCES[case.kind], namespace, case.tree())
    written: Any = MODELS[case.kind].model_validate(case.tree())
    read: Any = MODELS[case.kind].model_validate(stored)
    assert read.spec == written.spec
    assert present(stored["spec"]) == present(written.spec.model_dump(mode="json", by_alias=True))


def present(value: Any) -> Any:
    """The value without what is empty or absent, and numbers of bytes and cores as text, as the models write them."""
    if isinstance(value, list):
        return [present(below) for below in value]
    if not isinstance(value, dict):
        return value
    measured = {"bytes", "toolBytes", "cpu", "memory"}
    members = {
        key: str(below) if key in measured and below is not None else present(below) for key, below in value.items()
    }
    return {key: below for key, below in members.items() if below not in (None, [], {})}


@pytest.mark.parametrize(
    ("kind", "spec", "filled_in"),
    [
        (
            BACKEND,
            {"service": {"name": "a", "port": 80}},
            {
                "service": {"name": "a", "port": 80, "path": "/mcp", "scheme": "http"},
                "protocol": "Auto",
                "transport": "StreamableHTTP",
                "auth": {"type": "None"},
                "tls": {"insecureSkipVerify": False},
                "timeouts": {"connect": "2s", "list": "5s", "call": "60s", "callMax": "10m"},
                "tools": {"include": ["*"]},
                "cache": {"minTTL": "0s", "maxTTL": "10m", "defaultTTL": "30s"},
                "limits": {"pages": 1000, "tools": 20000, "bytes": "64Mi", "toolBytes": "1Mi"},
                "pinning": {"mode": "None"},
                "allowedNamespaces": {"from": "Same", "credentials": "Withhold"},
            },
        ),
        (
            ALIAS,
            {"backendRef": {"name": "a"}, "tool": "t", "alias": "u"},
            {"backendRef": {"name": "a"}, "tool": "t", "alias": "u", "keepOriginal": False},
        ),
        (
            GATEWAY,
            {"backends": [{"name": "a", "tools": {}}]},
            {
                "backends": [{"name": "a", "tools": {"include": ["*"]}}],
                "naming": {"strategy": "Auto", "separator": "__", "maxLength": 64, "charset": "Keep"},
                "order": "Name",
                "pageSize": 0,
                "failurePolicy": "Partial",
                "protocols": ["Modern", "Legacy"],
                "listener": {"port": 8811, "path": "/mcp", "callerLimits": {"calls": 500, "streams": 2000}},
                "egress": {},
                "mode": "Sidecar",
                "sidecar": {"adminPort": 8812},
            },
        ),
    ],
)
async def test_defaults_are_stored(client: Client, kind: str, spec: Object, filled_in: Object) -> None:
    """At the leaves, also below a parent that was not given. They never change within a version."""
    stored = await client.create(RESOURCES[kind], "default", tree(kind, "a", **spec), **DRY)
    assert stored["spec"] == filled_in


async def test_two_field_managers_share_an_object(client: Client, namespace: str) -> None:
    """Each applies its part; what neither says has its default; what one takes back has its default again."""
    await client.apply(
        BACKENDS,
        namespace,
        tree(
            BACKEND,
            "a",
            url="http://a/",
            timeouts={"connect": "1s"},
            headers=[{"name": "X-A", "value": "1"}],
            auth={"type": "Bearer", "secretKeyRef": {"name": "s", "key": "k"}},
        ),
        manager="one",
    )
    await client.apply(
        BACKENDS,
        namespace,
        tree(BACKEND, "a", timeouts={"call": "30s"}, headers=[{"name": "X-B", "value": "2"}], limits={"pages": 5}),
        manager="two",
    )
    both = (await client.get(BACKENDS, namespace, "a"))["spec"]
    assert both["timeouts"] == {"connect": "1s", "list": "5s", "call": "30s", "callMax": "10m"}
    assert both["headers"] == [{"name": "X-A", "value": "1"}, {"name": "X-B", "value": "2"}]
    assert both["limits"] == {"pages": 5, "tools": 20000, "bytes": "64Mi", "toolBytes": "1Mi"}

    await client.apply(BACKENDS, namespace, tree(BACKEND, "a", url="http://a/"), manager="one")
    left = (await client.get(BACKENDS, namespace, "a"))["spec"]
    assert left["timeouts"] == {"connect": "2s", "list": "5s", "call": "30s", "callMax": "10m"}
    assert left["headers"] == [{"name": "X-B", "value": "2"}]
    assert left["auth"] == {"type": "None"}


@pytest.mark.parametrize(
    ("resource", "first", "second", "field"),
    [
        (
            GATEWAYS,
            tree(GATEWAY, "a", backends=[{"name": "a"}]),
            tree(GATEWAY, "a", backends=[{"name": "b"}]),
            ".spec.backends",
        ),
        (
            BACKENDS,
            tree(BACKEND, "a", url="http://a/", tools={"include": ["a"]}),
            tree(BACKEND, "a", tools={"include": ["b"]}),
            ".spec.tools.include",
        ),
        (
            BACKENDS,
            tree(BACKEND, "a", url="http://a/", tls={"caRef": {"name": "a"}}),
            tree(BACKEND, "a", tls={"caRef": {"name": "a", "key": "other"}}),
            ".spec.tls.caRef",
        ),
    ],
)
async def test_what_makes_sense_only_as_a_whole_has_one_owner(
    client: Client, namespace: str, resource: Resource, first: Object, second: Object, field: str
) -> None:
    """Order, patterns and references are not mixed of two managers' parts."""
    await client.apply(resource, namespace, first, manager="one")
    with pytest.raises(RefusedError) as refusal:
        await client.apply(resource, namespace, second, manager="two")
    assert refusal.value.code == 409
    assert field in {at for at, _ in refusal.value.causes}


async def test_an_object_that_the_operator_has_not_seen_is_not_ready(client: Client, namespace: str) -> None:
    """Flux and `helm --wait` take an object without a status for ready. What a user writes there is dropped."""
    written = tree(GATEWAY, "a") | {"status": {"configHash": "x"}}
    stored = await client.create(GATEWAYS, namespace, written)
    assert stored["status"] == {
        "conditions": [
            {
                "type": "Ready",
                "status": "Unknown",
                "reason": "Pending",
                "message": "the operator has not looked at it yet",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
            }
        ]
    }


def condition(type_: str, status: str, reason: str) -> Object:
    return {
        "type": type_,
        "status": status,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-07-28T12:00:00Z",
        "reason": reason,
        "message": "",
    }


STATUSES: dict[str, Object] = {
    BACKEND: {
        "observedGeneration": 1,
        "conditions": [
            condition("Accepted", "True", "Accepted"),
            condition("ResolvedRefs", "False", "SecretNotFound"),
            condition("Reachable", "Unknown", "NotProbed"),
            condition("Stalled", "True", "SecretNotFound"),
            condition("Ready", "False", "SecretNotFound"),
        ],
        "protocol": {"era": "Legacy", "version": "2025-11-25", "listChanged": True},
        "serverInfo": {"name": "github", "version": "1"},
        "tools": {"count": 3, "digest": "sha256:0"},
    },
    ALIAS: {
        "observedGeneration": 1,
        "conditions": [condition("Ready", "False", "AliasConflict")],
        "gateways": {"total": 2, "accepted": 1, "conflicted": 1},
        "conflicts": [{"gateway": "main", "winner": "older"}],
    },
    GATEWAY: {
        "observedGeneration": 1,
        "conditions": [condition("Ready", "True", "Degraded")],
        "backends": {"total": 4, "resolved": 3},
        "tools": {"count": 30},
        "pods": {"attached": 2, "current": 1, "unknown": 1},
        "configHash": "sha256:0",
        "conflicts": [{"reason": "SharedNames", "message": "a/x and b/x have no prefix"}],
    },
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_status_is_stored_as_its_model_says(client: Client, namespace: str, kind: Kind) -> None:
    """Applied through the subresource it replaces what stood there before, moves no generation, and reads back the same."""
    resource, status = RESOURCES[kind.name], STATUSES[kind.name]
    await client.create(resource, namespace, Case(kind.name).tree())
    head = {"apiVersion": API_VERSION, "kind": kind.name, "metadata": {"name": "a"}}
    stored = await client.apply(resource, namespace, head | {"status": status}, status=True)
    assert stored["status"] == status
    assert stored["metadata"]["generation"] == 1
    read = kind.status.model_validate(stored["status"])
    assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == status


async def test_a_status_that_does_not_fit_is_refused(client: Client, namespace: str) -> None:
    """Also by the API server, should the operator ever be of another version than the CRD."""
    await client.create(GATEWAYS, namespace, tree(GATEWAY, "a"))
    head = {"apiVersion": API_VERSION, "kind": GATEWAY, "metadata": {"name": "a"}}
    with pytest.raises(RefusedError) as refusal:
        await client.apply(
            GATEWAYS, namespace, head | {"status": {"backends": {"total": -1, "resolved": 0}}}, status=True
        )
    assert [field for field, _ in refusal.value.causes] == ["status.backends.total"]


def test_a_status_of_a_newer_operator_is_read() -> None:
    """After a rollback the older one must not stumble over it."""
    assert MCPBackendStatus.model_validate({"tools": {"count": 1, "digest": "", "new": 1}, "new": {}}).tools is not None


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (BACKEND, {"Ready": "False", "Reason": "SecretNotFound", "Reachable": "Unknown", "Era": "Legacy", "Tools": 3}),
        (ALIAS, {"Ready": "False", "Reason": "AliasConflict", "Alias": "find", "Backend": "github", "Gateways": 1}),
        (GATEWAY, {"Ready": "True", "Reason": "Degraded", "Backends": 3, "Tools": 30, "Pods": 2, "Current": 1}),
    ],
)
async def test_kubectl_get_tells_whether_it_works(client: Client, namespace: str, kind: str, shown: Object) -> None:
    """The columns find what they are to show; times are for people."""
    resource = RESOURCES[kind]
    await client.create(resource, namespace, Case(kind).tree())
    head = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "a"}}
    await client.apply(resource, namespace, head | {"status": STATUSES[kind]}, status=True)
    table = await client.request("GET", resource.path(namespace), accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    names = [column["name"] for column in table["columnDefinitions"]]
    (row,) = table["rows"]
    cells = dict(zip(names, row["cells"], strict=True))
    assert cells | shown == cells
    assert names[0] == "Name"
    assert names[-1] == "Age"


async def test_applying_the_same_crds_again_changes_nothing(client: Client) -> None:
    """What is served is what the files say: no upgrade, and no drift for those who compare."""
    before = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in await client.list(CRDS)}
    await client.install_crds(FILES)
    after = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in await client.list(CRDS)}
    assert len(before) == 3
    assert after == before


async def test_kubectl_explain_has_the_descriptions(client: Client) -> None:
    """It reads them from what the API server publishes, a moment after the CRDs are there."""

    async def descriptions() -> list[str]:
        published = await client.request("GET", f"/openapi/v3/apis/{API_VERSION}")
        schemas = published["components"]["schemas"]
        found = [each for name, each in schemas.items() if name.endswith(".MCPBackend")]
        return [each["properties"]["spec"]["properties"]["timeouts"]["description"] for each in found]

    async def is_published() -> bool:
        try:
            return await descriptions() == ["How long to wait."]
        except RefusedError:
            return False

    await eventually(is_published)


async def test_users_find_the_kinds_by_short_name_and_category(client: Client) -> None:
    """`kubectl get mcpgw`, `kubectl get mcp`."""
    served = (await client.request("GET", f"/apis/{API_VERSION}"))["resources"]
    found = {each["name"]: (each.get("shortNames"), each.get("categories")) for each in served}
    assert found == {
        "mcpbackends": (["mcpb"], ["mcp"]),
        "mcpbackends/status": (None, None),
        "mcptoolaliases": (["mcpa"], ["mcp"]),
        "mcptoolaliases/status": (None, None),
        "mcpgateways": (["mcpgw"], ["mcp"]),
        "mcpgateways/status": (None, None),
    }
