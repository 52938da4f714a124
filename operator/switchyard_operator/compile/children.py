"""The two objects that carry a compiled gateway in a cluster: a ConfigMap, and a Secret beside it.

A config of more than 900 KiB is written compressed; the same bytes always give the same object. What does not fit even
so is refused here, before the API server refuses it.
"""

import base64
import gzip
from collections.abc import Mapping
from typing import Any, Final

from switchyard_operator.api.resource import API_VERSION, CREDENTIAL_LABEL, Key
from switchyard_sidecar.config.load import COMPRESSED_CONFIG_FILE, MAX_CONFIG_BYTES
from switchyard_sidecar.config.model import CONFIG_FILE

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
GATEWAY_LABEL: Final = "switchyard.dev/config-of"
"""On children: the gateway whose config they carry."""
CHILD_LABELS: Final[Mapping[str, str]] = {MANAGED_BY: "switchyard", CREDENTIAL_LABEL: "child"}
"""On all children. The second is there so that one watch finds users' credentials and children, and nothing else."""

_PREFIX: Final = "switchyard-"
_CONFIG_MAP_ROOM_BYTES: Final = 900 * 1024
"""Of the 1 MiB that a ConfigMap may hold; the rest is left to names, labels and whoever adds some."""
_SECRET_ROOM_BYTES: Final = 1024 * 1024
"""What the values of a Secret may come to."""


class TooLarge(Exception):  # noqa: N818 - the name says it
    """The gateway's config or credentials do not fit into one object. The message says which, and what to do."""


def child_key(gateway: Key) -> Key:
    """Where a gateway's children are: both have one name."""
    return Key(gateway.namespace, _PREFIX + gateway.name)


def gateway_of(child: Key) -> Key:
    """The gateway that a child of this name belongs to, if it is one."""
    return Key(child.namespace, child.name.removeprefix(_PREFIX))


def config_map(gateway: Key, content: bytes, owner_uid: str | None = None) -> dict[str, Any]:
    """The ConfigMap that holds ``gateway.json`` with these bytes. Raises :class:`TooLarge`."""
    return bare("ConfigMap", gateway, owner_uid) | _stored(content)


def secret(gateway: Key, files: Mapping[str, bytes], owner_uid: str | None = None) -> dict[str, Any]:
    """The Secret that holds the ``cred_*`` files. Raises :class:`TooLarge`."""
    total = sum(map(len, files.values()))
    if total > _SECRET_ROOM_BYTES:
        message = (
            f"the credentials come to {total} bytes; a Secret holds at most {_SECRET_ROOM_BYTES}: split the gateway"
        )
        raise TooLarge(message)
    data = {file: base64.b64encode(files[file]).decode() for file in sorted(files)}
    return bare("Secret", gateway, owner_uid) | {"type": "Opaque", "data": data}


def bare(kind: str, gateway: Key, owner_uid: str | None = None) -> dict[str, Any]:
    """A child without content. ``owner_uid`` is the gateway's uid; ``None``: outside a cluster, where nothing owns anything."""
    key = child_key(gateway)
    metadata: dict[str, Any] = {
        "name": key.name,
        "namespace": key.namespace,
        "labels": {**CHILD_LABELS, GATEWAY_LABEL: gateway.name},
    }
    if owner_uid is not None:
        metadata["ownerReferences"] = [owner(gateway, owner_uid)]
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def owner(gateway: Key, uid: str) -> dict[str, Any]:
    """Says of an object that it is controlled by this gateway, and goes with it. It does not hold up the gateway's deletion."""
    reference = {"apiVersion": API_VERSION, "kind": "MCPGateway", "name": gateway.name, "uid": uid}
    return reference | {"controller": True, "blockOwnerDeletion": False}


def _stored(content: bytes) -> dict[str, Any]:
    if len(content) <= _CONFIG_MAP_ROOM_BYTES:
        return {"data": {CONFIG_FILE: content.decode()}}
    # Without a time in it, so that equal contents are equal objects.
    compressed = gzip.compress(content, mtime=0)
    if len(content) > MAX_CONFIG_BYTES or len(compressed) > _CONFIG_MAP_ROOM_BYTES:
        message = (
            f"the config comes to {len(content)} bytes, {len(compressed)} when compressed; at most {MAX_CONFIG_BYTES} and "
            f"{_CONFIG_MAP_ROOM_BYTES} are possible: split the gateway"
        )
        raise TooLarge(message)
    return {"binaryData": {COMPRESSED_CONFIG_FILE: base64.b64encode(compressed).decode()}}
