"""What the store makes of events and lists, in whatever order they come."""

import base64
from typing import Any

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.controller.resources import (
    ALIASES,
    BACKENDS,
    CONFIG_MAPS,
    GATEWAYS,
    NAMESPACES,
    PODS,
    SECRETS,
    WATCHED,
    Resource,
)
from switchyard_operator.controller.shelf import Change
from switchyard_operator.controller.store import Store

A = Key("agents", "a")


def raw(
    version: int | str, uid: str = "one", *, url: str = "http://a.example/", generation: int = 1, **more: Any
) -> dict[str, Any]:
    """The backend ``agents/a``."""
    metadata = {
        "namespace": "agents",
        "name": "a",
        "uid": uid,
        "resourceVersion": str(version),
        "generation": generation,
    }
    tree = {"apiVersion": "switchyard.dev/v1alpha1", "kind": "MCPBackend", "spec": {"url": url}}
    return tree | {"metadata": metadata | more.pop("metadata", {})} | more


def named(name: str, version: int) -> dict[str, Any]:
    return raw(version, f"uid of {name}", metadata={"name": name})


def said(change: Change | None) -> tuple[str | None, str | None] | None:
    """The uids before and after."""
    if change is None:
        return None
    return change.old.uid if change.old else None, change.new.uid if change.new else None


Events = list[tuple[str | None, dict[str, Any]]]


@pytest.mark.parametrize(
    ("events", "held", "changes"),
    [
        pytest.param([("ADDED", raw(5))], "5", 1, id="an object"),
        pytest.param([(None, raw(5))], "5", 1, id="an object that kopf has listed"),
        pytest.param([("ADDED", raw(5)), ("MODIFIED", raw(6, generation=2))], "6", 2, id="a change"),
        pytest.param([("MODIFIED", raw(6, generation=2)), ("ADDED", raw(5))], "6", 1, id="late"),
        pytest.param([("ADDED", raw(5)), ("ADDED", raw(5))], "5", 1, id="twice"),
        pytest.param([("ADDED", raw(99)), ("MODIFIED", raw(100, generation=2))], "100", 2, id="versions are numbers"),
        pytest.param([("ADDED", raw(5)), ("DELETED", raw(6))], None, 2, id="a deletion"),
        pytest.param([("DELETED", raw(6)), ("ADDED", raw(5))], None, 0, id="deleted before it was heard of"),
        pytest.param(
            [("ADDED", raw(5)), ("DELETED", raw(7)), ("MODIFIED", raw(6))], None, 2, id="late after a deletion"
        ),
        pytest.param([("ADDED", raw(5)), ("DELETED", raw(6)), ("ADDED", raw(8, "two"))], "8", 3, id="made anew"),
        pytest.param(
            [("ADDED", raw(5)), ("ADDED", raw(8, "two")), ("DELETED", raw(6))], "8", 2, id="new before old's end"
        ),
        pytest.param([("ADDED", raw(5)), ("DELETED", raw(9, "two"))], None, 2, id="a later one has ended"),
        pytest.param(
            [("ADDED", raw(5)), ("ADDED", raw(8, "two")), ("DELETED", raw(9, "two")), ("MODIFIED", raw(6))],
            None,
            3,
            id="the former one, after the later one's end",
        ),
        pytest.param([("ADDED", raw(5)), ("DELETED", raw(6)), ("ADDED", raw(7))], "7", 3, id="back in the selector"),
        pytest.param([("ADDED", raw(7)), ("DELETED", raw(6))], "7", 1, id="had left the selector before"),
        pytest.param(
            [("ADDED", raw("x")), ("MODIFIED", raw("b", generation=2))], "b", 2, id="no numbers: the later wins"
        ),
        pytest.param([("ADDED", raw("x")), ("DELETED", raw("b"))], None, 2, id="no numbers: a deletion"),
        pytest.param([("ADDED", raw("x", "two")), ("DELETED", raw("b"))], "x", 1, id="no numbers: another's deletion"),
    ],
)
def test_the_newest_state_of_an_object_is_held(events: Events, held: str | None, changes: int) -> None:
    """Whatever the order in which it is heard of."""
    store = Store()
    found = [store.event(BACKENDS, type_, each) for type_, each in events]
    item = store.backends.get(A)
    assert (item and item.resource_version) == held
    assert len([each for each in found if each is not None]) == changes
    assert (A in store.objects.backends) == (held is not None)


