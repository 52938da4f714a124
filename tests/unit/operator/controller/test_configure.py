"""One gateway's children: what is written, in which order, and what a sidecar sees of it at each moment."""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.directory import write
from switchyard_operator.compile.session_keys import session_key
from switchyard_operator.controller.configure import Restless, configure
from switchyard_operator.controller.resources import BACKENDS, CONFIG_MAPS, GATEWAYS, SECRETS
from switchyard_operator.controller.status.gateway import Written
from switchyard_sidecar.config.apply import Applied, Fate, plan
from switchyard_sidecar.config.load import ConfigMissing, load
from unit.operator.controller.cluster import Cluster, carried_out, children
from unit.operator.controller.declaring import (
    MAIN,
    NEW_SESSION_KEY,
    REVISION_KEY,
    backend,
    configured,
    gateway,
    namespace,
    secret,
    stored,
)

CHILD = Key("agents", "switchyard-main")


class Watched(Cluster):
    """A cluster whose sidecars look at their directory after every write: one that runs, and one that starts just then."""

    running: Applied | None = None

    def answer(self, command: Any) -> Any:
        answer = super().answer(command)
        self.look()
        return answer

    def look(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = children(self, MAIN)
            if not files:
                return
            write(Path(folder), files)
            try:
                loaded = load(Path(folder))
            except ConfigMissing:
                return
        assert loaded.pending == frozenset(), "a config names a credential that is not there"
        self.running = plan(self.running, loaded)


def served(cluster: Cluster) -> dict[str, str | None]:
    """The gateway's backends, each with the reason why it is left out."""
    config = json.loads(children(cluster, MAIN)["gateway.json"])
    return {f"{each['namespace']}/{each['name']}": each.get("unresolved") for each in config["backends"]}


def credentials(cluster: Cluster) -> list[bytes]:
    return sorted(
        content for name, content in children(cluster, MAIN).items() if name not in {"gateway.json", "cred_key"}
    )


def declare(cluster: Cluster) -> None:
    """A gateway with a token, in a cluster without children."""
    backend(cluster, "a", secret="s")
    secret(cluster, "s", b"first")
    gateway(cluster, "a")


def test_a_new_gateway_gets_its_secret_before_its_config() -> None:
    """Both are created without content, so that nobody's object is taken over; the config comes last."""
    cluster = Watched()
    declare(cluster)
    outcome = configured(cluster)
    assert cluster.writes == [
        "create Secret agents/switchyard-main",
        "apply Secret agents/switchyard-main",
        "create ConfigMap agents/switchyard-main",
        "apply ConfigMap agents/switchyard-main",
    ]
    assert outcome.writing is not None
    assert outcome.writing.result is Written.PROGRAMMED
    assert outcome.writing.config_hash == json.loads(children(cluster, MAIN)["gateway.json"])["configHash"]
    assert credentials(cluster) == [b"first"]
    for resource in (CONFIG_MAPS, SECRETS):
        raw = cluster.get(resource, CHILD)
        assert raw is not None
        assert raw["metadata"]["labels"] == {
            "app.kubernetes.io/managed-by": "switchyard",
            "switchyard.dev/config-of": "main",
            "switchyard.dev/credential": "child",
        }
        (owner,) = raw["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("MCPGateway", "main", True)


def test_nothing_is_written_or_read_where_nothing_differs() -> None:
    """The second run knows from the store that all is as it should be."""
    cluster = Cluster()
    declare(cluster)
    first = configured(cluster)
    cluster.writes.clear()
    store = stored(cluster)
    item = store.gateways.get(MAIN)
    assert item is not None
    config_map, secret_ = (store.child(resource, MAIN) for resource in (CONFIG_MAPS, SECRETS))
    assert config_map is not None
    assert secret_ is not None
    deciding = configure(item, store.objects, config_map.model, secret_.model, b"n" * 32, NEW_SESSION_KEY)
    with pytest.raises(StopIteration) as end:
        next(deciding)
    assert (end.value.value.composition, end.value.value.writing) == (first.composition, first.writing)


def rotate(cluster: Cluster) -> None:
    secret(cluster, "s", b"second")


def add(cluster: Cluster) -> None:
    backend(cluster, "b", secret="t")
    secret(cluster, "t", b"other")
    gateway(cluster, "a", "b")


def remove(cluster: Cluster) -> None:
    gateway(cluster)


def change_the_url(cluster: Cluster) -> None:
    backend(cluster, "a", secret="s", url="http://elsewhere.example/mcp")


def swap(cluster: Cluster) -> None:
    backend(cluster, "b", secret="t")
    secret(cluster, "t", b"other")
    gateway(cluster, "b")


@pytest.mark.parametrize(
    ("change", "writes", "kept"),
    [
        (rotate, ["Secret", "ConfigMap", "Secret"], [b"second"]),
        (add, ["Secret", "ConfigMap"], [b"first", b"other"]),
        (remove, ["ConfigMap", "Secret"], []),
        (change_the_url, ["ConfigMap"], [b"first"]),
        (swap, ["Secret", "ConfigMap", "Secret"], [b"other"]),
    ],
)
def test_credentials_come_before_the_config_that_needs_them_and_go_after(
    change: Any, writes: list[str], kept: list[bytes]
) -> None:
    """At no moment does a config name a credential that is not there, for sidecars that run or start just then."""
    cluster = Watched()
    declare(cluster)
    configured(cluster)
    cluster.writes.clear()
    change(cluster)
    configured(cluster)
    assert cluster.writes == [f"apply {kind} agents/switchyard-main" for kind in writes]
    assert credentials(cluster) == kept


def test_a_lost_secret_restarts_nobody_who_has_read_it() -> None:
    """It is made anew with another key: the config changes, what it stands for does not."""
    cluster = Watched()
    declare(cluster)
    configured(cluster)
    before = children(cluster, MAIN)
    cluster.delete(SECRETS, CHILD)
    with pytest.raises(AssertionError, match="not there"):
        cluster.look()  # while it is gone, new sidecars wait for it
    running, cluster.running = cluster.running, None
    configured(Unwatched(cluster), new_key=b"n" * 32)
    assert children(cluster, MAIN) != before
    cluster.running = running
    cluster.look()
    assert cluster.running is not None
    assert [each.fate for each in cluster.running.backends.values()] == [Fate.UNCHANGED]


class Unwatched(Cluster):
    """The same cluster, with nobody looking."""

    def __init__(self, cluster: Cluster) -> None:
        self.__dict__ = cluster.__dict__


@pytest.mark.parametrize("resource", [CONFIG_MAPS, SECRETS])
@pytest.mark.parametrize(
    ("owner", "result"),
    [
        (None, Written.NAME_CONFLICT),
        ({"apiVersion": "v1", "kind": "Pod", "name": "main", "controller": True}, Written.NAME_CONFLICT),
        (
            {"apiVersion": "switchyard.dev/v1alpha1", "kind": "MCPGateway", "name": "main", "controller": True},
            Written.BEING_DELETED,
        ),
    ],
    ids=["nobody's", "a stranger's", "an earlier gateway's"],
)
def test_a_strangers_object_is_never_touched(resource: Any, owner: dict[str, Any] | None, result: Written) -> None:
    """Not even one that carries our labels, nor one of an earlier gateway of this name, which garbage collection will take."""
    cluster = Cluster()
    declare(cluster)
    labels = {"switchyard.dev/credential": "child", "switchyard.dev/config-of": "main"}
    raw = cluster.put(resource, CHILD, labels=labels, data={"mine": "bWluZQ=="})
    if owner is not None:
        raw["metadata"]["ownerReferences"] = [{**owner, "uid": "another"}]
    before = cluster.get(resource, CHILD)
    outcome = configured(cluster)
    assert outcome.writing is not None
    assert outcome.writing.result is result
    assert f"{resource.kind} agents/switchyard-main" in outcome.writing.message
    assert cluster.get(resource, CHILD) == before
    assert [each for each in cluster.writes if resource.kind in each] == []


def test_a_strangers_object_that_is_not_watched_is_found_when_it_is_in_the_way() -> None:
    """Without our label the store has not seen it."""
    cluster = Cluster()
    declare(cluster)
    cluster.put(CONFIG_MAPS, CHILD, data={"mine": "x"})
    outcome = configured(cluster)
    assert outcome.writing is not None
    assert (outcome.writing.result, cluster.writes) == (Written.NAME_CONFLICT, [])


def test_a_child_on_its_way_out_is_left_alone() -> None:
    """What is written to it would go with it."""
    cluster = Cluster()
    declare(cluster)
    configured(cluster)
    cluster.writes.clear()
    cluster.objects[CONFIG_MAPS, CHILD]["metadata"]["deletionTimestamp"] = "2026-07-28T12:00:00Z"
    outcome = configured(cluster)
    assert outcome.writing is not None
    assert (outcome.writing.result, cluster.writes) == (Written.BEING_DELETED, [])


@pytest.mark.parametrize("resource", [CONFIG_MAPS, SECRETS])
@pytest.mark.parametrize("how", ["drop", "spoil", "unlabel"])
def test_drift_is_put_right(resource: Any, how: str) -> None:
    """A child that somebody has deleted, overwritten or taken the labels from is as before, in one run."""
    cluster = Cluster()
    declare(cluster)
    configured(cluster)
    before = children(cluster, MAIN)
    cluster.meddle(how, resource, 0)
    configured(cluster)
    assert children(cluster, MAIN) == before
    cluster.writes.clear()
    configured(cluster)
    assert cluster.writes == []


def test_what_others_add_to_a_child_is_left_and_costs_no_write() -> None:
    """We own what we applied, and nothing else."""
    cluster = Cluster()
    declare(cluster)
    configured(cluster)
    cluster.writes.clear()
    for resource in (CONFIG_MAPS, SECRETS):
        raw = cluster.objects[resource, CHILD]
        raw["data"]["cred_theirs"] = "eA=="
        raw["metadata"]["labels"]["theirs"] = "x"
        raw["metadata"]["annotations"] = {"theirs": "x"}
    configured(cluster)
    assert cluster.writes == []


def test_somebody_who_undoes_each_write_is_not_fought() -> None:
    """The work fails, and waits longer each time."""

    class Undoing(Cluster):
        def answer(self, command: Any) -> Any:
            answer = super().answer(command)
            self.meddle("spoil", CONFIG_MAPS, 0)
            return self.get(CONFIG_MAPS, CHILD) if getattr(command, "resource", None) == CONFIG_MAPS else answer

    cluster = Undoing()
    declare(cluster)
    with pytest.raises(Restless, match="agents/main"):
        configured(cluster)


def test_a_gateway_that_is_being_deleted_is_withdrawn() -> None:
    """Somebody's finalizer may keep it for long: what it served ends, its credentials go, and nothing is made for it any more."""
    cluster = Watched()
    declare(cluster)
    configured(cluster)
    cluster.objects[GATEWAYS, MAIN]["metadata"]["deletionTimestamp"] = "2026-07-28T12:00:00Z"
    configured(cluster)
    assert (served(cluster), credentials(cluster)) == ({}, [])
    cluster.writes.clear()
    for resource in (CONFIG_MAPS, SECRETS):
        cluster.delete(resource, CHILD)
        configured(cluster)
    assert cluster.writes == []


def borrow(cluster: Cluster) -> None:
    """A gateway with a backend of its own and one of another namespace, both with tokens."""
    declare(cluster)
    namespace(cluster, "agents")
    backend(cluster, "b", "tools", secret="t", allowedNamespaces={"from": "All", "credentials": "Share"})
    secret(cluster, "t", b"shared", "tools")
    gateway(cluster, "a", {"name": "b", "namespace": "tools"})


def withhold(cluster: Cluster) -> None:
    backend(cluster, "b", "tools", secret="t", allowedNamespaces={"from": "All"})


def expel(cluster: Cluster) -> None:
    backend(cluster, "b", "tools", secret="t")


def delete(cluster: Cluster) -> None:
    cluster.delete(BACKENDS, Key("tools", "b"))


def delete_the_secret(cluster: Cluster) -> None:
    cluster.delete(SECRETS, Key("tools", "t"))


REVOCATIONS: list[tuple[Any, str]] = [
    (withhold, "CredentialsWithheld"),
    (expel, "BackendNotFound"),
    (delete, "BackendNotFound"),
    (delete_the_secret, "SecretNotFound"),
]


@pytest.mark.parametrize(("revoke", "reason"), REVOCATIONS)
@pytest.mark.parametrize("hindrance", ["none", "invalid", "too large"])
def test_what_is_revoked_goes_even_where_nothing_new_can_be_written(revoke: Any, reason: str, hindrance: str) -> None:
    """The backend keeps its place, without address and credential; the rest stays as it was."""
    cluster = Watched()
    borrow(cluster)
    configured(cluster)
    assert credentials(cluster) == [b"first", b"shared"]
    if hindrance == "invalid":
        cluster.put(GATEWAYS, MAIN, spec={"backends": [{"name": "a", "selector": {}}]})
    if hindrance == "too large":
        for name in ("c", "d"):
            backend(cluster, name, secret=name)
            secret(cluster, name, bytes([33 + ord(name) % 9]) * 600_000)
        gateway(cluster, "a", {"name": "b", "namespace": "tools"}, "c", "d")
    revoke(cluster)
    outcome = configured(cluster)
    assert served(cluster) == {"agents/a": None, "tools/b": reason}
    assert credentials(cluster) == [b"first"]
    if hindrance == "too large":
        assert outcome.writing is not None
        assert outcome.writing.result is Written.TOO_LARGE
        assert "1048576" in outcome.writing.message
    cluster.writes.clear()
    configured(cluster)
    assert cluster.writes == []


GUARDED: dict[str, Any] = {
    "auth": {"tokens": [{"name": "ci", "secretKeyRef": {"name": "ci", "key": "token"}, "claims": {"team": "a"}}]},
    "visibility": {"default": "Deny", "rules": [{"when": [{"claim": "team"}], "tools": {}}]},
}


def let_in(cluster: Cluster) -> list[str] | None:
    """The names of the tokens in the config; ``None``: everyone is let in."""
    section = json.loads(children(cluster, MAIN)["gateway.json"]).get("authentication")
    return None if section is None else [each["name"] for each in section["tokens"]]


def guard(cluster: Cluster) -> None:
    """A gateway with a backend and a token of each, its own one for callers."""
    declare(cluster)
    secret(cluster, "ci", b"callers")
    gateway(cluster, "a", **GUARDED)


def take_the_label(cluster: Cluster) -> None:
    data = {"token": base64.b64encode(b"callers").decode()}
    cluster.put(SECRETS, Key("agents", "ci"), labels={}, data=data)


def delete_the_token(cluster: Cluster) -> None:
    cluster.delete(SECRETS, Key("agents", "ci"))


def replace_the_token(cluster: Cluster) -> None:
    secret(cluster, "ci", b"others")


def break_the_rules(cluster: Cluster, **spec: Any) -> None:
    """The gateway as its schema would not let it be."""
    cluster.put(GATEWAYS, MAIN, spec={"backends": [{"name": "a", "selector": {}}], **spec})


def outgrow(cluster: Cluster, **spec: Any) -> None:
    """More credentials than a Secret holds."""
    for name in ("c", "d"):
        backend(cluster, name, secret=name)
        secret(cluster, name, bytes([33 + ord(name) % 9]) * 600_000)
    gateway(cluster, "a", "c", "d", **spec)


def stay(cluster: Cluster, **spec: Any) -> None:
    """The gateway as it was."""


@pytest.mark.parametrize("revoke", [take_the_label, delete_the_token])
@pytest.mark.parametrize("hindrance", [stay, break_the_rules, outgrow])
def test_a_revoked_token_goes_even_where_nothing_new_can_be_written(revoke: Any, hindrance: Any) -> None:
    """The section and the rules stay: nobody is let in instead, and the file is gone."""
    cluster = Watched()
    guard(cluster)
    outcome = configured(cluster)
    assert (let_in(cluster), credentials(cluster), outcome.composition.closed) == (
        ["ci"],
        [b"callers", b"first"],
        False,
    )
    before = json.loads(children(cluster, MAIN)["gateway.json"])
    hindrance(cluster, **GUARDED)
    revoke(cluster)
    outcome = configured(cluster)
    after = json.loads(children(cluster, MAIN)["gateway.json"])
    assert (let_in(cluster), credentials(cluster)) == ([], [b"first"])
    assert (after["visibility"], after["requires"]) == (before["visibility"], ["authentication", "visibility"])
    assert served(cluster) == {"agents/a": None}
    if hindrance is stay:
        assert outcome.composition.closed


def test_a_replaced_token_lets_nobody_in_by_its_old_value_while_a_gateway_is_invalid() -> None:
    """What it was replaced for may well be that others have it."""
    cluster = Watched()
    guard(cluster)
    configured(cluster)
    break_the_rules(cluster, **GUARDED)
    configured(cluster)
    assert let_in(cluster) == ["ci"]
    replace_the_token(cluster)
    configured(cluster)
    assert (let_in(cluster), credentials(cluster)) == ([], [b"first"])


@pytest.mark.parametrize(
    ("before", "hindrance", "after", "kept"),
    [
        pytest.param({}, break_the_rules, {}, True, id="invalid: nothing was guarded, nothing is to be"),
        pytest.param({}, break_the_rules, GUARDED, False, id="invalid: it was open, and is to be guarded"),
        pytest.param({}, break_the_rules, {"auth": {}}, False, id="invalid: by the very field that is to guard it"),
        pytest.param(
            {"auth": GUARDED["auth"]}, break_the_rules, GUARDED, False, id="invalid: all was shown, and is not to be"
        ),
        pytest.param(GUARDED, break_the_rules, GUARDED, True, id="invalid: it is guarded"),
        pytest.param({}, outgrow, {}, True, id="too large: nothing was guarded, nothing is to be"),
        pytest.param({}, outgrow, GUARDED, False, id="too large: it was open, and is to be guarded"),
        pytest.param(GUARDED, outgrow, GUARDED, True, id="too large: it is guarded as it is to be"),
        pytest.param(GUARDED, outgrow, {}, True, id="too large: it was guarded, and need not be"),
        pytest.param(
            GUARDED,
            outgrow,
            GUARDED | {"visibility": {"default": "Deny"}},
            False,
            id="too large: less is to be shown than was",
        ),
        pytest.param(
            GUARDED,
            outgrow,
            GUARDED | {"auth": {"kubernetes": {"audiences": ["a"]}}},
            False,
            id="too large: others are to be let in than were",
        ),
    ],
)
def test_what_stays_where_nothing_new_can_be_written_is_never_more_open(
    before: dict[str, Any], hindrance: Any, after: dict[str, Any], *, kept: bool
) -> None:
    """Otherwise everything goes, and whoever comes is refused."""
    cluster = Watched()
    declare(cluster)
    secret(cluster, "ci", b"callers")
    gateway(cluster, "a", **before)
    configured(cluster)
    was = children(cluster, MAIN)
    hindrance(cluster, **after)
    configured(cluster)
    if kept:
        assert children(cluster, MAIN) == was
    else:
        config = json.loads(children(cluster, MAIN)["gateway.json"])
        assert (served(cluster), let_in(cluster), config["requires"], credentials(cluster)) == ({}, [], [], [])
    cluster.writes.clear()
    configured(cluster)
    assert cluster.writes == []
    gateway(cluster, "a", **before)
    configured(cluster)
    assert children(cluster, MAIN) == was


def test_a_gateway_that_was_always_too_large_or_invalid_has_no_children() -> None:
    """There is nothing that could stay."""
    cluster = Cluster()
    for name in ("c", "d"):
        backend(cluster, name, secret=name)
        secret(cluster, name, name.encode() * 600_000)
    gateway(cluster, "c", "d")
    outcome = configured(cluster)
    assert outcome.writing is not None
    assert (outcome.writing.result, outcome.writing.config_hash, cluster.writes) == (Written.TOO_LARGE, "", [])


def test_a_large_config_is_compressed_and_compared_by_what_it_says() -> None:
    """Over 900 KiB; and small again, it is plain again."""
    cluster = Watched()
    names = [f"b{n}" for n in range(100)]
    gateway(cluster, *({"name": name, "tools": {"include": ["x" * 200] * 60}} for name in names))
    for name in names:
        backend(cluster, name)
    configured(cluster)
    raw = cluster.get(CONFIG_MAPS, CHILD)
    assert raw is not None
    assert (list(raw["binaryData"]), "data" in raw) == (["gateway.json.gz"], False)
    assert len(served(cluster)) == 100
    cluster.writes.clear()
    configured(cluster)
    assert cluster.writes == []
    gateway(cluster, "b1")
    configured(cluster)
    raw = cluster.get(CONFIG_MAPS, CHILD)
    assert raw is not None
    assert (list(raw["data"]), "binaryData" in raw) == (["gateway.json"], False)


def test_another_key_in_the_secret_than_the_store_knows_is_kept() -> None:
    """The store is behind: what is read counts, so that two who write do not change the key by turns."""
    cluster = Cluster()
    declare(cluster)
    configured(cluster)
    before = children(cluster, MAIN)
    store = stored(cluster)
    item = store.gateways.get(MAIN)
    assert item is not None
    cluster.writes.clear()
    carried_out(configure(item, store.objects, None, None, b"n" * 32, NEW_SESSION_KEY), cluster)
    assert (cluster.writes, children(cluster, MAIN)) == ([], before)


SECRET_OF = {"a": "s", "b": "t", "c": "s", "d": "t"}
TOKENS = st.dictionaries(st.sampled_from("st"), st.sampled_from([b"one", b"two", b"three"]))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.lists(st.sampled_from("abcd"), max_size=4, unique=True), TOKENS), max_size=6))
def test_no_sequence_of_changes_shows_a_sidecar_a_credential_that_is_missing(
    states: list[tuple[list[str], dict[str, bytes]]],
) -> None:
    """Whichever backends there are and whatever their tokens: looked at after each single write."""
    cluster = Watched()
    for name, holder in SECRET_OF.items():
        backend(cluster, name, secret=holder)
    for names, tokens in states:
        gateway(cluster, *names)
        for holder in "st":
            if holder in tokens:
                secret(cluster, holder, tokens[holder])
            else:
                cluster.delete(SECRETS, Key("agents", holder))
        configured(cluster)
        assert set(credentials(cluster)) == {tokens[SECRET_OF[name]] for name in names if SECRET_OF[name] in tokens}


