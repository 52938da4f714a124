"""One gateway, whole: from what is declared to what its sidecar is given."""

import hashlib
import json
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile import Objects, compile_gateway
from switchyard_operator.compile.directory import write
from switchyard_operator.compile.gateway import withdrawn
from switchyard_operator.compile.session_keys import session_key
from switchyard_sidecar.config import model as config
from switchyard_sidecar.config.load import load, revision
from unit.operator.declared import KEY, MAIN, alias, backend, compiled, found, gateway, secret


def test_every_field_of_a_backend_reaches_the_sidecar() -> None:
    """Durations in milliseconds, quantities in bytes, filters in order: the backend's own, then the gateway's."""
    result = compiled(
        gateway({"name": "a", "prefix": "x", "tools": {"include": ["get_*"]}}),
        backend(
            "a",
            url="https://a.example/mcp?x=1",
            hostHeader="inner.example",
            protocol="Legacy",
            transport="SSE",
            headers=[{"name": "X-Team", "value": "platform"}],
            tls={"serverName": "inner.example", "insecureSkipVerify": True},
            timeouts={"connect": "1s", "list": "2s", "call": "3s", "callMax": "4s"},
            tools={"exclude": ["delete_*"]},
            cache={"minTTL": "5s", "maxTTL": "6s", "defaultTTL": "7s"},
            limits={"pages": 8, "tools": 9, "bytes": "10Ki", "toolBytes": 2048},
        ),
    )
    assert result.config.backends == (
        config.Backend(
            namespace="agents",
            name="a",
            url="https://a.example/mcp?x=1",
            prefix="x",
            host_header="inner.example",
            protocol=config.Era.LEGACY,
            transport=config.Transport.SSE,
            headers=(config.Header(name="X-Team", value="platform"),),
            tls=config.Tls(server_name="inner.example", insecure_skip_verify=True),
            timeouts=config.Timeouts(connect_ms=1_000, list_ms=2_000, call_ms=3_000, call_max_ms=4_000),
            filters=(
                config.ToolFilter(include=("*",), exclude=("delete_*",)),
                config.ToolFilter(include=("get_*",), exclude=()),
            ),
            cache=config.Cache(min_ttl_ms=5_000, max_ttl_ms=6_000, default_ttl_ms=7_000),
            limits=config.Limits(pages=8, tools=9, bytes=10_240, tool_bytes=2_048),
        ),
    )


def test_every_field_of_a_gateway_reaches_the_sidecar() -> None:
    """Under the names of the sidecar's format."""
    result = compiled(
        gateway(
            naming={"separator": "-", "maxLength": 48, "charset": "Safe"},
            order="Backend",
            pageSize=50,
            failurePolicy="Strict",
            protocols=["Legacy"],
            instructions="Be kind.",
            listener={
                "port": 9000,
                "path": "/tools",
                "allowedOrigins": ["https://app.example"],
                "allowedHosts": ["mcp.example"],
                "publicURL": "https://mcp.example/tools",
                "callerLimits": {"calls": 7, "streams": 8},
            },
            egress={"allowedAddresses": ["169.254.10.0/24", "fe80::/64"]},
        )
    )
    assert result.config.model_copy(update={"config_hash": ""}) == config.GatewayConfig(
        namespace="agents",
        name="main",
        instructions="Be kind.",
        naming=config.Naming(separator="-", max_length=48, charset="Safe"),
        order="Backend",
        page_size=50,
        failure_policy="Strict",
        protocols=("Legacy",),
        listener=config.Listener(
            port=9000,
            path="/tools",
            allowed_origins=("https://app.example",),
            allowed_hosts=("mcp.example",),
            public_url="https://mcp.example/tools",
            caller_limits=config.CallerLimits(calls=7, streams=8),
        ),
        egress=config.Egress(allowed_addresses=(ip_network("169.254.10.0/24"), ip_network("fe80::/64"))),
    )


def test_defaults_of_resources_are_those_of_the_sidecar() -> None:
    """Two files say them; they must say the same."""
    result = compiled(gateway("a"), backend("a"))
    hash_ = result.config.config_hash
    assert result.config == config.GatewayConfig(
        namespace="agents",
        name="main",
        config_hash=hash_,
        backends=(config.Backend(namespace="agents", name="a", url="http://a.example/mcp"),),
    )


def test_a_gateway_without_backends_is_written() -> None:
    """It is valid, and its sidecar serves an empty list."""
    result = compiled(gateway())
    assert (result.config.backends, found(result), sorted(result.files())) == ((), [], ["cred_key", "gateway.json"])


def test_equal_objects_give_equal_bytes_in_whatever_order_they_come() -> None:
    """A second run without a change writes nothing."""
    objects: list[Any] = [
        gateway({"selector": {}}),
        backend("b"),
        backend("a", auth={"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}),
        secret("gh", token=b"s3cret"),
        alias("y", "a", "t", "one"),
        alias("x", "a", "t", "one"),
    ]
    assert compiled(*objects) == compiled(*reversed(objects))
    assert compiled(*objects).files() == compiled(*reversed(objects)).files()


def test_the_hash_covers_everything_but_itself() -> None:
    """It is SHA-256 over canonical JSON, so that anyone can check it."""
    files = compiled(gateway("a"), backend("a", tools={"include": ["é*"]})).files()
    tree = json.loads(files["gateway.json"])
    hash_ = tree.pop("configHash")
    canonical = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert hash_ == hashlib.sha256(canonical).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        [backend("a", timeouts={"call": "61s"}), secret("gh", token=b"s3cret")],
        [backend("a"), secret("gh", token=b"s3cret"), alias("x", "a", "t", "x")],
    ],
)
def test_a_change_of_what_is_served_changes_the_hash(change: list[Any]) -> None:
    """Whoever reports the hash has this and nothing else."""
    assert compiled(gateway("a"), *change).config.config_hash != compiled(gateway("a"), backend("a")).config.config_hash