@pytest.mark.parametrize(
    ("more", "matters"),
    [
        ({"status": {"x": 1}}, False),
        ({"metadata": {"annotations": {"x": "y"}, "managedFields": [{}]}}, False),
        ({"metadata": {"labels": {"team": "a"}}}, True),
        ({"metadata": {"deletionTimestamp": "2026-07-28T12:00:00Z"}}, True),
        ({"generation": 2}, True),
    ],
)
def test_only_what_matters_is_a_change(more: dict[str, Any], matters: bool) -> None:
    """But version and status are kept up to date, for whoever writes them next."""
    store = Store()
    store.event(BACKENDS, "ADDED", raw(5))
    before = store.objects.backends[A]
    change = store.event(BACKENDS, "MODIFIED", raw(6, **more))
    assert (change is not None) is matters
    item = store.backends.get(A)
    assert item is not None
    assert (item.resource_version, item.status) == ("6", more.get("status", {}))
    if not matters:
        assert store.objects.backends[A] is before, "parsed once"


def test_an_invalid_object_has_faults_and_does_not_exist_for_others() -> None:
    """It was stored by an older release, or past its schema."""
    store = Store()
    store.event(BACKENDS, "ADDED", raw(5))
    change = store.event(BACKENDS, "MODIFIED", raw(6, url="ftp://x/", generation=2))
    assert change is not None
    item = store.backends.get(A)
    assert item is not None
    assert (item.model, [each.field for each in item.faults], item.generation) == (None, [("spec", "url")], 2)
    assert A not in store.objects.backends
    store.event(BACKENDS, "MODIFIED", raw(7, generation=3))
    assert A in store.objects.backends


@pytest.mark.parametrize("broken", [{"spec": None}, {"spec": []}, {"spec": "x"}, {"metadata": {"labels": {"a": 1}}}])
def test_nothing_that_is_stored_breaks_the_store(broken: dict[str, Any]) -> None:
    """Whatever it is, it costs itself."""
    store = Store()
    store.event(BACKENDS, "ADDED", raw(5, **broken))
    item = store.backends.get(A)
    assert item is not None
    assert item.model is None
    assert item.faults


@pytest.mark.parametrize("keys", ['{"keys":[{"kty":[]}]}', '{"keys":[{"kty":{}}]}', '"\ud800"'])
def test_no_key_set_breaks_the_store(keys: str) -> None:
    """To the API server it is a text; whoever may write gateways in one namespace must not stop those of all others."""
    store = Store()
    spec = {"auth": {"jwt": [{"issuer": "i", "audiences": ["a"], "jwks": keys}]}}
    store.event(GATEWAYS, "ADDED", raw(5, spec=spec))
    item = store.gateways.get(A)
    assert item is not None
    assert (item.model, [each.field for each in item.faults]) == (None, [("spec", "auth", "jwt", 0, "jwks")])
    assert item.guards == {"auth"}


def listed(store: Store, *raws: dict[str, Any], version: str | None) -> list[tuple[str | None, str | None] | None]:
    listing = store.listing(BACKENDS)
    changes = [listing.add(each) for each in raws]
    return [said(each) for each in (*changes, *listing.done(version)) if each is not None]


def test_what_a_list_does_not_hold_is_gone() -> None:
    """As after 410 Gone, when nobody tells of deletions."""
    store = Store()
    store.event(BACKENDS, "ADDED", named("a", 5))
    store.event(BACKENDS, "ADDED", named("b", 6))
    assert listed(store, named("b", 6), named("c", 7), version="9") == [(None, "uid of c"), ("uid of a", None)]
    assert sorted(key.name for key in store.objects.backends) == ["b", "c"]