def test_secrets_are_in_no_repr() -> None:
    """Nor in what is written to the ConfigMap."""
    cluster = Cluster()
    declare(cluster)
    store = stored(cluster)
    item = store.gateways.get(MAIN)
    assert item is not None
    shown: list[str] = []

    class Showing(Cluster):
        def answer(self, command: Any) -> Any:
            shown.append(repr(command))
            return super().answer(command)

    showing = Showing(cluster.objects, cluster.log, cluster.version)
    outcome = carried_out(configure(item, store.objects, None, None, REVISION_KEY, NEW_SESSION_KEY), showing)
    shown += [repr(outcome), repr(list(store.secrets)), repr(stored(showing).child(SECRETS, MAIN))]
    encoded = base64.b64encode(b"first").decode()
    assert len(shown) == 9
    assert not any("first" in each or encoded in each or "kkkk" in each for each in shown)


def test_replicas_share_the_keys_of_their_sessions() -> None:
    """A Deployment's config names them and its Secret holds them; a sidecar's sessions are its own."""
    cluster = Watched()
    gateway(cluster, mode="Sidecar")
    configured(cluster)
    assert not [name for name in children(cluster, MAIN) if name.startswith("cred_session")]
    gateway(cluster, mode="Deployment")
    configured(cluster)
    (name,) = [name for name in children(cluster, MAIN) if name.startswith("cred_session")]
    assert children(cluster, MAIN)[name] == NEW_SESSION_KEY
    assert cluster.running is not None
    assert cluster.running.session_keys == (NEW_SESSION_KEY,)