def test_a_rotated_secret_changes_the_hash_and_an_unused_one_does_not() -> None:
    """A revision stands for the content."""
    bearer = backend("a", auth={"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}})
    one, two = secret("gh", token=b"1"), secret("gh", token=b"2")
    hashes = [compiled(gateway("a"), bearer, each).config.config_hash for each in (one, two)]
    assert hashes[0] != hashes[1]
    unused = [compiled(gateway("b"), backend("b"), each).config.config_hash for each in (one, two)]
    assert unused[0] == unused[1]


def test_without_a_key_neither_secret_nor_digest_is_in_the_config() -> None:
    """Output that is looked at must not let anyone test guesses of a weak secret."""
    bearer = backend("a", auth={"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}})
    one = compiled(gateway("a"), bearer, secret("gh", token=b"1"), key=None)
    two = compiled(gateway("a"), bearer, secret("gh", token=b"2"), key=None)
    assert one.config == two.config
    assert "cred_key" not in one.credentials


def test_the_sidecar_reads_what_is_written(tmp_path: Path) -> None:
    """Nothing is pending, nothing unknown, every revision fits."""
    result = compiled(
        gateway("a", "absent"),
        backend("a", auth={"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}),
        secret("gh", token=b"s3cret"),
        alias("x", "a", "t", "x"),
    )
    write(tmp_path, result.files())
    loaded = load(tmp_path)
    assert loaded.config == result.config
    assert (loaded.pending, loaded.warnings) == (frozenset(), ())
    assert list(loaded.credentials.values()) == [b"s3cret"]


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"mode": "Deployment", "replicas": 2, "service": {}}, []),
        ({"replicas": 2, "service": {}}, ["replicas", "service"]),
    ],
)
def test_a_field_of_another_mode_is_reported_and_the_rest_is_served(spec: dict[str, Any], fields: list[str]) -> None:
    """Never silently ignored."""
    result = compiled(gateway("a", **spec), backend("a"))
    assert [report.field for report in result.reports] == [("spec", name) for name in fields]
    assert {str(report.reason) for report in result.reports} <= {"WithoutEffect"}
    assert result.config.backends[0].url == "http://a.example/mcp"


@pytest.mark.parametrize(
    ("mode", "cluster", "hosts"),
    [
        ("Sidecar", True, ("a.example",)),
        ("Deployment", False, ("a.example",)),
        (
            "Deployment",
            True,
            (
                "a.example",
                "switchyard-main",
                "switchyard-main.agents",
                "switchyard-main.agents.svc",
                "switchyard-main.agents.svc.cluster.local",
            ),
        ),
    ],
)
def test_replicas_answer_to_the_names_of_their_service(mode: str, cluster: bool, hosts: tuple[str, ...]) -> None:
    """And to no others but those that the gateway lists, also when it is withdrawn."""
    declared = gateway(mode=mode, listener={"allowedHosts": ["a.example"]})
    assert compiled(declared, cluster=cluster).config.listener.allowed_hosts == hosts
    if cluster:
        assert withdrawn(declared, revision_key=KEY).config.listener.allowed_hosts == hosts


def test_keys_of_sessions_are_named_and_come_along() -> None:
    """The first signs; each lies in a file of its own, named by its revision."""
    first, second = session_key(1, b"1" * 32), session_key(2, b"2" * 32)
    result = compile_gateway(
        Objects.of([gateway(mode="Deployment")]), MAIN, revision_key=KEY, session_keys=(first, second), cluster=True
    )
    keys = (result.config.session_key, result.config.previous_session_key)
    assert [each and each.revision for each in keys] == [revision(KEY, first), revision(KEY, second)]
    files = [f"cred_session-{revision(KEY, each)[:12]}" for each in (first, second)]
    assert [each and each.file for each in keys] == files
    assert result.credentials == {"cred_key": KEY, files[0]: first, files[1]: second}
    assert compiled(gateway(mode="Deployment"), cluster=True).config.session_key is None


@pytest.mark.parametrize(
    ("service", "url"),
    [
        ({"name": "github", "port": 8080}, "http://github.tools.svc:8080/mcp"),
        ({"name": "github", "port": 443, "path": "/x/", "scheme": "https"}, "https://github.tools.svc:443/x/"),
    ],
)
def test_a_service_is_reached_by_its_name_in_the_cluster(service: dict[str, Any], url: str) -> None:
    """Outside a cluster that is noted, since the name means nothing there."""
    objects = (
        gateway({"name": "a", "namespace": "tools"}),
        backend("a", "tools", service=service, allowedNamespaces={"from": "All"}),
    )
    assert compiled(*objects, cluster=True).config.backends[0].url == url
    assert found(compiled(*objects, cluster=True)) == []
    assert compiled(*objects).config.backends[0].url == url
    assert found(compiled(*objects)) == [("MCPBackend tools/a", "ServiceInClusterOnly")]


def test_an_unknown_gateway_is_a_key_error() -> None:
    """Which gateways there are is for the caller to know."""
    with pytest.raises(KeyError):
        compile_gateway(Objects(), MAIN, revision_key=KEY)


def test_only_the_gateway_asked_for_is_compiled() -> None:
    """Another one's faults are its own."""
    other = gateway("absent").model_copy(update={"metadata": gateway().metadata.model_copy(update={"name": "other"})})
    objects = Objects.of([gateway("a"), other, backend("a")])
    assert compile_gateway(objects, MAIN, revision_key=KEY).reports == ()
    assert compile_gateway(objects, Key("agents", "other"), revision_key=KEY).config.name == "other"