def test_what_came_after_the_list_was_made_stays() -> None:
    """It is younger than the list."""
    store = Store()
    listing = store.listing(BACKENDS)
    store.event(BACKENDS, "ADDED", named("a", 11))
    assert listing.done("10") == []
    assert A in store.objects.backends


def test_late_news_of_what_a_list_does_not_hold_are_no_news() -> None:
    """They were on their way when the watch broke; nobody would ever tell of the deletion."""
    store = Store()
    store.event(BACKENDS, "ADDED", named("a", 5))
    assert listed(store, version="10") == [("uid of a", None)]
    assert store.event(BACKENDS, "MODIFIED", named("a", 6)) is None
    assert store.event(BACKENDS, "ADDED", named("b", 7)) is None
    assert said(store.event(BACKENDS, "ADDED", named("a", 11))) == (None, "uid of a")


def test_a_listed_object_that_was_deleted_meanwhile_stays_away() -> None:
    """The list is older than the event."""
    store = Store()
    store.event(BACKENDS, "ADDED", named("a", 5))
    listing = store.listing(BACKENDS)
    store.event(BACKENDS, "DELETED", named("a", 12))
    assert listing.add(named("a", 5)) is None
    assert listing.done("10") == []
    assert len(store.backends) == 0


def test_a_listed_object_that_has_changed_meanwhile_stays_as_it_is() -> None:
    """So does one that the list shows as it was before."""
    store = Store()
    listing = store.listing(BACKENDS)
    store.event(BACKENDS, "ADDED", raw(12, generation=2))
    assert listing.add(raw(5)) is None
    listing.done("10")
    item = store.backends.get(A)
    assert item is not None
    assert item.resource_version == "12"


def test_without_comparable_versions_events_win_over_a_list() -> None:
    """What has been touched since the list began is as the event says."""
    store = Store()
    store.event(BACKENDS, "ADDED", raw("x"))
    store.event(BACKENDS, "ADDED", raw("y", metadata={"name": "b", "uid": "b"}))
    store.event(BACKENDS, "ADDED", raw("z", metadata={"name": "c", "uid": "c"}))
    listing = store.listing(BACKENDS)
    store.event(BACKENDS, "MODIFIED", raw("v", generation=2))
    store.event(BACKENDS, "DELETED", raw("w", metadata={"name": "c", "uid": "c"}))
    assert [listing.add(raw("x")), listing.add(raw("z", metadata={"name": "c", "uid": "c"}))] == [None, None]
    assert [said(each) for each in listing.done(None)] == [("b", None)]
    item = store.backends.get(A)
    assert item is not None
    assert item.resource_version == "v"


def test_a_list_that_is_given_up_takes_nothing_away() -> None:
    """It has merely brought some news."""
    store = Store()
    store.event(BACKENDS, "ADDED", named("a", 5))
    store.listing(BACKENDS).add(named("b", 6))
    assert len(store.backends) == 2
    assert not store.backends.was_listed()


def test_a_list_of_one_namespace_says_nothing_of_others() -> None:
    """Where namespaces are listed one by one."""
    store = Store()
    store.event(BACKENDS, "ADDED", named("a", 5))
    store.event(BACKENDS, "ADDED", raw(5, "t", metadata={"namespace": "tools"}))
    assert [said(each) for each in store.listing(BACKENDS, "tools").done("10")] == [("t", None)]
    assert list(store.objects.backends) == [A]
    assert said(store.event(BACKENDS, "ADDED", named("b", 6))) == (None, "uid of b")


def test_nothing_is_known_to_be_missing_before_everything_was_listed() -> None:
    """Every expected resource, once."""
    store = Store()
    for resource in WATCHED:
        assert not store.complete
        store.listing(resource).done("5")
    assert store.complete
    scoped = Store([(BACKENDS, "a"), (BACKENDS, "b")])
    scoped.listing(BACKENDS, "a").done("5")
    assert not scoped.complete
    scoped.listing(BACKENDS, "b").done("5")
    assert scoped.complete