def test_keys_of_sessions_change_without_a_gap() -> None:
    """A week later another is accepted; an hour later it signs. Nothing is written in between, whoever looks."""
    cluster = Watched()
    gateway(cluster, mode="Deployment")
    configured(cluster)
    hour = 3600
    used = []
    for since in (0, 7 * 24 * hour - 1, 7 * 24 * hour, 7 * 24 * hour + hour - 1, 7 * 24 * hour + hour):
        cluster.writes.clear()
        later = session_key(2_000_000_000 + since, bytes([since % 251]) * 32)
        configured(cluster, new_session_key=later)
        assert cluster.running is not None
        used.append((len(cluster.running.session_keys), cluster.running.session_keys[0] == NEW_SESSION_KEY))
        assert bool(cluster.writes) == (since in {7 * 24 * hour, 7 * 24 * hour + hour})
    assert used == [(1, True), (1, True), (2, True), (2, True), (2, False)]


def test_a_gateway_that_is_withdrawn_keeps_no_sessions() -> None:
    """They may have been of callers that are not to be served any more."""
    cluster = Watched()
    gateway(cluster, mode="Deployment")
    configured(cluster)
    cluster.objects[GATEWAYS, MAIN]["metadata"]["deletionTimestamp"] = "2026-07-28T12:00:00Z"
    configured(cluster)
    assert set(children(cluster, MAIN)) == {"gateway.json", "cred_key"}
