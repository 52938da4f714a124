"""Objects of the API server, small and valid, put into a cluster."""

import base64
from typing import Any

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.session_keys import session_key
from switchyard_operator.controller.configure import Outcome, configure
from switchyard_operator.controller.resources import BACKENDS, CONFIG_MAPS, GATEWAYS, NAMESPACES, SECRETS, WATCHED
from switchyard_operator.controller.store import Store
from unit.operator.controller.cluster import Cluster, carried_out

MAIN = Key("agents", "main")
REVISION_KEY = b"k" * 32
NEW_SESSION_KEY = session_key(2_000_000_000, b"s" * 32)
LABEL = {"switchyard.dev/credential": "true"}


def backend(cluster: Cluster, name: str, namespace: str = "agents", *, secret: str | None = None, **spec: Any) -> None:
    """A backend; with ``secret``, one that presents its token."""
    auth = {"auth": {"type": "Bearer", "secretKeyRef": {"name": secret, "key": "token"}}} if secret else {}
    cluster.put(BACKENDS, Key(namespace, name), spec={"url": f"http://{name}.example/mcp", **auth, **spec})


def gateway(cluster: Cluster, *backends: str | dict[str, Any], **spec: Any) -> None:
    """The gateway ``agents/main``."""
    entries = [{"name": each} if isinstance(each, str) else each for each in backends]
    cluster.put(GATEWAYS, MAIN, spec={"backends": entries, **spec})


def secret(cluster: Cluster, name: str, token: bytes, namespace: str = "agents") -> None:
    """A user's Secret with a token."""
    data = {"token": base64.b64encode(token).decode()}
    cluster.put(SECRETS, Key(namespace, name), labels=LABEL, data=data)


def namespace(cluster: Cluster, name: str, **labels: str) -> None:
    cluster.put(NAMESPACES, Key("", name), labels=labels)


def stored(cluster: Cluster) -> Store:
    """A store that has read all lists."""
    store = Store()
    for resource in WATCHED:
        listing = store.listing(resource)
        raws, version = cluster.list(resource)
        for raw in raws:
            listing.add(raw)
        listing.done(version)
    return store


def configured(cluster: Cluster, *, new_key: bytes = REVISION_KEY, new_session_key: bytes = NEW_SESSION_KEY) -> Outcome:
    """Bring the children of ``agents/main`` in line, by one who has just started."""
    store = stored(cluster)
    item = store.gateways.get(MAIN)
    assert item is not None
    config_map, secret_ = (store.child(resource, MAIN) for resource in (CONFIG_MAPS, SECRETS))
    return carried_out(
        configure(
            item,
            store.objects,
            config_map.model if config_map else None,
            secret_.model if secret_ else None,
            new_key,
            new_session_key,
        ),
        cluster,
    )