def core(resource: Resource, name: str, version: int, namespace: str | None = "agents", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid of {name}", "resourceVersion": str(version), **more.pop("metadata", {})}
    place = {"namespace": namespace} if namespace else {}
    return {"metadata": place | metadata, **more}


def test_users_credentials_and_our_children_are_told_apart() -> None:
    """By the value of the label that both carry."""
    store = Store()
    mine = {"labels": {"switchyard.dev/credential": "true"}}
    child = {"labels": {"switchyard.dev/credential": "child"}}
    data = {"token": base64.b64encode(b"s3cret").decode()}
    store.event(SECRETS, "ADDED", core(SECRETS, "gh", 5, metadata=mine, data=data))
    store.event(SECRETS, "ADDED", core(SECRETS, "switchyard-main", 6, metadata=child, data=data))
    store.event(CONFIG_MAPS, "ADDED", core(CONFIG_MAPS, "ca", 7, metadata=mine, data={"ca.crt": "x"}))
    assert [(key.name, each.data) for key, each in store.objects.secrets.items()] == [("gh", {"token": b"s3cret"})]
    assert [(key.name, each.data) for key, each in store.objects.config_maps.items()] == [("ca", {"ca.crt": b"x"})]
    found = store.child(SECRETS, Key("agents", "main"))
    assert found is not None
    assert (found.model and found.model.gateway, found.resource_version) == (Key("agents", "main"), "6")
    assert store.child(SECRETS, Key("agents", "gh")) is None
    assert "s3cret" not in repr(list(store.secrets)) + repr(store.objects.secrets)


def test_a_secret_that_ceases_to_be_a_credential_is_one_no_more() -> None:
    """As when somebody changes the label by hand."""
    store = Store()
    for version, value in ((5, "true"), (6, "child")):
        labels = {"labels": {"switchyard.dev/credential": value}}
        store.event(SECRETS, "ADDED", core(SECRETS, "gh", version, metadata=labels, data={}))
        assert (Key("agents", "gh") in store.objects.secrets) is (value == "true")


def pod(version: int, gateway: str = "main", name: str = "p", **more: Any) -> dict[str, Any]:
    status = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"labels": {"switchyard.dev/gateway": gateway}, **more.pop("metadata", {})}
    return core(PODS, name, version, metadata=metadata, status=status | more.pop("status", {}), **more)


@pytest.mark.parametrize(
    ("more", "matters"),
    [
        ({}, False),
        ({"spec": {"nodeName": "n"}}, False),
        ({"status": {"startTime": "2026-07-28T12:00:00Z"}}, False),
        ({"metadata": {"annotations": {"theirs.example/x": "y"}}}, False),
        ({"metadata": {"annotations": {"switchyard.dev/config-hash": "y"}}}, True),
        ({"status": {"podIP": "10.0.0.2"}}, True),
        ({"status": {"phase": "Failed"}}, True),
        ({"status": {"conditions": []}}, True),
        ({"metadata": {"deletionTimestamp": "2026-07-28T12:00:00Z"}}, True),
        ({"gateway": "other"}, True),
    ],
)
def test_of_a_pod_only_what_statuses_tell_matters(more: dict[str, Any], matters: bool) -> None:
    """Ten thousand of them change all the time."""
    store = Store()
    store.event(PODS, "ADDED", pod(5))
    assert (store.event(PODS, "MODIFIED", pod(6, **more)) is not None) is matters


@pytest.mark.parametrize(
    ("listen", "port"),
    [
        ("127.0.0.1:8811", 8811),
        ("[::1]:65535", 65535),
        ("", None),
        ("8811x", None),
        (":-1", None),
        (":0", None),
        (":65536", None),
        (":\u0661", None),
        (":" + "1" * 5000, None),
    ],
)
def test_a_pods_port_is_what_its_arguments_say_if_that_is_one(listen: str, port: int | None) -> None:
    """Whoever makes a pod writes them, and must not stop the operator."""
    store = Store()
    marked = {"annotations": {"switchyard.dev/config-format": "1"}}
    container = {"name": "switchyard", "args": ["--listen", listen]}
    store.event(PODS, "ADDED", pod(5, metadata=marked, spec={"containers": [container]}))
    (found,) = store.pods_of(Key("agents", "main"))
    assert found.sidecar is not None
    assert found.sidecar.port == port


def test_pods_are_found_by_their_gateway() -> None:
    """One that changes its label moves."""
    store = Store()
    main, other = Key("agents", "main"), Key("agents", "other")
    store.event(PODS, "ADDED", pod(5, name="p"))
    store.event(PODS, "ADDED", pod(6, name="q"))
    assert sorted(each.key.name for each in store.pods_of(main)) == ["p", "q"]
    store.event(PODS, "MODIFIED", pod(7, "other", name="q"))
    assert [[each.key.name for each in store.pods_of(key)] for key in (main, other)] == [["p"], ["q"]]
    store.event(PODS, "DELETED", pod(8, "other", name="q"))
    assert list(store.pods_of(other)) == []
    (left,) = store.pods_of(main)
    assert (left.address, left.running, left.ready) == ("10.0.0.1", True, True)


def test_a_namespace_carries_the_label_of_its_name() -> None:
    """Whatever else it carries."""
    store = Store()
    store.event(NAMESPACES, "ADDED", core(NAMESPACES, "tools", 5, None, metadata={"labels": {"team": "a"}}))
    assert store.objects.namespaces["tools"].labels == {"team": "a", "kubernetes.io/metadata.name": "tools"}
    store.event(NAMESPACES, "DELETED", core(NAMESPACES, "tools", 6, None))
    assert store.objects.namespaces == {}


def test_objects_are_found_by_namespace() -> None:
    """Without a look at those of others."""
    store = Store()
    for number, (resource, kind) in enumerate(((ALIASES, "MCPToolAlias"), (GATEWAYS, "MCPGateway"))):
        spec = {"backendRef": {"name": "a"}, "tool": "t", "alias": "x"} if kind == "MCPToolAlias" else {}
        for place in ("agents", "tools"):
            store.event(resource, "ADDED", core(resource, "a", 5 + number, place, spec=spec))
    assert list(store.objects.aliases.within("agents")) == [A]
    assert list(store.objects.gateways.within("tools")) == [Key("tools", "a")]
    assert list(store.objects.gateways.within("nowhere")) == []
    assert len(store.objects.gateways) == 2


@pytest.mark.parametrize(
    ("resource", "broken"),
    [
        pytest.param(SECRETS, {"data": {"token": 5, "s3cr3t": "s3cr3t"}}, id="Secret"),
        pytest.param(CONFIG_MAPS, {"data": ["s3cr3t"], "binaryData": 5}, id="ConfigMap"),
        pytest.param(PODS, {"spec": {"containers": 5}, "status": 5}, id="Pod"),
    ],
)
def test_object_that_cannot_be_read_costs_itself_alone(
    resource: Resource, broken: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is as if it had nothing in it, until it can be read; a line tells which it is, and nothing of what stands there."""
    store = Store()
    labels = {"switchyard.dev/credential": "true", "switchyard.dev/gateway": "main"}
    metadata = {"namespace": "agents", "name": "a", "uid": "one", "resourceVersion": "1", "labels": labels}
    store.event(resource, "ADDED", {"metadata": metadata, **broken})
    item = store.shelf(resource).get(A)
    assert item is not None
    assert item.model is None
    said = capsys.readouterr().out
    assert "object_not_read" in said
    assert "agents/a" in said
    assert "s3cr3t" not in said
    sound = {"metadata": {**metadata, "resourceVersion": "2"}, "spec": {"containers": []}}
    store.event(resource, "MODIFIED", sound)
    item = store.shelf(resource).get(A)
    assert item is not None
    assert item.model is not None
